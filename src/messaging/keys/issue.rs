//! Issuing a key.

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::identity::keys::{PreparedKey, put_new};
use crate::identity::{Key, Scope, workspaces};
use crate::limits::{BOUND_KEYS, OPERATOR_KEYS};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// A key to be issued.
#[derive(Debug)]
pub(crate) struct NewKey {
    /// Its id and secret.
    pub(crate) prepared: PreparedKey,
    /// What it allows.
    pub(crate) scope: Scope,
    /// The agents it is bound to, as [`agents_of`](super::agents_of) has them.
    pub(crate) agents: Vec<String>,
    /// What people call it.
    pub(crate) label: String,
}

/// Issues a key.
///
/// # Errors
/// There are as many as there may be.
pub(crate) fn issue(tx: &mut WriteTx<'_>, now: Timestamp, no: WorkspaceNo, new: NewKey) -> Result<Key, Abort<Refusal>> {
    let NewKey { prepared, scope, agents, label } = new;
    let workspace = workspaces::find(tx, no)?.ok_or_else(|| Refusal::NotFound("such workspace".to_owned()))?;
    let mut counts = workspaces::counts(tx, no)?;
    let (limit, count) = match agents.is_empty() {
        true => (OPERATOR_KEYS, &mut counts.operator_keys),
        false => (BOUND_KEYS, &mut counts.bound_keys),
    };
    let max = workspace.limit(limit);
    if u64::from(*count) >= max {
        return Err(Refusal::LimitReached(limit.name, max).into());
    }
    *count += 1;
    workspaces::put_counts(tx, no, counts)?;
    let digest = prepared.digest();
    let key = Key { id: prepared.id, workspace: no, scope, agents, label, created_at: now, revoked_at: None };
    put_new(tx, &key, digest)?;
    Ok(key)
}
