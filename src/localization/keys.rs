//! Keys and files: find and list.

use quintet_storage::{Abort, Failure, Read, Scan};

use crate::catalogue::{self, Allowance, KeyEntry, split_key_id};
use crate::model::{FileId, KeyId, ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{CATALOGUES, CatalogueRow, FILES, FileRow, KEY_FILES, KEY_FILES_BY_PROJECT, KeyFileRow};

/// A file as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its id.
    pub file_id: FileId,
    /// Everything else.
    pub row: FileRow,
}

/// A key with the file it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// In which project.
    pub project_id: ProjectId,
    /// The file.
    pub file: File,
    /// The key.
    pub entry: KeyEntry,
}

impl Key {
    /// Its id.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        catalogue::key_id(self.file.row.key_prefix, self.entry.number)
    }
}

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
    Ok(File { file_id, row })
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
    Ok((rows.into_iter().take(limit).map(|((.., file_id), row)| File { file_id, row }).collect(), more))
}

/// The catalogue of a file.
///
/// # Errors
/// Only the store's.
pub fn get_catalogue(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<CatalogueRow, Failure> {
    let row = read.get(&CATALOGUES, &(tenant_id, file_id))?;
    row.ok_or_else(|| Failure::Damaged(format!("file {} has no catalogue", file_id.0)))
}

/// One key, obsolete or not.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_key(read: &impl Read, tenant_id: TenantId, key_id: KeyId) -> Result<Key, Abort<Refusal>> {
    let (prefix, number) = split_key_id(key_id).ok_or(Refusal::NotFound)?;
    let KeyFileRow { project_id, file_id } = read.get(&KEY_FILES, &(tenant_id, prefix))?.ok_or(Refusal::NotFound)?;
    let file = get_file(read, tenant_id, project_id, file_id)?;
    let catalogue = get_catalogue(read, tenant_id, file_id)?;
    let entry = catalogue::find(read, &catalogue, number)?.ok_or(Refusal::NotFound)?;
    Ok(Key { project_id, file, entry })
}

/// A key in a list, with its file.
pub type ListedKey = (FileId, KeyId, KeyEntry);

/// About how many bytes of source texts a page of keys has: one who asks and never reads holds no more than that.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// How many files a page of keys looks at: those may have none.
const PAGE_FILES_MAX: usize = 500;

/// The active keys of a project behind `after`, in the order of their ids; and behind which id to go on, if there may be
/// more. A page has at most `limit` keys, and ends early once their sources take about 1 MiB or it has looked at 500
/// files.
///
/// # Errors
/// Only the store's.
pub fn list_keys(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    after: Option<KeyId>,
    limit: usize,
) -> Result<(Vec<ListedKey>, Option<KeyId>), Failure> {
    let (from_prefix, mut after_number) = after.and_then(split_key_id).unwrap_or((0, 0));
    let scan = Scan::prefix(&(tenant_id, project_id)).from(&(tenant_id, project_id, from_prefix));
    let mut allowance = Allowance { keys: limit, bytes: PAGE_BYTES_MAX };
    let mut found = Vec::new();
    let files = read.scan(&KEY_FILES_BY_PROJECT, scan.limit(PAGE_FILES_MAX))?;
    // Where the next page begins if none of these files has another key.
    let behind = files.last().filter(|_| files.len() == PAGE_FILES_MAX);
    let behind = behind.map(|((.., prefix), _)| catalogue::key_id(*prefix, u64::MAX));
    for ((.., prefix), KeyFileRow { file_id, .. }) in files {
        let number = if prefix == from_prefix { std::mem::take(&mut after_number) } else { 0 };
        let catalogue = get_catalogue(read, tenant_id, file_id)?;
        let is_all = catalogue::active_after(read, &catalogue, number, &mut allowance, |entry| {
            found.push((file_id, catalogue::key_id(prefix, entry.number), entry));
        })?;
        if !is_all {
            let last = found.last().map(|(_, key_id, _)| *key_id);
            return Ok((found, last));
        }
    }
    Ok((found, behind))
}
