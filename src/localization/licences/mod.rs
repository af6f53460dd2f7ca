//! Licences: what lets prose of a locale be approved by policy, and the switch that stops it.
//!
//! Nouns: a *sample* is what somebody has read of a locale's translations, with how much of it was wrong. A *licence* is asked
//! for with a sample and becomes active by a decision; it *lapses* with time, with what changes, with a later sample that
//! fails, or when another takes its place. *Prose keys* are active keys of class prose that no legal prefix covers.
//!
//! Invariants:
//! - a locale of a project has at most one licence that is active, and at most one that waits;
//! - a licence that is past its time, or of whose prose more than a tenth has changed, approves nothing: that is judged in the
//!   transaction that would approve;
//! - a licence is seen nowhere, and no event tells of it, before its decision is raised.
//!
//! Reading order: `states` (the table) · `model` · `tables` · `prose` (counting) · `request`, `settle`, `lapse`, `recount` (verbs) ·
//! `switch`, `policy` · `http` · `verify`.

pub mod http;
mod lapse;
mod model;
mod policy;
mod prose;
mod recount;
mod request;
mod settle;
mod states;
mod switch;
mod tables;
mod verify;

pub use lapse::ExpiredLicences;
pub use recount::Recounting;
pub use request::{licence_asked_by, submit_again};
pub use settle::{Settle, settle};
pub use tables::TABLES;
pub use verify::verify;

/// What tests of settlements do by themselves.
#[cfg(test)]
pub mod testing {
    pub use super::lapse::ExpiredLicences;
    pub use super::model::Sample;
    pub use super::recount::bring_up_to_date;
    pub use super::request::{RequestLicence, Requested, request_licence, submit};
    pub use super::states::{LapseReason, LicenceState};
    pub use super::switch::{SetSwitch, set_switch};
    pub use super::tables::{LICENCE_EXPIRIES, LICENCE_HEADS, LICENCES, LicenceRow};
}
