//! `style`: lists such as `filled,rounded,setlinewidth(2)`.

use super::ink::{Color, Dash, Stroke};
use crate::graph::values::{Attributes, leading_number};
use crate::warnings::Warnings;

/// The most items of a style list; more are not read.
const MOST_ITEMS: usize = 64;

/// The widest pen, in points.
const WIDEST_PEN: f64 = 10_000.0;

/// What `style`, `penwidth` and the colours say of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Style {
    /// `filled`.
    pub filled: bool,
    /// `radial`.
    pub radial: bool,
    /// `striped`.
    pub striped: bool,
    /// `wedged`.
    pub wedged: bool,
    /// `rounded`.
    pub rounded: bool,
    /// `diagonals`.
    pub diagonals: bool,
    /// `invis`.
    pub invisible: bool,
    /// `tapered`.
    pub tapered: bool,
    /// `dashed`, `dotted`.
    pub dash: Dash,
    /// The pen's width, where something says it.
    pub width: Option<f64>,
}

impl Style {
    /// Reads `style` and `penwidth`.
    pub fn new(attributes: &dyn Attributes, warnings: &mut Warnings) -> Style {
        let mut style = Style::default();
        for (name, argument) in items(attributes.text("style").unwrap_or_default()).take(MOST_ITEMS) {
            match name {
                "filled" => style.filled = true,
                "radial" => style.radial = true,
                "striped" => style.striped = true,
                "wedged" => style.wedged = true,
                "rounded" => style.rounded = true,
                "diagonals" => style.diagonals = true,
                "invis" => style.invisible = true,
                "tapered" => style.tapered = true,
                "dashed" => style.dash = Dash::Dashed,
                "dotted" => style.dash = Dash::Dotted,
                "solid" => style.dash = Dash::Solid,
                "bold" => style.width = Some(2.0),
                "setlinewidth" => {
                    style.width = leading_number(argument).map(|(width, _)| width.clamp(0.0, WIDEST_PEN));
                }
                "unfilled" => style.filled = false,
                _ => warnings.push(format!("gvrender_set_style: unsupported style {name} - ignoring")),
            }
        }
        if attributes.text("penwidth").and_then(leading_number).is_some() {
            let width = attributes.number("penwidth", 1.0, 0.0).min(WIDEST_PEN);
            style.width = (width != 1.0 || style.width.is_some()).then_some(width);
        }
        style
    }

    /// The pen's width in points.
    pub fn pen_width(&self) -> f64 {
        self.width.unwrap_or(1.0)
    }

    /// A line of this style in `color`.
    pub fn stroke(&self, color: &Color) -> Stroke {
        let color = (!color.is_transparent()).then(|| color.clone());
        Stroke { color, width: self.width.filter(|width| *width != 1.0), dash: self.dash }
    }
}

/// The words of a style list with what stands in parentheses behind them.
fn items(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut depth = 0_usize;
    let parts = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter_map(|part| {
        let part = part.trim();
        let (name, argument) = part.split_once('(').unwrap_or((part, ""));
        let name = name.trim();
        (!name.is_empty()).then_some((name, argument.trim_end_matches(')')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::values::tests::Written;

    #[test]
    fn styles_are_read_item_by_item() {
        let mut warnings = Warnings::default();
        let style = Style::new(&Written::new("style=filled, setlinewidth(2.5),dotted,foo(3,4)"), &mut warnings);
        assert!(style.filled && style.dash == Dash::Dotted && style.width == Some(2.5));
        assert_eq!(*warnings, ["gvrender_set_style: unsupported style foo - ignoring"]);
        let bold = Style::new(&Written::new("style=bold ;; penwidth=3"), &mut warnings);
        assert_eq!(bold.pen_width(), 3.0);
    }
}
