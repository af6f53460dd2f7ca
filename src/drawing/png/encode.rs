//! Pixels into a PNG file, row by row.

use std::io::{self, Write};

use png::{BitDepth, ColorType, DeflateCompression, Encoder, EncodingError, Filter};

use super::tiles::Tiles;
use crate::bound::Bound;
use crate::limits::TooMuch;
use crate::work::Work;

/// Up to how many pixels a picture is pressed together with some care. Drawings are flat: without filters they become
/// smallest, and take least time.
const CAREFUL_PIXELS: u64 = 4_000_000;
const CAREFUL: DeflateCompression = DeflateCompression::Level(3);
const QUICK: DeflateCompression = DeflateCompression::Level(1);

/// Steps of work for eight pixels, pressed together with care and without.
const CAREFUL_STEPS: u64 = 12;
const QUICK_STEPS: u64 = 5;

/// A file that may not grow past a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a PNG of at most `most_bytes`.
///
/// # Errors
/// It would be larger, or there is no work left.
pub(super) fn encode(tiles: &Tiles, most_bytes: usize, work: &mut Work) -> Result<Vec<u8>, Bound> {
    // Nothing but the bound can go wrong with a file in memory.
    let too_large = |_: EncodingError| TooMuch::OutputBytes(most_bytes);
    let pixels = u64::from(tiles.width) * u64::from(tiles.height);
    let (level, steps) = if pixels <= CAREFUL_PIXELS { (CAREFUL, CAREFUL_STEPS) } else { (QUICK, QUICK_STEPS) };
    let is_opaque = tiles.is_opaque();
    let mut file = Bounded { bytes: Vec::new(), most: most_bytes };
    let mut encoder = Encoder::new(&mut file, tiles.width, tiles.height);
    encoder.set_color(if is_opaque { ColorType::Rgb } else { ColorType::Rgba });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_filter(Filter::NoFilter);
    encoder.set_deflate_compression(level);
    let mut writer = encoder.write_header().map_err(too_large)?;
    let mut stream = writer.stream_writer().map_err(too_large)?;
    let mut line = Vec::with_capacity(tiles.width as usize * 4);
    for y in 0..tiles.height {
        work.spend(u64::from(tiles.width) * steps / 8 + 1)?;
        line.clear();
        for pixel in tiles.row(y).flatten() {
            if is_opaque {
                line.extend([pixel.red(), pixel.green(), pixel.blue()]);
            } else {
                let pixel = pixel.demultiply();
                line.extend([pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]);
            }
        }
        stream.write_all(&line).map_err(|_| TooMuch::OutputBytes(most_bytes))?;
    }
    stream.finish().and_then(|()| writer.finish()).map_err(too_large)?;
    Ok(file.bytes)
}
