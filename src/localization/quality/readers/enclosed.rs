//! Which bracket closes which, found in one pass, so that nobody goes to the end of a text for each that opens.

use std::ops::Range;

/// What each opening bracket of a text encloses, brackets included, in the order in which they open. Brackets without a
/// counterpart are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Enclosed(Vec<Range<usize>>);

impl Enclosed {
    /// Finds them all.
    pub(super) fn of(text: &str, open: u8, close: u8) -> Enclosed {
        let mut waiting = Vec::new();
        let mut found = Vec::new();
        for (place, byte) in text.bytes().enumerate() {
            if byte == open {
                waiting.push(place);
            } else if byte == close
                && let Some(start) = waiting.pop()
            {
                found.push(start..place + 1);
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        Enclosed(found)
    }

    /// Where that ends which opens at a place.
    pub(super) fn end(&self, start: usize) -> Option<usize> {
        let place = self.0.binary_search_by_key(&start, |range| range.start).ok()?;
        self.0.get(place).map(|range| range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bracket_finds_its_own() {
        let enclosed = Enclosed::of("(a(b)(c", b'(', b')');
        assert_eq!(enclosed.end(2), Some(5));
        assert_eq!(enclosed.end(0), None);
        assert_eq!(enclosed.end(5), None);
        let enclosed = Enclosed::of("((x)) )", b'(', b')');
        assert_eq!(enclosed.end(0), Some(5));
        assert_eq!(enclosed.end(1), Some(4));
    }
}
