//! Changing a workspace.

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::due;
use crate::identity::{Status, Workspace, keys, workspaces};
use crate::limits::Limit;
use crate::refusal::Refusal;

/// What becomes of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetLimit {
    /// So much.
    To(u64),
    /// As much as one likes.
    Unlimited,
    /// What it is where nobody says anything.
    Usual,
}

/// The workspace with this slug.
///
/// # Errors
/// There is none, or it is deleted.
fn workspace(tx: &WriteTx<'_>, slug: &str) -> Result<Workspace, Abort<Refusal>> {
    let found = workspaces::by_slug(tx, slug)?;
    let found = found.ok_or_else(|| Refusal::NotFound(format!("workspace {slug}")))?;
    if found.status == Status::Deleted { Err(Refusal::WorkspaceDeleted.into()) } else { Ok(found) }
}

/// Sets limits. They hold at once, and take nothing away that is there.
///
/// # Errors
/// There is no such workspace.
pub(crate) fn set_limits(
    tx: &mut WriteTx<'_>,
    slug: &str,
    limits: &[(Limit, SetLimit)],
) -> Result<Workspace, Abort<Refusal>> {
    let mut workspace = workspace(tx, slug)?;
    for (limit, set) in limits {
        workspace.limits.retain(|(code, _)| *code != limit.code);
        match set {
            SetLimit::To(max) => workspace.limits.push((limit.code, Some(*max))),
            SetLimit::Unlimited => workspace.limits.push((limit.code, None)),
            SetLimit::Usual => {}
        }
    }
    workspace.limits.sort_unstable();
    workspaces::put(tx, &workspace)?;
    Ok(workspace)
}

/// Says whether mail from outside is taken. An encrypted workspace takes none (6-messaging.md, summary of encryption).
///
/// # Errors
/// There is no such workspace, or it is encrypted.
pub(crate) fn set_ingress(tx: &mut WriteTx<'_>, slug: &str, is_open: bool) -> Result<Workspace, Abort<Refusal>> {
    let mut workspace = workspace(tx, slug)?;
    if is_open && workspace.is_encrypted {
        return Err(Refusal::ExternalMailRefused("an encrypted workspace takes no mail from outside").into());
    }
    workspace.is_ingress_open = is_open;
    workspaces::put(tx, &workspace)?;
    Ok(workspace)
}

/// Suspends, activates or deletes a workspace. Whatever is held open for its keys ends.
///
/// # Errors
/// There is no such workspace, or it is deleted.
pub(crate) fn set_status(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    slug: &str,
    status: Status,
) -> Result<Workspace, Abort<Refusal>> {
    let mut workspace = workspace(tx, slug)?;
    if (workspace.status, status) == (Status::Suspended, Status::Active) {
        workspaces::note_activation(tx, now, workspace.no)?;
        due::wake_parked(tx, now, workspace.no)?;
    }
    workspace.status = status;
    workspaces::put(tx, &workspace)?;
    if status != Status::Active {
        for key in keys::list(tx, workspace.no)? {
            tx.tells(keys::REVOKED, keys::number_of(&key.id), 0);
        }
    }
    Ok(workspace)
}
