//! What a caller may: what its key carries by itself ([`KEY_PERMISSIONS`](super::KEY_PERMISSIONS)), which holds for the
//! tenant as a whole, and what its principal was granted here. Nobody else is asked.

use std::sync::Arc;

use quintet_platform::access::Caller;
use quintet_storage::{Failure, Read, Scan, Uuid};

use super::model::GRANTS_MAX;
use super::permissions::{Granted, Intent, Target, Wanted, is_ours};
use super::states::IntentState;
use super::tables::{GRANT_VERSIONS, GRANTS, GRANTS_BY_PRINCIPAL, MarkRow};
use crate::model::TenantId;
use crate::shelf::{Name, Shelf};

/// Everything a caller may.
///
/// # Errors
/// Only the store's.
pub fn granted(read: &impl Read, caller: &Caller) -> Result<Granted, Failure> {
    let own: Vec<String> = caller.permissions.iter().filter(|text| is_ours(text)).cloned().collect();
    let own = Intent { target: Target::Org, permissions: own };
    let intents = intents_of(read, TenantId(caller.tenant_id), caller.principal_id)?;
    Ok(intents.into_iter().chain([own]).collect())
}

/// Whether a caller may something.
///
/// # Errors
/// Only the store's.
pub fn may(read: &impl Read, shelf: &Shelf, caller: &Caller, wanted: Wanted<'_>) -> Result<bool, Failure> {
    // Most keys carry what they are used for: the grants need not be read.
    if wanted.is_covered_over_tenant(|text| caller.has(text) && is_ours(text)) {
        return Ok(true);
    }
    Ok(held(read, shelf, TenantId(caller.tenant_id), caller.principal_id)?.covers(wanted))
}

/// What a principal was granted. It may have been granted hundreds of things: what they come to is kept on the shelf until
/// one of them becomes another, for every request asks twice, the second time in the writer.
fn held(read: &impl Read, shelf: &Shelf, tenant_id: TenantId, principal_id: Uuid) -> Result<Arc<Granted>, Failure> {
    let worked_out = || Ok::<_, Failure>(Arc::new(Granted::from_iter(intents_of(read, tenant_id, principal_id)?)));
    // Grants that were made before there were versions.
    let Some(row) = read.get(&GRANT_VERSIONS, &(tenant_id, principal_id))? else { return worked_out() };
    let name = Name { content: u128::from_be_bytes(row.version), part: "granted".to_owned() };
    if let Some(granted) = shelf.get::<Granted>(&name) {
        return Ok(granted);
    }
    let granted = worked_out()?;
    shelf.put(name, &granted, granted.memory_bytes());
    Ok(granted)
}

/// Every intent that holds for a principal.
///
/// # Errors
/// Only the store's.
pub fn intents_of(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<Vec<Intent>, Failure> {
    intents_in(read, tenant_id, principal_id, |state| state == IntentState::Granted)
}

/// Every intent that holds for a principal, or will as soon as the authorization system has taken it: what a key will do that
/// is issued now.
///
/// # Errors
/// Only the store's.
pub fn prospects_of(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<Vec<Intent>, Failure> {
    intents_in(read, tenant_id, principal_id, |state| matches!(state, IntentState::Granted | IntentState::Granting))
}

fn intents_in(
    read: &impl Read,
    tenant_id: TenantId,
    principal_id: Uuid,
    is_meant: impl Fn(IntentState) -> bool,
) -> Result<Vec<Intent>, Failure> {
    let mut intents = Vec::new();
    let grants = read.scan(&GRANTS_BY_PRINCIPAL, Scan::prefix(&(tenant_id, principal_id)).limit(GRANTS_MAX))?;
    for ((.., grant_id), MarkRow) in grants {
        let Some(grant) = read.get(&GRANTS, &(tenant_id, grant_id))? else { continue };
        let held = grant.intents.into_iter().filter(|intent| is_meant(intent.state));
        intents.extend(held.filter_map(|intent| {
            let target = Target::parse(&intent.target)?;
            Some(Intent { target, permissions: intent.permissions })
        }));
    }
    Ok(intents)
}
