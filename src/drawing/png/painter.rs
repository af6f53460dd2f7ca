//! The scene as PNG, painted with tiny-skia.

use skrifa::outline::OutlinePen;
use tiny_skia::{
    FillRule, GradientStop, LinearGradient, Mask, Paint, Path, PathBuilder, Pixmap, Point as SkiaPoint, RadialGradient,
    Shader, SpreadMode, Stroke as SkiaStroke, StrokeDash, Transform,
};

use crate::fonts::{Collection, Fonts, Placed};
use crate::geometry::Point;
use crate::limits::{Limits, TooMuch};
use crate::paint::scene::{Anchor, Item, Scene, Text};
use crate::style::{Color, Dash, Fill, Gradient, Stroke};
use crate::work::{Exhausted, Work};

/// Dots per inch where `dpi` says nothing.
pub const DEFAULT_DOTS_PER_INCH: f64 = 96.0;

/// Pixels that cost one step of work.
const PIXELS_PER_STEP: f64 = 4.0;

/// Pixels along a line that cost one step of work.
const STROKED_PIXELS_PER_STEP: f64 = 1.5;

/// How far above and below the baseline sub- and superscripts stand, in parts of the font's size.
const SHIFT: f64 = 0.3;

/// Why there is no PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngError {
    /// It would be too large.
    TooMuch(TooMuch),
    /// Painting takes too much work.
    Exhausted(Exhausted),
}

impl From<TooMuch> for PngError {
    fn from(error: TooMuch) -> PngError {
        PngError::TooMuch(error)
    }
}

impl From<Exhausted> for PngError {
    fn from(error: Exhausted) -> PngError {
        PngError::Exhausted(error)
    }
}

/// Paints a scene. `enlarge` multiplies the resolution: 2 for screens with two dots for one. `own` are fonts that come
/// before the embedded ones.
///
/// # Errors
/// When the picture would have too many pixels or bytes, or is too much work.
pub fn write(
    scene: &Scene,
    enlarge: f64,
    own: &Collection,
    limits: &Limits,
    work: &mut Work,
) -> Result<Vec<u8>, PngError> {
    let dots_per_inch = scene.dots_per_inch.unwrap_or(DEFAULT_DOTS_PER_INCH) * enlarge;
    let (width, height, scale) = scene.canvas(dots_per_inch);
    let (width, height) = (width.max(1.0), height.max(1.0));
    let too_large = TooMuch::CanvasMegapixels(limits.canvas_megapixels);
    let most = limits.canvas_megapixels as f64 * 1e6;
    // Not a number is no size either.
    if !(width * height <= most && width <= most && height <= most && scale > 0.0) {
        return Err(too_large.into());
    }
    let mut pixmap = Pixmap::new(width as u32, height as u32).ok_or(too_large)?;
    work.spend((width * height / PIXELS_PER_STEP) as u64)?;
    let (low, high, pad) = (scene.bounds.low, scene.bounds.high, scene.pad);
    let scale = scale as f32;
    // Down is up: the scene's y grows upwards.
    let transform = match scene.is_rotated {
        false => {
            let (x, y) = (pad.x - low.x, high.y + pad.y);
            Transform::from_row(scale, 0.0, 0.0, -scale, x as f32 * scale, y as f32 * scale)
        }
        true => {
            let (x, y) = (high.x + pad.x, high.y + pad.y);
            Transform::from_row(0.0, -scale, -scale, 0.0, y as f32 * scale, x as f32 * scale)
        }
    };
    let mut painter = Painter { pixmap: &mut pixmap, transform, scale: f64::from(scale), fonts: Fonts::new(own), work };
    painter.items(&scene.items)?;
    for group in scene.groups.iter().filter(|group| !group.is_hidden) {
        painter.items(&group.items)?;
    }
    let bytes = pixmap.encode_png().map_err(|_| TooMuch::OutputBytes(limits.output_bytes))?;
    if bytes.len() > limits.output_bytes {
        return Err(TooMuch::OutputBytes(limits.output_bytes).into());
    }
    Ok(bytes)
}

struct Painter<'a> {
    pixmap: &'a mut Pixmap,
    transform: Transform,
    /// Pixels of a point.
    scale: f64,
    fonts: Fonts<'a>,
    work: &'a mut Work,
}

fn skia(point: Point) -> SkiaPoint {
    SkiaPoint::from_xy(point.x as f32, point.y as f32)
}

fn skia_color(color: &Color) -> tiny_skia::Color {
    let [r, g, b, a] = color.rgba;
    tiny_skia::Color::from_rgba8(r, g, b, a)
}

/// No mask is used: everything is painted in full.
const NO_MASK: Option<&Mask> = None;

