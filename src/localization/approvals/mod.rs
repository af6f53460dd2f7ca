//! Approval requests: a batch of a file's translations into a locale, approved or returned by one decision.
//!
//! Nouns: a *request* has *items*, each a translation as it stood when the request was made; its *context* is what whoever
//! decides is shown. What becomes of an item is its *outcome*.
//!
//! Invariants:
//! - a file and locale have at most one request that is open (submitting or pending);
//! - a decision approves what was shown: a translation that was written since, or whose source was replaced, is left as it
//!   is;
//! - one transaction settles a request, with its items, their translations and events, and the memory;
//! - the context that is stored is the one that was sent, byte for byte.
//!
//! Reading order: `states` (the table) · `model` · `tables` · `request` · `batch` (which translations) · `tell` ·
//! `begin`, `submit`, `settle` (verbs) · `quorum` · `view` · `http` · `verify`.

mod batch;
mod begin;
pub mod http;
mod model;
mod quorum;
mod request;
mod settle;
mod states;
mod submit;
mod tables;
mod tell;
mod verify;
mod view;

pub use quorum::{names_needed, request_asked_by};
pub use settle::{Settle, settle};
pub use submit::submit_again;
pub use tables::TABLES;
pub use verify::verify;

/// What tests of settlements do by themselves.
#[cfg(test)]
pub mod testing {
    pub use super::batch::Batch;
    pub use super::begin::{BeginRequest, begin_request};
    pub use super::request::get_request;
    pub use super::states::RequestStatus;
    pub use super::submit::submit;
    pub use super::tables::{APPROVAL_CONTEXTS, APPROVAL_ITEMS, OPEN_APPROVALS};
}
