//! How often each label is used in a workspace: it is there from its first use to its last.

use quintet_storage::{Failure, Read as _, WriteTx};

use super::tables::{LABELLED, LABELS, LabelRow};
use crate::model::{AgentKey, Mark, WorkspaceNo};

/// The label of mail that nobody wrote (6-messaging.md, M3).
pub(crate) const AUTOMATIC: &str = "auto";

/// How often a label is used.
pub(super) fn of(tx: &WriteTx<'_>, workspace: WorkspaceNo, label: &str) -> Result<u64, Failure> {
    Ok(tx.get(&LABELS, &(workspace, label.to_owned()))?.map_or(0, |LabelRow(uses)| uses))
}

/// A delivery gets a label: it is found by it, and that is counted. The caller keeps the delivery.
pub(super) fn add(tx: &mut WriteTx<'_>, (agent, seq): (AgentKey, u64), label: &str) -> Result<(), Failure> {
    let uses = of(tx, agent.0, label)?;
    tx.put(&LABELLED, &(agent.0, agent.1, label.to_owned(), seq), &Mark)?;
    tx.put(&LABELS, &(agent.0, label.to_owned()), &LabelRow(uses + 1))
}

/// A delivery loses a label.
pub(super) fn drop(tx: &mut WriteTx<'_>, (agent, seq): (AgentKey, u64), label: &str) -> Result<(), Failure> {
    tx.delete(&LABELLED, &(agent.0, agent.1, label.to_owned(), seq));
    let key = (agent.0, label.to_owned());
    match tx.get(&LABELS, &key)? {
        Some(LabelRow(uses)) if uses > 1 => tx.put(&LABELS, &key, &LabelRow(uses - 1))?,
        _ => tx.delete(&LABELS, &key),
    }
    Ok(())
}
