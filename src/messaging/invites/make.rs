//! Making a join token.

use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx};

use super::redeem::forget;
use super::tables::{INVITES, INVITES_BY_WORKSPACE, InviteRow};
use crate::due::{self, Due};
use crate::identity::keys::{self, token_place};
use crate::model::{Mark, WorkspaceNo};
use crate::refusal::Refusal;

/// Join tokens of a workspace that are good at a time.
pub(super) const OPEN_MAX: usize = 1_000;
/// Of those, so many are looked at for what is good for nothing, where there are too many.
const LOOKED_AT_MAX: usize = 64;

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
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(ttl_seconds));
    let place = token_place(&digest);
    let mut open = tx.scan(&INVITES_BY_WORKSPACE, Scan::prefix(&(workspace,)).limit(OPEN_MAX))?;
    if open.len() >= OPEN_MAX {
        // Wherever the new one would stand, which is somewhere else each time: all of them are too many to look at for each
        // that is refused.
        let behind = open.partition_point(|((_, known), Mark)| *known < place);
        open.rotate_left(behind);
        if !forget_dead(tx, open.into_iter().map(|(place, Mark)| place).take(LOOKED_AT_MAX))? {
            return Err(Refusal::LimitReached("invites", OPEN_MAX as u64).into());
        }
    }
    due::put(tx, expires_at, Due::Invite(place))?;
    tx.put(&INVITES_BY_WORKSPACE, &(workspace, place), &Mark)?;
    Ok(tx.put(&INVITES, &place, &InviteRow { digest, workspace, key_id, role, created_at: now, expires_at })?)
}

/// Forgets those of some tokens that are good for nothing, for the key they were made with is revoked. `false`: there are none.
fn forget_dead(tx: &mut WriteTx<'_>, open: impl Iterator<Item = (WorkspaceNo, u128)>) -> Result<bool, Failure> {
    let mut is_any = false;
    for (workspace, place) in open {
        let Some(row) = tx.get(&INVITES, &place)? else { continue };
        if keys::find(tx, &row.key_id)?.is_none_or(|key| key.revoked_at.is_some()) {
            due::clear(tx, row.expires_at, Due::Invite(place));
            forget(tx, workspace, place);
            is_any = true;
        }
    }
    Ok(is_any)
}
