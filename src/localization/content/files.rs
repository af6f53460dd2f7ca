//! Files: find and list.

use quintet_storage::{Abort, Failure, Read, Scan};

use super::model::{File, FileId};
use super::tables::FILES;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// One file of a project.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_file(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    file_id: FileId,
) -> Result<File, Abort<Refusal>> {
    let row = read.get(&FILES, &(tenant_id, project_id, file_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_file(file_id))
}

/// The files of a project behind `after`, oldest first; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_files(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    after: Option<FileId>,
    limit: usize,
) -> Result<(Vec<File>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id, project_id)).limit(limit + 1);
    if let Some(after) = after {
        scan = scan.after(&(tenant_id, project_id, after));
    }
    let rows = read.scan(&FILES, scan)?;
    let more = rows.len() > limit;
    Ok((rows.into_iter().take(limit).map(|((.., file_id), row)| row.into_file(file_id)).collect(), more))
}

/// Whether a project has any file.
///
/// # Errors
/// Only the store's.
pub fn has_files(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<bool, Failure> {
    Ok(!read.scan(&FILES, Scan::prefix(&(tenant_id, project_id)).limit(1))?.is_empty())
}
