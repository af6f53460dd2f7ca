//! The scene as PNG, painted with tiny-skia.
//!
//! In reading order: `write` (the whole way), `painter` (items), `paths` (their outlines), `cost` (what they
//! cost), `tiles` (the pixels), `encode` (the file).

mod cost;
mod encode;
mod painter;
mod paths;
mod tiles;
mod write;

#[cfg(test)]
mod tests;

pub use write::{DEFAULT_DOTS_PER_INCH, write};
