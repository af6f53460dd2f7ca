//! Fonts as labels name them, and how wide a line is in them.

use std::sync::Arc;

use super::widths::{self, Widths};

/// A line is this many times as high as its font.
pub const LINE_SPACING: f64 = 1.2;

/// `fontname` where none is given.
pub const DEFAULT_FONT: &str = "Times-Roman";

/// `fontsize` where none is given, in points.
pub const DEFAULT_FONT_SIZE: f64 = 14.0;

/// The least `fontsize`, in points.
pub const SMALLEST_FONT_SIZE: f64 = 1.0;

/// The largest `fontsize` that is drawn as such, in points.
pub const LARGEST_FONT_SIZE: f64 = 10_000.0;

/// A font as a label names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Font {
    /// `fontname` as written.
    pub name: Arc<str>,
    /// `fontsize` in points.
    pub size: f64,
    /// What HTML-like labels add.
    pub style: FontStyle,
}

/// The longest name that a font has, in bytes.
const LONGEST_FONT_NAME: usize = 512;

/// The name of a font, or of several; one that is too long for that is none.
pub fn font_name(text: &str) -> Arc<str> {
    if text.len() > LONGEST_FONT_NAME { DEFAULT_FONT.into() } else { text.into() }
}

/// What HTML-like labels add to a font.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FontStyle {
    /// `<B>`.
    pub bold: bool,
    /// `<I>`.
    pub italic: bool,
    /// `<U>`.
    pub underline: bool,
    /// `<O>`.
    pub overline: bool,
    /// `<S>`.
    pub strike: bool,
    /// `<SUP>`.
    pub superscript: bool,
    /// `<SUB>`.
    pub subscript: bool,
}

impl Default for Font {
    fn default() -> Font {
        Font { name: DEFAULT_FONT.into(), size: DEFAULT_FONT_SIZE, style: FontStyle::default() }
    }
}

/// Which of the known fonts a name means: its letters count, in either case, and nothing else.
fn known_widths(name: &str) -> Option<&'static Widths> {
    // Most labels have no font of their own.
    if name == DEFAULT_FONT {
        return Some(widths::default());
    }
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    widths::named(&letters)
}

/// Whether the widths of this font are known; if not, those of Times are taken, and Graphviz warns.
pub fn is_known_font(name: &str) -> bool {
    known_widths(name).is_some()
}

/// The width of one line in points.
///
/// Every byte outside ASCII counts as a space, control characters count as nothing.
pub fn line_width(text: &str, font: &Font) -> f64 {
    let widths = known_widths(&font.name).unwrap_or_else(widths::default);
    let [regular, bold, italic, bold_italic] = &widths.styles;
    let row = match (font.style.bold, font.style.italic) {
        (false, false) => regular,
        (true, false) => bold,
        (false, true) => italic,
        (true, true) => bold_italic,
    };
    let space = u64::from(row.first().copied().unwrap_or_default());
    let units: u64 = text
        .bytes()
        .map(|byte| match byte {
            0..0x20 | 0x7f => 0,
            0x80.. => space,
            _ => row.get(usize::from(byte - 0x20)).map_or(0, |width| u64::from(*width)),
        })
        .sum();
    units as f64 / f64::from(widths.units_per_em) * font.size
}
