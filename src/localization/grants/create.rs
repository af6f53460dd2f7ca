//! Granting a template to a principal within a scope.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::bounds::{By, check_bounds};
use super::counts::counts_of;
use super::put::put_grant;
use crate::access::{
    GRANT_COUNTS, GRANTS, GRANTS_BY_PRINCIPAL, GRANTS_MAX, Grant, GrantCountsRow, GrantId, GrantRow, Intent, IntentRow,
    IntentState, MarkRow, Place, Scope, TENANT_GRANTS_MAX, Template,
};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::principals::is_live;
use crate::refusal::Refusal;
use crate::spaces::{get_project, get_workspace};

/// Grants a template.
#[derive(Clone, Debug)]
pub struct CreateGrant {
    /// To whom.
    pub principal_id: Uuid,
    /// What.
    pub template: &'static Template,
    /// Within which scope; its locale does not count.
    pub scope: Scope,
    /// The canonical tag of the scope's locale; or why there is none, which comes behind what the scope names.
    pub locale: Result<Option<String>, Refusal>,
    /// Whether an authorization system is to be told before it holds.
    pub is_told: bool,
}

/// Grants a template. What it expands to holds from the transaction on; or, if an authorization system is to be told, once
/// that has taken it.
///
/// # Errors
/// [`Refusal::NotFound`] for a principal that is not the tenant's or may not act, or for a workspace or project that is not
/// the tenant's; [`Refusal::InvalidField`] for a project that does not lie in the workspace, [`Refusal::Tag`],
/// [`Refusal::InvalidField`] for a scope that the template does not take; that the caller may not; [`Refusal::Conflict`] for
/// one grant too many, in this order.
pub fn create_grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    by: &By,
    command: CreateGrant,
) -> Result<Grant, Abort<Refusal>> {
    let CreateGrant { principal_id, template, scope, locale, is_told } = command;
    let tenant_id = actor.tenant_id;
    if !is_live(tx, tenant_id, principal_id)? {
        return Err(Refusal::NotFound.into());
    }
    let place = place_of(tx, tenant_id, &scope)?;
    let scope = Scope { locale: locale?, ..scope };
    let wrong = |name| Abort::Refused(Refusal::field(format!("scope.{name}"), "does not go with this template"));
    let place = Place { locale: scope.locale.clone(), ..place };
    let intents = template.expand(&place).map_err(|fault| wrong(fault.0))?;
    check_bounds(tx, tenant_id, by, &intents, &scope)?;
    let mut counts = room(tx, tenant_id, principal_id)?;
    let state = if is_told { IntentState::Granting } else { IntentState::Granted };
    let row =
        |intent: Intent| IntentRow { target: intent.target.text(), permissions: intent.permissions, state, is_told };
    let row = GrantRow {
        principal: principal_id.into_bytes(),
        template: template.name.to_owned(),
        scope: scope.clone(),
        intents: intents.into_iter().map(row).collect(),
        created_at: now,
        revoked_at: None,
    };
    let grant_id = GrantId(tx.new_id());
    put_grant(tx, tenant_id, grant_id, &row)?;
    tx.put(&GRANTS_BY_PRINCIPAL, &(tenant_id, principal_id, grant_id), &MarkRow)?;
    counts.standing += 1;
    tx.put(&GRANT_COUNTS, &tenant_id, &counts)?;
    let event = Event::about("grant.create", "grant", grant_id.0).with([
        ("principal_id", Json::from(principal_id.to_string())),
        ("template", Json::from(template.name)),
        ("workspace_id", Json::from(scope.workspace_id.map(|id| id.0.to_string()))),
        ("project_id", Json::from(scope.project_id.map(|id| id.0.to_string()))),
        ("locale", Json::from(scope.locale.as_deref())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(row.into_grant(grant_id)?)
}

/// The workspace or project of a scope.
fn place_of(read: &impl Read, tenant_id: TenantId, scope: &Scope) -> Result<Place, Abort<Refusal>> {
    let mut place = Place::default();
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

/// How many grants the tenant has, if it and the principal may have another one.
fn room(tx: &WriteTx<'_>, tenant_id: TenantId, principal_id: Uuid) -> Result<GrantCountsRow, Abort<Refusal>> {
    let others = Scan::prefix(&(tenant_id, principal_id)).limit(GRANTS_MAX);
    if tx.scan(&GRANTS_BY_PRINCIPAL, others)?.len() == GRANTS_MAX {
        return Err(Refusal::Conflict("the principal has 500 grants, which is the most").into());
    }
    let counts = counts_of(tx, tenant_id)?;
    if counts.standing >= TENANT_GRANTS_MAX {
        return Err(Refusal::Conflict("the tenant has 10,000 grants, which is the most").into());
    }
    Ok(counts)
}

/// A grant of the tenant's.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_grant(read: &impl Read, tenant_id: TenantId, grant_id: GrantId) -> Result<Grant, Abort<Refusal>> {
    let row = read.get(&GRANTS, &(tenant_id, grant_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_grant(grant_id)?)
}

/// Every grant of a tenant, the oldest first: a bounded number.
///
/// # Errors
/// Only the store's.
pub fn list_grants(read: &impl Read, tenant_id: TenantId) -> Result<Vec<Grant>, Failure> {
    let mut grants = Vec::new();
    crate::rows::each_of(
        read,
        &GRANTS,
        || Scan::prefix(&(tenant_id,)),
        |(_, grant_id), row| {
            grants.push(row.into_grant(grant_id)?);
            Ok::<(), Failure>(())
        },
    )?;
    Ok(grants)
}
