//! What must be true of the rows of templates.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Scan, Timestamp};

use super::rows::{find, owner};
use super::tables::{DEFINITIONS, NAMES, PARAMS, TEMPLATES, VERSIONS, VersionKey};
use super::triggers;
use crate::model::{TemplateId, TriggerKey};

/// Templates, their names and their versions agree; no version is left out.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &TEMPLATES, findings, |key, row, findings| {
        let (template, (tenant_id, id)) = (row.0, key);
        let mut wrong = |what: &str| findings.push(format!("template {id} of tenant {tenant_id} {what}"));
        let numbers = read.scan(&VERSIONS, Scan::prefix(&key))?;
        if !numbers.iter().map(|((_, _, number), _)| *number).eq(1..=template.latest_version) {
            wrong("has versions left out, or too many");
        }
        match &template.name {
            Some(name) if owner(read, tenant_id, name)? != Some(id) => wrong("has a name that leads elsewhere"),
            _ => {}
        }
        Ok(())
    })?;
    each(read, &NAMES, findings, |(tenant_id, name), row, findings| {
        let id = TemplateId(quintet_storage::Uuid::from_bytes(row.template_id));
        if find(read, (tenant_id, id))?.is_none_or(|template| template.name.as_ref() != Some(&name)) {
            findings.push(format!("a template's name of tenant {tenant_id} leads to {id}, which is not called so"));
        }
        Ok(())
    })?;
    each(read, &VERSIONS, findings, |key: VersionKey, _, findings| {
        if !read.contains(&PARAMS, &key)? || !read.contains(&DEFINITIONS, &key)? {
            findings.push(format!("version {} of template {} of tenant {} says nothing", key.2, key.1, key.0));
        }
        Ok(())
    })?;
    triggers::verify::verify(read, findings)?;
    for table in [&PARAMS, &DEFINITIONS] {
        each(read, table, findings, |key: VersionKey, _, findings| {
            if !read.contains(&VERSIONS, &key)? || find(read, (key.0, key.1))?.is_none() {
                findings.push(format!("there are words of a version {} of template {}, which is none", key.2, key.1));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Whether a trigger begins at this instant.
pub(crate) fn begins_at(read: &impl Read, key: TriggerKey, at: Timestamp) -> Result<bool, Failure> {
    triggers::verify::begins_at(read, key, at)
}
