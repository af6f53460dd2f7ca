//! Exports: the latest version of a file, rebuilt in a locale.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use quintet_platform::http::etag::ETag;
use quintet_platform::http::json::Json;
use quintet_platform::secrets::{Digest, digest};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::catalogue::{self, KeyEntry, read_all};
use crate::formats::{self, Content, Document, Edit, ExportRefusal, Forms, Kind, Unit};
use crate::keys::{File, get_catalogue};
use crate::language::Locale;
use crate::model::{FileId, ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{ApprovalRow, FILE_LOCALES, FILE_VERSIONS, Format, TRANSLATIONS, Translated, TranslationRow};
use crate::translations::{State, forms_of};

/// How long reading and writing a file may take.
const TIME: Duration = Duration::from_secs(formats::READING_SECONDS_MAX);

/// What becomes of a key that has no translation to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Its source stays.
    Source,
    /// It goes.
    Omit,
}

impl Fallback {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Fallback::Source => "source",
            Fallback::Omit => "omit",
        }
    }
}

/// An export into a locale.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Into which.
    pub locale: Locale,
    /// What becomes of keys without a translation.
    pub fallback: Fallback,
    /// Whether approved translations alone are used.
    pub approved_only: bool,
}

/// The kind under which a file is read.
#[must_use]
pub fn kind_of<'k>(format: Format, root_locale: &'k str) -> Kind<'k> {
    match format {
        Format::Json => Kind::Json,
        Format::YamlRails => Kind::Rails { root: root_locale },
        Format::YamlFlat => Kind::Flat,
        Format::Properties => Kind::Properties,
    }
}

/// The revision of a file in a locale: its latest version, and every change of a translation.
///
/// # Errors
/// Only the store's.
pub fn revision(read: &impl Read, tenant_id: TenantId, file: &File, locale: Option<&Locale>) -> Result<u64, Failure> {
    let changes = match locale {
        None => 0,
        Some(locale) => {
            let key = (tenant_id, file.file_id, locale.canonical().to_owned());
            read.get(&FILE_LOCALES, &key)?.map_or(0, |row| row.changes)
        }
    };
    Ok(u64::from(file.row.version) + changes)
}

/// `"r<revision>"`
#[must_use]
pub fn etag(revision: u64) -> ETag {
    ETag::strong(&format!("r{revision}"))
}

/// Everything an export is made from, read in one state.
pub struct Material {
    /// The file.
    pub file: File,
    original: Vec<u8>,
    entries: HashMap<String, KeyEntry>,
    translations: HashMap<u64, TranslationRow>,
}

/// Rows read at a time: of the longest plurals they take 100 MB.
const PAGE_ROWS: usize = 250;
/// How many bytes of translations an export may hold, which all lie in memory: several times of the largest file.
pub const TRANSLATIONS_BYTES_MAX: usize = 256 << 20;

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
    let version = read.get(&FILE_VERSIONS, &(tenant_id, file.file_id, file.row.version))?;
    let version = version.ok_or_else(|| Failure::Damaged(format!("file {} lacks its version", file.file_id.0)))?;
    let original = read_all(read, &version.original)?;
    let mut material = Material { file, original, entries: HashMap::new(), translations: HashMap::new() };
    let Some(locale) = locale else { return Ok(material) };
    let file_id = material.file.file_id;
    let catalogue = get_catalogue(read, tenant_id, file_id)?;
    let entries = catalogue::read_entries(read, &catalogue)?.into_iter().filter(|entry| !entry.is_obsolete);
    material.entries = entries.map(|entry| (entry.path.clone(), entry)).collect();
    let (mut after, mut bytes) = (0, 0);
    loop {
        let prefix = (tenant_id, file_id, locale.canonical().to_owned());
        let last = (tenant_id, file_id, locale.canonical().to_owned(), after);
        let rows = read.scan(&TRANSLATIONS, Scan::prefix(&prefix).after(&last).limit(PAGE_ROWS))?;
        let is_last = rows.len() < PAGE_ROWS;
        for ((.., number), row) in rows {
            after = number;
            bytes += row.content.bytes();
            if bytes > bytes_max {
                return Err(Refusal::ValueTooLong.into());
            }
            material.translations.insert(number, row);
        }
        if is_last {
            return Ok(material);
        }
    }
}

