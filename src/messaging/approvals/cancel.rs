//! Cancelling: it is not asked for any more.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Approval, End};
use super::rows;
use super::settle::settle;
use crate::identity::{Caller, Scope, Workspace};
use crate::model::{AgentNo, ApprovalKey};
use crate::refusal::Refusal;

/// Cancels an approval: who raised it may, and a key of scope admin (P4).
///
/// # Errors
/// There is none, it is another's, or it has a verdict.
pub(super) fn cancel(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    by: &Canceller,
) -> Result<Approval, Abort<Refusal>> {
    let approval = rows::named(tx, key)?;
    if !by.is_admin && by.agent != Some(approval.requester) {
        return Err(
            Refusal::Denied("an approval is cancelled by the agent that raised it, or with an admin key").into()
        );
    }
    approval.check_pending(now)?;
    Ok(settle(tx, now, workspace, key, approval, (End::Cancelled(by.name.clone()), now))?)
}

/// Who wants to cancel.
#[derive(Clone, Debug)]
pub(super) struct Canceller {
    agent: Option<AgentNo>,
    is_admin: bool,
    name: String,
}

impl Canceller {
    /// Whoever asks.
    pub(super) fn of(caller: &Caller) -> Canceller {
        let agent = caller.agent.as_ref().map(|acting| acting.no);
        let key = || format!("key {}", caller.key.id);
        let name = caller.agent.as_ref().map_or_else(key, |acting| acting.name.clone());
        Canceller { agent, is_admin: caller.key.scope == Scope::Admin, name }
    }
}
