//! Making a join token.

use quintet_platform::secrets::digest;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::tables::{INVITES, InviteRow};
use crate::due::{self, Due};
use crate::identity::keys::token_place;
use crate::model::WorkspaceNo;

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
pub(super) fn make(tx: &mut WriteTx<'_>, now: Timestamp, token: &str, new: NewInvite) -> Result<(), Failure> {
    let NewInvite { workspace, key_id, role, ttl_seconds } = new;
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(ttl_seconds));
    let place = token_place(&digest);
    due::put(tx, expires_at, Due::Invite(place))?;
    tx.put(&INVITES, &place, &InviteRow { digest, workspace, key_id, role, created_at: now, expires_at })
}