/// What is told of one key of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEntry {
    /// The key, as the exported file has it.
    pub key: String,
    /// The hash of the source it was made from.
    pub source_sha256: Digest,
    /// The hash of what is exported.
    pub target_sha256: Digest,
    /// The translation's state.
    pub state: State,
    /// Its approval, as long as it is approved.
    pub approval: Option<ApprovalRow>,
}

/// What an export makes of a unit.
enum Chosen<'m> {
    Source,
    Omitted,
    Text(&'m str),
    Forms(Forms),
}

impl Material {
    /// The file in a locale; in its source without one.
    ///
    /// # Errors
    /// [`Refusal::UnprocessableParameter`] for an omission in a file that is no JSON,
    /// [`Refusal::ValueUnrepresentable`], [`Refusal::Busy`] if it took too long.
    pub fn export(&self, wish: Option<&Wish>) -> Result<Vec<u8>, Refusal> {
        let Some(wish) = wish else { return Ok(self.original.clone()) };
        let document = self.document()?;
        let chosen: Vec<Chosen<'_>> = document.units().iter().map(|unit| self.choose(unit, wish).0).collect();
        let edits: Vec<Edit<'_>> = chosen
            .iter()
            .map(|chosen| match chosen {
                Chosen::Source => Edit::Keep,
                Chosen::Omitted => Edit::Omit,
                Chosen::Text(text) => Edit::Text(text),
                Chosen::Forms(forms) => Edit::Forms(forms),
            })
            .collect();
        let root = (self.file.row.format == Format::YamlRails).then(|| wish.locale.canonical());
        document.export(root, &edits, Instant::now() + TIME).map_err(|refusal| match refusal {
            ExportRefusal::ValueUnrepresentable(_) => Refusal::ValueUnrepresentable,
            ExportRefusal::Timeout => Refusal::Busy,
            ExportRefusal::EditMismatch(_) | ExportRefusal::Unfaithful => {
                tracing::error!(file_id = %self.file.file_id.0, %refusal, "a file could not be exported");
                Refusal::InternalError
            }
        })
    }

    /// What is told of each key of the same export, in file order.
    ///
    /// # Errors
    /// As [`Material::export`].
    pub fn metadata(&self, wish: &Wish) -> Result<Vec<MetadataEntry>, Refusal> {
        let document = self.document()?;
        let mut entries = Vec::with_capacity(document.units().len());
        for unit in document.units() {
            let (chosen, row) = self.choose(unit, wish);
            let state = self.entries.get(unit.path()).map_or(State::Untranslated, |entry| State::of(entry, row));
            let approval = row.and_then(|row| row.approved.clone()).filter(|_| state.name() == "approved");
            let mut tell = |key: String, source: Digest, target: &str| {
                let target_sha256 = digest(target.as_bytes());
                let approval = approval.clone();
                entries.push(MetadataEntry { key, source_sha256: source, target_sha256, state, approval });
            };
            let made_from = |category: u8| match row.map(|row| &row.content) {
                Some(Translated::Forms(forms)) => {
                    forms.iter().find(|form| form.category == category).map(|form| form.source_sha256)
                }
                _ => None,
            };
            match (&chosen, unit.content()) {
                (Chosen::Omitted, _) if !unit.stays_when_omitted() => {}
                (Chosen::Text(text), _) => {
                    let source = match row.map(|row| &row.content) {
                        Some(Translated::Text { source_sha256, .. }) => *source_sha256,
                        _ => digest(text.as_bytes()),
                    };
                    tell(unit.path().to_owned(), source, text);
                }
                (Chosen::Source | Chosen::Omitted, Content::Text(text)) => {
                    let source = match row.map(|row| &row.content) {
                        Some(Translated::Text { source_sha256, .. }) => *source_sha256,
                        _ => digest(text.as_bytes()),
                    };
                    tell(unit.path().to_owned(), source, text);
                }
                (Chosen::Forms(forms), _) => {
                    for (category, text) in forms {
                        let source = made_from(catalogue::place_of(*category));
                        let source = source.unwrap_or_else(|| digest(text.as_bytes()));
                        tell(self.form_key(unit, category.name()), source, text);
                    }
                }
                (Chosen::Source | Chosen::Omitted, Content::Plural(forms)) => {
                    for (category, text) in forms {
                        let source = made_from(catalogue::place_of(*category));
                        let source = source.unwrap_or_else(|| digest(text.as_bytes()));
                        tell(self.form_key(unit, category.name()), source, text);
                    }
                }
            }
        }
        Ok(entries)
    }

