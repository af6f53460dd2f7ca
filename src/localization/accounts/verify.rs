//! Whether members and service accounts have the short ids that they say, and keys and grants as they should.

use quintet_platform::access::{KeyRecord, find_key};
use quintet_storage::{Failure, Read};

use crate::access::GRANTS_BY_PRINCIPAL;
use crate::principals::{ACCOUNTS, AccountId, KEYS_OF_PRINCIPALS, MEMBERS, MemberId, is_live};
use crate::rows;
use crate::spaces::{ShortIdRow, owner_of};

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &MEMBERS, |(tenant_id, id), row| {
        if owner_of(read, tenant_id, &row.short_id)? != Some(ShortIdRow::Member(id)) {
            findings.push(format!("member {}: its short id is not its own", id.0));
        }
        Ok(())
    })?;
    rows::each(read, &ACCOUNTS, |(tenant_id, id), row| {
        if owner_of(read, tenant_id, &row.short_id)? != Some(ShortIdRow::Account(id)) {
            findings.push(format!("service account {}: its short id is not its own", id.0));
        }
        Ok(())
    })?;
    verify_keys(read, &mut findings)?;
    verify_grants(read, &mut findings)?;
    Ok(findings)
}

/// Each key that is listed is there, and is its principal's; those of whoever is shut out are revoked.
fn verify_keys(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    rows::each(read, &KEYS_OF_PRINCIPALS, |(tenant_id, principal_id, key_id), _| {
        let key = find_key(read, &key_id)?;
        let is_own = |key: &KeyRecord| key.tenant_id == tenant_id.0 && key.principal_id == principal_id;
        match key.filter(is_own) {
            None => findings.push(format!("principal {principal_id}: the key {key_id} is not its own")),
            Some(key) if key.revoked_at.is_none() && !is_live(read, tenant_id, principal_id)? => {
                findings.push(format!("principal {principal_id}: is shut out, and has the key {key_id}"));
            }
            Some(_) => {}
        }
        Ok(())
    })
}

/// Whoever is shut out has no grant. Of principals that nobody knows, grants may be left of the time before there were
/// service accounts of keys.
fn verify_grants(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    rows::each(read, &GRANTS_BY_PRINCIPAL, |(tenant_id, principal_id, grant_id), _| {
        let is_known = read.contains(&MEMBERS, &(tenant_id, MemberId(principal_id)))?
            || read.contains(&ACCOUNTS, &(tenant_id, AccountId(principal_id)))?;
        if is_known && !is_live(read, tenant_id, principal_id)? {
            findings.push(format!("principal {principal_id}: is shut out, and has the grant {}", grant_id.0));
        }
        Ok(())
    })
}
