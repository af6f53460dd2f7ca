//! Uploads: what one changes, and the small transaction that publishes it.
//!
//! The way of an upload: its bytes become a large value as they arrive; a reader finds its units; [`compare`] finds what
//! they change against the catalogue of the latest version; the new catalogue and the list of changes become large
//! values; [`publish_import`] then checks that the latest version is still that one, and makes everything visible.

use std::collections::HashMap;
use std::fmt::Write as _;

use bincode::{Decode, Encode};
use quintet_platform::http::json::Json;
use quintet_platform::secrets::{Digest, digest};
use quintet_storage::large::{self, LargeValue, UploadRefusal};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx, decode_plain, encode_plain};

use crate::audit::{self, Actor, Event};
use crate::catalogue::{KeyEntry, Source, key_id, key_prefix, read_all};
use crate::formats::Unit;
use crate::model::{FileId, FileVersion, ProjectId, TenantId};
use crate::projects::get_project;
use crate::refusal::Refusal;
use crate::tables::{
    CATALOGUES, CatalogueRow, FILE_LOCALES, FILE_PATHS, FILE_VERSIONS, FILES, FilePathRow, FileRow, FileVersionRow,
    Format, IMPORTS, ImportRow, KEY_FILES, KEY_FILES_BY_PROJECT, KeyFileRow, PageRow, TRANSLATIONS,
};

/// The most translations that are looked at in the last transaction itself, over all locales.
const RECOUNTED_MAX: usize = 1000;

impl Format {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::YamlRails | Format::YamlFlat => "yaml",
            Format::Properties => "properties",
        }
    }

    /// The profile, which YAML alone has.
    #[must_use]
    pub const fn profile(self) -> Option<&'static str> {
        match self {
            Format::YamlRails => Some("rails"),
            Format::YamlFlat => Some("flat"),
            Format::Json | Format::Properties => None,
        }
    }
}

/// How an upload changes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its source is another.
    Changed,
    /// It is gone.
    Obsoleted,
    /// It was gone and is back.
    Restored,
}

impl ChangeKind {
    const fn name(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Obsoleted => "obsoleted",
            ChangeKind::Restored => "restored",
        }
    }
}

/// One change of a key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Change {
    /// The key's number.
    pub number: u64,
    /// How it changed.
    pub kind: ChangeKind,
    /// The hash of its source before; none of a new key.
    pub before: Option<Digest>,
    /// The hash of its source after; none of one that is gone.
    pub after: Option<Digest>,
}

/// What an upload changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Every key afterwards, in the order of numbers.
    pub entries: Vec<KeyEntry>,
    /// The changes, in the order of numbers.
    pub changes: Vec<Change>,
    /// The number the next new key gets.
    pub next_number: u64,
    /// Keys whose source is another now, with the version their source had before.
    pub outdated: Vec<(u64, FileVersion)>,
    /// Active keys.
    pub active: u32,
}

impl Comparison {
    /// How many changes there are of a kind.
    #[must_use]
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }
}

/// Compares the units of an upload with the keys there were.
#[must_use]
pub fn compare(old: Vec<KeyEntry>, next_number: u64, version: FileVersion, units: &[Unit]) -> Comparison {
    let mut found = Comparison { entries: old, changes: Vec::new(), next_number, outdated: Vec::new(), active: 0 };
    let by_path: HashMap<&str, &Unit> = units.iter().map(|unit| (unit.path(), unit)).collect();
    let mut known = std::collections::HashSet::with_capacity(found.entries.len());
    for entry in &mut found.entries {
        let Some(unit) = by_path.get(entry.path.as_str()) else {
            if !entry.is_obsolete {
                let before = Some(entry.source.sha256());
                found.changes.push(Change { number: entry.number, kind: ChangeKind::Obsoleted, before, after: None });
                entry.is_obsolete = true;
            }
            continue;
        };
        known.insert(unit.path());
        let source = Source::of(unit.content());
        let differs = source != entry.source;
        if differs || entry.is_obsolete {
            let kind = if entry.is_obsolete { ChangeKind::Restored } else { ChangeKind::Changed };
            let (before, after) = (Some(entry.source.sha256()), Some(source.sha256()));
            found.changes.push(Change { number: entry.number, kind, before, after });
        }
        if differs {
            found.outdated.push((entry.number, entry.source_version));
            entry.source = source;
            entry.source_version = version;
        }
        entry.is_obsolete = false;
    }
    for unit in units.iter().filter(|unit| !known.contains(unit.path())) {
        let source = Source::of(unit.content());
        let number = found.next_number;
        found.next_number += 1;
        let after = Some(source.sha256());
        found.changes.push(Change { number, kind: ChangeKind::Added, before: None, after });
        let path = unit.path().to_owned();
        found.entries.push(KeyEntry { number, path, source, source_version: version, is_obsolete: false });
    }
    found.active = u32::try_from(units.len()).unwrap_or(u32::MAX);
    found
}

