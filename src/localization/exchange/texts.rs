//! The texts of a document, one behind another in blocks: nothing is copied as they grow, and no room is taken ahead.

/// How long a block is, but for those of one longer text, in bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// Texts.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    blocks: Vec<String>,
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
        let has_room = self.blocks.last().is_some_and(|last| last.len() + text.len() <= BLOCK_BYTES);
        if !has_room {
            self.blocks.push(String::with_capacity(BLOCK_BYTES.max(text.len())));
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let block = number(self.blocks.len() - 1);
        let Some(last) = self.blocks.last_mut() else { return TextPlace::default() };
        let begin = number(last.len());
        last.push_str(text);
        TextPlace { block, begin, bytes: number(text.len()) }
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(String::capacity).sum()
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
        let all: Vec<String> =
            [0, 1, 3, BLOCK_BYTES - 5, 1, 1, BLOCK_BYTES + 1, 2, BLOCK_BYTES].map(|bytes| "x".repeat(bytes)).into();
        let places: Vec<TextPlace> = all.iter().map(|text| texts.push(text)).collect();
        for (text, place) in all.iter().zip(places) {
            assert_eq!((texts.get(place), place.len()), (text.as_str(), text.len()));
        }
        assert_eq!(texts.blocks.len(), 5);
    }
}
