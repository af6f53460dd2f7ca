//! What falls due of an approval: nobody decided it in time, which is no consent.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{End, Status};
use super::rows::find;
use super::settle::{settle, settle_untold};
use crate::due::{self, Due};
use crate::identity::{Status as WorkspaceStatus, workspaces};
use crate::model::ApprovalKey;

/// Does what is due of an approval. In a suspended workspace it is told of when that is active again; that its time is over
/// holds meanwhile.
pub(crate) fn fall_due(tx: &mut WriteTx<'_>, now: Timestamp, key: ApprovalKey) -> Result<(), Failure> {
    let Some(approval) = find(tx, key)?.filter(|approval| approval.status == Status::Pending) else { return Ok(()) };
    let Some(workspace) = workspaces::find(tx, key.0)? else { return Ok(()) };
    let at = approval.expires_at;
    match workspaces::status(tx, &workspace)? {
        WorkspaceStatus::Active => settle(tx, now, &workspace, key, approval, (End::TimedOut, at)).map(drop),
        WorkspaceStatus::Suspended => due::park(tx, now, key.0, (at, Due::Approval(key))),
        WorkspaceStatus::Deleted => settle_untold(tx, &workspace, key, approval, (End::TimedOut, at)),
    }
}
