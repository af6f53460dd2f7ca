//! Localization: string files that come back byte for byte, translations, checks, releases, and an audit chain.
//!
//! Nouns: a tenant has *workspaces*, they have *projects*; a project has one source locale and a set of target locales.
//! A *file* of a project is a path with all its versions; each version's string *keys* keep their ids over uploads. A
//! *translation* belongs to a key and a locale. A *grant* gives a principal the permissions of a *template* within a
//! scope. Every change leaves an *audit event* in the tenant's chain.
//!
//! Invariants:
//! - nobody reads or changes another tenant's things, and cannot tell them from absent ones;
//! - a change, its audit event and the answer remembered under its Idempotency-Key are one transaction;
//! - the audit chain has no gap and no branch, from a tenant's first event on;
//! - a short id stands for one thing of its tenant, for good;
//! - an export without edits is the upload, byte for byte.
//!
//! Reading order: [`core`] (locales: tags, forms, plural categories) · [`files`] (readers and writers of string files) ·
//! `model`, `permissions`, `templates`, `refusal` (words and pure rules) · `tables` (all that is stored) · `audit`,
//! `grants`, `authorization` · the verbs `workspaces`, `projects`, `locales`, `catalogue` and `imports`, `keys`,
//! `contexts`, `translations`, `exports` · `http` · `verify`, `operator` (the operator's side).

mod audit;
mod authorization;
mod catalogue;
pub mod category;
mod contexts;
pub mod core;
mod exports;
pub mod files;
mod grants;
mod http;
mod imports;
mod keys;
mod locales;
mod model;
pub mod operator;
mod permissions;
mod projects;
mod refusal;
mod tables;
mod templates;
mod translations;
mod verify;
mod workspaces;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use quintet_storage::Family;

pub use crate::http::{Context, KeyRule, ROUTES, Route, panic_answer, routes};
pub use crate::permissions::KEY_PERMISSIONS;
pub use crate::refusal::KINDS;
pub use crate::tables::TABLES;
pub use crate::verify::verify;

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("localization");
