//! Making a join token.

use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Read as _, Scan, Timestamp, WriteTx};

use super::tables::{INVITES, INVITES_BY_WORKSPACE, InviteRow};
use crate::due::{self, Due};
use crate::identity::keys::token_place;
use crate::model::{Mark, WorkspaceNo};
use crate::refusal::Refusal;

/// Join tokens of a workspace that are good at a time.
pub(super) const OPEN_MAX: usize = 1_000;

/// A join token to be made.
#[derive(Clone, Debug)]
pub(super) struct NewInvite {
    /// Where one joins with it.
    pub(super) workspace: WorkspaceNo,
    /// The key it is made with.
    pub(super) key_id: String,
    /// The role that whoever joins gets if none is named.
    pub(super) role: Option<String>,
    /// How long it is good, in seconds.
    pub(super) ttl_seconds: i64,
}

/// Makes a join token good; its text was drawn before.
///
/// # Errors
/// There are as many as there may be.
pub(super) fn make(tx: &mut WriteTx<'_>, now: Timestamp, token: &str, new: NewInvite) -> Result<(), Abort<Refusal>> {
    let NewInvite { workspace, key_id, role, ttl_seconds } = new;
    let open = tx.scan(&INVITES_BY_WORKSPACE, Scan::prefix(&(workspace,)).limit(OPEN_MAX))?;
    if open.len() >= OPEN_MAX {
        return Err(Refusal::LimitReached("invites", OPEN_MAX as u64).into());
    }
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(ttl_seconds));
    let place = token_place(&digest);
    due::put(tx, expires_at, Due::Invite(place))?;
    tx.put(&INVITES_BY_WORKSPACE, &(workspace, place), &Mark)?;
    Ok(tx.put(&INVITES, &place, &InviteRow { digest, workspace, key_id, role, created_at: now, expires_at })?)
}
