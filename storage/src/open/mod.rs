//! From files to a running store, and the store itself.
//!
//! Reading order: `options` · `opening` (an original, a copy, a backup or a harmed directory), `start` (recovery, the
//! threads), `keeper` (the thread that makes checkpoints) · `store` (what everybody holds) · `migration`, `sequence` (all
//! of it in its order).

pub(crate) mod keeper;
pub(crate) mod migration;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod sequence;
pub(crate) mod start;
pub(crate) mod store;
