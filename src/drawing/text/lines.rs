//! The lines of a label, measured.

use super::font::{Font, LINE_SPACING, line_width};
use crate::geometry::Size;

/// Where a line stands in its label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Justify {
    /// `\n`: in the middle.
    #[default]
    Center,
    /// `\l`.
    Left,
    /// `\r`.
    Right,
}

/// A line of a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it says, entities and escapes resolved.
    pub text: String,
    /// Where it stands.
    pub justify: Justify,
    /// Its width in points.
    pub width: f64,
    /// How far the next line lies below it, in points.
    pub height: f64,
}

/// A label of plain lines, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// The lines, from the top.
    pub lines: Vec<Line>,
    /// The font of all lines.
    pub font: Font,
    /// The widest line, and all heights.
    pub size: Size,
}

impl TextBlock {
    /// Measures lines that [`super::expand`] gave.
    pub fn new(lines: Vec<(String, Justify)>, font: Font) -> TextBlock {
        let lines: Vec<Line> = lines
            .into_iter()
            .map(|(text, justify)| {
                let height = font.size * LINE_SPACING;
                if text.is_empty() {
                    // Observed: an empty line is as high as a full one, but in whole points.
                    Line { text, justify, width: 0.0, height: height.trunc() }
                } else {
                    Line { width: line_width(&text, &font), text, justify, height }
                }
            })
            .collect();
        let size = Size::new(lines.iter().fold(0.0, |w, line| w.max(line.width)), lines.iter().map(|l| l.height).sum());
        TextBlock { lines, font, size }
    }
}
