//! Outlines: how often a text has which characters, in 32 bytes. Whoever has too many that the other lacks is too far away,
//! and need not be compared.

/// Characters are told apart by their lowest five bits: letters of one alphabet stand next to each other.
const CLASSES: usize = 32;

/// How often a text has the characters of each class, up to 255 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline([u8; CLASSES]);

impl Outline {
    /// The outline of a text, and its length in Unicode scalar values.
    pub fn of(text: &str) -> (Outline, usize) {
        let (mut counts, mut length) = ([0_u8; CLASSES], 0);
        for character in text.chars() {
            length += 1;
            if let Some(count) = counts.get_mut(character as usize % CLASSES) {
                *count = count.saturating_add(1);
            }
        }
        (Outline(counts), length)
    }

    /// At least so many characters of this text must be removed or replaced to make the other of it. A step of the
    /// distance removes or replaces one: the distance is no less. Counts that end at 255 make it smaller, never larger.
    pub fn excess_over(&self, other: &Outline) -> usize {
        self.0.iter().zip(&other.0).map(|(own, others)| usize::from(own.saturating_sub(*others))).sum()
    }
}
