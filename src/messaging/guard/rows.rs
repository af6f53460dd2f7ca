//! Rows of the guard: rules, and uses for which approvals were raised.

use quintet_platform::secrets::Digest;
use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::model::Rule;
use super::tables::{ApprovalRow, RULES, RulesRow, USES, USES_BY_DIGEST, UseRow};
use crate::model::{AgentKey, ApprovalKey, WorkspaceNo};

/// The rules of a workspace, and since when they hold; none: there are none.
pub(crate) fn rules(read: &impl Read, workspace: WorkspaceNo) -> Result<Option<(Vec<Rule>, Timestamp)>, Failure> {
    Ok(read.get(&RULES, &workspace)?.map(|RulesRow { rules, changed_at }| (rules, changed_at)))
}

/// Replaces the rules of a workspace.
pub(crate) fn set_rules(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: WorkspaceNo,
    rules: Vec<Rule>,
) -> Result<(), Failure> {
    tx.put(&RULES, &workspace, &RulesRow { rules, changed_at: now })
}

/// Takes the rules of a workspace away.
pub(crate) fn clear_rules(tx: &mut WriteTx<'_>, workspace: WorkspaceNo) {
    tx.delete(&RULES, &workspace);
}

/// The last approval that was raised for a use, and when that was used up.
pub(super) fn last(
    read: &impl Read,
    agent: AgentKey,
    digest: &Digest,
) -> Result<Option<(ApprovalKey, Option<Timestamp>)>, Failure> {
    let place = (agent.0, agent.1, digest.to_vec());
    let Some(ApprovalRow(id)) = read.get(&USES_BY_DIGEST, &place)? else { return Ok(None) };
    let key = (agent.0, id);
    let row = read.get(&USES, &key)?;
    let missing = || Failure::Damaged(format!("the use that the approval {key:?} was raised for is not there"));
    Ok(Some((key, row.ok_or_else(missing)?.used_at)))
}

/// An approval was raised for a use.
pub(super) fn put(tx: &mut WriteTx<'_>, agent: AgentKey, digest: Digest, key: ApprovalKey) -> Result<(), Failure> {
    tx.put(&USES_BY_DIGEST, &(agent.0, agent.1, digest.to_vec()), &ApprovalRow(key.1))?;
    tx.put(&USES, &key, &UseRow { agent: agent.1, digest, used_at: None })
}

/// An approval is used up.
pub(super) fn use_up(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    digest: Digest,
    key: ApprovalKey,
) -> Result<(), Failure> {
    tx.put(&USES, &key, &UseRow { agent: agent.1, digest, used_at: Some(now) })
}
