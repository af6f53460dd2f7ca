//! The rows of sessions.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0153 | sessions | session | whose it is, where it lets in, until when |
//! | 0x0154 | session uses | session | when it was last used |
//! | 0x0155 | sessions by principal | tenant, principal, session | |
//! | 0x0156 | sessions by name | mark of issuer and subject, or of issuer and the session there; session | |
//! | 0x0157 | sessions by end | hour, session | |
//! | 0x0158 | session origins | session | what the provider said when it began, sealed |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Family, Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Door, Marks, Session};
use crate::jobs::hour_at_or_after;
use crate::secrets::Digest;

/// Sessions.
pub(crate) const SESSIONS: Table<Uuid, SessionRow> = Table::new(0x0153, Family::APPLIANCE, "platform.sessions");
/// When a session was last used. Apart from it, since it changes all the time.
pub(crate) const SESSION_USES: Table<Uuid, SessionUseRow> =
    Table::new(0x0154, Family::APPLIANCE, "platform.session_uses");
/// Index: (tenant, principal, session).
pub(crate) const SESSIONS_BY_PRINCIPAL: Table<(Uuid, Uuid, Uuid), Mark> =
    Table::new(0x0155, Family::APPLIANCE, "platform.sessions_by_principal");
/// Index: (what the provider calls it, session).
pub(crate) const SESSIONS_BY_NAME: Table<(u128, Uuid), Mark> =
    Table::new(0x0156, Family::APPLIANCE, "platform.sessions_by_name");
/// Index: (the first full hour at which it is over, session).
pub(crate) const SESSIONS_BY_END: Table<(u32, Uuid), Mark> =
    Table::new(0x0157, Family::APPLIANCE, "platform.sessions_by_end");

/// What the provider said. Apart from the session, since every request reads that.
pub(crate) const SESSION_ORIGINS: Table<Uuid, SessionOriginRow> =
    Table::new(0x0158, Family::APPLIANCE, "platform.session_origins");

/// The tables of this folder.
pub(crate) const TABLES: [TableSpec; 6] = [
    SESSIONS.spec(),
    SESSION_USES.spec(),
    SESSIONS_BY_PRINCIPAL.spec(),
    SESSIONS_BY_NAME.spec(),
    SESSIONS_BY_END.spec(),
    SESSION_ORIGINS.spec(),
];

/// A session. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SessionRow {
    pub(super) door: Door,
    pub(super) tenant: [u8; 16],
    pub(super) principal: [u8; 16],
    pub(super) digest: Digest,
    /// The mark of who signed in.
    pub(super) subject_mark: u128,
    /// The mark of the session at the provider, if it told.
    pub(super) session_mark: Option<u128>,
    pub(super) created_at: Timestamp,
    pub(super) ends_at: Timestamp,
}
impl Row for SessionRow {}

impl fmt::Debug for SessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionRow { door, tenant, principal, digest: _, subject_mark, session_mark, created_at, ends_at } = self;
        f.debug_struct("SessionRow")
            .field("door", door)
            .field("tenant", tenant)
            .field("principal", principal)
            .field("subject_mark", subject_mark)
            .field("session_mark", session_mark)
            .field("created_at", created_at)
            .field("ends_at", ends_at)
            .finish_non_exhaustive()
    }
}

impl SessionRow {
    pub(super) fn session(&self, session_id: Uuid) -> Session {
        Session {
            session_id,
            door: self.door,
            tenant_id: Uuid::from_bytes(self.tenant),
            principal_id: Uuid::from_bytes(self.principal),
            created_at: self.created_at,
            ends_at: self.ends_at,
        }
    }

    pub(super) fn marks(&self) -> Marks {
        Marks { subject: self.subject_mark, provider_session: self.session_mark }
    }

    /// Both marks.
    pub(super) fn each_mark(&self) -> impl Iterator<Item = u128> {
        [self.subject_mark].into_iter().chain(self.session_mark)
    }

    /// The first full hour at which it is over.
    pub(super) fn end_hour(&self) -> u32 {
        hour_at_or_after(self.ends_at)
    }
}

/// An [`Origin`](super::Origin), sealed for the member.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SessionOriginRow {
    pub(super) origin: Sealed,
}
impl Row for SessionOriginRow {}

/// When a session was last used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SessionUseRow {
    pub(super) last_used_at: Timestamp,
}
impl Row for SessionUseRow {}

/// The row of an index whose key says everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Mark;
impl Row for Mark {}
