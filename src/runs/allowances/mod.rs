//! What a tenant and a key may have of runs, and what they have used of it.
//!
//! Nouns: a tenant has *quotas*, within the operator's *ceilings*, and perhaps *working hours*, a calendar; a key has
//! *terms*; a metered key has a *meter*, and each of its runs that has not ended a *charge*.
//!
//! Invariants:
//! - a day has as many submissions as were accepted, whatever becomes of the runs;
//! - a metered key has paid for what its runs have used, and for what those are charged that have not ended: no more.
//!
//! Reading order: `model` (words and pure rules) · `tables` (what is stored) · `calendar` (when runs may start) ·
//! `quotas` (what holds for a tenant) · `days` (submissions) · `terms` (what a key allows) · `meters` (metered keys).

pub mod calendar;
pub(crate) mod days;
pub(crate) mod meters;
pub(crate) mod model;
pub(crate) mod quotas;
pub(crate) mod tables;
pub(crate) mod terms;

#[cfg(test)]
pub(crate) mod tests;

pub use model::{Ceilings, KeyTerms};
