//! Outlines and fillings as tiny-skia has them.

use skrifa::outline::OutlinePen;
use tiny_skia::{
    GradientStop, LinearGradient, Path, PathBuilder, Point as SkiaPoint, RadialGradient, Rect, Shader, SpreadMode,
    Transform,
};

use crate::fonts::Placed;
use crate::geometry::Point;
use crate::style::{Color, Fill, Gradient};

fn skia(point: Point) -> SkiaPoint {
    SkiaPoint::from_xy(point.x as f32, point.y as f32)
}

pub(super) fn skia_color(color: &Color) -> tiny_skia::Color {
    let [r, g, b, a] = color.rgba;
    tiny_skia::Color::from_rgba8(r, g, b, a)
}

/// Glyphs of a line, one after the other, into one path, in points.
pub(super) struct Glyphs {
    builder: PathBuilder,
    origin: Point,
    glyph: Option<Placed>,
    /// What the line is pressed together by.
    squeeze: f64,
}

impl Glyphs {
    /// None yet; the line begins at `origin`.
    pub(super) fn new(origin: Point, squeeze: f64) -> Glyphs {
        Glyphs { builder: PathBuilder::new(), origin, glyph: None, squeeze }
    }

    /// The outline that comes is that of a glyph.
    pub(super) fn begin(&mut self, glyph: Placed) {
        self.glyph = Some(glyph);
    }

    /// Adds a bar, if it is one.
    pub(super) fn bar(&mut self, rect: Option<Rect>) {
        if let Some(rect) = rect {
            self.builder.push_rect(rect);
        }
    }

    /// All of it; `None` if there is nothing to be seen.
    pub(super) fn finish(self) -> Option<Path> {
        self.builder.finish()
    }

    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (offset, scale) = self.glyph.map_or((0.0, 0.0), |glyph| (glyph.x, glyph.scale));
        let x = self.origin.x + (offset + f64::from(x) * scale) * self.squeeze;
        let y = self.origin.y + f64::from(y) * scale;
        (x as f32, y as f32)
    }
}

impl OutlinePen for Glyphs {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

/// Straight sides from point to point.
pub(super) fn polygon(points: &[Point], is_closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (i, point) in points.iter().enumerate() {
        match i {
            0 => builder.move_to(point.x as f32, point.y as f32),
            _ => builder.line_to(point.x as f32, point.y as f32),
        }
    }
    if is_closed {
        builder.close();
    }
    builder.finish()
}

/// Curves from point to point: 3n + 1 control points.
pub(super) fn curves(points: &[Point]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(first.x as f32, first.y as f32);
    for piece in rest.chunks_exact(3) {
        if let [a, b, c] = piece {
            builder.cubic_to(a.x as f32, a.y as f32, b.x as f32, b.y as f32, c.x as f32, c.y as f32);
        }
    }
    builder.finish()
}

/// What paints a filling, if it can be seen.
pub(super) fn shader(fill: &Fill) -> Option<Shader<'static>> {
    match fill {
        Fill::None => None,
        Fill::Solid(color) => (!color.is_transparent()).then(|| Shader::SolidColor(skia_color(color))),
        Fill::Gradient(gradient) => gradient_shader(gradient),
    }
}

fn gradient_shader(gradient: &Gradient) -> Option<Shader<'static>> {
    let [first, second] = &gradient.colors;
    let (first, second) = (skia_color(first), skia_color(second));
    let stops = match gradient.share.filter(|_| !gradient.is_radial) {
        None => vec![GradientStop::new(0.0, first), GradientStop::new(1.0, second)],
        Some(share) => {
            let share = share as f32;
            vec![GradientStop::new(share, first), GradientStop::new(share, second)]
        }
    };
    if !gradient.is_radial {
        let (from, to) = gradient.line();
        return LinearGradient::new(skia(from), skia(to), stops, SpreadMode::Pad, Transform::identity());
    }
    // A circle in a square of side 1, stretched over the box.
    let angle = gradient.angle.to_radians();
    let focus = match gradient.angle == 0.0 {
        true => SkiaPoint::from_xy(0.5, 0.5),
        false => SkiaPoint::from_xy((0.5 * (1.0 + angle.cos())) as f32, (0.5 * (1.0 + angle.sin())) as f32),
    };
    let bounds = gradient.bounds;
    let stretch = Transform::from_row(
        bounds.width() as f32,
        0.0,
        0.0,
        bounds.height() as f32,
        bounds.low.x as f32,
        bounds.low.y as f32,
    );
    RadialGradient::new(focus, 0.0, SkiaPoint::from_xy(0.5, 0.5), 0.75, stops, SpreadMode::Pad, stretch)
}