impl Painter<'_> {
    fn items(&mut self, items: &[Item]) -> Result<(), PngError> {
        // Links hold items; they are not nested deeper than tables are.
        for item in items {
            self.item(item)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> Result<(), PngError> {
        match item {
            Item::Linked { items, .. } => self.items(items),
            Item::Text(text) => self.text(text),
            Item::Polygon { points, fill, stroke } => self.shape(polygon(points, true), fill, stroke),
            Item::Polyline { points, stroke } => self.shape(polygon(points, false), &Fill::None, stroke),
            Item::Path { points, fill, stroke } => self.shape(curves(points), fill, stroke),
            Item::Ellipse { center, radii, fill, stroke } => {
                let (low, size) = (*center - *radii, *radii * 2.0);
                let rect = tiny_skia::Rect::from_xywh(low.x as f32, low.y as f32, size.x as f32, size.y as f32);
                self.shape(rect.and_then(PathBuilder::from_oval), fill, stroke)
            }
        }
    }

    fn shape(&mut self, path: Option<Path>, fill: &Fill, stroke: &Stroke) -> Result<(), PngError> {
        let Some(path) = path else { return Ok(()) };
        let bounds = path.bounds();
        let canvas = f64::from(self.pixmap.width()) * f64::from(self.pixmap.height());
        let area = f64::from(bounds.width()) * f64::from(bounds.height()) * self.scale * self.scale;
        let points = path.len() as u64;
        let length = f64::from(bounds.width() + bounds.height()) * self.scale;
        self.work.spend(16 * points + (length.min(canvas) / STROKED_PIXELS_PER_STEP) as u64)?;
        if let Some(shader) = shader(fill) {
            self.work.spend((area.min(canvas) / PIXELS_PER_STEP) as u64)?;
            let paint = Paint { shader, anti_alias: true, ..Paint::default() };
            self.pixmap.fill_path(&path, &paint, FillRule::EvenOdd, self.transform, NO_MASK);
        }
        let width = stroke.width.unwrap_or(1.0);
        if let Some(color) = stroke.color.as_ref().filter(|color| !color.is_transparent() && width > 0.0) {
            let shader = Shader::SolidColor(skia_color(color));
            let paint = Paint { shader, anti_alias: true, ..Paint::default() };
            let dash = match stroke.dash {
                Dash::Solid => None,
                Dash::Dashed => StrokeDash::new(vec![5.0, 2.0], 0.0),
                Dash::Dotted => StrokeDash::new(vec![1.0, 5.0], 0.0),
            };
            // Dashes cost by their number.
            let dashes = if dash.is_some() { (length / self.scale) as u64 } else { 0 };
            self.work.spend(8 * dashes)?;
            let stroke = SkiaStroke { width: width as f32, dash, ..SkiaStroke::default() };
            self.pixmap.stroke_path(&path, &paint, &stroke, self.transform, NO_MASK);
        }
        Ok(())
    }

    fn text(&mut self, text: &Text) -> Result<(), PngError> {
        if text.color.is_transparent() {
            return Ok(());
        }
        let mut font = text.font.clone();
        let style = font.style;
        let mut at = text.at;
        if style.superscript || style.subscript {
            at.y += if style.superscript { SHIFT } else { -SHIFT } * font.size;
            font.size *= 0.7;
        }
        self.work.spend((text.text.len() * self.fonts.asked_at_most()) as u64)?;
        let (glyphs, natural) = self.fonts.line(&text.text, &font);
        // A font of the source that is not ours may be narrower: what was laid out is what there is room for.
        let is_known = text.text.is_ascii() && text.width > 0.0;
        let squeeze = if is_known && natural > text.width { text.width / natural } else { 1.0 };
        let width = natural * squeeze;
        at.x -= match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let mut builder = Outline { builder: PathBuilder::new(), origin: at, glyph: None, squeeze };
        for glyph in &glyphs {
            self.work.spend(64)?;
            builder.glyph = Some(*glyph);
            self.fonts.outline(glyph, &mut builder);
        }
        let (size, mut lines) = (font.size, Vec::new());
        let thickness = size / 16.0;
        if style.underline {
            lines.push(at.y - size * 0.12);
        }
        if style.strike {
            lines.push(at.y + size * 0.25);
        }
        if style.overline {
            lines.push(at.y + size * 0.85);
        }
        for y in lines {
            let rect = tiny_skia::Rect::from_xywh(at.x as f32, y as f32, width.max(0.0) as f32, thickness as f32);
            if let Some(rect) = rect {
                builder.builder.push_rect(rect);
            }
        }
        let Some(path) = builder.builder.finish() else { return Ok(()) };
        self.work.spend((width * size * self.scale * self.scale / PIXELS_PER_STEP).clamp(0.0, 1e9) as u64)?;
        let shader = Shader::SolidColor(skia_color(&text.color));
        let paint = Paint { shader, anti_alias: true, ..Paint::default() };
        self.pixmap.fill_path(&path, &paint, FillRule::Winding, self.transform, NO_MASK);
        Ok(())
    }
}

/// Glyphs of a line into one path, in points.
struct Outline {
    builder: PathBuilder,
    origin: Point,
    glyph: Option<Placed>,
    /// What the line is pressed together by.
    squeeze: f64,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (offset, scale) = self.glyph.map_or((0.0, 0.0), |glyph| (glyph.x, glyph.scale));
        let x = self.origin.x + (offset + f64::from(x) * scale) * self.squeeze;
        let y = self.origin.y + f64::from(y) * scale;
        (x as f32, y as f32)
    }
}

impl OutlinePen for Outline {
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

fn polygon(points: &[Point], is_closed: bool) -> Option<Path> {
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

fn curves(points: &[Point]) -> Option<Path> {
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

fn shader(fill: &Fill) -> Option<Shader<'static>> {
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
