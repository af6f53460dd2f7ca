//! Labels beside: at heads and tails, `xlabel`s of nodes and edges.

use crate::layout::model::{Input, Output};

/// Places what has no room of its own in the layout; works on the finished drawing.
pub fn place_labels(_input: &Input, _output: &mut Output) {}
