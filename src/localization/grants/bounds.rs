//! What a grantor may grant, and take back: what it holds itself, where it holds it (localization, S3).

use quintet_platform::access::Caller;
use quintet_platform::service::Fault;
use quintet_storage::{Abort, Failure, Read};

use crate::access::{Granted, Intent, Scope, Target, Wanted, granted};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{ShortIdRow, get_project, get_workspace, owner_of};

/// Who grants or revokes.
#[derive(Clone, Debug)]
pub enum By {
    /// The operator, whom nothing bounds.
    Operator,
    /// A caller, within its own permissions.
    Caller(Box<Caller>),
}

/// Demands that a caller may grant anything at all: that it manages members, or is the administrator of some workspace.
///
/// # Errors
/// That it may not.
pub fn demand_grantor(read: &impl Read, caller: &Caller) -> Result<(), Abort<Refusal>> {
    let granted = granted(read, caller)?;
    let may = granted.covers(Wanted::Org("org_members-manage")) || granted.is_some_workspaces_admin();
    if may { Ok(()) } else { Err(forbidden()) }
}

/// Whether these intents of a scope are within what the caller holds, and in a place where it may grant: everywhere for
/// whoever manages members, else in the workspaces that it administrates.
///
/// # Errors
/// That it may not.
pub fn check_bounds(
    read: &impl Read,
    tenant_id: TenantId,
    by: &By,
    intents: &[Intent],
    scope: &Scope,
) -> Result<(), Abort<Refusal>> {
    let By::Caller(caller) = by else { return Ok(()) };
    let workspace = workspace_of(read, tenant_id, scope)?;
    let granted = granted(read, caller)?;
    let may_here = granted.covers(Wanted::Org("org_members-manage"))
        || workspace.as_deref().is_some_and(|workspace| granted.covers(Wanted::WorkspaceAdmin(workspace)));
    let holds_all = intents.iter().all(|intent| granted.holds(intent, workspace.as_deref()));
    if may_here && holds_all { Ok(()) } else { Err(forbidden()) }
}

/// Whether a caller holds everything that these intents confer: who may have a key of whoever has them.
///
/// # Errors
/// Only the store's.
pub fn holds_all(
    read: &impl Read,
    tenant_id: TenantId,
    granted: &Granted,
    intents: &[Intent],
) -> Result<bool, Failure> {
    for intent in intents {
        let workspace = match &intent.target {
            Target::Project(short_id) => workspace_of_project(read, tenant_id, short_id)?,
            Target::Org | Target::Workspace(_) => None,
        };
        if !granted.holds(intent, workspace.as_deref()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The short id of the workspace in which the project with a short id lies.
fn workspace_of_project(read: &impl Read, tenant_id: TenantId, short_id: &str) -> Result<Option<String>, Failure> {
    let Some(ShortIdRow::Project(project_id)) = owner_of(read, tenant_id, short_id)? else { return Ok(None) };
    match get_project(read, tenant_id, project_id) {
        Ok(project) => Ok(Some(project.workspace_short_id)),
        Err(Abort::Refused(_)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// The short id of the workspace that a scope is in, if it is in one.
fn workspace_of(read: &impl Read, tenant_id: TenantId, scope: &Scope) -> Result<Option<String>, Abort<Refusal>> {
    match (scope.project_id, scope.workspace_id) {
        (Some(project_id), _) => Ok(Some(get_project(read, tenant_id, project_id)?.workspace_short_id)),
        (None, Some(workspace_id)) => Ok(Some(get_workspace(read, tenant_id, workspace_id)?.short_id)),
        (None, None) => Ok(None),
    }
}

fn forbidden() -> Abort<Refusal> {
    Abort::Refused(Refusal::Fault(Fault::Forbidden))
}
