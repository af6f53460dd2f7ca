//! Translations: read and write one. Whether one is outdated is derived from the version its source came up in.

use quintet_platform::http::json::Json;
use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::catalogue::{KeyEntry, Source, category_at, place_of};
use crate::category::Category;
use crate::core::Locale;
use crate::files::{Forms, is_representable};
use crate::keys::Key;
use crate::model::{FileId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{
    FILE_LOCALES, FILES, ReviewState, TRANSLATIONS, Translated, TranslatedForm, TranslationRow, Wording,
};

/// The longest text of a translation, in bytes.
pub const TEXT_BYTES_MAX: usize = 65_536;

/// What a translation says on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wished {
    /// One text.
    Text(String),
    /// Forms by the names of their categories, as they came.
    Forms(Vec<(String, String)>),
}

/// A translation's state as everybody sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Untranslated,
    /// The stored review state.
    Stored(ReviewState),
    /// Its source has changed since.
    Outdated,
}

impl State {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Untranslated => "untranslated",
            State::Stored(ReviewState::Draft) => "draft",
            State::Stored(ReviewState::NeedsAttention) => "needs_attention",
            State::Stored(ReviewState::Reviewed) => "reviewed",
            State::Stored(ReviewState::Approved) => "approved",
            State::Outdated => "outdated",
        }
    }

    /// The state of a key's translation.
    #[must_use]
    pub fn of(entry: &KeyEntry, row: Option<&TranslationRow>) -> State {
        match row {
            None => State::Untranslated,
            Some(row) if row.source_version != entry.source_version => State::Outdated,
            Some(row) => State::Stored(row.state),
        }
    }
}

impl Wording {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wording::Ai => "ai",
            Wording::Human => "human",
            Wording::Import => "import",
        }
    }
}

/// A translation as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Of which key.
    pub key_id: Uuid,
    /// Into which locale: the canonical tag of the request.
    pub locale: String,
    /// Its state.
    pub state: State,
    /// The stored row, if there is one.
    pub row: Option<TranslationRow>,
}

/// What a translation's shape must be, from the locale.
///
/// # Errors
/// In this order: [`Refusal::EditShape`], [`Refusal::ValueTooLong`], [`Refusal::ValueUnrepresentable`].
pub fn shaped(wished: Wished, source: &Source, locale: &Locale) -> Result<Translated, Refusal> {
    let content = match (wished, source) {
        (Wished::Text(text), Source::Text(source)) => {
            Translated::Text { text, source_sha256: digest(source.as_bytes()) }
        }
        (Wished::Text(_), Source::Forms(_)) => {
            return Err(Refusal::EditShape("the key is a plural: forms are required"));
        }
        (Wished::Forms(_), Source::Text(_)) => {
            return Err(Refusal::EditShape("the key is no plural: text is required"));
        }
        (Wished::Forms(forms), Source::Forms(_)) => Translated::Forms(shaped_forms(forms, source, locale)?),
    };
    let texts: Vec<&str> = match &content {
        Translated::Text { text, .. } => vec![text],
        Translated::Forms(forms) => forms.iter().map(|form| form.text.as_str()).collect(),
    };
    if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) {
        return Err(Refusal::ValueTooLong);
    }
    if !texts.iter().all(|text| is_representable(text)) {
        return Err(Refusal::ValueUnrepresentable);
    }
    Ok(content)
}

fn shaped_forms(
    forms: Vec<(String, String)>,
    source: &Source,
    locale: &Locale,
) -> Result<Vec<TranslatedForm>, Refusal> {
    const WRONG: Refusal = Refusal::EditShape("the forms are not exactly the locale's plural categories");
    let mut found = forms
        .into_iter()
        .map(|(name, text)| {
            let category = Category::from_name(&name).ok_or(WRONG)?;
            let source_sha256 = digest(source.form(category).as_bytes());
            Ok(TranslatedForm { category: place_of(category), text, source_sha256 })
        })
        .collect::<Result<Vec<_>, Refusal>>()?;
    found.sort_by_key(|form| form.category);
    let names: Vec<&str> = found.iter().map(|form| category_at(form.category).name()).collect();
    if names == locale.cardinal().names() { Ok(found) } else { Err(WRONG) }
}

