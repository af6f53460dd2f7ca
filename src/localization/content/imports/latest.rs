//! What is at the path of an upload.

use quintet_storage::{Abort, Failure, Read};

use crate::content::catalogue::get_catalogue;
use crate::content::files::get_file;
use crate::content::model::{File, FileId, Format};
use crate::content::tables::{CatalogueRow, FILE_PATHS, FilePathRow};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// The latest version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The file.
    pub file: File,
    /// Its keys.
    pub catalogue: CatalogueRow,
}

/// Which file is at a path of a project.
///
/// # Errors
/// Only the store's.
pub fn find_path(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    path: &str,
) -> Result<Option<FileId>, Failure> {
    let row = read.get(&FILE_PATHS, &(tenant_id, project_id, path.to_owned()))?;
    Ok(row.map(|FilePathRow { file_id }| file_id))
}

/// The file at a path of a project.
///
/// # Errors
/// Only the store's.
pub fn find_latest(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    path: &str,
) -> Result<Option<Latest>, Failure> {
    let Some(file_id) = find_path(read, tenant_id, project_id, path)? else { return Ok(None) };
    let file = get_file(read, tenant_id, project_id, file_id).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(_) => Failure::Damaged(format!("file {} has a path and nothing else", file_id.0)),
    })?;
    Ok(Some(Latest { file, catalogue: get_catalogue(read, tenant_id, file_id)? }))
}

/// Whether a file of this kind may become a version of what is at its path.
///
/// # Errors
/// [`Refusal::FormatMismatch`]
pub fn check_format(latest: &Latest, format: Format, root_locale: &str) -> Result<(), Refusal> {
    let is_same = latest.file.format == format && latest.file.root_locale == root_locale;
    if is_same { Ok(()) } else { Err(Refusal::FormatMismatch) }
}
