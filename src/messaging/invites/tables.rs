//! What is stored of invites.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x050B | invites | half of the token's digest | what the token is good for |
//! | 0x050D | invites by workspace | workspace, half of the token's digest | |
//! | 0x050E | used invites | half of the token's digest | where somebody joined with the token |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Row, Table, TableSpec, Timestamp};

use crate::due::{self, Due};
use crate::model::{FAMILY, Mark, WorkspaceNo};

pub(super) const INVITES: Table<u128, InviteRow> = Table::new(0x050B, FAMILY, "messaging_invites");
/// To count them. Tokens that were made before there was this table are in it not: they have gone a week after.
pub(super) const INVITES_BY_WORKSPACE: Table<(WorkspaceNo, u128), Mark> =
    Table::new(0x050D, FAMILY, "messaging_invites_by_workspace");
/// For as long as an answer is remembered, so that whoever did not get his can ask again.
pub(super) const USED: Table<u128, UsedRow> = Table::new(0x050E, FAMILY, "messaging_used_invites");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[INVITES.spec(), INVITES_BY_WORKSPACE.spec(), USED.spec()];

/// A join token. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct InviteRow {
    pub(super) digest: Digest,
    pub(super) workspace: WorkspaceNo,
    /// The key it was made with.
    pub(super) key_id: String,
    /// The role that whoever joins gets if none is named.
    pub(super) role: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}
impl Row for InviteRow {}

impl fmt::Debug for InviteRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InviteRow { digest: _, workspace, key_id, role, created_at, expires_at } = self;
        f.debug_struct("InviteRow")
            .field("workspace", workspace)
            .field("key_id", key_id)
            .field("role", role)
            .field("created_at", created_at)
            .field("expires_at", expires_at)
            .finish_non_exhaustive()
    }
}

/// A join token that was used.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct UsedRow {
    pub(super) digest: Digest,
    pub(super) workspace: WorkspaceNo,
    /// Until when it is known.
    pub(super) expires_at: Timestamp,
}
impl Row for UsedRow {}

impl fmt::Debug for UsedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UsedRow { digest: _, workspace, expires_at } = self;
        let mut shown = f.debug_struct("UsedRow");
        shown.field("workspace", workspace).field("expires_at", expires_at).finish_non_exhaustive()
    }
}

/// Finds what contradicts itself: each token goes when its time is over, and is counted no longer.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &INVITES, findings, |place, row, findings| {
        if !due::is_put(read, row.expires_at, Due::Invite(place))? {
            findings.push(format!("a join token of {:?} never goes", row.workspace));
        }
        Ok(())
    })?;
    each(read, &USED, findings, |place, row, findings| {
        if !due::is_put(read, row.expires_at, Due::Invite(place))? {
            findings.push(format!("a used join token of {:?} never goes", row.workspace));
        }
        Ok(())
    })?;
    each(read, &INVITES_BY_WORKSPACE, findings, |(workspace, place), Mark, findings| {
        if read.get(&INVITES, &place)?.is_none_or(|row| row.workspace != workspace) {
            findings.push(format!("{workspace:?} counts a join token that is not there"));
        }
        Ok(())
    })
}