/// What a translation says as an edit of a file wants it.
#[must_use]
pub fn forms_of(forms: &[TranslatedForm]) -> Forms {
    forms.iter().map(|form| (category_at(form.category), form.text.clone())).collect()
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
    let row = read.get(&TRANSLATIONS, &row_key(tenant_id, key.file.file_id, locale, key.entry.number))?;
    let state = State::of(&key.entry, row.as_ref());
    Ok(Translation { key_id: key.key_id().0, locale: locale.canonical().to_owned(), state, row })
}

/// One for each key and canonical tag: `de` and `de-x-formal` are two.
fn row_key(tenant_id: TenantId, file_id: FileId, locale: &Locale, number: u64) -> (TenantId, FileId, String, u64) {
    (tenant_id, file_id, locale.canonical().to_owned(), number)
}

/// The most locales that a file may have translations into. The contract knows no such limit, but private use makes tags
/// without number.
pub const LOCALES_MAX: usize = 1000;

/// Writes the translation of a key.
#[derive(Clone, Debug)]
pub struct PutTranslation {
    /// The key, as it was found.
    pub key: Key,
    /// Into which locale.
    pub locale: Locale,
    /// What it is to say.
    pub content: Translated,
    /// Who wrote it.
    pub origin: Wording,
}

/// Writes the translation of a key: a draft, whatever it was before. `None`: there is another version of the file by
/// now; look at the key again.
///
/// # Errors
/// [`Refusal::NotFound`], [`Refusal::KeyObsolete`], [`Refusal::Conflict`] for one locale too many.
pub fn put_translation(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: &PutTranslation,
) -> Result<Option<Translation>, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let PutTranslation { key, locale, content, origin } = command;
    let file_id = key.file.file_id;
    let file = tx.get(&FILES, &(tenant_id, key.project_id, file_id))?.ok_or(Refusal::NotFound)?;
    if file.version != key.file.row.version {
        return Ok(None);
    }
    if key.entry.is_obsolete {
        return Err(Refusal::KeyObsolete.into());
    }
    let row_key = row_key(tenant_id, file_id, locale, key.entry.number);
    let before = tx.get(&TRANSLATIONS, &row_key)?;
    let row = TranslationRow {
        revision: before.as_ref().map_or(0, |row| row.revision) + 1,
        state: ReviewState::Draft,
        source_version: key.entry.source_version,
        content: content.clone(),
        origin: Some(*origin),
        updated_by: actor.principal_id.into_bytes(),
        updated_at: now,
        approved: None,
    };
    tx.put(&TRANSLATIONS, &row_key, &row)?;
    let file_locale = (tenant_id, file_id, locale.canonical().to_owned());
    let counts = tx.get(&FILE_LOCALES, &file_locale)?;
    if counts.is_none() {
        // An upload that outdates translations looks at each of the file's locales.
        let others = tx.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, file_id)).limit(LOCALES_MAX))?;
        if others.len() >= LOCALES_MAX {
            return Err(Refusal::Conflict("the file has translations into 1,000 locales, which is the most").into());
        }
    }
    let mut counts = counts.unwrap_or_default();
    counts.changes += 1;
    counts.translations += u64::from(before.is_none());
    tx.put(&FILE_LOCALES, &file_locale, &counts)?;
    let key_id = key.key_id().0;
    let event = Event::about("translation", "key", key_id).with([
        ("project_id", Json::from(key.project_id.0.to_string())),
        ("file_id", Json::from(file_id.0.to_string())),
        ("locale", Json::from(locale.canonical())),
        ("revision", Json::from(row.revision)),
        ("origin", Json::from(origin.name())),
    ]);
    audit::record(tx, now, actor, event)?;
    let state = State::of(&key.entry, Some(&row));
    Ok(Some(Translation { key_id, locale: locale.canonical().to_owned(), state, row: Some(row) }))
}
