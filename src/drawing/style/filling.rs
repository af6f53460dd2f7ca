//! What lists of colours fill.

use super::color::{Share, UNKNOWN, parse_list, parse_or_black};
use super::ink::{Color, Fill, Gradient};
use crate::geometry::Rect;
use crate::warnings::Warnings;

/// The filling that a list of colours means for a shape in `bounds`: one colour, or a gradient of two.
pub fn fill_of(colors: &[Share], is_radial: bool, angle: f64, bounds: Rect, warnings: &mut Warnings) -> Fill {
    match colors {
        [] => Fill::None,
        [only] => solid(&only.color),
        [first, second, rest @ ..] => {
            if !rest.is_empty() {
                warnings.push("More than 2 colors specified for a gradient - ignoring remaining".to_owned());
            }
            let share = match (first.share, second.share) {
                (Some(share), _) => Some(share),
                (None, Some(share)) => Some(1.0 - share),
                (None, None) => None,
            };
            let share = share.filter(|share| *share > 0.0);
            let colors = [first.color.clone(), second.color.clone()];
            Fill::Gradient(Gradient { is_radial, angle, colors, share, bounds })
        }
    }
}

/// One colour, or nothing where that cannot be seen.
pub fn solid(color: &Color) -> Fill {
    if color.is_transparent() { Fill::None } else { Fill::Solid(color.clone()) }
}

/// The colours of an attribute; an empty name in a list is black, as Graphviz has it.
pub fn colors(text: &str, scheme: &str, warnings: &mut Warnings) -> Vec<Share> {
    match text.split_once(':') {
        None => vec![Share { color: parse_or_black(text, scheme, warnings), share: None }],
        Some(("", _)) => {
            warnings.push(" is not a known color.".to_owned());
            vec![Share { color: UNKNOWN, share: None }]
        }
        Some((first, "")) => {
            let mut list = parse_list(first, scheme, warnings);
            list.push(Share { color: Color::black(), share: None });
            list
        }
        Some(_) => parse_list(text, scheme, warnings),
    }
}
