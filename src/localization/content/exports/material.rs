//! Everything an export is made from, read in one state.

use std::collections::HashMap;

use quintet_platform::http::etag::ETag;
use quintet_storage::{Abort, Failure, Read, Scan};

use crate::content::catalogue::{get_catalogue, read_entries};
use crate::content::model::{File, KeyEntry};
use crate::content::sealed;
use crate::content::tables::{FILE_LOCALES, FILE_VERSIONS, TRANSLATIONS, TranslationRow};
use crate::content::translation::State;
use crate::content::translations::state_of;
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::rows;

/// How many bytes of translations an export may hold, which all lie in memory: several times of the largest file.
pub const TRANSLATIONS_BYTES_MAX: usize = 256 << 20;

/// What a key takes in memory besides its texts, about: in the list of keys, among their paths, as a unit and its places in
/// the file.
const KEY_BYTES: usize = 400;

/// The latest version of a file and its keys: what its exports into all locales are made from.
pub struct Base {
    /// The file.
    pub file: File,
    /// Its bytes.
    pub original: Vec<u8>,
    /// Every key of the file, in the order of numbers; none if they were not asked for.
    entries: Vec<KeyEntry>,
    /// Where among them the active ones are, by path.
    active: HashMap<String, usize>,
}

/// Everything an export is made from.
pub struct Material<'b> {
    /// The version of the file, and its keys.
    pub base: &'b Base,
    /// The file in the locale that it was gathered for: its version, and every change of a translation.
    pub revision: u64,
    /// By numbers of keys.
    translations: HashMap<u64, TranslationRow>,
}

impl Base {
    /// How many bytes it takes in memory, about, with what is read of it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let of_entry = |entry: &KeyEntry| 4 * entry.path.len() + 3 * entry.source.memory_bytes() + KEY_BYTES;
        self.original.len() + self.entries.iter().map(of_entry).sum::<usize>()
    }

    /// Reads the latest version of a file; with its keys, for exports into locales.
    ///
    /// # Errors
    /// Only the store's.
    pub fn read(read: &impl Read, tenant_id: TenantId, file: File, with_keys: bool) -> Result<Base, Failure> {
        let file_id = file.file_id;
        let version = read.get(&FILE_VERSIONS, &(tenant_id, file_id, file.version))?;
        let version = version.ok_or_else(|| Failure::Damaged(format!("file {} lacks its version", file_id.0)))?;
        let original = sealed::read_all(read, &version.original)?;
        let mut base = Base { file, original, entries: Vec::new(), active: HashMap::new() };
        if with_keys {
            base.entries = read_entries(read, &get_catalogue(read, tenant_id, file_id)?)?;
            let active = base.entries.iter().enumerate().filter(|(_, entry)| !entry.is_obsolete);
            base.active = active.map(|(place, entry)| (entry.path.clone(), place)).collect();
        }
        Ok(base)
    }

    /// Reads what an export is made from, in the state that this was read in.
    ///
    /// # Errors
    /// [`Refusal::ValueTooLong`] if the translations have more than `bytes_max` bytes together.
    pub fn gather(
        &self,
        read: &impl Read,
        tenant_id: TenantId,
        locale: Option<&Locale>,
        bytes_max: usize,
    ) -> Result<Material<'_>, Abort<Refusal>> {
        let revision = u64::from(self.file.version);
        let mut material = Material { base: self, revision, translations: HashMap::new() };
        let Some(locale) = locale else { return Ok(material) };
        let in_locale = (tenant_id, self.file.file_id, locale.canonical().to_owned());
        let mut bytes = 0;
        rows::each_of(
            read,
            &TRANSLATIONS,
            || Scan::prefix(&in_locale),
            |(.., number), row| {
                bytes += row.content.bytes();
                if bytes > bytes_max {
                    return Err(Abort::Refused(Refusal::ValueTooLong));
                }
                material.translations.insert(number, row);
                Ok(())
            },
        )?;
        let counts = read.get(&FILE_LOCALES, &in_locale)?;
        material.revision += counts.map_or(0, |row| row.changes) + outdated(&material);
        Ok(material)
    }
}

impl Material<'_> {
    /// The active key at a path and its translation.
    pub fn key(&self, path: &str) -> Option<(&KeyEntry, Option<&TranslationRow>)> {
        let entry = self.base.entries.get(*self.base.active.get(path)?)?;
        Some((entry, self.translations.get(&entry.number)))
    }
}

/// How many translations are outdated now, of obsolete keys, too: each counts in the revision, and those that were and
/// have been written anew have been counted with that.
fn outdated(material: &Material<'_>) -> u64 {
    let entries = material.base.entries.iter();
    let states = entries.map(|entry| state_of(entry, material.translations.get(&entry.number)));
    states.filter(|state| *state == State::Outdated).count() as u64
}

/// `"r<revision>"`
#[must_use]
pub fn etag(revision: u64) -> ETag {
    ETag::strong(&format!("r{revision}"))
}

/// Whether what was wished for is the current revision.
///
/// # Errors
/// [`Refusal::RevisionSuperseded`], [`Refusal::RevisionNotFound`]
pub fn check_revision(wished: Option<u64>, current: u64) -> Result<(), Refusal> {
    match wished {
        Some(wished) if wished < current => Err(Refusal::RevisionSuperseded(etag(current))),
        Some(wished) if wished > current => Err(Refusal::RevisionNotFound),
        _ => Ok(()),
    }
}
