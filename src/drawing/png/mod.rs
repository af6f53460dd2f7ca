//! The scene as PNG, painted with tiny-skia.

mod painter;

#[cfg(test)]
mod tests;

pub use painter::{DEFAULT_DOTS_PER_INCH, PngError, write};
