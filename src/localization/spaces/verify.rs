//! Whether workspaces and projects agree with their indexes.

use quintet_storage::{Failure, Read};

use super::tables::{PROJECT_SLUGS, PROJECTS, SHORT_IDS, ShortIdRow, WORKSPACE_SLUGS, WORKSPACES};
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    verify_workspaces(read, &mut findings)?;
    verify_projects(read, &mut findings)?;
    Ok(findings)
}

fn verify_workspaces(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut rows = 0_u64;
    rows::each(read, &WORKSPACES, |(tenant_id, id), row| {
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
    let slugs = rows::count(read, &WORKSPACE_SLUGS)?;
    if rows != slugs {
        findings.push(format!("{rows} workspaces have {slugs} slugs"));
    }
    Ok(())
}

fn verify_projects(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut rows = 0_u64;
    rows::each(read, &PROJECTS, |(tenant_id, id), row| {
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
    let slugs = rows::count(read, &PROJECT_SLUGS)?;
    if rows != slugs {
        findings.push(format!("{rows} projects have {slugs} slugs"));
    }
    Ok(())
}
