//! Whether principals agree with their indexes and counts.

use std::collections::HashMap;

use quintet_storage::{Failure, Read};

use super::model::{AccountStatus, MemberId};
use super::tables::{ACCOUNTS, COUNTS, CountsRow, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_BY_SUBJECT};
use crate::model::TenantId;
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut counts: HashMap<TenantId, CountsRow> = HashMap::new();
    verify_members(read, &mut findings, &mut counts)?;
    verify_accounts(read, &mut findings, &mut counts)?;
    verify_counts(read, &mut findings, &counts)?;
    Ok(findings)
}

fn verify_members(
    read: &impl Read,
    findings: &mut Vec<String>,
    counts: &mut HashMap<TenantId, CountsRow>,
) -> Result<(), Failure> {
    let (mut emails, mut subjects) = (0_u64, 0_u64);
    rows::each(read, &MEMBERS, |(tenant_id, id), row| {
        if row.status.is_live() {
            counts.entry(tenant_id).or_default().live_members += 1;
        }
        if row.status.is_live() != row.email_mark.is_some() {
            findings.push(format!("member {}: its address is held by it as it should not be", id.0));
        }
        for (mark, table, name, count) in [
            (row.email_mark, &MEMBERS_BY_EMAIL, "address", &mut emails),
            (row.subject_mark, &MEMBERS_BY_SUBJECT, "subject", &mut subjects),
        ] {
            let Some(mark) = mark else { continue };
            *count += 1;
            if read.get(table, &(tenant_id, mark))?.is_none_or(|found| found.member_id != id) {
                findings.push(format!("member {}: its {name} is not its own", id.0));
            }
        }
        Ok(())
    })?;
    for (table, name, expected) in
        [(&MEMBERS_BY_EMAIL, "addresses", emails), (&MEMBERS_BY_SUBJECT, "subjects", subjects)]
    {
        let marks = rows::count(read, table)?;
        if marks != expected {
            findings.push(format!("{expected} {name} of members have {marks} marks"));
        }
    }
    Ok(())
}

fn verify_accounts(
    read: &impl Read,
    findings: &mut Vec<String>,
    counts: &mut HashMap<TenantId, CountsRow>,
) -> Result<(), Failure> {
    rows::each(read, &ACCOUNTS, |(tenant_id, id), row| {
        if row.status == AccountStatus::Active && !row.is_operators {
            counts.entry(tenant_id).or_default().active_accounts += 1;
        }
        if read.contains(&MEMBERS, &(tenant_id, MemberId(id.0)))? {
            findings.push(format!("service account {}: is a member, too", id.0));
        }
        Ok(())
    })
}

fn verify_counts(
    read: &impl Read,
    findings: &mut Vec<String>,
    counts: &HashMap<TenantId, CountsRow>,
) -> Result<(), Failure> {
    let mut stored: HashMap<TenantId, CountsRow> = HashMap::new();
    rows::each(read, &COUNTS, |tenant_id, row| {
        stored.insert(tenant_id, row);
        Ok(())
    })?;
    for tenant_id in counts.keys().chain(stored.keys()) {
        let of = |all: &HashMap<TenantId, CountsRow>| all.get(tenant_id).copied().unwrap_or_default();
        if of(counts) != of(&stored) {
            findings.push(format!("tenant {}: has other principals than are counted", tenant_id.0));
        }
    }
    findings.dedup();
    Ok(())
}
