//! What names of fonts say: families, weights, slopes.

use crate::text::Font;

/// A name by its letters and digits alone, the small ones.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a text holds one of some words.
pub(super) fn has(words: &[&str], text: &str) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Whether a font is bold, by its style or its name.
pub(super) fn is_bold(font: &Font) -> bool {
    font.style.bold || has(&["bold", "demi", "black", "heavy"], &font.name.to_ascii_lowercase())
}

/// Whether a font is italic, by its style or its name.
pub(super) fn is_italic(font: &Font) -> bool {
    font.style.italic || has(&["italic", "oblique"], &font.name.to_ascii_lowercase())
}