/// The lines of a manifest: `key id, change, hash before, hash after`, separated by tabs, each ended by LF.
#[must_use]
pub fn manifest(prefix: u64, changes: &[Change]) -> String {
    let hex = |hash: &Option<Digest>| hash.map_or_else(|| "-".to_owned(), |hash| data_encoding::HEXLOWER.encode(&hash));
    let mut text = String::with_capacity(changes.len() * 120);
    for change in changes {
        let id = key_id(prefix, change.number).0;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{id}\t{}\t{}\t{}", change.kind.name(), hex(&change.before), hex(&change.after));
    }
    text
}

/// The changes as they are stored.
///
/// # Errors
/// None that can happen with these types.
pub fn encode_changes(changes: &Vec<Change>) -> Result<Vec<u8>, Failure> {
    encode_plain(changes)
}

/// The latest version of a file, as an upload found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Which file.
    pub file_id: FileId,
    /// The file.
    pub row: FileRow,
    /// Its keys.
    pub catalogue: CatalogueRow,
}

/// The file at a path of a project.
///
/// # Errors
/// Only the store's.
pub fn find_latest(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    path: &str,
) -> Result<Option<Latest>, Failure> {
    let Some(FilePathRow { file_id }) = read.get(&FILE_PATHS, &(tenant_id, project_id, path.to_owned()))? else {
        return Ok(None);
    };
    let row = read.get(&FILES, &(tenant_id, project_id, file_id))?;
    let catalogue = read.get(&CATALOGUES, &(tenant_id, file_id))?;
    let (Some(row), Some(catalogue)) = (row, catalogue) else {
        return Err(Failure::Damaged(format!("file {} has a path and nothing else", file_id.0)));
    };
    Ok(Some(Latest { file_id, row, catalogue }))
}

/// How many translations of a locale an upload outdates, and the state in which they were counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedCount {
    locale: String,
    /// The locale's changes when it was counted.
    changes_seen: u64,
    count: u64,
}

/// Counts the translations that an upload outdates, for every locale of the file.
///
/// # Errors
/// Only the store's.
pub fn count_outdated(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    outdated: &[(u64, FileVersion)],
) -> Result<Vec<OutdatedCount>, Failure> {
    let mut counts = Vec::new();
    for ((.., locale), row) in read.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, file_id)))? {
        let count = if (outdated.len() as u64) < row.translations / 4 {
            count_by_key(read, tenant_id, file_id, &locale, outdated)?
        } else {
            let versions: HashMap<u64, FileVersion> = outdated.iter().copied().collect();
            count_by_scan(read, tenant_id, file_id, &locale, &versions)?
        };
        counts.push(OutdatedCount { locale, changes_seen: row.changes, count });
    }
    Ok(counts)
}

fn count_by_key(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    locale: &str,
    outdated: &[(u64, FileVersion)],
) -> Result<u64, Failure> {
    let mut count = 0;
    for (number, version) in outdated {
        let row = read.get(&TRANSLATIONS, &(tenant_id, file_id, locale.to_owned(), *number))?;
        count += u64::from(row.is_some_and(|row| row.source_version == *version));
    }
    Ok(count)
}

/// Rows read at a time: of the longest plurals they take 100 MB.
const PAGE_ROWS: usize = 250;

fn count_by_scan(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    locale: &str,
    versions: &HashMap<u64, FileVersion>,
) -> Result<u64, Failure> {
    let (mut count, mut after) = (0, 0);
    loop {
        let key = |number| (tenant_id, file_id, locale.to_owned(), number);
        let scan = Scan::prefix(&(tenant_id, file_id, locale.to_owned())).after(&key(after)).limit(PAGE_ROWS);
        let rows = read.scan(&TRANSLATIONS, scan)?;
        let is_last = rows.len() < PAGE_ROWS;
        for ((.., number), row) in rows {
            after = number;
            count += u64::from(versions.get(&number) == Some(&row.source_version));
        }
        if is_last {
            return Ok(count);
        }
    }
}

