//! The rows of people at the console.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0160 | links | link | whom it lets in, until when |
//! | 0x0161 | operator sessions | session | whose it is, until when |
//! | 0x0162 | people's ends | hour, id | the links and sessions of operators, in the order in which they go |
//! | 0x0163 | deeds | number | what was done, and by whom |
//! | 0x0164 | permits | tenant, principal | what a member may do in services other than localization |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_storage::{Family, Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Act, Deed, Link, OperatorSession, Purpose};
use crate::jobs::hour_at_or_after;
use crate::secrets::Digest;

/// Links that were not used yet.
pub(crate) const LINKS: Table<Uuid, LinkRow> = Table::new(0x0160, Family::APPLIANCE, "platform.links");
/// Sessions of operators.
pub(crate) const OPERATORS: Table<Uuid, OperatorSessionRow> =
    Table::new(0x0161, Family::APPLIANCE, "platform.operator_sessions");
/// Index: (the first full hour at which it is over, id of a link or of an operator's session).
pub(crate) const ENDS: Table<(u32, Uuid), EndRow> = Table::new(0x0162, Family::APPLIANCE, "platform.people_ends");
/// What was done, by its number.
pub(crate) const DEEDS: Table<u64, DeedRow> = Table::new(0x0163, Family::APPLIANCE, "platform.deeds");
/// What members may do: (tenant, principal).
pub(crate) const PERMITS: Table<(Uuid, Uuid), PermitsRow> = Table::new(0x0164, Family::APPLIANCE, "platform.permits");

/// The tables of this folder.
pub(crate) const TABLES: [TableSpec; 5] = [LINKS.spec(), OPERATORS.spec(), ENDS.spec(), DEEDS.spec(), PERMITS.spec()];

/// A link. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LinkRow {
    pub(super) digest: Digest,
    pub(super) purpose: Purpose,
    pub(super) asked_by: String,
    pub(super) ends_at: Timestamp,
}
impl Row for LinkRow {}

impl fmt::Debug for LinkRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkRow { digest: _, purpose, asked_by, ends_at } = self;
        f.debug_struct("LinkRow")
            .field("purpose", purpose)
            .field("asked_by", asked_by)
            .field("ends_at", ends_at)
            .finish_non_exhaustive()
    }
}

impl LinkRow {
    pub(super) fn link(self, link_id: Uuid) -> Link {
        Link { link_id, purpose: self.purpose, asked_by: self.asked_by }
    }

    /// The first full hour at which it is over.
    pub(super) fn end_hour(&self) -> u32 {
        hour_at_or_after(self.ends_at)
    }
}

/// A session of an operator. Its `Debug` leaves out the digest, likewise.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct OperatorSessionRow {
    pub(super) digest: Digest,
    pub(super) login: String,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Timestamp,
    pub(super) ends_at: Timestamp,
}
impl Row for OperatorSessionRow {}

impl fmt::Debug for OperatorSessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OperatorSessionRow { digest: _, login, created_at, last_used_at, ends_at } = self;
        f.debug_struct("OperatorSessionRow")
            .field("login", login)
            .field("created_at", created_at)
            .field("last_used_at", last_used_at)
            .field("ends_at", ends_at)
            .finish_non_exhaustive()
    }
}

impl OperatorSessionRow {
    pub(super) fn session(self, session_id: Uuid) -> OperatorSession {
        let OperatorSessionRow { digest: _, login, created_at, last_used_at, ends_at } = self;
        OperatorSession { session_id, login, created_at, last_used_at, ends_at }
    }

    /// The first full hour at which it is over.
    pub(super) fn end_hour(&self) -> u32 {
        hour_at_or_after(self.ends_at)
    }
}

/// What goes at an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum EndRow {
    /// A link.
    Link,
    /// A session of an operator.
    Operator,
}
impl Row for EndRow {}

/// A deed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DeedRow {
    pub(super) at: Timestamp,
    pub(super) act: Act,
    pub(super) by: String,
    pub(super) about: String,
}
impl Row for DeedRow {}

impl DeedRow {
    pub(super) fn deed(self) -> Deed {
        let DeedRow { at, act, by, about } = self;
        Deed { at, act, by, about }
    }
}

/// What a member may do: names of permissions, in order.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct PermitsRow {
    pub(super) permissions: Vec<String>,
}
impl Row for PermitsRow {}
