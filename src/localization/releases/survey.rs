//! What a release is made of, as far as it can be told without making it.

use std::collections::HashSet;

use quintet_storage::{Failure, Read, Scan};

use super::zip::{Layout, TooLarge};
use crate::content::{FILE_LOCALES, FILES, FileRow, Format, translation_locale};
use crate::figures;
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::rows;

/// By how many bytes a file may become shorter in a locale in which nothing of it is translated: by its root key, which
/// may be written with escapes.
const ROOT_BYTES: u64 = 4096;
/// A release of more is read from a checkpoint: it takes longer than a state can be looked at.
const SHORT_BYTES_MAX: u64 = 256 << 20;
const SHORT_ENTRIES_MAX: u64 = 50_000;

/// What a release is made of.
#[derive(Debug)]
pub struct Survey {
    /// Files of the project.
    pub files: u64,
    /// The locales in which something is approved, in the order of their folders.
    pub locales: Vec<Locale>,
    /// How many bytes the files have.
    source_bytes: u64,
}

impl Survey {
    /// Of a project, in one state.
    ///
    /// # Errors
    /// Only the store's.
    pub fn of(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Survey, Failure> {
        let (mut files, mut source_bytes) = (0, 0);
        each_file(read, tenant_id, project_id, |row| {
            files += 1;
            source_bytes += row.size_bytes;
        })?;
        let mut tags = figures::approved_locales(read, tenant_id, project_id)?;
        // In the order of bytes of what stands in names: `de-AT/` comes before `de/`.
        tags.sort_by_cached_key(|tag| format!("{tag}/"));
        let locale = |tag: &String| {
            translation_locale(tag).map_err(|_| Failure::Damaged(format!("{tag:?} is stored as a locale")))
        };
        let locales = tags.iter().map(locale).collect::<Result<_, _>>()?;
        Ok(Survey { files, locales, source_bytes })
    }

    fn locale_count(&self) -> u64 {
        self.locales.len() as u64
    }

    /// How many entries the archive has.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.files.saturating_mul(self.locale_count())
    }

    /// Whether it takes longer to make than a state can be looked at.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.source_bytes.saturating_mul(self.locale_count()) > SHORT_BYTES_MAX || self.entries() > SHORT_ENTRIES_MAX
    }

    /// Whether the archive is too large already by those files that stay as they are in a locale, since nothing of them is
    /// translated: then nothing needs to be made to find that out.
    ///
    /// # Errors
    /// The store's.
    pub fn is_too_large(
        &self,
        read: &impl Read,
        tenant_id: TenantId,
        project_id: ProjectId,
        bytes_max: u64,
    ) -> Result<bool, Failure> {
        if self.source_bytes.saturating_mul(self.locale_count()) <= bytes_max {
            return Ok(false);
        }
        let mut layout = Layout::new(bytes_max);
        let mut is_too_large = false;
        let scan = || Scan::prefix(&(tenant_id, project_id));
        rows::each_while(read, &FILES, scan, |(.., file_id), row| {
            let mut translated = HashSet::new();
            let pairs = || Scan::prefix(&(tenant_id, file_id));
            rows::each_of(read, &FILE_LOCALES, pairs, |(.., locale), counts| {
                if counts.translations > 0 {
                    translated.insert(locale);
                }
                Ok::<_, Failure>(())
            })?;
            for locale in &self.locales {
                let least = if translated.contains(locale.canonical()) { 0 } else { least_bytes(&row) };
                is_too_large |= layout.add(&row.path, least) == Err(TooLarge);
            }
            Ok::<_, Failure>(!is_too_large)
        })?;
        Ok(is_too_large)
    }
}

/// How many bytes a file has at least in a locale in which nothing of it is translated.
fn least_bytes(row: &FileRow) -> u64 {
    match row.format {
        Format::YamlRails => row.size_bytes.saturating_sub(ROOT_BYTES),
        _ => row.size_bytes,
    }
}

fn each_file(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    mut look: impl FnMut(&FileRow),
) -> Result<(), Failure> {
    rows::each_of(
        read,
        &FILES,
        || Scan::prefix(&(tenant_id, project_id)),
        |_, row| {
            look(&row);
            Ok(())
        },
    )
}
