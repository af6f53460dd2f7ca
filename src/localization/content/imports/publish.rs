//! The small transaction that publishes an upload.

use quintet_platform::json::Json;
use quintet_platform::secrets::Digest;
use quintet_storage::large::{self, LargeValue};
use quintet_storage::{Abort, Read as _, Timestamp, WriteTx};

use super::compare::Counts;
use super::latest::{Latest, check_format, find_latest};
use super::receive::Original;
use crate::audit::{self, Actor, Event};
use crate::census;
use crate::content::key_ids::key_prefix;
use crate::content::model::{File, FileId, FileVersion, Format};
use crate::content::rejudge::{self, Cause};
use crate::content::sealed;
use crate::content::tables::{
    CATALOGUES, CatalogueRow, FILE_PATHS, FILE_VERSIONS, FILES, FilePathRow, FileRow, FileVersionRow, IMPORTS,
    ImportRow, KEY_FILES, KEY_FILES_BY_PROJECT, KeyFileRow, PageRow,
};
use crate::formats::ReaderRefusal;
use crate::refusal::Refusal;
use crate::spaces::{Project, ProjectId, get_project};
use crate::webhooks::{self, Told};

/// The root key of a rails file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// As the request named it; empty: this kind of file has none.
    Given(String),
    /// The file's own, which must be the source locale in some spelling; and with what the file is refused if it is not.
    Found(String, ReaderRefusal),
    /// The file has none: it is the one of the version before, else the source locale as it was given.
    Missing,
}

impl Root {
    /// The root key in a project whose source locale may be written like that; `known` is that of the version before.
    ///
    /// # Errors
    /// [`Refusal::Reader`] if it is not the source locale's.
    pub fn locale<'r>(&'r self, known: Option<&'r str>, source_roots: &'r [String]) -> Result<&'r str, Refusal> {
        let is_source = |root: &str| source_roots.iter().any(|known| known == root);
        match self {
            Root::Given(root) => Ok(root),
            Root::Found(root, _) if is_source(root) => Ok(root),
            Root::Found(_, ReaderRefusal { code, line, column }) => {
                Err(Refusal::Reader { code: code.as_str(), line: *line, column: *column })
            }
            Root::Missing => {
                let known = known.filter(|root| is_source(root));
                Ok(known.or(source_roots.first().map(String::as_str)).unwrap_or_default())
            }
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
    /// Its root key.
    pub root: Root,
    /// Which file it becomes a version of: the one that was found at the path, or a new one.
    pub file_id: FileId,
    /// The version that was the latest; 0 if the file is new.
    pub base_version: FileVersion,
    /// Its bytes.
    pub original: Original,
    /// Its keys.
    pub catalogue: LargeValue,
    /// Where they lie.
    pub pages: Vec<PageRow>,
    /// The number the next new key gets.
    pub next_number: u64,
    /// How many active keys it has.
    pub keys: u32,
    /// How many words their sources have.
    pub words: u64,
    /// What it changes.
    pub changes: LargeValue,
    /// How many changes of each kind.
    pub counts: Counts,
    /// SHA-256 of the manifest.
    pub manifest_sha256: Digest,
}

/// Publishes an upload: from here on it is the latest version.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Reader`] if the source locale was set meanwhile and is not the file's root key any
/// more; [`Refusal::FormatMismatch`] if the path holds another kind of file; [`Refusal::Conflict`] if another upload has
/// won the race for the version; [`Refusal::UploadExpired`] if it took so long that its parts were collected.
pub fn publish_import(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: PublishImport,
) -> Result<File, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let (project_id, file_id) = (command.project_id, command.file_id);
    let project = get_project(tx, tenant_id, project_id)?;
    let latest = find_latest(tx, tenant_id, project_id, &command.path)?;
    let root_locale = check_latest(latest.as_ref(), &project, &command)?;
    for value in [&command.original.value, &command.catalogue, &command.changes] {
        sealed::adopt(tx, now, value)?;
    }
    let key_prefix = key_prefix(file_id);
    let created_at = match latest {
        Some(latest) => {
            large::release(tx, now, &latest.catalogue.value)?;
            tx.get(&FILES, &(tenant_id, project_id, file_id))?.map_or(now, |row| row.created_at)
        }
        None => {
            take_place(tx, actor, &command, key_prefix)?;
            now
        }
    };
    let version = command.base_version + 1;
    let audit_seq = audit::record(tx, now, actor, told(&command, version))?;
    webhooks::tell(tx, now, actor, told_outside(&command, version))?;
    let row = FileRow {
        path: command.path,
        format: command.format,
        root_locale,
        version,
        key_prefix,
        sha256: command.original.sha256,
        size_bytes: command.original.value.size_bytes,
        keys: command.keys,
        created_at,
        updated_at: now,
        words: Some(command.words),
    };
    let version_row = FileVersionRow {
        original: command.original.value,
        sha256: command.original.sha256,
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
    rejudge::note(tx, now, tenant_id, project_id, Cause::Import { file_id, audit_seq })?;
    let change = census::Change::Import { file_id: file_id.0.into_bytes(), audit_seq };
    census::note(tx, now, tenant_id, project_id, change)?;
    Ok(row.into_file(file_id))
}

