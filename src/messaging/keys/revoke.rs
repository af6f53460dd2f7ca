//! Revoking a key: the next request with it is refused, and what is held open for it ends.

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::identity::{Key, keys, workspaces};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

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
    Ok(key)
}
