//! A graph with everything measured: what the layout is asked, and what the painter needs besides its answer.

mod labels;
mod measure;
mod model;
mod settings;

#[cfg(test)]
mod tests;

pub use model::{ClusterPlan, EdgePlan, Plan};
