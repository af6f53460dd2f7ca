//! Commands for diagrams.

pub mod render;
