//! Whether releases are what they were: every archive against its digest and its manifest. Without the root key, what is
//! sealed is checked as it is stored.

use quintet_storage::large::{self, CHUNK_BYTES, LargeValue};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Failure, Read};
use sha2::{Digest as _, Sha256};

use super::manifest::read_page;
use super::model::Entry;
use super::tables::{RELEASES, RELEASES_BY_PROJECT, ReleaseRow};
use super::zip::{Directory, local_header};
use crate::content::ValueParts;
use crate::model::TenantId;
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut releases = 0_u64;
    rows::each(read, &RELEASES, |(tenant_id, release_id), row| {
        releases += 1;
        let place = format!("release {}", release_id.0);
        if !read.contains(&RELEASES_BY_PROJECT, &(tenant_id, row.project_id, release_id))? {
            findings.push(format!("{place}: it is missing from its project's list"));
        }
        if let Some(finding) = verify_release(read, tenant_id, &row)? {
            findings.push(format!("{place}: {finding}"));
        }
        Ok(())
    })?;
    let listed = rows::count(read, &RELEASES_BY_PROJECT)?;
    if listed != releases {
        findings.push(format!("{releases} releases are listed as {listed}"));
    }
    Ok(findings)
}

/// What is wrong with a release, if anything is.
fn verify_release(read: &impl Read, tenant_id: TenantId, row: &ReleaseRow) -> Result<Option<String>, Failure> {
    for (what, value) in [("its archive", &row.archive), ("its manifest", &row.manifest)] {
        if !large::is_sound(read, value)? {
            return Ok(Some(format!("{what} is not what was stored")));
        }
    }
    // Without the root key both are closed; and a tenant that was erased has nothing any more that could be read.
    if read.data_key(KeyOwner::Tenant(tenant_id.0)).is_err() {
        return Ok(None);
    }
    let compared = Compared::of(read, &row.archive).run(&row.manifest);
    Ok(match compared {
        Ok(Ok(found)) if (found.entries, found.sha256) == (row.entries, row.sha256) => None,
        Ok(Ok(found)) if found.sha256 == row.sha256 => {
            Some(format!("its manifest has {} entries and it says {}", found.entries, row.entries))
        }
        Ok(Ok(_)) => Some("its archive is not what its digest says".to_owned()),
        Ok(Err(finding)) => Some(finding),
        Err(Failure::Damaged(reason)) => Some(reason),
        Err(failure) => return Err(failure),
    })
}

/// What an archive was found to be.
struct Found {
    entries: u64,
    sha256: [u8; 32],
}

/// An archive that is held against its manifest, from its beginning on.
struct Compared<'r, R> {
    read: &'r R,
    archive: &'r LargeValue,
    parts: ValueParts<'r, R>,
    at: u64,
    hash: Sha256,
}

impl<'r, R: Read> Compared<'r, R> {
    fn of(read: &'r R, archive: &'r LargeValue) -> Self {
        Compared { read, archive, parts: ValueParts::of(read, archive), at: 0, hash: Sha256::new() }
    }

    /// The archive must be the manifest's entries, one behind the other, and the directory that follows from them.
    fn run(mut self, manifest: &LargeValue) -> Result<Result<Found, String>, Failure> {
        let mut directory = Directory::default();
        let (mut entries, mut page_at) = (0, 0);
        while let Some((page, next)) = read_page(self.read, manifest, page_at)? {
            for entry in page {
                entries += 1;
                if !self.is_next(&local_header(&entry))? || !self.is_content(&entry)? {
                    return Ok(Err(format!("entry {entries} of its archive is not what its manifest says")));
                }
            }
            page_at = next;
        }
        page_at = 0;
        while let Some((page, next)) = read_page(self.read, manifest, page_at)? {
            for entry in page {
                if !self.is_next(&directory.header(&entry))? {
                    return Ok(Err("the directory of its archive is not what its manifest says".to_owned()));
                }
            }
            page_at = next;
        }
        if !self.is_next(&directory.end())? || self.at != self.archive.size_bytes {
            return Ok(Err("the end of its archive is not what its manifest says".to_owned()));
        }
        Ok(Ok(Found { entries, sha256: self.hash.finalize().into() }))
    }

    /// Whether these bytes come next.
    fn is_next(&mut self, expected: &[u8]) -> Result<bool, Failure> {
        let length = u32::try_from(expected.len()).map_err(|_| Failure::TooLarge)?;
        Ok(self.take(length)?.is_some_and(|found| found == expected))
    }

    /// Whether the content of an entry comes next.
    fn is_content(&mut self, entry: &Entry) -> Result<bool, Failure> {
        let (mut left, mut hash) = (entry.size_bytes, Sha256::new());
        while left > 0 {
            let length = u32::try_from(left.min(CHUNK_BYTES as u64)).unwrap_or(u32::MAX);
            let Some(bytes) = self.take(length)? else { return Ok(false) };
            hash.update(&bytes);
            left -= u64::from(length);
        }
        let found: [u8; 32] = hash.finalize().into();
        Ok(found == entry.sha256)
    }

    /// The next bytes; `None`: the archive has not so many.
    fn take(&mut self, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let end = self.at + u64::from(length);
        if end > self.archive.size_bytes {
            return Ok(None);
        }
        let bytes = self.parts.read(self.at, length)?;
        self.at = end;
        self.hash.update(&bytes);
        Ok(Some(bytes))
    }
}
