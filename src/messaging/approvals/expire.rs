//! What falls due of an approval: nobody decided it in time, which is no consent.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{End, Status};
use super::rows::{find, put_off};
use super::settle::{settle, settle_untold};
use crate::identity::{Status as WorkspaceStatus, workspaces};
use crate::model::ApprovalKey;

/// When those of a workspace that does not serve are looked at again, in seconds. That their time is over holds meanwhile.
const SUSPENDED_PAUSE_SECONDS: i64 = 3_600;

/// Does what is due of an approval.
pub(crate) fn fall_due(tx: &mut WriteTx<'_>, now: Timestamp, key: ApprovalKey) -> Result<(), Failure> {
    let Some(approval) = find(tx, key)?.filter(|approval| approval.status == Status::Pending) else { return Ok(()) };
    // An earlier time of it.
    if approval.looked_at > now {
        return Ok(());
    }
    let Some(workspace) = workspaces::find(tx, key.0)? else { return Ok(()) };
    let at = approval.expires_at;
    match workspaces::status(tx, &workspace)? {
        WorkspaceStatus::Active => settle(tx, now, &workspace, key, approval, (End::TimedOut, at)).map(drop),
        WorkspaceStatus::Suspended => put_off(tx, key, approval, now.plus_seconds(SUSPENDED_PAUSE_SECONDS)),
        WorkspaceStatus::Deleted => settle_untold(tx, &workspace, key, approval, (End::TimedOut, at)),
    }
}
