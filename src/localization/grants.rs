//! Grants: a template for a principal within a scope.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::model::{GrantId, ProjectId, TenantId, WorkspaceId};
use crate::permissions::{Intent, Target};
use crate::refusal::Refusal;
use crate::tables::{
    GRANTS, GRANTS_BY_PRINCIPAL, GrantRow, IntentRow, IntentState, Mark, PROJECTS, ScopeRow, WORKSPACES,
};
use crate::templates::{Place, Template};

/// Grants a template.
#[derive(Clone, Debug)]
pub struct CreateGrant {
    /// To whom.
    pub principal_id: Uuid,
    /// What.
    pub template: &'static Template,
    /// In which workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// In which project.
    pub project_id: Option<ProjectId>,
    /// For which locale: a canonical tag.
    pub locale: Option<String>,
}

/// A grant as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub grant_id: GrantId,
    /// Everything else.
    pub row: GrantRow,
}

/// Grants a template. What it expands to holds from the transaction on.
///
/// # Errors
/// [`Refusal::NotFound`] for a workspace or project that is not the tenant's; [`Refusal::InvalidField`] for a scope
/// that the template does not take, or a project that does not lie in the workspace.
pub fn create_grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: CreateGrant,
) -> Result<Grant, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let scope = ScopeRow { workspace_id: command.workspace_id, project_id: command.project_id, locale: command.locale };
    let place = place_of(tx, tenant_id, &scope)?;
    let wrong = |name| Abort::Refused(Refusal::field(format!("scope.{name}"), "does not go with this template"));
    let intents = command.template.expand(&place).map_err(|fault| wrong(fault.0))?;
    let row = GrantRow {
        principal: command.principal_id.into_bytes(),
        template: command.template.name.to_owned(),
        scope,
        intents: intents
            .into_iter()
            .map(|intent| IntentRow {
                target: intent.target.text(),
                permissions: intent.permissions,
                state: IntentState::Granted,
            })
            .collect(),
        created_at: now,
    };
    let grant_id = GrantId(tx.new_id());
    tx.put(&GRANTS, &(tenant_id, grant_id), &row)?;
    tx.put(&GRANTS_BY_PRINCIPAL, &(tenant_id, command.principal_id, grant_id), &Mark)?;
    let event = Event::about("grant.create", "grant", grant_id.0).with([
        ("principal_id", Json::from(command.principal_id.to_string())),
        ("template", Json::from(command.template.name)),
        ("workspace_id", Json::from(row.scope.workspace_id.map(|id| id.0.to_string()))),
        ("project_id", Json::from(row.scope.project_id.map(|id| id.0.to_string()))),
        ("locale", Json::from(row.scope.locale.as_deref())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(Grant { grant_id, row })
}

fn place_of(read: &impl Read, tenant_id: TenantId, scope: &ScopeRow) -> Result<Place, Abort<Refusal>> {
    let mut place = Place { locale: scope.locale.clone(), ..Place::default() };
    if let Some(workspace_id) = scope.workspace_id {
        let workspace = read.get(&WORKSPACES, &(tenant_id, workspace_id))?.ok_or(Refusal::NotFound)?;
        place.workspace = Some(workspace.short_id);
    }
    if let Some(project_id) = scope.project_id {
        let project = read.get(&PROJECTS, &(tenant_id, project_id))?.ok_or(Refusal::NotFound)?;
        if scope.workspace_id.is_some_and(|workspace_id| workspace_id != project.workspace_id) {
            return Err(Refusal::field("scope.project_id", "does not lie in the workspace").into());
        }
        // The project alone: it says everything.
        place.workspace = None;
        place.project = Some(project.short_id);
    }
    Ok(place)
}

/// Every intent that holds for a principal.
///
/// # Errors
/// Only the store's.
pub fn intents_of(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<Vec<Intent>, Failure> {
    let mut intents = Vec::new();
    for ((.., grant_id), Mark) in read.scan(&GRANTS_BY_PRINCIPAL, Scan::prefix(&(tenant_id, principal_id)))? {
        let Some(grant) = read.get(&GRANTS, &(tenant_id, grant_id))? else { continue };
        let held = grant.intents.into_iter().filter(|intent| intent.state == IntentState::Granted);
        intents.extend(held.filter_map(|intent| {
            let target = Target::parse(&intent.target)?;
            Some(Intent { target, permissions: intent.permissions })
        }));
    }
    Ok(intents)
}
