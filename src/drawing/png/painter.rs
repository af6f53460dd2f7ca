//! Items onto tiles.

use tiny_skia::{FillRule, Paint, Path, PathBuilder, Rect, Shader, Stroke as SkiaStroke, StrokeDash, Transform};

use super::cost::Cost;
use super::paths::{Glyphs, curves, polygon, shader, skia_color};
use super::tiles::Tiles;
use crate::bound::Bound;
use crate::fonts::Fonts;
use crate::paint::scene::{Anchor, Item, Text};
use crate::style::{Dash, Fill, Stroke};
use crate::work::Work;

/// How far above and below the baseline sub- and superscripts stand, in parts of the font's size.
const SHIFT: f64 = 0.3;

/// How far the corners of a line may stick out, in parts of its width.
const MITER: f64 = 4.0;

/// How far beside its outline something may change a pixel.
const FRINGE: f32 = 2.0;

/// Steps of work for a glyph, before it is filled.
const STEPS_PER_GLYPH: u64 = 64;

/// What paints.
pub(super) struct Painter<'a> {
    pub(super) tiles: &'a mut Tiles,
    pub(super) transform: Transform,
    /// Pixels of a point.
    pub(super) scale: f64,
    pub(super) fonts: Fonts<'a>,
    pub(super) work: &'a mut Work,
}

impl Painter<'_> {
    pub(super) fn items(&mut self, items: &[Item]) -> Result<(), Bound> {
        // Links hold items; they are not nested deeper than tables are.
        for item in items {
            self.item(item)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> Result<(), Bound> {
        match item {
            Item::Linked { items, .. } => self.items(items),
            Item::Text(text) => self.text(text),
            Item::Polygon { points, fill, stroke } => self.shape(polygon(points, true), fill, stroke),
            Item::Polyline { points, stroke } => self.shape(polygon(points, false), &Fill::None, stroke),
            Item::Path { points, fill, stroke } => self.shape(curves(points), fill, stroke),
            Item::Ellipse { center, radii, fill, stroke } => {
                let (low, size) = (*center - *radii, *radii * 2.0);
                let rect = Rect::from_xywh(low.x as f32, low.y as f32, size.x as f32, size.y as f32);
                self.shape(rect.and_then(PathBuilder::from_oval), fill, stroke)
            }
        }
    }

    fn shape(&mut self, path: Option<Path>, fill: &Fill, stroke: &Stroke) -> Result<(), Bound> {
        let Some(path) = path else { return Ok(()) };
        if let Some(shader) = shader(fill) {
            self.fill(&path, shader, FillRule::EvenOdd)?;
        }
        let width = stroke.width.unwrap_or(1.0);
        if let Some(color) = stroke.color.as_ref().filter(|color| !color.is_transparent() && width > 0.0) {
            let dash = match stroke.dash {
                Dash::Solid => None,
                Dash::Dashed => StrokeDash::new(vec![5.0, 2.0], 0.0),
                Dash::Dotted => StrokeDash::new(vec![1.0, 5.0], 0.0),
            };
            let stroke = SkiaStroke { width: width as f32, dash, ..SkiaStroke::default() };
            self.stroke(&path, Shader::SolidColor(skia_color(color)), &stroke)?;
        }
        Ok(())
    }

    /// The box of a path on the canvas, `more` points wider on every side.
    fn bounds(&self, path: &Path, more: f64) -> Option<Rect> {
        let margin = FRINGE + (more * self.scale) as f32;
        path.bounds().transform(self.transform)?.outset(margin, margin)
    }

    fn fill(&mut self, path: &Path, shader: Shader<'_>, rule: FillRule) -> Result<(), Bound> {
        let Some(bounds) = self.bounds(path, 0.0) else { return Ok(()) };
        let cost = Cost::of_fill(path, &shader, self.scale);
        let paint = Paint { shader, anti_alias: true, ..Paint::default() };
        for tile in self.tiles.touched(bounds) {
            self.work.spend(cost.on(tile.share(bounds)))?;
            tile.fill(path, &paint, rule, self.transform);
        }
        Ok(())
    }

    fn stroke(&mut self, path: &Path, shader: Shader<'_>, stroke: &SkiaStroke) -> Result<(), Bound> {
        let Some(bounds) = self.bounds(path, f64::from(stroke.width) * MITER / 2.0) else { return Ok(()) };
        let cost = Cost::of_stroke(path, stroke, self.scale);
        let paint = Paint { shader, anti_alias: true, ..Paint::default() };
        for tile in self.tiles.touched(bounds) {
            self.work.spend(cost.on(tile.share(bounds)))?;
            tile.stroke(path, &paint, stroke, self.transform);
        }
        Ok(())
    }

    fn text(&mut self, text: &Text) -> Result<(), Bound> {
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
        let mut pen = Glyphs::new(at, squeeze);
        for glyph in &glyphs {
            self.work.spend(STEPS_PER_GLYPH)?;
            if self.fonts.is_own(glyph) {
                self.work.look()?;
            }
            pen.begin(*glyph);
            self.fonts.outline(glyph, &mut pen);
        }
        let (size, thickness) = (font.size, font.size / 16.0);
        let lines = [(style.underline, -0.12), (style.strike, 0.25), (style.overline, 0.85)];
        for (_, share) in lines.into_iter().filter(|(is, _)| *is) {
            let y = at.y + size * share;
            pen.bar(Rect::from_xywh(at.x as f32, y as f32, width.max(0.0) as f32, thickness as f32));
        }
        let Some(path) = pen.finish() else { return Ok(()) };
        self.fill(&path, Shader::SolidColor(skia_color(&text.color)), FillRule::Winding)
    }
}
