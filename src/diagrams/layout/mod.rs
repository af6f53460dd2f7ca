//! The layered layout: where nodes, clusters and labels stand, and how edges run.
//!
//! After Gansner, Koutsofios, North and Vo, "A Technique for Drawing Directed Graphs" (1993): ranks, order within
//! ranks, coordinates, splines. The input is plain numbers: sizes and indices, no text, no attributes.
//!
//! Everything here, in and out, is in points with y upwards, as the finished drawing lies: the caller turns nothing
//! for `rankdir`; the layout does, on its way in and out.

mod model;

pub use model::*;

use crate::work::{Exhausted, Work};

/// Lays out a graph.
///
/// # Errors
/// When the work is spent before there is a drawing, however plain.
pub fn layout(input: &Input, work: &mut Work) -> Result<Output, Exhausted> {
    work.spend(input.nodes.len() as u64)?;
    Ok(Output::default())
}
