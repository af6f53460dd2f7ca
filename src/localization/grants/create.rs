//! Grants: a template for a principal within a scope.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::access::{
    GRANTS, GRANTS_BY_PRINCIPAL, GRANTS_MAX, Grant, GrantId, GrantRow, Intent, IntentRow, IntentState, MarkRow, Place,
    Scope, Template,
};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{get_project, get_workspace};

/// Grants a template.
#[derive(Clone, Debug)]
pub struct CreateGrant {
    /// To whom.
    pub principal_id: Uuid,
    /// What.
    pub template: &'static Template,
    /// Within which scope; its locale is a canonical tag.
    pub scope: Scope,
}

/// Grants a template. What it expands to holds from the transaction on.
///
/// # Errors
/// [`Refusal::NotFound`] for a workspace or project that is not the tenant's; [`Refusal::InvalidField`] for a scope
/// that the template does not take, or a project that does not lie in the workspace; [`Refusal::Conflict`] for one grant
/// too many.
pub fn create_grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: CreateGrant,
) -> Result<Grant, Abort<Refusal>> {
    let CreateGrant { principal_id, template, scope } = command;
    let tenant_id = actor.tenant_id;
    let place = place_of(tx, tenant_id, &scope)?;
    let wrong = |name| Abort::Refused(Refusal::field(format!("scope.{name}"), "does not go with this template"));
    let intents = template.expand(&place).map_err(|fault| wrong(fault.0))?;
    let others = Scan::prefix(&(tenant_id, principal_id)).limit(GRANTS_MAX);
    if tx.scan(&GRANTS_BY_PRINCIPAL, others)?.len() == GRANTS_MAX {
        return Err(Refusal::Conflict("the principal has 500 grants, which is the most").into());
    }
    let granted = |intent: &Intent| IntentRow {
        target: intent.target.text(),
        permissions: intent.permissions.clone(),
        state: IntentState::Granted,
    };
    let row = GrantRow {
        principal: principal_id.into_bytes(),
        template: template.name.to_owned(),
        scope: scope.clone(),
        intents: intents.iter().map(granted).collect(),
        created_at: now,
    };
    let grant_id = GrantId(tx.new_id());
    tx.put(&GRANTS, &(tenant_id, grant_id), &row)?;
    tx.put(&GRANTS_BY_PRINCIPAL, &(tenant_id, principal_id, grant_id), &MarkRow)?;
    let event = Event::about("grant.create", "grant", grant_id.0).with([
        ("principal_id", Json::from(principal_id.to_string())),
        ("template", Json::from(template.name)),
        ("workspace_id", Json::from(scope.workspace_id.map(|id| id.0.to_string()))),
        ("project_id", Json::from(scope.project_id.map(|id| id.0.to_string()))),
        ("locale", Json::from(scope.locale.as_deref())),
    ]);
    audit::record(tx, now, actor, event)?;
    let intents = intents.into_iter().map(|intent| (intent, IntentState::Granted)).collect();
    Ok(Grant { grant_id, principal_id, template: row.template, scope, intents, created_at: now })
}

fn place_of(read: &impl Read, tenant_id: TenantId, scope: &Scope) -> Result<Place, Abort<Refusal>> {
    let mut place = Place { locale: scope.locale.clone(), ..Place::default() };
    if let Some(workspace_id) = scope.workspace_id {
        place.workspace = Some(get_workspace(read, tenant_id, workspace_id)?.short_id);
    }
    if let Some(project_id) = scope.project_id {
        let project = get_project(read, tenant_id, project_id)?;
        if scope.workspace_id.is_some_and(|workspace_id| workspace_id != project.workspace_id) {
            return Err(Refusal::field("scope.project_id", "does not lie in the workspace").into());
        }
        // The project alone: it says everything.
        place.workspace = None;
        place.project = Some(project.short_id);
    }
    Ok(place)
}
