//! Who is who: workspaces, keys, agents and their mailboxes, and how a request is let in.
//!
//! Nouns: a *workspace* belongs to a tenant and holds agents, keys and all mail between them. A *key* has a scope, and may
//! be *bound* to agents. An *agent* has a name that it keeps for good, retired or not. Its *mailbox* is what a delivery
//! needs to know of it, and nothing else: whether it takes mail now, and how far its inbox goes.
//!
//! Invariants:
//! - an agent's name, its session and, unless it is retired, its labels are found by one row of an index each, and by no
//!   other;
//! - a mailbox says of an agent what its own row says: name, retired or not, listed or not;
//! - of a secret only the digest is stored, and what is compared is compared in constant time.
//!
//! Reading order: `model` (words and pure rules) · `tables` (what is stored) · `workspaces`, `keys`, `agents`, `mailboxes`
//! (reading and keeping rows) · `admission` (who asks, and for which agent) · `verify`.

mod admission;
pub(crate) mod agents;
pub(crate) mod keys;
pub(crate) mod mailboxes;
mod model;
mod tables;
mod verify;
pub(crate) mod workspaces;

pub(crate) use admission::{Asked, Basis, Caller, Named, admitted, recognized, serving};
pub(crate) use model::{
    Agent, Attestation, Availability, Counts, HoldBelow, Key, Mailbox, Priority, Scope, Standing, Status, Workspace,
};
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