/// Whether what was prepared still fits; the root key of the file.
fn check_latest(latest: Option<&Latest>, project: &Project, command: &PublishImport) -> Result<String, Refusal> {
    let known = latest.map(|latest| latest.file.root_locale.as_str());
    let root_locale = command.root.locale(known, &project.source.roots)?;
    if let Some(latest) = latest {
        check_format(latest, command.format, root_locale)?;
    }
    let is_base = match latest {
        None => command.base_version == 0,
        Some(latest) => latest.file.file_id == command.file_id && latest.file.version == command.base_version,
    };
    if is_base {
        Ok(root_locale.to_owned())
    } else {
        Err(Refusal::Conflict("another upload to the same path won the race; nothing was changed"))
    }
}

/// Takes the path of a new file, and the ids of its keys.
fn take_place(
    tx: &mut WriteTx<'_>,
    actor: &Actor,
    command: &PublishImport,
    key_prefix: u64,
) -> Result<(), Abort<Refusal>> {
    let (tenant_id, project_id, file_id) = (actor.tenant_id, command.project_id, command.file_id);
    if tx.contains(&KEY_FILES, &(tenant_id, key_prefix))? {
        // One in 2^60: the next attempt has another id.
        return Err(Refusal::Conflict("try again").into());
    }
    let owner = KeyFileRow { project_id, file_id };
    tx.put(&KEY_FILES, &(tenant_id, key_prefix), &owner)?;
    tx.put(&KEY_FILES_BY_PROJECT, &(tenant_id, project_id, key_prefix), &owner)?;
    tx.put(&FILE_PATHS, &(tenant_id, project_id, command.path.clone()), &FilePathRow { file_id })?;
    Ok(())
}

/// What the audit chain is told.
fn told(command: &PublishImport, version: FileVersion) -> Event {
    let hex = |hash: &Digest| Json::from(data_encoding::HEXLOWER.encode(hash));
    Event::about("import", "file", command.file_id.0).with([
        ("project_id", Json::from(command.project_id.0.to_string())),
        ("version", Json::from(version)),
        ("sha256", hex(&command.original.sha256)),
        ("added", Json::from(command.counts.added)),
        ("changed", Json::from(command.counts.changed)),
        ("obsoleted", Json::from(command.counts.obsoleted)),
        ("restored", Json::from(command.counts.restored)),
        ("manifest_sha256", hex(&command.manifest_sha256)),
    ])
}

/// What whoever asked for it is told: no path, which is for those who may read the project.
fn told_outside(command: &PublishImport, version: FileVersion) -> Told<9> {
    let Counts { added, changed, obsoleted, restored } = command.counts;
    let data = [
        ("project_id", Json::from(command.project_id.0.to_string())),
        ("file_id", command.file_id.0.to_string().into()),
        ("version", version.into()),
        ("sha256", data_encoding::HEXLOWER.encode(&command.original.sha256).into()),
        ("keys", command.keys.into()),
        ("added", added.into()),
        ("changed", changed.into()),
        ("obsoleted", obsoleted.into()),
        ("restored", restored.into()),
    ];
    Told { event: "import", resource_type: "file", resource_id: command.file_id.0, data }
}
