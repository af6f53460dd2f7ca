//! Counting prose keys (localization, P3): active keys of class prose, in all files, that no legal prefix covers.

use std::collections::HashSet;

use quintet_storage::{Abort, Failure, Read};

use crate::content::{File, FileId, KeyClass, each_active_key, get_contexts, get_file, list_files};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::Project;

/// Files read at a time.
const FILES_AT_A_TIME: usize = 100;

/// How many prose keys a project has.
///
/// # Errors
/// Only the store's.
pub fn count(read: &impl Read, tenant_id: TenantId, project: &Project) -> Result<u64, Failure> {
    let mut count = 0;
    each_file(read, tenant_id, project, |file| each_prose_key(read, tenant_id, project, file, |_| count += 1))?;
    Ok(count)
}

/// Looks at each file of a project.
///
/// # Errors
/// Those of `look`, and the store's.
pub fn each_file(
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    mut look: impl FnMut(&File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let (files, more) = list_files(read, tenant_id, project.project_id, after, FILES_AT_A_TIME)?;
        files.iter().try_for_each(&mut look)?;
        after = files.last().map(|file| file.file_id);
        if !more {
            return Ok(());
        }
    }
}

/// How many of a file's keys of these numbers, in ascending order, are prose keys now.
///
/// # Errors
/// Only the store's.
pub fn count_of(
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    file_id: FileId,
    numbers: &[u64],
) -> Result<u64, Failure> {
    let file = match get_file(read, tenant_id, project.project_id, file_id) {
        Ok(file) => file,
        Err(Abort::Failed(failure)) => return Err(failure),
        Err(Abort::Refused(Refusal::NotFound)) => return Ok(0),
        Err(Abort::Refused(refusal)) => return Err(Failure::Damaged(format!("{refusal:?}"))),
    };
    let mut count = 0;
    each_prose_key(read, tenant_id, project, &file, |number| {
        count += u64::from(numbers.binary_search(&number).is_ok());
    })?;
    Ok(count)
}

/// The numbers of a file's prose keys.
fn each_prose_key(
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    file: &File,
    mut look: impl FnMut(u64),
) -> Result<(), Failure> {
    let contexts = get_contexts(read, tenant_id, file.file_id)?;
    let is_prose = contexts.all.iter().filter(|context| context.class == Some(KeyClass::Prose));
    let paths = is_prose.map(|context| context.path.as_str()).filter(|path| !project.is_legal(path));
    let paths: HashSet<&str> = paths.collect();
    if paths.is_empty() {
        return Ok(());
    }
    each_active_key(read, tenant_id, project.project_id, file, |key| {
        if paths.contains(key.entry.path.as_str()) {
            look(key.entry.number);
        }
    })
}