/// Publishes an upload.
#[derive(Clone, Debug)]
pub struct PublishImport {
    /// In which project.
    pub project_id: ProjectId,
    /// At which path.
    pub path: String,
    /// What kind of file it is.
    pub format: Format,
    /// The root key of a rails file; else empty.
    pub root_locale: String,
    /// Which file it becomes a version of: the one that was found at the path, or a new one.
    pub file_id: FileId,
    /// The version that was the latest; 0 if the file is new.
    pub base_version: FileVersion,
    /// Its bytes.
    pub original: LargeValue,
    /// SHA-256 of them.
    pub sha256: Digest,
    /// Its keys.
    pub catalogue: LargeValue,
    /// Where they lie.
    pub pages: Vec<PageRow>,
    /// The number the next new key gets.
    pub next_number: u64,
    /// How many active keys it has.
    pub keys: u32,
    /// What it changes.
    pub changes: LargeValue,
    /// Changes by kind: added, changed, obsoleted, restored.
    pub counts: [usize; 4],
    /// SHA-256 of the manifest.
    pub manifest_sha256: Digest,
    /// Keys whose source is another now.
    pub outdated: std::sync::Arc<Vec<(u64, FileVersion)>>,
    /// How many translations that outdates.
    pub outdated_counts: Vec<OutdatedCount>,
}

/// An upload as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
    /// The file, at its new version.
    pub row: FileRow,
}

/// Why an upload is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishRefusal {
    /// For good.
    Refused(Refusal),
    /// Translations were written since those that it outdates were counted: count again.
    CountAgain,
}

impl quintet_storage::Refusal for PublishRefusal {}

impl From<Refusal> for PublishRefusal {
    fn from(refusal: Refusal) -> Self {
        PublishRefusal::Refused(refusal)
    }
}

fn refused(abort: Abort<Refusal>) -> Abort<PublishRefusal> {
    match abort {
        Abort::Refused(refusal) => Abort::Refused(refusal.into()),
        Abort::Failed(failure) => Abort::Failed(failure),
    }
}

/// Publishes an upload: from here on it is the latest version.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::FormatMismatch`] if the path holds another kind of file; [`Refusal::Conflict`] if
/// another upload has won the race for the version; [`Refusal::RequestTimeout`] if it took so long that its parts were
/// collected; [`PublishRefusal::CountAgain`].
pub fn publish_import(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: PublishImport,
) -> Result<Imported, Abort<PublishRefusal>> {
    let tenant_id = actor.tenant_id;
    let (project_id, file_id) = (command.project_id, command.file_id);
    get_project(tx, tenant_id, project_id).map_err(refused)?;
    let latest = find_latest(tx, tenant_id, project_id, &command.path)?;
    check_latest(latest.as_ref(), &command).map_err(PublishRefusal::Refused)?;
    for value in [&command.original, &command.catalogue, &command.changes] {
        large::adopt(tx, now, value).map_err(|abort| match abort {
            Abort::Refused(UploadRefusal::Expired) => Abort::Refused(Refusal::RequestTimeout.into()),
            Abort::Refused(UploadRefusal::Erased) => Abort::Failed(Failure::Io("the tenant has been erased".into())),
            Abort::Failed(failure) => Abort::Failed(failure),
        })?;
    }
    let version = command.base_version + 1;
    let prefix = key_prefix(file_id);
    let created_at = latest.as_ref().map_or(now, |latest| latest.row.created_at);
    match latest {
        Some(latest) => large::release(tx, now, &latest.catalogue.value)?,
        None => {
            let owner = KeyFileRow { project_id, file_id };
            if tx.contains(&KEY_FILES, &(tenant_id, prefix))? {
                // One in 2^60: the next attempt has another id.
                return Err(PublishRefusal::Refused(Refusal::Conflict("try again")).into());
            }
            tx.put(&KEY_FILES, &(tenant_id, prefix), &owner)?;
            tx.put(&KEY_FILES_BY_PROJECT, &(tenant_id, project_id, prefix), &owner)?;
            tx.put(&FILE_PATHS, &(tenant_id, project_id, command.path.clone()), &FilePathRow { file_id })?;
        }
    }
    note_outdated(tx, tenant_id, file_id, &command)?;
    let [added, changed, obsoleted, restored] = command.counts;
    let hex = |hash: &Digest| Json::from(data_encoding::HEXLOWER.encode(hash));
    let event = Event::about("import", "file", file_id.0).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("version", Json::from(version)),
        ("sha256", hex(&command.sha256)),
        ("added", Json::from(added)),
        ("changed", Json::from(changed)),
        ("obsoleted", Json::from(obsoleted)),
        ("restored", Json::from(restored)),
        ("manifest_sha256", hex(&command.manifest_sha256)),
    ]);
    let audit_seq = audit::record(tx, now, actor, event)?;
    let row = FileRow {
        path: command.path,
        format: command.format,
        root_locale: command.root_locale,
        version,
        key_prefix: prefix,
        sha256: command.sha256,
        size_bytes: command.original.size_bytes,
        keys: command.keys,
        created_at,
        updated_at: now,
    };
    let version_row = FileVersionRow {
        original: command.original,
        sha256: command.sha256,
        keys: command.keys,
        imported_at: now,
        imported_by: actor.principal_id.into_bytes(),
        audit_seq,
    };
    let import = ImportRow { version, changes: command.changes, manifest_sha256: command.manifest_sha256 };
    let (value, pages, next_number) = (command.catalogue, command.pages, command.next_number);
    tx.put(&FILES, &(tenant_id, project_id, file_id), &row)?;
    tx.put(&FILE_VERSIONS, &(tenant_id, file_id, version), &version_row)?;
    tx.put(&IMPORTS, &(tenant_id, file_id, audit_seq), &import)?;
    tx.put(&CATALOGUES, &(tenant_id, file_id), &CatalogueRow { version, value, pages, next_number })?;
    Ok(Imported { project_id, file_id, row })
}

