//! Whether all rows of localization agree: the audit chains, and every index with what it points to.

use quintet_storage::{Failure, Key, Read, Row, Scan, Table};

use crate::audit;
use crate::tables::{
    GRANTS, GRANTS_BY_PRINCIPAL, Mark, PROJECT_SLUGS, PROJECTS, SHORT_IDS, ShortIdRow, WORKSPACE_SLUGS, WORKSPACES,
};

/// Rows read at a time.
const PAGE_ROWS: usize = 1000;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = audit::verify(read)?;
    verify_workspaces(read, &mut findings)?;
    verify_projects(read, &mut findings)?;
    verify_grants(read, &mut findings)?;
    Ok(findings)
}

/// Every row of a table, page by page.
pub(crate) fn each<K: Key + Clone, V: Row>(
    read: &impl Read,
    table: &Table<K, V>,
    mut look: impl FnMut(K, V) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after: Option<K> = None;
    loop {
        let mut scan = Scan::all().limit(PAGE_ROWS);
        if let Some(after) = &after {
            scan = scan.after(after);
        }
        let rows = read.scan(table, scan)?;
        let is_last = rows.len() < PAGE_ROWS;
        for (key, row) in rows {
            after = Some(key.clone());
            look(key, row)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

fn verify_workspaces(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (mut rows, mut slugs) = (0_u64, 0_u64);
    each(read, &WORKSPACES, |(tenant_id, id), row| {
        rows += 1;
        let slug = read.get(&WORKSPACE_SLUGS, &(tenant_id, row.slug.clone()))?;
        if slug.is_none_or(|slug| slug.workspace_id != id) {
            findings.push(format!("workspace {}: its slug is not its own", id.0));
        }
        if read.get(&SHORT_IDS, &(tenant_id, row.short_id))? != Some(ShortIdRow::Workspace(id)) {
            findings.push(format!("workspace {}: its short id is not its own", id.0));
        }
        Ok(())
    })?;
    each(read, &WORKSPACE_SLUGS, |_, _| {
        slugs += 1;
        Ok(())
    })?;
    if rows != slugs {
        findings.push(format!("{rows} workspaces have {slugs} slugs"));
    }
    Ok(())
}

fn verify_projects(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (mut rows, mut slugs) = (0_u64, 0_u64);
    each(read, &PROJECTS, |(tenant_id, id), row| {
        rows += 1;
        let slug = read.get(&PROJECT_SLUGS, &(tenant_id, row.workspace_id, row.slug.clone()))?;
        if slug.is_none_or(|slug| slug.project_id != id) {
            findings.push(format!("project {}: its slug is not its own", id.0));
        }
        if read.get(&SHORT_IDS, &(tenant_id, row.short_id))? != Some(ShortIdRow::Project(id)) {
            findings.push(format!("project {}: its short id is not its own", id.0));
        }
        if !read.contains(&WORKSPACES, &(tenant_id, row.workspace_id))? {
            findings.push(format!("project {}: its workspace is gone", id.0));
        }
        Ok(())
    })?;
    each(read, &PROJECT_SLUGS, |_, _| {
        slugs += 1;
        Ok(())
    })?;
    if rows != slugs {
        findings.push(format!("{rows} projects have {slugs} slugs"));
    }
    Ok(())
}

fn verify_grants(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (mut rows, mut marks) = (0_u64, 0_u64);
    each(read, &GRANTS, |(tenant_id, id), row| {
        rows += 1;
        let principal = quintet_storage::Uuid::from_bytes(row.principal);
        if !read.contains(&GRANTS_BY_PRINCIPAL, &(tenant_id, principal, id))? {
            findings.push(format!("grant {}: its principal does not have it", id.0));
        }
        Ok(())
    })?;
    each(read, &GRANTS_BY_PRINCIPAL, |_, Mark| {
        marks += 1;
        Ok(())
    })?;
    if rows != marks {
        findings.push(format!("{rows} grants are in the index {marks} times"));
    }
    Ok(())
}
