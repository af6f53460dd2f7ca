//! Levenshtein's distance, 64 characters at a time: the bit vectors of Myers (1999) as Hyyrö (2003) put them, and for longer
//! texts only those words of them that the cut-off leaves (Ukkonen 1985).
//!
//! A column of the table stands for a character of the text, a row for one of the pattern. Neighbouring cells differ by at
//! most one, so a column is two bits a row: whether a cell is one more, or one less, than the one above it.

use std::iter::repeat_n;

/// Rows of a word.
const WORD: usize = 64;
/// Characters of a page of the table from characters to masks.
const PAGE: usize = 256;
/// Pages of Unicode.
const PAGES: usize = 0x11_0000 / PAGE;
/// Every so many columns it is asked whether the cut-off can still be met.
const LOOK_EVERY: usize = 16;

/// A text that others are compared with.
pub struct Pattern {
    length: usize,
    words: usize,
    /// For each page of Unicode which of `cells` it has; 0: none of its characters is in the pattern.
    pages: Vec<u16>,
    /// For each character of a page which of `masks` it has; 0: it is not in the pattern. The first page stays so.
    cells: Vec<u16>,
    /// Where in the pattern a character stands: `words` words for each; the first stand for those that are not in it.
    masks: Vec<u64>,
}

/// A word of a column.
#[derive(Clone, Copy)]
struct Word {
    /// Cells that are one more than the one above.
    more: u64,
    /// Cells that are one less than the one above.
    less: u64,
    /// The value of the lowest cell.
    lowest: usize,
}

impl Word {
    /// Goes one column on. `mask`: where the column's character stands; `step`: what the cell above the word has changed
    /// by, -1, 0 or 1; `last`: the bit of its lowest cell. What that has changed by.
    #[inline]
    fn go_on(&mut self, mask: u64, step: i8, last: u64) -> i8 {
        let above_less = u64::from(step < 0);
        let above_more = u64::from(step > 0);
        let same = mask | self.less;
        let mask = mask | above_less;
        let diagonal = (((mask & self.more).wrapping_add(self.more)) ^ self.more) | mask;
        let more = self.less | !(diagonal | self.more);
        let less = self.more & diagonal;
        let change = i8::from(more & last != 0) - i8::from(less & last != 0);
        let more = (more << 1) | above_more;
        let less = (less << 1) | above_less;
        self.more = less | !(same | more);
        self.less = more & same;
        self.lowest = self.lowest.wrapping_add_signed(isize::from(change));
        change
    }
}

impl Pattern {
    /// A text that others are compared with. Takes some kilobytes more than 8 bytes for each 64 characters and each
    /// different one.
    pub fn of(text: &str) -> Pattern {
        let length = text.chars().count();
        let words = length.div_ceil(WORD).max(1);
        let mut pattern = Pattern { length, words, pages: vec![0; PAGES], cells: vec![0; PAGE], masks: vec![0; words] };
        for (place, character) in text.chars().enumerate() {
            let first = pattern.row_for(character);
            if let Some(mask) = pattern.masks.get_mut(first + place / WORD) {
                *mask |= 1 << (place % WORD);
            }
        }
        pattern
    }

    /// Its length in Unicode scalar values.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Where the masks of a character of the pattern begin; makes them.
    fn row_for(&mut self, character: char) -> usize {
        let (page, place) = (character as usize / PAGE, character as usize % PAGE);
        let known = self.pages.get(page).copied().unwrap_or(0);
        let page_of_cells = if known == 0 {
            let made = u16::try_from(self.cells.len() / PAGE).unwrap_or(0);
            self.cells.extend(repeat_n(0, PAGE));
            if let Some(page) = self.pages.get_mut(page) {
                *page = made;
            }
            made
        } else {
            known
        };
        let made = u16::try_from(self.masks.len() / self.words).unwrap_or(0);
        let Some(cell) = self.cells.get_mut(usize::from(page_of_cells) * PAGE + place) else { return 0 };
        if *cell == 0 {
            *cell = made;
            self.masks.extend(repeat_n(0, self.words));
        }
        usize::from(*cell) * self.words
    }

