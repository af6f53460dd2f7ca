//! What things are painted with: colours, fillings, lines.

use crate::geometry::{Point, Rect};

/// A colour as the writers need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Color {
    /// Red, green, blue, and how opaque it is.
    pub rgba: [u8; 4],
    /// The name SVG knows it by, if the source named it so.
    pub name: Option<String>,
}

impl Color {
    /// Black.
    pub fn black() -> Color {
        Color::named("black", [0, 0, 0, 255])
    }

    /// A colour SVG knows by name.
    pub fn named(name: &str, rgba: [u8; 4]) -> Color {
        Color { rgba, name: Some(name.to_owned()) }
    }

    /// Whether nothing of it can be seen.
    pub fn is_transparent(&self) -> bool {
        self.rgba[3] == 0
    }
}

/// What fills an outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fill {
    /// Nothing.
    #[default]
    None,
    /// One colour.
    Solid(Color),
    /// From one colour to another.
    Gradient(Gradient),
}

/// A change from one colour to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// From the middle outwards, not along a line.
    pub is_radial: bool,
    /// `gradientangle` in degrees.
    pub angle: f64,
    /// The colours.
    pub colors: [Color; 2],
    /// Where the first one ends, from 0 to 1, if the source says so.
    pub share: Option<f64>,
    /// The box of the shape that is filled.
    pub bounds: Rect,
}

impl Gradient {
    /// The ends of the line along which it changes.
    pub fn line(&self) -> (Point, Point) {
        let center = self.bounds.center();
        let angle = self.angle.to_radians();
        let reach = Point::new(self.bounds.width() / 2.0 * angle.cos(), self.bounds.height() / 2.0 * angle.sin());
        (center - reach, center + reach)
    }
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// It is not.
    #[default]
    Solid,
    /// `dashed`.
    Dashed,
    /// `dotted`.
    Dotted,
}

/// How a line is drawn. Nothing is drawn with no colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub color: Option<Color>,
    /// `penwidth`; `None` is one point, and not written.
    pub width: Option<f64>,
    /// How it is broken.
    pub dash: Dash,
}
