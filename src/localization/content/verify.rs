//! Whether files, their keys and their translations agree with one another, and every large value with its digest. No
//! key is needed: what is sealed is checked as it is stored.

use quintet_storage::large::{self, LargeValue};
use quintet_storage::{Failure, Read, Scan};

use super::model::FileId;
use super::tables::{
    CATALOGUES, FILE_LOCALES, FILE_PATHS, FILE_VERSIONS, FILES, FileRow, IMPORTS, KEY_CONTEXTS, KEY_FILES,
    KEY_FILES_BY_PROJECT, KeyFileRow, TRANSLATIONS,
};
use crate::model::TenantId;
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    verify_files(read, &mut findings)?;
    verify_translations(read, &mut findings)?;
    Ok(findings)
}

fn verify_files(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut files = 0_u64;
    rows::each(read, &FILES, |(tenant_id, project_id, file_id), row| {
        files += 1;
        let place = format!("file {}", file_id.0);
        let path = read.get(&FILE_PATHS, &(tenant_id, project_id, row.path.clone()))?;
        if path.is_none_or(|path| path.file_id != file_id) {
            findings.push(format!("{place}: its path is not its own"));
        }
        let owner = Some(KeyFileRow { project_id, file_id });
        let by_tenant = read.get(&KEY_FILES, &(tenant_id, row.key_prefix))?;
        let by_project = read.get(&KEY_FILES_BY_PROJECT, &(tenant_id, project_id, row.key_prefix))?;
        if by_tenant != owner || by_project != owner {
            findings.push(format!("{place}: its keys' ids are not its own"));
        }
        verify_file(read, tenant_id, file_id, &row, &place, findings)
    })?;
    let paths = rows::count(read, &FILE_PATHS)?;
    let prefixes = rows::count(read, &KEY_FILES)?;
    if (paths, prefixes) != (files, files) {
        findings.push(format!("{files} files have {paths} paths and {prefixes} prefixes of keys"));
    }
    Ok(())
}

fn verify_file(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    row: &FileRow,
    place: &str,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let versions = read.scan(&FILE_VERSIONS, Scan::prefix(&(tenant_id, file_id)))?;
    let numbers: Vec<u32> = versions.iter().map(|((.., version), _)| *version).collect();
    if !numbers.iter().copied().eq(1..=row.version) {
        findings.push(format!("{place}: its versions are not 1 to {}", row.version));
    }
    let mut missing = Vec::new();
    let mut check = |what: String, value: &LargeValue| -> Result<(), Failure> {
        if !large::is_sound(read, value)? {
            findings.push(format!("{place}: {what} is not what was stored"));
        }
        Ok(())
    };
    for ((.., version), version_row) in &versions {
        check(format!("the original of version {version}"), &version_row.original)?;
        match read.get(&IMPORTS, &(tenant_id, file_id, version_row.audit_seq))? {
            Some(import) => check(format!("what version {version} changed"), &import.changes)?,
            None => missing.push(format!("{place}: what version {version} changed is gone")),
        }
    }
    let catalogue = read.get(&CATALOGUES, &(tenant_id, file_id))?;
    match &catalogue {
        Some(catalogue) => check("its list of keys".to_owned(), &catalogue.value)?,
        None => missing.push(format!("{place}: it has no list of keys")),
    }
    if let Some(contexts) = read.get(&KEY_CONTEXTS, &(tenant_id, file_id))? {
        check("the context of its keys".to_owned(), &contexts.value)?;
    }
    findings.append(&mut missing);
    if catalogue.is_some_and(|catalogue| catalogue.version != row.version) {
        findings.push(format!("{place}: its list of keys is another version's"));
    }
    let last = versions.last().map(|(_, version)| (version.sha256, version.keys));
    if last.is_some_and(|last| last != (row.sha256, row.keys)) {
        findings.push(format!("{place}: it is not its last version"));
    }
    Ok(())
}

/// The counter of each file and locale against its translations.
fn verify_translations(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted: Option<((TenantId, FileId, String), u64)> = None;
    let mut complain = |key: &(TenantId, FileId, String), found: u64| -> Result<(), Failure> {
        let row = read.get(&FILE_LOCALES, key)?.unwrap_or_default();
        if row.translations != found || row.changes < found {
            findings.push(format!("file {} in {}: {found} translations are counted as {row:?}", key.1.0, key.2));
        }
        Ok(())
    };
    let mut groups = 0_u64;
    rows::each(read, &TRANSLATIONS, |(tenant_id, file_id, locale, _), _| {
        let key = (tenant_id, file_id, locale);
        match &mut counted {
            Some((last, count)) if *last == key => *count += 1,
            _ => {
                if let Some((last, count)) = counted.replace((key, 1)) {
                    complain(&last, count)?;
                }
                groups += 1;
            }
        }
        Ok(())
    })?;
    if let Some((last, count)) = counted {
        complain(&last, count)?;
    }
    let counters = rows::count(read, &FILE_LOCALES)?;
    if groups != counters {
        findings.push(format!("translations of {groups} files and locales have {counters} counters"));
    }
    Ok(())
}
