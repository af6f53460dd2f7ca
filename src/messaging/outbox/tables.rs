//! What is stored of mail that leaves, and of what was given up.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x057A | outbox | workspace, mail | a mail that leaves, and how far it came |
//! | 0x057B | due mail | instant, workspace, mail | when it is to be sent; the key says everything |
//! | 0x057C | held mail | workspace, thread, mail | mail that waits until its thread goes on |
//! | 0x057D | undeliverable | workspace, id | a line about mail that was given up |
//! | 0x057E | old mail | instant, workspace, kind, id | when what is done, or was given up, is forgotten |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Bound, Outgoing, OutgoingKey, State, Undeliverable, What};
use crate::model::{FAMILY, Mark, ThreadId, WorkspaceNo};

pub(super) const OUTBOX: Table<OutgoingKey, OutgoingRow> = Table::new(0x057A, FAMILY, "messaging_outbox");
pub(super) const DUE: Table<(Timestamp, WorkspaceNo, Uuid), Mark> = Table::new(0x057B, FAMILY, "messaging_outbox_due");
pub(super) const BY_THREAD: Table<(WorkspaceNo, ThreadId, Uuid), Mark> =
    Table::new(0x057C, FAMILY, "messaging_outbox_by_thread");
pub(super) const UNDELIVERABLE: Table<(WorkspaceNo, Uuid), UndeliverableRow> =
    Table::new(0x057D, FAMILY, "messaging_undeliverable");
pub(super) const OLD: Table<(Timestamp, WorkspaceNo, u8, Uuid), Mark> =
    Table::new(0x057E, FAMILY, "messaging_old_mail");

/// What is forgotten, in keys of [`OLD`]: a mail that is done; a line about one that was given up.
pub(super) const OLD_OUTGOING: u8 = 0;
pub(super) const OLD_UNDELIVERABLE: u8 = 1;

/// What the store calls the index of what is due, where it tells that something is.
pub(crate) const DUE_TAG: u16 = DUE.spec().tag;

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] =
    &[OUTBOX.spec(), DUE.spec(), BY_THREAD.spec(), UNDELIVERABLE.spec(), OLD.spec()];

/// See [`Outgoing`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OutgoingRow {
    what: What,
    bound: Vec<Bound>,
    created_at: Timestamp,
    began_at: Option<Timestamp>,
    attempts: u32,
    state: State,
    is_reported: bool,
}
impl Row for OutgoingRow {}

impl OutgoingRow {
    pub(super) fn of(outgoing: Outgoing) -> OutgoingRow {
        let Outgoing { what, bound, created_at, began_at, attempts, state, is_reported } = outgoing;
        OutgoingRow { what, bound, created_at, began_at, attempts, state, is_reported }
    }

    pub(super) fn into_outgoing(self) -> Outgoing {
        let OutgoingRow { what, bound, created_at, began_at, attempts, state, is_reported } = self;
        Outgoing { what, bound, created_at, began_at, attempts, state, is_reported }
    }
}

/// See [`Undeliverable`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct UndeliverableRow {
    received_at: Timestamp,
    reason: String,
    sender: String,
    recipient: String,
    subject: String,
}
impl Row for UndeliverableRow {}

impl UndeliverableRow {
    pub(super) fn of(undeliverable: Undeliverable) -> UndeliverableRow {
        let Undeliverable { received_at, reason, sender, recipient, subject } = undeliverable;
        UndeliverableRow { received_at, reason, sender, recipient, subject }
    }

    pub(super) fn into_undeliverable(self) -> Undeliverable {
        let UndeliverableRow { received_at, reason, sender, recipient, subject } = self;
        Undeliverable { received_at, reason, sender, recipient, subject }
    }
}