    /// Where the masks of a character begin.
    #[inline]
    fn row_of(&self, character: char) -> usize {
        let page = self.pages.get(character as usize / PAGE).copied().unwrap_or(0);
        let cell = self.cells.get(usize::from(page) * PAGE + character as usize % PAGE);
        usize::from(cell.copied().unwrap_or(0)) * self.words
    }

    /// The distance of a text of `length` Unicode scalar values, if it is at most `most`. Adds its steps to `steps`: words
    /// of columns.
    pub fn distance_within(&self, text: &str, length: usize, most: usize, steps: &mut u64) -> Option<usize> {
        if self.length.abs_diff(length) > most {
            return None;
        }
        if self.length == 0 || length == 0 {
            return Some(self.length + length);
        }
        if self.words == 1 { self.short(text, length, most, steps) } else { self.long(text, length, most, steps) }
    }

    fn short(&self, text: &str, length: usize, most: usize, steps: &mut u64) -> Option<usize> {
        let last = 1 << (self.length - 1);
        let mut word = Word { more: !0, less: 0, lowest: self.length };
        let mut left = length;
        for character in text.chars() {
            *steps += 1;
            left -= left.min(1);
            let mask = self.masks.get(self.row_of(character)).copied().unwrap_or(0);
            // Above the first row every column is one more than the one before it.
            word.go_on(mask, 1, last);
            if word.lowest > most + left {
                return None;
            }
        }
        Some(word.lowest).filter(|distance| *distance <= most)
    }

    /// A way through the table that costs at most `most` stays within a band around its diagonal: only the words that
    /// touch it are gone through. Around it cells are taken for as large as they can be, so that no way leads through.
    fn long(&self, text: &str, length: usize, most: usize, steps: &mut u64) -> Option<usize> {
        let (above, below) = self.band(length, most);
        let mut words: Vec<Word> = Vec::with_capacity(self.words);
        for (column, character) in (1..).zip(text.chars()) {
            let lowest_row = (column + below).min(self.length);
            while words.len() * WORD < lowest_row {
                let rows = WORD.min(self.length - words.len() * WORD);
                let lowest = words.last().map_or(column - 1, |word| word.lowest) + rows;
                words.push(Word { more: !0, less: 0, lowest });
            }
            let first = (column.saturating_sub(above + 1) / WORD).min(words.len());
            let row = self.row_of(character);
            let masks = self.masks.get(row + first..row + words.len()).unwrap_or_default();
            let mut step = 1;
            for (place, (word, mask)) in (first..).zip(words.iter_mut().skip(first).zip(masks)) {
                let last = if place + 1 == self.words { 1 << ((self.length - 1) % WORD) } else { 1 << (WORD - 1) };
                step = word.go_on(*mask, step, last);
            }
            *steps += masks.len() as u64;
            if column % LOOK_EVERY == 0 && !may_end_within(words.get(first..).unwrap_or_default(), most) {
                return None;
            }
        }
        let distance = words.get(self.words - 1)?.lowest;
        Some(distance).filter(|distance| *distance <= most)
    }

    /// How many rows above and below a column's own a way may come that costs at most `most`: what it goes aside, and what
    /// it must come back, cost one each.
    const fn band(&self, length: usize, most: usize) -> (usize, usize) {
        if self.length >= length {
            let longer = self.length - length;
            ((most - longer) / 2, (most + longer) / 2)
        } else {
            let shorter = length - self.length;
            ((most + shorter) / 2, (most - shorter) / 2)
        }
    }
}

/// Whether any cell of these words can be as small as `most`. From the lowest cell of the word above it, and from its own,
/// a cell differs by at most as much as it is away.
fn may_end_within(words: &[Word], most: usize) -> bool {
    let mut above: Option<usize> = None;
    words.iter().any(|word| {
        let least = match above {
            Some(above) => (above + word.lowest).saturating_sub(WORD) / 2,
            None => word.lowest.saturating_sub(WORD),
        };
        above = Some(word.lowest);
        least <= most
    })
}
