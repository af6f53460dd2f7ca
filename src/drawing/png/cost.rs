//! What it costs to paint an outline, in steps of work; measured with tiny-skia 0.12.

use tiny_skia::{Path, Shader, Stroke};

/// A filling of nothing much.
const SET_UP: f64 = 300.0;

/// A point of an outline that is filled.
const FILL_POINT: f64 = 20.0;
/// A pixel that an outline goes up or down, aside, and both at once.
const FILL: Way = Way { rise: 12.0, run: 1.0, slant: 0.0 };

/// A point of a line that has a width: its outline is made first, with corners; and for each pixel of its width, up to
/// so much.
const LINE_POINT: f64 = 35.0;
const LINE_CORNER: f64 = 30.0;
const LINE_CORNER_MOST: f64 = 600.0;
const LINE: Way = Way { rise: 14.0, run: 1.0, slant: 26.0 };

/// A line of one pixel or less is painted without an outline.
const HAIR: Way = Way { rise: 7.0, run: 7.0, slant: 0.0 };

/// A dash: of a hair, and of a line, for which each pixel of its width comes on top.
const HAIR_DASH: f64 = 45.0;
const LINE_DASH: f64 = 100.0;
const LINE_DASH_WIDTH: f64 = 20.0;

/// How long a dash is at least, with what follows it, in points.
const DASH_LENGTH: f64 = 6.0;

/// A pixel inside: opaque, one that something shines through, one of a gradient.
const OPAQUE: f64 = 0.07;
const MIXED: f64 = 0.4;
const GRADIENT: f64 = 1.1;

/// What is gone along an outline, in pixels, or what a pixel of that costs.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Up or down.
    rise: f64,
    /// Aside.
    run: f64,
    /// Both at once: the smaller of the two.
    slant: f64,
}

impl Way {
    /// Along an outline, at so many pixels for a point. Of curves, along their control points, which is no shorter.
    fn along(path: &Path, scale: f64) -> Way {
        let points = path.points();
        points.iter().zip(points.iter().skip(1)).fold(Way::default(), |way, (a, b)| {
            let (run, rise) = (f64::from((b.x - a.x).abs()) * scale, f64::from((b.y - a.y).abs()) * scale);
            Way { rise: way.rise + rise, run: way.run + run, slant: way.slant + run.min(rise) }
        })
    }

    fn times(self, price: Way) -> f64 {
        self.rise * price.rise + self.run * price.run + self.slant * price.slant
    }
}

/// What an outline costs on each tile that it touches.
pub(super) struct Cost {
    /// Once for each tile.
    set_up: f64,
    /// For all of the outline, and for a pixel of each way.
    outline: f64,
    price: Way,
    points: f64,
    /// For a pixel inside, and how many there are at most.
    inside: f64,
    covered: f64,
}

impl Cost {
    /// Of filling an outline, at so many pixels for a point.
    pub(super) fn of_fill(path: &Path, shader: &Shader<'_>, scale: f64) -> Cost {
        let points = path.len() as f64;
        let inside = match shader {
            Shader::SolidColor(color) if color.is_opaque() => OPAQUE,
            Shader::SolidColor(_) => MIXED,
            _ => GRADIENT,
        };
        Cost {
            set_up: SET_UP + FILL_POINT * points,
            outline: Way::along(path, scale).times(FILL),
            price: FILL,
            points,
            inside,
            covered: f64::INFINITY,
        }
    }

    /// Of a line along an outline.
    pub(super) fn of_stroke(path: &Path, stroke: &Stroke, scale: f64) -> Cost {
        let way = Way::along(path, scale);
        let (points, length, width) = (path.len() as f64, way.run + way.rise, f64::from(stroke.width) * scale);
        let (price, point, dash) = match width <= 1.0 {
            true => (HAIR, FILL_POINT, HAIR_DASH),
            false => {
                let corner = (LINE_CORNER * width).min(LINE_CORNER_MOST);
                (LINE, LINE_POINT + corner, LINE_DASH + LINE_DASH_WIDTH * width)
            }
        };
        let dashes = if stroke.dash.is_some() { dash * length / (DASH_LENGTH * scale) } else { 0.0 };
        Cost {
            set_up: SET_UP + point * points + dashes,
            outline: way.times(price),
            price,
            points,
            inside: OPAQUE,
            covered: (length + width) * width,
        }
    }

    /// On a tile, of which the outline's box takes up a part of this width and height in pixels.
    pub(super) fn on(&self, (width, height): (f64, f64)) -> u64 {
        // From a point to the next, no side goes further here than through all of it.
        let through = Way { rise: height, run: width, slant: width.min(height) };
        let outline = self.outline.min(self.points * through.times(self.price));
        (self.set_up + outline + self.inside * self.covered.min(width * height)) as u64
    }
}
