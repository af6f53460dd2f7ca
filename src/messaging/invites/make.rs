//! Making a join token.

use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::redeem::forget;
use super::tables::{INVITES, INVITES_BY_WORKSPACE, InviteRow};
use crate::due::{self, Due};
use crate::identity::keys::{self, token_place};
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

/// Of the join tokens of a workspace that has as many as it may have, those that are good for nothing, for the key they were
/// made with is revoked: to be forgotten when another is made. The writer does not look through all of them for each that
/// is refused.
pub(super) fn dead(read: &impl Read, workspace: WorkspaceNo) -> Result<Vec<u128>, Failure> {
    let open = read.scan(&INVITES_BY_WORKSPACE, Scan::prefix(&(workspace,)).limit(OPEN_MAX))?;
    let mut dead = Vec::new();
    if open.len() < OPEN_MAX {
        return Ok(dead);
    }
    for ((_, place), Mark) in open {
        if row_if_dead(read, place)?.is_some() {
            dead.push(place);
        }
    }
    Ok(dead)
}

/// Makes a join token good; its text was drawn before. `dead`: what was found to be good for nothing before.
///
/// # Errors
/// There are as many as there may be.
pub(super) fn make(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    new: NewInvite,
    dead: &[u128],
) -> Result<(), Abort<Refusal>> {
    let NewInvite { workspace, key_id, role, ttl_seconds } = new;
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(ttl_seconds));
    let place = token_place(&digest);
    let open = tx.scan(&INVITES_BY_WORKSPACE, Scan::prefix(&(workspace,)).limit(OPEN_MAX))?;
    if open.len() >= OPEN_MAX && !forget_dead(tx, dead)? {
        return Err(Refusal::LimitReached("invites", OPEN_MAX as u64).into());
    }
    due::put(tx, expires_at, Due::Invite(place))?;
    tx.put(&INVITES_BY_WORKSPACE, &(workspace, place), &Mark)?;
    Ok(tx.put(&INVITES, &place, &InviteRow { digest, workspace, key_id, role, created_at: now, expires_at })?)
}

/// Forgets those that are good for nothing. `false`: they are gone already.
fn forget_dead(tx: &mut WriteTx<'_>, dead: &[u128]) -> Result<bool, Failure> {
    let mut is_any = false;
    for place in dead {
        if let Some(row) = row_if_dead(tx, *place)? {
            due::clear(tx, row.expires_at, Due::Invite(*place));
            forget(tx, row.workspace, *place);
            is_any = true;
        }
    }
    Ok(is_any)
}

/// A token whose key is revoked.
fn row_if_dead(read: &impl Read, place: u128) -> Result<Option<InviteRow>, Failure> {
    let Some(row) = read.get(&INVITES, &place)? else { return Ok(None) };
    let is_dead = keys::find(read, &row.key_id)?.is_none_or(|key| key.revoked_at.is_some());
    Ok(Some(row).filter(|_| is_dead))
}
