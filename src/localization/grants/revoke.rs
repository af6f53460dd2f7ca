//! Revoking grants.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::bounds::{By, check_bounds};
use super::create::get_grant;
use super::put::put_grant;
use super::settle::has_ended;
use crate::access::{GRANTS, GRANTS_BY_PRINCIPAL, Grant, GrantId, GrantRow, Intent, IntentStep};
use crate::audit::{self, Actor, Event};
use crate::refusal::Refusal;

/// Revokes a grant: from the transaction on it confers nothing. What an authorization system was told of is revoking until
/// that has removed it. Again: the same answer (localization, S3).
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
pub fn revoke_grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    by: &By,
    grant_id: GrantId,
) -> Result<Grant, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let grant = get_grant(tx, tenant_id, grant_id)?;
    let intents: Vec<Intent> = grant.intents.iter().map(|intent| intent.intent.clone()).collect();
    check_bounds(tx, tenant_id, by, &intents, &grant.scope)?;
    if grant.revoked_at.is_none() {
        let row = tx.get(&GRANTS, &(tenant_id, grant_id))?.ok_or(Refusal::NotFound)?;
        end(tx, now, actor, grant_id, row)?;
    }
    get_grant(tx, tenant_id, grant_id)
}

/// Revokes all grants of a principal: a bounded number.
///
/// # Errors
/// Only the store's.
pub fn revoke_all_of(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, principal_id: Uuid) -> Result<(), Failure> {
    let tenant_id = actor.tenant_id;
    for ((.., grant_id), _) in tx.scan(&GRANTS_BY_PRINCIPAL, Scan::prefix(&(tenant_id, principal_id)))? {
        if let Some(row) = tx.get(&GRANTS, &(tenant_id, grant_id))? {
            end(tx, now, actor, grant_id, row)?;
        }
    }
    Ok(())
}

fn end(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    grant_id: GrantId,
    mut row: GrantRow,
) -> Result<(), Failure> {
    let tenant_id = actor.tenant_id;
    let principal_id = Uuid::from_bytes(row.principal);
    row.revoked_at = Some(now);
    for intent in &mut row.intents {
        let step = if intent.is_told { IntentStep::EndThere } else { IntentStep::End };
        if let Some(state) = step.from(intent.state) {
            intent.state = state;
        }
    }
    tx.delete(&GRANTS_BY_PRINCIPAL, &(tenant_id, principal_id, grant_id));
    put_grant(tx, tenant_id, grant_id, &row)?;
    let event = Event::about("grant.revoke", "grant", grant_id.0).with([
        ("principal_id", Json::from(principal_id.to_string())),
        ("template", Json::from(row.template.as_str())),
    ]);
    audit::record(tx, now, actor, event)?;
    has_ended(tx, now, tenant_id, grant_id, &row)
}
