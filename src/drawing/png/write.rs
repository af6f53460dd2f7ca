//! The whole way from a scene to a PNG.

use tiny_skia::Transform;

use super::encode::encode;
use super::painter::Painter;
use super::tiles::Tiles;
use crate::bound::Bound;
use crate::fonts::{Collection, Fonts};
use crate::geometry::Point;
use crate::limits::{Limits, TooMuch};
use crate::paint::scene::Scene;
use crate::work::Work;

/// Dots per inch where `dpi` says nothing.
pub const DEFAULT_DOTS_PER_INCH: f64 = 96.0;

/// Pixels that cost one step of work before anything is painted.
const PIXELS_PER_STEP: f64 = 6.0;

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
) -> Result<Vec<u8>, Bound> {
    let dots_per_inch = scene.dots_per_inch.unwrap_or(DEFAULT_DOTS_PER_INCH) * enlarge;
    let (width, height, scale) = scene.canvas(dots_per_inch);
    let (width, height) = (width.max(1.0), height.max(1.0));
    let too_large = TooMuch::CanvasMegapixels(limits.canvas_megapixels);
    let most = limits.canvas_megapixels as f64 * 1e6;
    // Not a number is no size either.
    if !(width * height <= most && width <= most && height <= most && scale > 0.0) {
        return Err(too_large.into());
    }
    work.spend((width * height / PIXELS_PER_STEP) as u64)?;
    let mut tiles = Tiles::new(width as u32, height as u32).ok_or(too_large)?;
    let mut painter =
        Painter { tiles: &mut tiles, transform: into_canvas(scene, scale), scale, fonts: Fonts::new(own), work };
    painter.items(&scene.items)?;
    for group in scene.groups.iter().filter(|group| !group.is_hidden) {
        painter.items(&group.items)?;
    }
    encode(&tiles, limits.output_bytes, work)
}

/// From the scene's points, whose y grows upwards, to pixels.
fn into_canvas(scene: &Scene, scale: f64) -> Transform {
    let scale = scale as f32;
    let Point { x, y } = scene.shift();
    match scene.is_rotated {
        false => Transform::from_row(scale, 0.0, 0.0, -scale, x as f32 * scale, y as f32 * scale),
        true => Transform::from_row(0.0, -scale, -scale, 0.0, y as f32 * scale, -x as f32 * scale),
    }
}
