//! Redeeming a join token, and its end.

use quintet_platform::secrets::{constant_time_eq, digest};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::tables::{INVITES, INVITES_BY_WORKSPACE, InviteRow};
use crate::due::{self, Due};
use crate::identity::keys::{is_token, token_place};
use crate::identity::{Workspace, keys, serving, workspaces};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

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
    serving(&workspace)?;
    Ok(Invite { workspace, role: row.role })
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
    }
    Ok(invite)
}

/// The time of a join token is over.
pub(crate) fn expire(tx: &mut WriteTx<'_>, place: u128) -> Result<(), Failure> {
    if let Some(row) = tx.get(&INVITES, &place)? {
        forget(tx, row.workspace, place);
    }
    Ok(())
}

fn forget(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, place: u128) {
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
