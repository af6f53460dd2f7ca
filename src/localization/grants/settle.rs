//! What becomes of grants once the authorization system has answered.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::counts::counts_of;
use super::create::get_grant;
use super::put::put_grant;
use crate::access::{
    GRANT_COUNTS, GRANTS, Grant, GrantId, GrantRow, GrantState, IntentStep, MarkRow, REVOKED_GRANTS,
    REVOKED_GRANTS_MAX, grant_state,
};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// Takes the steps that the authorization system has made possible, each of one intent, by its place. What is taken too late is
/// to be removed again; what else comes too late changes nothing. If the grant has come further by it, that is recorded.
///
/// # Errors
/// [`Refusal::NotFound`] for a grant that is gone.
pub fn settle_grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    grant_id: GrantId,
    steps: &[(usize, IntentStep)],
) -> Result<Grant, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut row = tx.get(&GRANTS, &(tenant_id, grant_id))?.ok_or(Refusal::NotFound)?;
    let before = row.clone();
    let is_revoked = row.revoked_at.is_some();
    for (place, step) in steps {
        let Some(intent) = row.intents.get_mut(*place) else { continue };
        // What is taken now was told before the grant was revoked: it is there, and is to go.
        let step = if is_revoked && *step == IntentStep::Taken { IntentStep::StillThere } else { *step };
        if let Some(state) = step.from(intent.state) {
            intent.state = state;
        }
    }
    if row != before {
        put_grant(tx, tenant_id, grant_id, &row)?;
        let (was, is) = (state_of(&before), state_of(&row));
        if was != is {
            let event = Event::about("grant.settle", "grant", grant_id.0).with([
                ("principal_id", Json::from(Uuid::from_bytes(row.principal).to_string())),
                ("from", Json::from(was.name())),
                ("to", Json::from(is.name())),
            ]);
            audit::record(tx, now, actor, event)?;
        }
        match (was, is) {
            (GrantState::Revoking, _) => has_ended(tx, now, tenant_id, grant_id, &row)?,
            (GrantState::Revoked, GrantState::Revoking) => has_not_ended(tx, tenant_id, grant_id)?,
            _ => {}
        }
    }
    get_grant(tx, tenant_id, grant_id)
}

/// Counts a grant among the revoked ones, if nothing is left to do; and forgets the oldest of these if there are too many.
///
/// # Errors
/// Only the store's.
pub(super) fn has_ended(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    grant_id: GrantId,
    row: &GrantRow,
) -> Result<(), Failure> {
    if state_of(row) != GrantState::Revoked {
        return Ok(());
    }
    let mut counts = counts_of(tx, tenant_id)?;
    tx.put(&REVOKED_GRANTS, &(tenant_id, now, grant_id), &MarkRow)?;
    counts.standing = counts.standing.saturating_sub(1);
    counts.revoked += 1;
    if counts.revoked > REVOKED_GRANTS_MAX {
        for (key, MarkRow) in tx.scan(&REVOKED_GRANTS, Scan::prefix(&(tenant_id,)).limit(1))? {
            tx.delete(&GRANTS, &(tenant_id, key.2));
            tx.delete(&REVOKED_GRANTS, &key);
            counts.revoked -= 1;
        }
    }
    tx.put(&GRANT_COUNTS, &tenant_id, &counts)
}

/// Takes a grant back from among the revoked ones, for something is left to do.
fn has_not_ended(tx: &mut WriteTx<'_>, tenant_id: TenantId, grant_id: GrantId) -> Result<(), Failure> {
    // A bounded number.
    let revoked = tx.scan(&REVOKED_GRANTS, Scan::prefix(&(tenant_id,)))?;
    let Some((key, MarkRow)) = revoked.into_iter().find(|(key, _)| key.2 == grant_id) else { return Ok(()) };
    tx.delete(&REVOKED_GRANTS, &key);
    let mut counts = counts_of(tx, tenant_id)?;
    counts.standing += 1;
    counts.revoked = counts.revoked.saturating_sub(1);
    tx.put(&GRANT_COUNTS, &tenant_id, &counts)
}

fn state_of(row: &GrantRow) -> GrantState {
    grant_state(row.revoked_at.is_some(), row.intents.iter().map(|intent| intent.state))
}
