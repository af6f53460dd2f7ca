//! Keys: find and list.

use quintet_storage::{Abort, Failure, Read, Scan};

use super::catalogue::{self, Allowance, get_catalogue};
use super::key_ids::{key_id, split_key_id};
use super::model::{File, FileId, Key, KeyEntry, KeyId};
use super::tables::{KEY_FILES, KEY_FILES_BY_PROJECT, KeyFileRow};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::ProjectId;

/// One key, obsolete or not.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_key(read: &impl Read, shelf: &Shelf, tenant_id: TenantId, key_id: KeyId) -> Result<Key, Abort<Refusal>> {
    let (prefix, number) = split_key_id(key_id).ok_or(Refusal::NotFound)?;
    let KeyFileRow { project_id, file_id } = read.get(&KEY_FILES, &(tenant_id, prefix))?.ok_or(Refusal::NotFound)?;
    let catalogue = get_catalogue(read, tenant_id, file_id)?;
    let entry = catalogue::find(read, shelf, &catalogue, number)?.ok_or(Refusal::NotFound)?;
    Ok(Key { project_id, file_id, file_version: catalogue.version, key_id, entry })
}

/// Every active key of a file, in the order of their numbers.
///
/// # Errors
/// Only the store's.
pub fn each_active_key(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    file: &File,
    mut look: impl FnMut(Key),
) -> Result<(), Failure> {
    let catalogue = get_catalogue(read, tenant_id, file.file_id)?;
    let mut all = Allowance { keys: usize::MAX, bytes: usize::MAX, looked_bytes: usize::MAX };
    catalogue::active_after(read, &catalogue, 0, &mut all, |entry| {
        let key_id = key_id(file.key_prefix, entry.number);
        look(Key { project_id, file_id: file.file_id, file_version: catalogue.version, key_id, entry });
    })?;
    Ok(())
}

/// A key in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// In which file.
    pub file_id: FileId,
    /// Its id.
    pub key_id: KeyId,
    /// What it says.
    pub entry: KeyEntry,
}

/// About how many bytes of source texts a page of keys has: one who asks and never reads holds no more than that.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// How many files a page of keys looks at: those may have none.
const PAGE_FILES_MAX: usize = 500;
/// How many bytes of catalogues a page looks at, and of the rows that say where they lie: some 15 ms.
const PAGE_LOOKED_BYTES_MAX: usize = 8 << 20;
/// About how many bytes the row of a catalogue has, and each of its pages in it.
const CATALOGUE_ROW_BYTES: usize = 256;
/// See [`CATALOGUE_ROW_BYTES`].
const PAGE_ROW_BYTES: usize = 16;

/// A page of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// At most as many as were asked for.
    pub keys: Vec<ListedKey>,
    /// Behind which id to go on, if there may be more.
    pub next: Option<KeyId>,
}

/// The active keys of a project behind `after`, in the order of their ids. A page ends early, and may then be empty, once
/// its sources take about 1 MiB, or it has looked at 500 files or at 8 MiB of lists of keys.
///
/// # Errors
/// Only the store's.
pub fn list_keys(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    after: Option<KeyId>,
    limit: usize,
) -> Result<KeyPage, Failure> {
    let (from_prefix, mut after_number) = after.and_then(split_key_id).unwrap_or((0, 0));
    let scan = Scan::prefix(&(tenant_id, project_id)).from(&(tenant_id, project_id, from_prefix));
    let files = read.scan(&KEY_FILES_BY_PROJECT, scan.limit(PAGE_FILES_MAX))?;
    let last_prefix = files.last().map(|((.., prefix), _)| *prefix).filter(|_| files.len() == PAGE_FILES_MAX);
    let mut allowance = Allowance { keys: limit, bytes: PAGE_BYTES_MAX, looked_bytes: PAGE_LOOKED_BYTES_MAX };
    let mut page = KeyPage::default();
    for ((.., prefix), KeyFileRow { file_id, .. }) in files {
        if allowance.looked_bytes == 0 {
            page.next = Some(key_id(prefix, 0));
            return Ok(page);
        }
        let number = if prefix == from_prefix { std::mem::take(&mut after_number) } else { 0 };
        let catalogue = get_catalogue(read, tenant_id, file_id)?;
        let row_bytes = CATALOGUE_ROW_BYTES + PAGE_ROW_BYTES * catalogue.pages.len();
        let behind = catalogue::active_after(read, &catalogue, number, &mut allowance, |entry| {
            page.keys.push(ListedKey { file_id, key_id: key_id(prefix, entry.number), entry });
        })?;
        if let Some(number) = behind {
            page.next = Some(key_id(prefix, number));
            return Ok(page);
        }
        allowance.looked_bytes = allowance.looked_bytes.saturating_sub(row_bytes);
    }
    // Where the next page begins if none of these files has another key.
    page.next = last_prefix.map(|prefix| key_id(prefix, u64::MAX));
    Ok(page)
}
