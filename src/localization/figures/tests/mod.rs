//! Verdicts, figures and lists, held against an independent recount.

mod migrating;
mod model;
mod opening;
mod sweeping;
mod touching;
pub mod world;
