//! The embedded fonts, and before them those of one directory, where the operator names one ([`Collection`]).
//!
//! No other font of the machine is ever used, so that a picture is the same everywhere.

mod collection;
mod embedded;
mod face;
mod faces;
mod names;
mod order;

#[cfg(test)]
mod tests;

pub use collection::{ALL_BYTES_MAX, Collection, FILE_BYTES_MAX, FILES_MAX};
pub use faces::{Fonts, Placed};
