//! The layered layout: where nodes, clusters and labels stand, and how edges run.
//!
//! After Gansner, Koutsofios, North and Vo, "A Technique for Drawing Directed Graphs" (1993): ranks, order within
//! ranks, coordinates, splines. The input is plain numbers: sizes and indices, no text, no attributes.
//!
//! Everything here, in and out, is in points with y upwards, as the finished drawing lies: the caller turns nothing
//! for `rankdir`; the layout does, on its way in and out. The same input gives the same output.
//!
//! In reading order: `model` (input and output), `layered` (the whole way), `turn`, `nest` (clusters), `rank`, `layers`, `order`, `place`,
//! `route`; `simplex` and `table` are their tools.

mod aspect;
mod concentrate;
mod layered;
mod layers;
mod model;
mod nest;
mod order;
mod place;
mod rank;
mod route;
mod same;
mod simplex;
mod start;
mod table;
mod turn;

#[cfg(test)]
mod tests;

pub use layered::layout;
pub use model::*;
