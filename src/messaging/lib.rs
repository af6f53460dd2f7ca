//! Agent messaging: inboxes, rooms, threads and wake-ups for coding agents and people.
//!
//! Nouns: a tenant has *workspaces*; in one, *agents* write to each other by name, room, tag or address. What they write is
//! a *message* in a *thread*, and a *delivery* in each recipient's inbox. An agent that does not want to be disturbed has
//! its mail *held*; one that sleeps is *woken* by a stream. Whoever has a *key* of the workspace acts as an agent.
//!
//! Invariants:
//! - nobody reads or changes what is another workspace's, and cannot tell it from what is absent;
//! - what was accepted is in the inbox of everybody it went to, or held for him, once and in order;
//! - a stream and a wait are hints, and the inbox is the truth: who misses a hint misses nothing;
//! - what is held, unread and owed costs nothing as long as nothing falls due.
//!
//! Reading order: `model`, `limits`, `refusal`, `words` (words and pure rules) · `due` (what falls due by the clock) ·
//! `identity` (who is who, and how a request is let in) · `telling` (what webhooks are told) · `rejections`, `refused_mails`, `unanswered` · `attendance`, `wakes` (who is there, and who waits) · `context`,
//! `dialect`, `form`, `wire` (what all folders share) · `pages` (what people see without an account) · `workspaces`, `keys`, `invites` (what the operator and his keys
//! make) · `usage` · `rooms`, `blocks`, `pubkeys`, `acks` · `tagged` (whom tags mean) · `outbox` (mail that leaves) · `mail` (messages, deliveries, threads) · `agents` (who
//! registers, is found, retires) · `presence` (availability, health, streams) · `shown` (how messages are shown),
//! `inbox`, `threads`, `memory`, `claims` · `reminders` · `sending` (what is sent, and
//! to whom), `drafts` · `webhooks` (making them, and how they are called), `inbound` (calls that become messages) · `relay`
//! (mail is handed on), `signup` (tenants that make themselves), `intake`, `smtp` (mail from outside) · `approvals` (what a person decides), `guard` (what tools an
//! agent may use) · `sweep` (what is due is done), `verify` · `mcp` (routes as tools) · `http` (all that is served) ·
//! `operator`, `approval_operator`, `guard_operator` (what the command line asks for). Each imports only what stands before
//! it.

mod acks;
mod agents;
pub mod approval_operator;
mod approvals;
mod attendance;
mod blocks;
mod claims;
mod context;
mod dialect;
mod drafts;
mod due;
mod form;
mod guard;
pub mod guard_operator;
mod http;
mod identity;
mod inbound;
mod inbox;
mod intake;
mod invites;
mod keys;
mod limits;
mod mail;
mod mcp;
mod memory;
mod model;
pub mod operator;
mod outbox;
mod pages;
mod presence;
mod pubkeys;
mod refusal;
mod refused_mails;
mod rejections;
mod relay;
mod reminders;
mod rooms;
mod sending;
mod shown;
mod signup;
mod skills;
mod smtp;
mod sweep;
mod tagged;
mod telling;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod threads;
mod unanswered;
mod usage;
mod verify;
mod wakes;
mod webhooks;
mod wire;
mod words;
mod workspaces;

use std::sync::Arc;

use quintet_platform::clock::DueWork;
use quintet_platform::jobs::{Rows, Sweep};
use quintet_platform::service::{self, Route};
use quintet_storage::{Failure, Snapshot, TableSpec};

use crate::attendance::Keeping;
pub use crate::context::{Context, Mail, Relay, RelayEncryption, Settings};
pub use crate::dialect::Messaging;
pub use crate::http::routes;
pub use crate::inbound::Door;
pub use crate::refusal::CODES;
pub use crate::smtp::SmtpListening;
pub use crate::webhooks::DELIVERIES;

/// Every table of this package, a folder's after the other's. Their tags lie in 0x0500 to 0x05FF.
pub const TABLES: &[TableSpec] = &joined::<TABLE_COUNT>(FOLDERS);

const FOLDERS: &[&[TableSpec]] = &[
    identity::TABLES,
    invites::TABLES,
    keys::TABLES,
    attendance::TABLES,
    due::TABLES,
    usage::TABLES,
    rooms::TABLES,
    blocks::TABLES,
    pubkeys::TABLES,
    acks::TABLES,
    mail::TABLES,
    outbox::TABLES,
    drafts::TABLES,
    reminders::TABLES,
    memory::TABLES,
    claims::TABLES,
    telling::TABLES,
    inbound::TABLES,
    approvals::TABLES,
    guard::TABLES,
    signup::TABLES,
];

const TABLE_COUNT: usize = count(FOLDERS);

/// How many there are in several lists.
#[expect(clippy::indexing_slicing, reason = "in a constant: a place that is not there is no program")]
const fn count(lists: &[&[TableSpec]]) -> usize {
    let (mut list, mut all) = (0, 0);
    while list < lists.len() {
        all += lists[list].len();
        list += 1;
    }
    all
}

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

/// Every route that is served.
pub fn served() -> impl Iterator<Item = &'static Route> {
    service::routes::<Messaging>(crate::http::ENDPOINTS)
}

/// What falls due by the clock.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    vec![
        Arc::new(Sweep(Rows::new(context.store.clone(), sweep::DueOfMessaging::new(context.clone())))),
        Arc::new(Sweep(Rows::new(context.store.clone(), inbound::OldReplays))),
        Arc::new(Sweep(inbound::Keeping::new(context.store.clone(), context.rejections.clone()))),
        Arc::new(Sweep(Rows::new(context.store.clone(), outbox::ForgottenMail))),
        Arc::new(relay::Pump::new(context.clone())),
        Arc::new(Sweep(Keeping::new(context.store.clone(), context.clock.clone(), context.attendance.clone()))),
    ]
}

/// Finds what contradicts itself in the rows of messaging.
///
/// # Errors
/// The store's failures.
pub fn verify(read: &Snapshot) -> Result<Vec<String>, Failure> {
    verify::verify(read)
}
