//! The order of places within ranks, cluster by cluster: the graph with each cluster as one place a rank, then the
//! inside of each cluster with its surroundings fixed, then single exchanges over all of it.
//!
//! In reading order: `clusterwise` (the whole way), `rules` (what the source asks for), `links` and `build` (what one
//! level is made of), `lines` (of its places), `level` (ordering one), `polish` (over all of them), `count` (crossings), `numbers`.

mod build;
mod clusterwise;
mod count;
mod level;
mod lines;
mod links;
mod numbers;
mod polish;
mod rules;

pub use clusterwise::order;
pub use count::crossings;
