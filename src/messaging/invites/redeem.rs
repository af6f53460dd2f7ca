//! Redeeming a join token, and its end.

use quintet_platform::secrets::{constant_time_eq, digest};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::tables::{INVITES, INVITES_BY_WORKSPACE, InviteRow, USED, UsedRow};
use crate::due::{self, Due};
use crate::identity::keys::{is_token, token_place};
use crate::identity::{Workspace, keys, serving, workspaces};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// A used token is known for so long, in seconds: as long as an answer is remembered under an Idempotency-Key.
const USED_SECONDS: i64 = 86_400;

/// What a join token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invite {
    /// Where one joins with it.
    pub(crate) workspace: Workspace,
    /// The role that whoever joins gets if none is named.
    pub(crate) role: Option<String>,
}

/// What a join token is good for; nothing is used up.
///
/// # Errors
/// It is unknown, used or over, or the key it was made with is good no more; or its workspace does not serve.
pub(crate) fn find(read: &impl Read, now: Timestamp, token: &str) -> Result<Invite, Abort<Refusal>> {
    let row = row(read, now, token)?.ok_or(Refusal::InvalidInvite)?;
    // What was given away with a key goes with it, or revoking would leave a way in.
    keys::find(read, &row.key_id)?.filter(|key| key.revoked_at.is_none()).ok_or(Refusal::InvalidInvite)?;
    let workspace = workspaces::find(read, row.workspace)?.ok_or(Refusal::InvalidInvite)?;
    serving(read, &workspace)?;
    Ok(Invite { workspace, role: row.role })
}

/// Where somebody joined with a token that is used, if that is not long ago. It is good for nothing, but to ask again for
/// the answer that was given then.
///
/// # Errors
/// Nobody has; or the workspace does not serve.
pub(crate) fn used(read: &impl Read, now: Timestamp, token: &str) -> Result<Workspace, Abort<Refusal>> {
    let digest = digest(token.as_bytes());
    let row = if is_token(token) { read.get(&USED, &token_place(&digest))? } else { None };
    let row = row.filter(|row| constant_time_eq(&row.digest, &digest) && now < row.expires_at);
    let workspace = workspaces::find(read, row.ok_or(Refusal::InvalidInvite)?.workspace)?;
    let workspace = workspace.ok_or(Refusal::InvalidInvite)?;
    serving(read, &workspace)?;
    Ok(workspace)
}

/// Uses a join token up. If the rest of the transaction is refused, it stays good.
///
/// # Errors
/// As [`find`].
pub(crate) fn redeem(tx: &mut WriteTx<'_>, now: Timestamp, token: &str) -> Result<Invite, Abort<Refusal>> {
    let invite = find(tx, now, token)?;
    if let Some(InviteRow { digest, expires_at, .. }) = row(tx, now, token)? {
        let place = token_place(&digest);
        due::clear(tx, expires_at, Due::Invite(place));
        forget(tx, invite.workspace.no, place);
        let used = UsedRow { digest, workspace: invite.workspace.no, expires_at: now.plus_seconds(USED_SECONDS) };
        due::put(tx, used.expires_at, Due::Invite(place))?;
        tx.put(&USED, &place, &used)?;
    }
    Ok(invite)
}

/// The time of a join token is over, or that of its having been used.
pub(crate) fn expire(tx: &mut WriteTx<'_>, place: u128) -> Result<(), Failure> {
    if let Some(row) = tx.get(&INVITES, &place)? {
        forget(tx, row.workspace, place);
    }
    tx.delete(&USED, &place);
    Ok(())
}

/// Forgets a join token; what falls due of it is done.
pub(super) fn forget(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, place: u128) {
    tx.delete(&INVITES_BY_WORKSPACE, &(workspace, place));
    tx.delete(&INVITES, &place);
}

fn row(read: &impl Read, now: Timestamp, token: &str) -> Result<Option<InviteRow>, Failure> {
    if !is_token(token) {
        return Ok(None);
    }
    let digest = digest(token.as_bytes());
    let row = read.get(&INVITES, &token_place(&digest))?;
    Ok(row.filter(|row| constant_time_eq(&row.digest, &digest) && now < row.expires_at))
}
