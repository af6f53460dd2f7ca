//! AI translate: drafts of what is not translated, written by the configured engine.
//!
//! Nouns: a *call* is one request of the interface; a *candidate* is a key that it may draft, an *item* what the engine is
//! told of it, a *batch* the items of one request to the engine. *Guidance* is what a project tells everybody who
//! translates: style, terms, what stays as it is, what is never said.
//!
//! Invariants:
//! - the engine is told nothing of other projects but what the tenant's memory holds, and is not believed: what it says
//!   is stored only as a draft, and only if every check that blocks passes;
//! - a call stores all of its drafts in one transaction, or nothing: if one request to the engine fails in the end, the
//!   call has done nothing;
//! - what was judged is what is written, and a key that changed meanwhile is left as it is;
//! - a call asks for at most 200 keys and about 256 KiB of sources, and ends after five minutes.
//!
//! Reading order: `model` · `tables` · `choose` (which keys) · `hints` (what is known of them) · `batches`, `prompt`,
//! `answers` · `draft` (judging and writing) · `propose` · `http` · `verify`.

mod answers;
mod batches;
mod choose;
mod draft;
mod hints;
pub mod http;
mod model;
mod prompt;
mod propose;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use tables::TABLES;
pub use verify::verify;
