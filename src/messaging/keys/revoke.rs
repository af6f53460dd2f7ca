//! Revoking a key: the next request with it is refused, and what is held open for it ends.

use std::cmp::Reverse;

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use crate::identity::{Key, keys, workspaces};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// Revoked keys of a workspace that are still known, the newest ones: whoever makes keys and revokes them all day has no
/// list that grows. One that is forgotten opens nothing, like any that is unknown.
pub(super) const REVOKED_MAX: usize = 200;
/// Keys that are forgotten in one transaction.
const FORGOTTEN_MAX: usize = 500;

/// Revokes a key of a workspace; of all, if none is named. One that is revoked stays as it is.
///
/// # Errors
/// There is no such key.
pub(crate) fn revoke(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: Option<WorkspaceNo>,
    id: &str,
) -> Result<Key, Abort<Refusal>> {
    let found = keys::find(tx, id)?.filter(|key| workspace.is_none_or(|no| no == key.workspace));
    let mut key = found.ok_or_else(|| Refusal::NotFound("such key".to_owned()))?;
    if key.revoked_at.is_some() {
        return Ok(key);
    }
    key.revoked_at = Some(now);
    keys::put(tx, &key)?;
    let mut counts = workspaces::counts(tx, key.workspace)?;
    let count = if key.is_bound() { &mut counts.bound_keys } else { &mut counts.operator_keys };
    *count = count.saturating_sub(1);
    workspaces::put_counts(tx, key.workspace, counts)?;
    forget_oldest(tx, key.workspace)?;
    Ok(key)
}

fn forget_oldest(tx: &mut WriteTx<'_>, workspace: WorkspaceNo) -> Result<(), Failure> {
    let mut revoked = keys::list(tx, workspace)?;
    revoked.retain(|key| key.revoked_at.is_some());
    revoked.sort_by_key(|key| Reverse(key.revoked_at));
    for key in revoked.iter().skip(REVOKED_MAX).take(FORGOTTEN_MAX) {
        keys::forget(tx, key);
    }
    Ok(())
}
