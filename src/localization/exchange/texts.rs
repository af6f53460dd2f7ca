//! The texts of a document, one behind another in blocks: nothing is copied as they grow, and no room is taken ahead.

/// The longest tag of a language that is looked at, in bytes: as long as a request may name a locale. A longer one is of no
/// language.
pub const TAG_BYTES_MAX: usize = 255;
/// How long a block is, but for those of one long text, in bytes.
const BLOCK_BYTES: usize = 256 << 10;
/// From which length on a text has a block of its own, which is as long as that: the ends of blocks stay short.
const OWN_BYTES: usize = BLOCK_BYTES / 8;

/// Texts.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    blocks: Vec<String>,
    /// The block that has room, if any has.
    open: Option<usize>,
    bytes: usize,
}

/// Where a text is.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextPlace {
    block: u32,
    begin: u32,
    bytes: u32,
}

impl Texts {
    /// Adds a text.
    pub fn push(&mut self, text: &str) -> TextPlace {
        let has_room = |place: &usize| self.blocks.get(*place).is_some_and(|b| b.len() + text.len() <= BLOCK_BYTES);
        let place = match self.open.filter(|_| text.len() < OWN_BYTES).filter(has_room) {
            Some(open) => open,
            None => self.begin_block(text.len()),
        };
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let Some(block) = self.blocks.get_mut(place) else { return TextPlace::default() };
        let begin = number(block.len());
        block.push_str(text);
        TextPlace { block: number(place), begin, bytes: number(text.len()) }
    }

    /// A new block for a text of so many bytes, which stays open unless it is that text's own.
    fn begin_block(&mut self, text_bytes: usize) -> usize {
        let is_own = text_bytes >= OWN_BYTES;
        let capacity = if is_own { text_bytes } else { BLOCK_BYTES };
        self.blocks.push(String::with_capacity(capacity));
        self.bytes += capacity;
        let place = self.blocks.len() - 1;
        if !is_own {
            self.open = Some(place);
        }
        place
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A text.
    pub fn get(&self, place: TextPlace) -> &str {
        let begin = place.begin as usize;
        let text = self.blocks.get(place.block as usize).and_then(|block| block.get(begin..begin + place.len()));
        text.unwrap_or_default()
    }
}

impl TextPlace {
    /// How long the text is, in bytes.
    pub fn len(self) -> usize {
        self.bytes as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths() {
        let mut texts = Texts::default();
        let lengths = [0, 1, 3, OWN_BYTES, OWN_BYTES - 1, BLOCK_BYTES + 1, 2, BLOCK_BYTES];
        let all: Vec<String> = lengths.map(|bytes| "x".repeat(bytes)).into();
        let places: Vec<TextPlace> = all.iter().map(|text| texts.push(text)).collect();
        for (text, place) in all.iter().zip(places) {
            assert_eq!((texts.get(place), place.len()), (text.as_str(), text.len()));
        }
        assert_eq!(texts.blocks.len(), 4, "the short ones share one");
        assert_eq!(texts.bytes(), texts.blocks.iter().map(String::capacity).sum::<usize>());
    }

    #[test]
    fn next_to_nothing_is_left_unused() {
        for bytes in [1, 100, OWN_BYTES - 1, OWN_BYTES, 65_540, BLOCK_BYTES / 2 + 1, BLOCK_BYTES] {
            let mut texts = Texts::default();
            let (text, count) = ("x".repeat(bytes), (8 << 20) / bytes);
            (0..count).for_each(|_| assert_eq!(texts.push(&text).len(), bytes));
            let held = bytes * count;
            assert!(texts.bytes() <= held + held / 7 + BLOCK_BYTES, "{bytes}: {} for {held}", texts.bytes());
        }
    }
}
