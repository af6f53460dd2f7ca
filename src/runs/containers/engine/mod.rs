//! The engine: gives slots to runs, starts their containers, sees to what has ended, and after any break finds out from
//! the runner how things stand.
//!
//! It looks at most a second after the last time, and at once when something has changed. The runner's calls block: they
//! are made on the blocking pool, never within a transaction. What the runner may or may not have done is in *doubt*,
//! and is asked of it before anything else is started.
//!
//! Reading order: `core` (what its parts share) · `room` (the disk) · `images` (where a run's image comes from) ·
//! `work` (the loop) · `start`, `finish` (a container's two ends) · `reattach` (after a break) · `wishes`
//! (what must end because its workflow was cancelled).

mod core;
mod finish;
mod images;
mod reattach;
mod room;
mod start;
#[cfg(test)]
mod tests;
mod wishes;
mod work;