    /// The name of a plural's member, as the file has it.
    fn form_key(&self, unit: &Unit, category: &str) -> String {
        let joint = if self.file.row.format == Format::Json { '_' } else { '.' };
        format!("{}{joint}{category}", unit.path())
    }

    fn document(&self) -> Result<Document<'_>, Refusal> {
        let kind = kind_of(self.file.row.format, &self.file.row.root_locale);
        formats::read(kind, &self.original, Instant::now() + TIME).map_err(|refusal| {
            // It was read when it was uploaded.
            tracing::error!(file_id = %self.file.file_id.0, %refusal, "a stored file cannot be read");
            if refusal.code == formats::Code::ParseTimeout { Refusal::Busy } else { Refusal::InternalError }
        })
    }

    /// What an export makes of a unit, and the unit's translation, used or not.
    fn choose<'m>(&'m self, unit: &Unit, wish: &Wish) -> (Chosen<'m>, Option<&'m TranslationRow>) {
        let fallback = match wish.fallback {
            Fallback::Source => Chosen::Source,
            Fallback::Omit => Chosen::Omitted,
        };
        let Some(entry) = self.entries.get(unit.path()) else { return (fallback, None) };
        let Some(row) = self.translations.get(&entry.number) else { return (fallback, None) };
        if wish.approved_only && State::of(entry, Some(row)).name() != "approved" {
            return (fallback, Some(row));
        }
        match (&row.content, unit.content()) {
            (Translated::Text { text, .. }, Content::Text(_)) => (Chosen::Text(text), Some(row)),
            (Translated::Forms(forms), Content::Plural(_)) => (Chosen::Forms(forms_of(forms)), Some(row)),
            // The key was a text and is a plural now, or the other way round.
            _ => (fallback, Some(row)),
        }
    }
}

/// Notes an export in the audit chain.
#[derive(Clone, Debug)]
pub struct NoteExport {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
    /// At which revision.
    pub revision: u64,
    /// Into which locale: its canonical tag.
    pub locale: Option<String>,
    /// What became of keys without a translation.
    pub fallback: Fallback,
    /// Whether approved translations alone were used.
    pub approved_only: bool,
    /// Whether it told of the keys instead of giving the file.
    pub is_metadata: bool,
}

/// Notes an export.
///
/// # Errors
/// Only the store's.
pub fn note_export(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, export: NoteExport) -> Result<(), Failure> {
    let event = Event::about("export", "file", export.file_id.0).with([
        ("project_id", Json::from(export.project_id.0.to_string())),
        ("revision", Json::from(export.revision)),
        ("locale", Json::from(export.locale)),
        ("fallback", Json::from(export.fallback.name())),
        ("approved_only", Json::from(export.approved_only)),
        ("metadata", Json::from(export.is_metadata)),
    ]);
    audit::record(tx, now, actor, event).map(drop)
}
