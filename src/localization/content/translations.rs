//! Translations: the row of one, and how often those of a file were changed. Whether one is outdated is derived from the
//! version its source came up in.

use quintet_storage::{Abort, Failure, Read, Scan, Uuid, WriteTx};

use super::model::{FileId, Key, KeyEntry};
use super::tables::{FILE_LOCALES, TRANSLATIONS, TranslationRow};
use super::translation::{State, Translation, Written};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::rows;

/// The most locales that a file may have translations into. The contract knows no such limit, but private use makes tags
/// without number.
pub const LOCALES_MAX: usize = 1000;

/// The state of a key's translation.
#[must_use]
pub fn state_of(entry: &KeyEntry, row: Option<&TranslationRow>) -> State {
    row.map_or(State::Untranslated, |row| State::of(entry, row.state, row.source_version))
}

/// What a row says of a key.
#[must_use]
pub fn translation(key: &Key, locale: &Locale, row: Option<TranslationRow>) -> Translation {
    let written = |row: TranslationRow| Written {
        revision: row.revision,
        content: row.content,
        origin: row.origin,
        updated_by: Uuid::from_bytes(row.updated_by),
        updated_at: row.updated_at,
        approval: row.approved,
    };
    let state = state_of(&key.entry, row.as_ref());
    Translation { key_id: key.key_id, locale: locale.canonical().to_owned(), state, written: row.map(written) }
}

/// One for each key and canonical tag (contract, Translation): `de` and `de-x-formal` are two.
fn place_of(tenant_id: TenantId, key: &Key, locale: &Locale) -> (TenantId, FileId, String, u64) {
    (tenant_id, key.file_id, locale.canonical().to_owned(), key.entry.number)
}

/// The row of a key's translation.
///
/// # Errors
/// Only the store's.
pub fn get_row(
    read: &impl Read,
    tenant_id: TenantId,
    key: &Key,
    locale: &Locale,
) -> Result<Option<TranslationRow>, Failure> {
    read.get(&TRANSLATIONS, &place_of(tenant_id, key, locale))
}

/// Every row of a file in a locale, with the number of its key, in the order of these.
///
/// # Errors
/// The store's, and those of `look`.
pub fn each_row<E: From<Failure>>(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    locale: &Locale,
    mut look: impl FnMut(u64, TranslationRow) -> Result<(), E>,
) -> Result<(), E> {
    let in_locale = || Scan::prefix(&(tenant_id, file_id, locale.canonical().to_owned()));
    rows::each_of(read, &TRANSLATIONS, in_locale, |(.., number), row| look(number, row))
}

/// The translation of a key.
///
/// # Errors
/// Only the store's.
pub fn get_translation(
    read: &impl Read,
    tenant_id: TenantId,
    key: &Key,
    locale: &Locale,
) -> Result<Translation, Failure> {
    Ok(translation(key, locale, get_row(read, tenant_id, key, locale)?))
}

/// Puts a row in the place of the one there was, and counts that in the locale's revision of the file. What may become
/// what is for [`review`](crate::review) to judge.
///
/// # Errors
/// [`Refusal::Conflict`] for one locale too many.
pub fn put_row(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    key: &Key,
    locale: &Locale,
    before: Option<&TranslationRow>,
    row: &TranslationRow,
) -> Result<(), Abort<Refusal>> {
    note_change(tx, tenant_id, key, locale, before)?;
    tx.put(&TRANSLATIONS, &place_of(tenant_id, key, locale), row)?;
    Ok(())
}

/// Counts a change in the locale's revision of the file.
fn note_change(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    key: &Key,
    locale: &Locale,
    before: Option<&TranslationRow>,
) -> Result<(), Abort<Refusal>> {
    let file_locale = (tenant_id, key.file_id, locale.canonical().to_owned());
    let counts = tx.get(&FILE_LOCALES, &file_locale)?;
    if counts.is_none() {
        let others = tx.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, key.file_id)).limit(LOCALES_MAX))?;
        if others.len() >= LOCALES_MAX {
            return Err(Refusal::Conflict("the file has translations into 1,000 locales, which is the most").into());
        }
    }
    let mut counts = counts.unwrap_or_default();
    counts.changes += 1;
    // It counted as outdated for as long as it was; from now on that is history.
    counts.changes += u64::from(state_of(&key.entry, before) == State::Outdated);
    counts.translations += u64::from(before.is_none());
    tx.put(&FILE_LOCALES, &file_locale, &counts)?;
    Ok(())
}
