//! Releases: archives of what is approved, which never change.
//!
//! Nouns: a *release* is a zip of every file of a project in every locale in which something is approved; its *entries* are
//! the exported files; its *manifest* says of each entry what it was made from. A release may be *withdrawn*: it stays
//! readable, and says so.
//!
//! Invariants:
//! - everything in a release is of one state of the store, and the same content makes the same bytes;
//! - an entry is what an export of the file in the locale is, approved translations and else the source;
//! - what is published never changes but for being withdrawn, once and for good;
//! - nothing of a release can be seen before it is published, and nothing of one that is not stays.
//!
//! The way of a release: [`make_release`] writes the archive and the manifest into large values that nobody sees, as they
//! are made and in bounded memory; [`publish_release`] makes them a release, in one small transaction with its audit event.
//! Whatever ends in between leaves them to the collector.
//!
//! Reading order: `model` · `tables` · `zip` (the form of the archive) · `manifest` · `survey` (what a release is made of) ·
//! `output`, `entries`, `make` · `tell`, `publish` · `find` · `withdraw` · `http` · `verify`.

mod entries;
mod find;
pub mod http;
mod make;
mod manifest;
mod model;
mod output;
mod publish;
mod survey;
mod tables;
mod tell;
mod verify;
mod withdraw;
mod zip;

#[cfg(test)]
mod tests;

pub use tables::TABLES;
pub use verify::verify;
