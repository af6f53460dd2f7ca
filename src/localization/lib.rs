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
//! Reading order, in which imports point one way, from below: [`language`] (locales: tags, forms, plural categories) ·
//! [`formats`] (readers and writers of string files) · `model`, `refusal`, `rows` · `audit` (the chain) · `spaces`
//! (workspaces, projects, locales) · `access` (permissions, grants) · `context` (where work is done) · `content` (files,
//! keys, translations, exports) · `http` · `verify`.

mod access;
mod audit;
mod content;
mod context;
pub mod formats;
mod http;
mod in_flight;
pub mod language;
mod model;
mod refusal;
mod rows;
mod spaces;
mod verify;

#[cfg(test)]
mod testing;

use quintet_storage::TableSpec;

pub use crate::access::{KEY_PERMISSIONS, operator};
pub use crate::context::Context;
pub use crate::http::{KeyRule, ROUTES, Route, panic_answer, routes};
pub use crate::refusal::KINDS;
pub use crate::verify::verify;

/// Every table of this package, a folder's after the other's. Their tags lie in 0x0300 to 0x03FF.
pub const TABLES: &[TableSpec] =
    &joined::<TABLE_COUNT>(&[spaces::TABLES, audit::TABLES, access::TABLES, content::TABLES]);

const TABLE_COUNT: usize = spaces::TABLES.len() + audit::TABLES.len() + access::TABLES.len() + content::TABLES.len();

/// Several lists as one.
#[expect(clippy::indexing_slicing, reason = "in a constant: a place that is not there is no program")]
const fn joined<const COUNT: usize>(lists: &[&[TableSpec]]) -> [TableSpec; COUNT] {
    let mut all = [lists[0][0]; COUNT];
    let (mut list, mut row, mut place) = (0, 0, 0);
    while place < COUNT {
        if row == lists[list].len() {
            (list, row) = (list + 1, 0);
        } else {
            all[place] = lists[list][row];
            (row, place) = (row + 1, place + 1);
        }
    }
    all
}
