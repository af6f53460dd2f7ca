//! The translation memory: what a tenant has said before, offered again.
//!
//! Nouns: a *unit* is a source text and what it was translated as, from one locale into another: a *language pair*, of the
//! content form of the source locale and the canonical tag of the target locale. A *suggestion* is a unit whose source is
//! the same as, or like, a text.
//!
//! Invariants:
//! - there is one unit for each source text of a language pair of a tenant; whoever writes last is what it says
//!   (localization, M2), and whose it is (localization, M3);
//! - a unit's number is its pair's latest when it was written: the units behind a number are those written since;
//! - the index of a pair ([`likeness`](crate::likeness)) is thrown away and made again at will; before it is searched, it
//!   is brought up to the rows that the reader sees.
//!
//! Reading order: `model` · `tables` · `remember` (writing) · `units` (reading) · `suggest` · `http` · `verify`.

pub mod http;
mod model;
mod remember;
mod suggest;
mod tables;
mod units;
mod verify;

#[cfg(test)]
mod tests;

pub use model::{Outcomes, Remembered};
pub use remember::{batch, of_translation, remember, remember_all};
pub use suggest::suggest;
pub use tables::TABLES;
pub use units::{UnitPlace, list_units};
pub use verify::verify;
