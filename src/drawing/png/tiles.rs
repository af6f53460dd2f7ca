//! The pixels of a picture, in tiles that the painter can count with: none has a side of more than [`SIDE`].
//!
//! What is painted is painted on the tiles that it touches, and on no other.

use tiny_skia::{FillRule, Paint, Path, Pixmap, PremultipliedColorU8, Rect, Stroke, Transform};

/// The longest side of a tile, in pixels; tiny-skia would cut a larger canvas into such pieces itself, and try every
/// shape on all of them.
const SIDE: u32 = 8191;

/// The canvas.
pub(super) struct Tiles {
    pub(super) width: u32,
    pub(super) height: u32,
    /// How many stand side by side.
    columns: u32,
    /// Row by row from the top, each row from the left.
    tiles: Vec<Tile>,
}

/// A piece of the canvas.
pub(super) struct Tile {
    x: u32,
    y: u32,
    pixmap: Pixmap,
}

impl Tile {
    /// A transformation into the canvas, as one into this piece.
    fn own(&self, transform: Transform) -> Transform {
        transform.post_translate(-(self.x as f32), -(self.y as f32))
    }

    /// Width and height of what lies here of a box, in pixels.
    pub(super) fn share(&self, bounds: Rect) -> (f64, f64) {
        let (left, top) = (self.x as f32, self.y as f32);
        let (right, bottom) = (left + self.pixmap.width() as f32, top + self.pixmap.height() as f32);
        let width = bounds.right().min(right) - bounds.left().max(left);
        let height = bounds.bottom().min(bottom) - bounds.top().max(top);
        (f64::from(width.max(0.0)), f64::from(height.max(0.0)))
    }

    /// Fills a path. Everything is painted in full: there is no mask.
    pub(super) fn fill(&mut self, path: &Path, paint: &Paint<'_>, rule: FillRule, transform: Transform) {
        let transform = self.own(transform);
        self.pixmap.fill_path(path, paint, rule, transform, None);
    }

    /// Draws a line along a path.
    pub(super) fn stroke(&mut self, path: &Path, paint: &Paint<'_>, stroke: &Stroke, transform: Transform) {
        let transform = self.own(transform);
        self.pixmap.stroke_path(path, paint, stroke, transform, None);
    }
}

impl Tiles {
    /// A transparent canvas; `None` if there is no memory for it.
    pub(super) fn new(width: u32, height: u32) -> Option<Tiles> {
        let columns = width.div_ceil(SIDE);
        let mut tiles = Vec::new();
        for row in 0..height.div_ceil(SIDE) {
            for column in 0..columns {
                let (x, y) = (column * SIDE, row * SIDE);
                let pixmap = Pixmap::new((width - x).min(SIDE), (height - y).min(SIDE))?;
                tiles.push(Tile { x, y, pixmap });
            }
        }
        Some(Tiles { width, height, columns, tiles })
    }

    /// The pieces that a box of the canvas touches.
    pub(super) fn touched(&mut self, bounds: Rect) -> impl Iterator<Item = &mut Tile> {
        self.tiles.iter_mut().filter(move |tile| {
            let (width, height) = tile.share(bounds);
            width > 0.0 && height > 0.0
        })
    }

    /// Whether nothing shines through anywhere.
    pub(super) fn is_opaque(&self) -> bool {
        self.tiles.iter().all(|tile| tile.pixmap.pixels().iter().all(|pixel| pixel.alpha() == u8::MAX))
    }

    /// The pixels of a row, in pieces from left to right.
    pub(super) fn row(&self, y: u32) -> impl Iterator<Item = &[PremultipliedColorU8]> {
        let first = (y / SIDE) as usize * self.columns as usize;
        let row = self.tiles.get(first..first + self.columns as usize).unwrap_or_default();
        row.iter().map(move |tile| {
            let (width, line) = (tile.pixmap.width() as usize, (y - tile.y) as usize);
            tile.pixmap.pixels().get(line * width..(line + 1) * width).unwrap_or_default()
        })
    }
}