/// Whether a file of this kind may become a version of what is at its path.
///
/// # Errors
/// [`Refusal::FormatMismatch`]
pub fn check_format(latest: &Latest, format: Format, root_locale: &str) -> Result<(), Refusal> {
    let is_same = latest.row.format == format && latest.row.root_locale == root_locale;
    if is_same { Ok(()) } else { Err(Refusal::FormatMismatch) }
}

fn check_latest(latest: Option<&Latest>, command: &PublishImport) -> Result<(), Refusal> {
    let lost = Err(Refusal::Conflict("another upload to the same path won the race; nothing was changed"));
    match latest {
        None if command.base_version == 0 => Ok(()),
        None => lost,
        Some(latest) => {
            check_format(latest, command.format, &command.root_locale)?;
            let is_base = latest.file_id == command.file_id && latest.row.version == command.base_version;
            if is_base { Ok(()) } else { lost }
        }
    }
}

/// Counts what the upload outdates in the revision of each locale.
fn note_outdated(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    file_id: FileId,
    command: &PublishImport,
) -> Result<(), Abort<PublishRefusal>> {
    if command.outdated.is_empty() {
        return Ok(());
    }
    let mut recountable = RECOUNTED_MAX;
    for ((.., locale), mut row) in tx.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, file_id)))? {
        let counted = command.outdated_counts.iter().find(|counted| counted.locale == locale);
        let count = match counted {
            Some(counted) if counted.changes_seen == row.changes => counted.count,
            _ if command.outdated.len() <= recountable => {
                recountable -= command.outdated.len();
                count_by_key(tx, tenant_id, file_id, &locale, &command.outdated)?
            }
            _ => return Err(PublishRefusal::CountAgain.into()),
        };
        if count > 0 {
            row.changes += count;
            tx.put(&FILE_LOCALES, &(tenant_id, file_id, locale), &row)?;
        }
    }
    Ok(())
}

/// The manifest of an upload, by the number of its audit event.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_manifest(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    prefix: u64,
    seq: u64,
) -> Result<String, Abort<Refusal>> {
    let import = read.get(&IMPORTS, &(tenant_id, file_id, seq))?.ok_or(Refusal::NotFound)?;
    let changes: Vec<Change> = decode_plain(&read_all(read, &import.changes)?)?;
    let text = manifest(prefix, &changes);
    if digest(text.as_bytes()) != import.manifest_sha256 {
        return Err(Failure::Damaged(format!("the manifest of import {seq} is not what was stored")).into());
    }
    Ok(text)
}
