//! Whether sessions, their tenants and what finds them agree.

use quintet_storage::{Failure, Read, Uuid};

use super::tables::{
    Mark, SESSION_ORIGINS, SESSION_USES, SESSIONS, SESSIONS_BY_END, SESSIONS_BY_NAME, SESSIONS_BY_PRINCIPAL, SessionRow,
};
use crate::access::tables::TENANTS;
use crate::verify::each;

/// Adds what contradicts itself.
///
/// # Errors
/// Only the store's.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &SESSIONS, findings, |id, row, findings| {
        let (tenant_id, principal_id) = (Uuid::from_bytes(row.tenant), Uuid::from_bytes(row.principal));
        if !read.contains(&TENANTS, &tenant_id)? {
            findings.push(format!("session {id} is of tenant {tenant_id}, which does not exist"));
        }
        let mut is_found = read.contains(&SESSIONS_BY_PRINCIPAL, &(tenant_id, principal_id, id))?
            && read.contains(&SESSIONS_BY_END, &(row.end_hour(), id))?;
        for mark in row.each_mark() {
            is_found &= read.contains(&SESSIONS_BY_NAME, &(mark, id))?;
        }
        if !is_found {
            findings.push(format!("session {id} is not found by everything that should find it"));
        }
        if !read.contains(&SESSION_ORIGINS, &id)? {
            findings.push(format!("session {id} lacks what the provider said"));
        }
        if row.ends_at < row.created_at {
            findings.push(format!("session {id} ends before it began"));
        }
        Ok(())
    })?;
    let session = |id: Uuid| read.get(&SESSIONS, &id);
    let lost = |id: Uuid, index: &str| format!("{index} finds session {id}, which is not there");
    each(read, &SESSIONS_BY_PRINCIPAL, findings, |(tenant_id, principal_id, id), Mark, findings| {
        let is_its =
            |row: SessionRow| (row.tenant, row.principal) == (tenant_id.into_bytes(), principal_id.into_bytes());
        if !session(id)?.is_some_and(is_its) {
            findings.push(lost(id, "the index by principal"));
        }
        Ok(())
    })?;
    each(read, &SESSIONS_BY_NAME, findings, |(mark, id), Mark, findings| {
        if !session(id)?.is_some_and(|row| row.each_mark().any(|own| own == mark)) {
            findings.push(lost(id, "the index by name"));
        }
        Ok(())
    })?;
    each(read, &SESSIONS_BY_END, findings, |(hour, id), Mark, findings| {
        if session(id)?.is_none_or(|row| row.end_hour() != hour) {
            findings.push(lost(id, "the index by end"));
        }
        Ok(())
    })?;
    each(read, &SESSION_ORIGINS, findings, |id, _, findings| {
        if session(id)?.is_none() {
            findings.push(lost(id, "the table of origins"));
        }
        Ok(())
    })?;
    each(read, &SESSION_USES, findings, |id, _, findings| {
        if session(id)?.is_none() {
            findings.push(lost(id, "the table of uses"));
        }
        Ok(())
    })
}
