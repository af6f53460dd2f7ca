//! Translations: read and write one. Whether one is outdated is derived from the version its source came up in.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::model::{FileId, Key, KeyEntry, Source};
use super::tables::{FILE_LOCALES, TRANSLATIONS, TranslationRow};
use super::translation::{ReviewState, State, Translated, Translation, Wished, Wording, Written, shaped};
use crate::audit::{self, Actor, Event};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The most locales that a file may have translations into. The contract knows no such limit, but private use makes tags
/// without number.
pub const LOCALES_MAX: usize = 1000;

/// The state of a key's translation.
#[must_use]
pub fn state_of(entry: &KeyEntry, row: Option<&TranslationRow>) -> State {
    row.map_or(State::Untranslated, |row| State::of(entry, row.state, row.source_version))
}

fn translation(key: &Key, locale: &Locale, row: Option<TranslationRow>) -> Translation {
    let written = |row: TranslationRow| Written {
        revision: row.revision,
        content: row.content,
        origin: row.origin,
        updated_by: Uuid::from_bytes(row.updated_by),
        updated_at: row.updated_at,
    };
    let state = state_of(&key.entry, row.as_ref());
    Translation { key_id: key.key_id, locale: locale.canonical().to_owned(), state, written: row.map(written) }
}

/// One for each key and canonical tag (contract, Translation): `de` and `de-x-formal` are two.
fn place_of(tenant_id: TenantId, key: &Key, locale: &Locale) -> (TenantId, FileId, String, u64) {
    (tenant_id, key.file_id, locale.canonical().to_owned(), key.entry.number)
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
    let row = read.get(&TRANSLATIONS, &place_of(tenant_id, key, locale))?;
    Ok(translation(key, locale, row))
}

/// Writes the translation of a key.
#[derive(Clone, Debug)]
pub struct PutTranslation {
    key: Key,
    locale: Locale,
    content: Translated,
    origin: Wording,
}

impl PutTranslation {
    /// What a key is to say in a locale. The key is as it was found: an upload that replaces its source meanwhile comes
    /// behind this, and the translation is outdated at once.
    ///
    /// # Errors
    /// As [`shaped`].
    pub fn new(mut key: Key, locale: Locale, wished: Wished, origin: Wording) -> Result<PutTranslation, Refusal> {
        let content = shaped(wished, &key.entry.source, &locale)?;
        // It may have 50 MiB, and has been looked at.
        key.entry.source = Source::Text(String::new());
        Ok(PutTranslation { key, locale, content, origin })
    }
}

/// Writes the translation of a key: a draft, whatever it was before.
///
/// # Errors
/// [`Refusal::KeyObsolete`], [`Refusal::Conflict`] for one locale too many.
pub fn put_translation(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: PutTranslation,
) -> Result<Translation, Abort<Refusal>> {
    let PutTranslation { key, locale, content, origin } = command;
    if key.entry.is_obsolete {
        return Err(Refusal::KeyObsolete.into());
    }
    let place = place_of(actor.tenant_id, &key, &locale);
    let before = tx.get(&TRANSLATIONS, &place)?;
    note_writing(tx, actor.tenant_id, &key, &locale, before.as_ref())?;
    let row = TranslationRow {
        revision: before.map_or(0, |row| row.revision) + 1,
        state: ReviewState::Draft,
        source_version: key.entry.source_version,
        content,
        origin: Some(origin),
        updated_by: actor.principal_id.into_bytes(),
        updated_at: now,
        approved: None,
    };
    tx.put(&TRANSLATIONS, &place, &row)?;
    let event = Event::about("translation", "key", key.key_id.0).with([
        ("project_id", Json::from(key.project_id.0.to_string())),
        ("file_id", Json::from(key.file_id.0.to_string())),
        ("locale", Json::from(locale.canonical())),
        ("revision", Json::from(row.revision)),
        ("origin", Json::from(origin.name())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(translation(&key, &locale, Some(row)))
}

/// Counts a writing in the locale's revision of the file.
fn note_writing(
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
