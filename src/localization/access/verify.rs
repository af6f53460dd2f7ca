//! Whether grants agree with their indexes and counts.

use std::collections::HashMap;

use quintet_storage::{Failure, Read, Uuid};

use super::model::GrantId;
use super::states::{GrantState, IntentState, grant_state};
use super::tables::{GRANT_COUNTS, GRANTS, GRANTS_BY_PRINCIPAL, GrantCountsRow, GrantRow, OPEN_GRANTS, REVOKED_GRANTS};
use crate::model::TenantId;
use crate::rows;

/// How many grants each index should have.
#[derive(Default)]
struct Expected {
    by_principal: u64,
    open: u64,
    revoked: u64,
}

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut expected = Expected::default();
    let mut counts: HashMap<TenantId, GrantCountsRow> = HashMap::new();
    rows::each(read, &GRANTS, |(tenant_id, id), row| {
        let state = grant_state(row.revoked_at.is_some(), row.intents.iter().map(|intent| intent.state));
        let counted = counts.entry(tenant_id).or_default();
        *(if state == GrantState::Revoked { &mut counted.revoked } else { &mut counted.standing }) += 1;
        verify_grant(read, tenant_id, id, &row, state, (&mut expected, &mut findings))
    })?;
    for (name, rows, marks) in [
        ("grants", expected.by_principal, rows::count(read, &GRANTS_BY_PRINCIPAL)?),
        ("open grants", expected.open, rows::count(read, &OPEN_GRANTS)?),
        ("revoked grants", expected.revoked, rows::count(read, &REVOKED_GRANTS)?),
    ] {
        if rows != marks {
            findings.push(format!("{rows} {name} are in the index {marks} times"));
        }
    }
    rows::each(read, &GRANT_COUNTS, |tenant_id, row| {
        if counts.get(&tenant_id).copied().unwrap_or_default() != row {
            findings.push(format!("tenant {}: has other grants than are counted", tenant_id.0));
        }
        Ok(())
    })?;
    Ok(findings)
}

fn verify_grant(
    read: &impl Read,
    tenant_id: TenantId,
    id: GrantId,
    row: &GrantRow,
    state: GrantState,
    (expected, findings): (&mut Expected, &mut Vec<String>),
) -> Result<(), Failure> {
    let mut found = |is_right: bool, problem: &str| {
        if !is_right {
            findings.push(format!("grant {}: {problem}", id.0));
        }
    };
    let is_standing = row.revoked_at.is_none();
    expected.by_principal += u64::from(is_standing);
    let is_listed = read.contains(&GRANTS_BY_PRINCIPAL, &(tenant_id, Uuid::from_bytes(row.principal), id))?;
    found(!is_standing || is_listed, "its principal does not have it");
    let is_open = row.intents.iter().any(|intent| intent.state.is_open());
    expected.open += u64::from(is_open);
    found(read.contains(&OPEN_GRANTS, &(tenant_id, id))? == is_open, "is not as open as it is said to be");
    expected.revoked += u64::from(state == GrantState::Revoked);
    // Of a revoked grant no intent holds, and of one that stands none is on its way out.
    let is_one_of = |states: &[IntentState]| row.intents.iter().all(|intent| states.contains(&intent.state));
    let fits = match is_standing {
        true => is_one_of(&[IntentState::Granting, IntentState::Granted, IntentState::Revoked]),
        false => is_one_of(&[IntentState::Revoking, IntentState::Revoked]),
    };
    found(fits, "its intents are in states that it cannot have");
    Ok(())
}
