//! The ledger: multi-tenant double-entry bookkeeping with holds, balances and statements.
//!
//! Nouns: an *asset type* says what is counted and with how many fraction digits; an *account* counts one asset
//! type and has a normal side, a status and perhaps a floor; a *transaction* has two to a hundred *entries* and is
//! committed at once or held (*pending*) until it is committed, voided or expires; a *statement* lists the entries
//! of one account.
//!
//! Invariants:
//! - for each asset type the debits of a transaction equal its credits, so they do over all accounts;
//! - an account's counters are the sums of its journal entries: posted ones of committed transactions, pending
//!   ones of holds;
//! - what is available never goes below the floor, and a floor is never raised above it;
//! - the journal only grows; a transaction's settlement changes once, from pending to its end;
//! - nobody reads or changes another tenant's records, and cannot tell them from absent ones.
//!
//! Reading order: `money`, `model` (words and pure rules), `refusal` (every no), `explain` (what it means) · `tables` (all that is stored) ·
//! `movement`, `late`, then the verbs `asset_types`, `accounts`, `posting`, `holds`, `balance`, `as_of`, `statement`,
//! `sub_tenants` · `sweep` · `http` · `walk`, `verify`, `operator` (the operator's side).

mod accounts;
mod as_of;
mod asset_types;
mod balance;
mod explain;
mod holds;
mod http;
mod late;
mod model;
mod money;
mod movement;
pub mod operator;
mod posting;
mod refusal;
mod statement;
mod sub_tenants;
mod sweep;
mod tables;
mod verify;
mod walk;

#[cfg(test)]
mod auditor;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use quintet_platform::clock::DueWork;
use quintet_platform::jobs::{Rows, Sweep};
use quintet_platform::service::{self, Route};

pub use crate::explain::{EXPLANATIONS, Explanation, explain};
pub use crate::http::{Context, Ledger, routes, routes_within};
pub use crate::tables::TABLES;
pub use crate::verify::{Finding, Proof, verify};

/// Every route that is served.
pub fn served() -> impl Iterator<Item = &'static Route> {
    service::routes::<Ledger>(crate::http::ENDPOINTS)
}

/// What the ledger does when time passes: releases holds that lapse.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    vec![Arc::new(Sweep(Rows::new(context.store.clone(), sweep::LapsedHolds)))]
}
