//! Writing a translation's text, by whatever way it comes: a draft afterwards, whatever it was before.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::judging::Standards;
use crate::audit::{self, Actor, Event};
use crate::content::{
    Key, ReviewState, Source, State, Translated, Translation, TranslationRow, Wished, Wording, get_row, put_row,
    shaped, state_of, translation,
};
use crate::figures::{Verdict, put_verdict};
use crate::language::Locale;
use crate::model::TenantId;
use crate::quality::CheckSet;
use crate::refusal::Refusal;
use crate::webhooks::{Changed, Changes, Occasion, Place};

/// Writes the text of a translation.
#[derive(Clone, Debug)]
pub struct WriteTranslation {
    key: Key,
    locale: Locale,
    content: Translated,
    origin: Wording,
    standards: Standards,
    /// How it will be counted.
    verdict: Verdict,
}

impl WriteTranslation {
    /// The checks that it fails.
    #[must_use]
    pub const fn failing(&self) -> CheckSet {
        self.verdict.failing
    }
}

impl WriteTranslation {
    /// What a key is to say in a locale, judged.
    ///
    /// # Errors
    /// As [`shaped`].
    pub fn new(
        mut key: Key,
        locale: Locale,
        wished: Wished,
        origin: Wording,
        standards: Standards,
    ) -> Result<WriteTranslation, Refusal> {
        let content = shaped(wished, &key.entry.source, &locale)?;
        let verdict = Verdict::of_draft(&key.entry.source, standards.failing(&key.entry, &locale, &content));
        // It may have 50 MiB, and has been looked at.
        key.entry.source = Source::Text(String::new());
        Ok(WriteTranslation { key, locale, content, origin, standards, verdict })
    }

    /// How many bytes its texts have together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.bytes()
    }

    /// The revision that it replaces; 0: there is none.
    ///
    /// # Errors
    /// Only the store's.
    pub fn revision(&self, read: &impl Read, tenant_id: TenantId) -> Result<u64, Failure> {
        Ok(get_row(read, tenant_id, &self.key, &self.locale)?.map_or(0, |row| row.revision))
    }

    /// Whether what it was made from is still what there is: the key's source, its limits, the project's rules.
    ///
    /// # Errors
    /// Only the store's.
    pub fn is_current(&self, read: &impl Read, tenant_id: TenantId) -> Result<bool, Failure> {
        self.standards.is_current(read, tenant_id, &self.key)
    }
}

/// Writes the text of a translation that [is current](WriteTranslation::is_current): a draft, whatever it was before.
///
/// # Errors
/// [`Refusal::KeyObsolete`], [`Refusal::Conflict`] for one locale too many.
pub fn write_translation(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: WriteTranslation,
) -> Result<Translation, Abort<Refusal>> {
    let mut changes = Changes::begin(tx, actor.tenant_id, Occasion::Written)?;
    let written = write_among(tx, now, actor, command, &mut changes)?;
    changes.tell(tx, now, actor)?;
    Ok(written)
}

/// Writes one of several that are written in one transaction, all of one file and locale; the caller tells of them.
///
/// # Errors
/// As [`write_translation`].
pub fn write_among(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: WriteTranslation,
    changes: &mut Changes,
) -> Result<Translation, Abort<Refusal>> {
    let WriteTranslation { key, locale, content, origin, verdict, .. } = command;
    if key.entry.is_obsolete {
        return Err(Refusal::KeyObsolete.into());
    }
    let before = get_row(tx, actor.tenant_id, &key, &locale)?;
    let row = TranslationRow {
        revision: before.as_ref().map_or(0, |row| row.revision) + 1,
        state: ReviewState::Draft,
        source_version: key.entry.source_version,
        content,
        origin: Some(origin),
        updated_by: actor.principal_id.into_bytes(),
        updated_at: now,
        approved: None,
    };
    put_row(tx, actor.tenant_id, &key, &locale, before.as_ref(), &row)?;
    put_verdict(tx, actor.tenant_id, &key, locale.canonical(), verdict)?;
    let event = Event::about("translation", "key", key.key_id.0).with([
        ("project_id", Json::from(key.project_id.0.to_string())),
        ("file_id", Json::from(key.file_id.0.to_string())),
        ("locale", Json::from(locale.canonical())),
        ("revision", Json::from(row.revision)),
        ("origin", Json::from(origin.name())),
    ]);
    audit::record(tx, now, actor, event)?;
    let changed = Changed {
        key_id: key.key_id.0,
        revision: row.revision,
        from: state_of(&key.entry, before.as_ref()).name(),
        to: State::Stored(row.state).name(),
        approval_ref: None,
    };
    changes.note(&place_of(&key, &locale), changed);
    Ok(translation(&key, &locale, Some(row)))
}

/// Where a translation lies, for who is told of it.
pub(super) fn place_of<'p>(key: &Key, locale: &'p Locale) -> Place<'p> {
    Place { project_id: key.project_id, file_id: key.file_id.0, locale: locale.canonical() }
}
