//! The way of a write: one writer, groups, the log, the tables, answers.
//!
//! Reading order: `ids`, `waking`, `tx` (what verbs use) · `writer` (executes, gathers groups) · `stats`, `space`,
//! `shared` (what the threads have in common) · `pipeline` (the three threads of the way), `housekeeping` (those beside
//! it).

pub(crate) mod housekeeping;
pub(crate) mod ids;
pub(crate) mod pipeline;
pub(crate) mod shared;
pub(crate) mod space;
pub(crate) mod stats;
pub(crate) mod tx;
pub(crate) mod waking;
pub(crate) mod writer;
