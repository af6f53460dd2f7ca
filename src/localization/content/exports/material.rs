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

/// Everything an export is made from.
pub struct Material {
    /// The file.
    pub file: File,
    /// The file in the locale that it was gathered for: its version, and every change of a translation.
    pub revision: u64,
    /// Its bytes.
    pub original: Vec<u8>,
    /// Every key of the file, in the order of numbers; none if no locale was asked for.
    entries: Vec<KeyEntry>,
    /// Where among them the active ones are, by path.
    active: HashMap<String, usize>,
    /// By numbers of keys.
    translations: HashMap<u64, TranslationRow>,
}

impl Material {
    /// The active key at a path and its translation.
    pub fn key(&self, path: &str) -> Option<(&KeyEntry, Option<&TranslationRow>)> {
        let entry = self.entries.get(*self.active.get(path)?)?;
        Some((entry, self.translations.get(&entry.number)))
    }
}

/// Reads what an export is made from.
///
/// # Errors
/// [`Refusal::ValueTooLong`] if the translations have more than `bytes_max` bytes together.
pub fn gather(
    read: &impl Read,
    tenant_id: TenantId,
    file: File,
    locale: Option<&Locale>,
    bytes_max: usize,
) -> Result<Material, Abort<Refusal>> {
    let file_id = file.file_id;
    let version = read.get(&FILE_VERSIONS, &(tenant_id, file_id, file.version))?;
    let version = version.ok_or_else(|| Failure::Damaged(format!("file {} lacks its version", file_id.0)))?;
    let mut material = Material {
        revision: u64::from(file.version),
        file,
        original: sealed::read_all(read, &version.original)?,
        entries: Vec::new(),
        active: HashMap::new(),
        translations: HashMap::new(),
    };
    let Some(locale) = locale else { return Ok(material) };
    material.entries = read_entries(read, &get_catalogue(read, tenant_id, file_id)?)?;
    let entries = material.entries.iter().enumerate();
    let active = entries.filter(|(_, entry)| !entry.is_obsolete);
    material.active = active.map(|(place, entry)| (entry.path.clone(), place)).collect();
    let mut bytes = 0;
    let in_locale = || Scan::prefix(&(tenant_id, file_id, locale.canonical().to_owned()));
    rows::each_of(read, &TRANSLATIONS, in_locale, |(.., number), row| {
        bytes += row.content.bytes();
        if bytes > bytes_max {
            return Err(Abort::Refused(Refusal::ValueTooLong));
        }
        material.translations.insert(number, row);
        Ok(())
    })?;
    let counts = read.get(&FILE_LOCALES, &(tenant_id, file_id, locale.canonical().to_owned()))?;
    material.revision += counts.map_or(0, |row| row.changes) + outdated(&material);
    Ok(material)
}

/// How many translations are outdated now, of obsolete keys, too: each counts in the revision, and those that were and
/// have been written anew have been counted with that.
fn outdated(material: &Material) -> u64 {
    let entries = material.entries.iter();
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
