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

/// What a column costs beside its words, in steps: of patterns of few words, and of longer ones.
const STEPS_OF_SHORT_COLUMN: usize = 1;
/// See [`STEPS_OF_SHORT_COLUMN`].
const STEPS_OF_LONG_COLUMN: usize = 3;

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

/// What a cell has changed by from one column to the next: one of both is 1, or none.
#[derive(Clone, Copy)]
struct Change {
    more: u64,
    less: u64,
}

impl Change {
    /// Above the first row every column is one more than the one before it.
    const ONE_MORE: Change = Change { more: 1, less: 0 };
}

impl Word {
    /// A column's word below a cell of that value, of so many rows, before the first column.
    const fn below(value: usize, rows: usize) -> Word {
        Word { more: !0, less: 0, lowest: value + rows }
    }

    /// Goes one column on. `mask`: where the column's character stands; `above`: what the cell above the word has changed
    /// by; `last`: the place of its lowest cell. What that has changed by.
    #[inline(always)]
    fn go_on(&mut self, mask: u64, above: Change, last: usize) -> Change {
        let same = mask | self.less;
        let mask = mask | above.less;
        let diagonal = (((mask & self.more).wrapping_add(self.more)) ^ self.more) | mask;
        let more = self.less | !(diagonal | self.more);
        let less = self.more & diagonal;
        let change = Change { more: (more >> last) & 1, less: (less >> last) & 1 };
        let more = (more << 1) | above.more;
        let less = (less << 1) | above.less;
        self.more = less | !(same | more);
        self.less = more & same;
        self.lowest = self.lowest.wrapping_add(change.more as usize).wrapping_sub(change.less as usize);
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

    /// The distance of a text of `length` Unicode scalar values, if it is at most `most`. Adds what it took to
    /// `steps`.
    pub fn distance_within(&self, text: &str, length: usize, most: usize, steps: &mut u64) -> Option<usize> {
        if self.length.abs_diff(length) > most {
            return None;
        }
        if self.length == 0 || length == 0 {
            return Some(self.length + length);
        }
        match self.words {
            1 => self.short::<1>(text, length, most, steps),
            2 => self.short::<2>(text, length, most, steps),
            3 => self.short::<3>(text, length, most, steps),
            4 => self.short::<4>(text, length, most, steps),
            _ => self.long(text, length, most, steps),
        }
    }

    /// The place of the pattern's last row in its word.
    const fn last_place(&self) -> usize {
        (self.length - 1) % WORD
    }

    /// A pattern of few words: all of each column.
    fn short<const WORDS: usize>(&self, text: &str, length: usize, most: usize, steps: &mut u64) -> Option<usize> {
        let last_place = self.last_place();
        let mut words = [Word::below(0, 0); WORDS];
        for (number, word) in words.iter_mut().enumerate() {
            *word = Word::below(0, self.length.min((number + 1) * WORD));
        }
        for (column, character) in (1..).zip(text.chars()) {
            let masks = self.masks.get(self.row_of(character)..).and_then(<[u64]>::first_chunk::<WORDS>)?;
            let mut change = Change::ONE_MORE;
            for (number, (word, mask)) in words.iter_mut().zip(masks).enumerate() {
                let last = if number + 1 == WORDS { last_place } else { WORD - 1 };
                change = word.go_on(*mask, change, last);
            }
            let lowest = words.last()?.lowest;
            let is_beyond = lowest > most + length.saturating_sub(column);
            if is_beyond || (WORDS > 1 && column % LOOK_EVERY == 0 && !may_end_within(Some(column), &words, most)) {
                *steps += (column * (WORDS + STEPS_OF_SHORT_COLUMN)) as u64;
                return None;
            }
        }
        *steps += (length * (WORDS + STEPS_OF_SHORT_COLUMN)) as u64;
        Some(words.last()?.lowest).filter(|distance| *distance <= most)
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
                let lowest = words.last().map_or(column - 1, |word| word.lowest);
                words.push(Word::below(lowest, rows));
            }
            let first = (column.saturating_sub(above + 1) / WORD).min(words.len());
            let row = self.row_of(character);
            let masks = self.masks.get(row + first..row + words.len()).unwrap_or_default();
            let is_complete = words.len() == self.words;
            let active = words.get_mut(first..).unwrap_or_default();
            let whole = active.len() - usize::from(is_complete);
            let mut change = Change::ONE_MORE;
            for (word, mask) in active.iter_mut().zip(masks).take(whole) {
                change = word.go_on(*mask, change, WORD - 1);
            }
            if let (true, Some(word), Some(mask)) = (is_complete, active.last_mut(), masks.last()) {
                word.go_on(*mask, change, self.last_place());
            }
            *steps += (masks.len() + STEPS_OF_LONG_COLUMN) as u64;
            if column % LOOK_EVERY == 0 && !may_end_within(None, words.get(first..).unwrap_or_default(), most) {
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

/// Whether any cell of these words can be as small as `most`. From the cell above a word, if its value is known, and from
/// its own lowest a cell differs by at most as much as it is away.
fn may_end_within(above: Option<usize>, words: &[Word], most: usize) -> bool {
    let mut above = above;
    words.iter().any(|word| {
        let least = match above {
            Some(above) => (above + word.lowest).saturating_sub(WORD) / 2,
            None => word.lowest.saturating_sub(WORD),
        };
        above = Some(word.lowest);
        least <= most
    })
}
