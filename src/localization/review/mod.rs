//! Review: what is written is judged, and moves from draft to approved.
//!
//! Nouns: a *step* is what a reviewer asks for; *standards* are what a translation is held against: the key's source and
//! limits, the project's words and register.
//!
//! Invariants:
//! - a translation whose blocking checks fail is neither reviewed nor approved, on any way in;
//! - what was judged is what is written: a transaction that finds something changed since judges anew;
//! - a state changes in one place, and each change leaves one event.
//!
//! Reading order: `states` (the table) · `judging` · `write` · `transition` · `http`.

pub mod http;
mod judging;
mod states;
mod transition;
mod write;

pub use judging::Standards;
#[cfg(test)]
pub use states::Step;
pub use transition::{Cause, StateChange, change_state};
#[cfg(test)]
pub use transition::{MoveOn, StepWish, move_on};
#[cfg(test)]
pub use write::write_translation;
pub use write::{WriteTranslation, write_among};
