//! Raising an approval.

use quintet_platform::secrets::Digest;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::action::Matter;
use super::mails::ByMail;
use super::model::{Approval, EXPIRES_MINUTES, Status};
use super::{kinds, mails, rows};
use crate::identity::{Attestation, Workspace};
use crate::mail::threads;
use crate::model::{AgentNo, ApprovalId, ApprovalKey, ThreadId};
use crate::refusal::Refusal;
use crate::usage::{self, Daily};

/// An approval that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewApproval {
    /// What it is to be called.
    pub(crate) title: String,
    /// Of which kind.
    pub(crate) kind: String,
    /// Where its verdict is to go.
    pub(crate) thread: Option<ThreadId>,
    /// What it is about, and the digest of what is proposed.
    pub(crate) matter: (Matter, Digest),
    /// How long it is to wait, in minutes; `None`: as its kind says.
    pub(crate) expires_minutes: Option<i64>,
    /// Who asks, by number and name.
    pub(crate) requester: (AgentNo, String),
    /// What is known of that one by its key.
    pub(crate) attestation: Attestation,
    /// How its approvers are written to; `None`: they are not.
    pub(crate) by_mail: Option<ByMail>,
}

/// Raises an approval, and writes to its approvers.
///
/// # Errors
/// Nobody approves this kind, the requester takes no part in the thread, or the day's allowance is used up.
pub(crate) fn raise(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    new: NewApproval,
) -> Result<(ApprovalKey, Approval), Abort<Refusal>> {
    let NewApproval { title, kind: name, thread, matter: (matter, action_sha256), requester, attestation, .. } = new;
    let kind = kinds::find(tx, workspace.no, &name)?.ok_or_else(|| Refusal::ApprovalsNotConfigured(name.clone()))?;
    if let Some(thread) = thread
        && !threads::takes_part(tx, (workspace.no, thread), requester.0)?
    {
        return Err(Refusal::NotFound("such thread".to_owned()).into());
    }
    usage::count(tx, now, workspace, Daily::Approvals, 1)?;
    let minutes = new.expires_minutes.or(kind.expires_minutes).unwrap_or(EXPIRES_MINUTES);
    let expires_at = now.plus_seconds(minutes.saturating_mul(60));
    let key = (workspace.no, ApprovalId(tx.new_id()));
    let approval = Approval {
        title,
        kind: name,
        thread,
        requester: requester.0,
        requested_by: requester.1,
        attestation,
        action_sha256,
        created_at: now,
        expires_at,
        status: Status::Pending,
        decided_at: None,
    };
    rows::put_new(tx, workspace, key, approval.clone(), &matter)?;
    if let Some(by_mail) = new.by_mail {
        mails::write(tx, now, workspace, key, by_mail)?;
    }
    Ok((key, approval))
}
