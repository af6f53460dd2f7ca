//! The rows of files, keys and translations.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0320 | files | tenant, project, file | what a file is, and its latest version |
//! | 0x0321 | file paths | tenant, project, path | the file's id; makes paths unique |
//! | 0x0322 | file versions | tenant, file, version | the original bytes (sealed) and where they came from |
//! | 0x0323 | key files | tenant, prefix of key ids | the file whose keys have ids with this prefix |
//! | 0x0324 | key files by project | tenant, project, prefix | an index, in the order of key ids |
//! | 0x0325 | catalogues | tenant, file | the keys of the latest version (sealed), and where in it which lie |
//! | 0x0326 | imports | tenant, file, number of the audit event | what an upload changed (sealed) |
//! | 0x0327 | key contexts | tenant, file | what translators are told of its keys (sealed) |
//! | 0x0328 | rejudges | tenant, project, number | what is to be judged anew (`rejudge`) |
//! | 0x0329 | stamps (hot) | tenant, project | how often what verdicts hang on was changed (`rejudge`) |
//! | 0x0330 | translations | tenant, file, locale, key | the translation of a key |
//! | 0x0331 | file locales (hot) | tenant, file, locale | how often a file's translations were changed |
//!
//! Ids are unique across tenants, but every key begins with the tenant: what is another tenant's cannot be found.

use bincode::{Decode, Encode};
use quintet_storage::large::LargeValue;
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, decode_plain};

use super::model::{File, FileId, FileVersion, Format};
use super::translation::{Approval, ReviewState, Translated, Wording};
use crate::model::{FAMILY, TenantId};
use crate::spaces::ProjectId;

/// Files.
pub const FILES: Table<(TenantId, ProjectId, FileId), FileRow> = Table::new(0x0320, FAMILY, "localization_files");
/// Paths of files.
pub const FILE_PATHS: Table<(TenantId, ProjectId, String), FilePathRow> =
    Table::new(0x0321, FAMILY, "localization_file_paths");
/// Versions of files.
pub const FILE_VERSIONS: Table<(TenantId, FileId, FileVersion), FileVersionRow> =
    Table::new(0x0322, FAMILY, "localization_file_versions");
/// Which file's keys have which ids.
pub const KEY_FILES: Table<(TenantId, u64), KeyFileRow> = Table::new(0x0323, FAMILY, "localization_key_files");
/// The same for a project, in the order of ids.
pub const KEY_FILES_BY_PROJECT: Table<(TenantId, ProjectId, u64), KeyFileRow> =
    Table::new(0x0324, FAMILY, "localization_key_files_by_project");
/// Keys of the latest versions.
pub const CATALOGUES: Table<(TenantId, FileId), CatalogueRow> = Table::new(0x0325, FAMILY, "localization_catalogues");
/// What uploads changed.
pub const IMPORTS: Table<(TenantId, FileId, u64), ImportRow> = Table::new(0x0326, FAMILY, "localization_imports");
/// What translators are told of the keys of files.
pub const KEY_CONTEXTS: Table<(TenantId, FileId), KeyContextsRow> =
    Table::new(0x0327, FAMILY, "localization_key_contexts");
/// Translations.
pub const TRANSLATIONS: Table<(TenantId, FileId, String, u64), TranslationRow> =
    Table::new(0x0330, FAMILY, "localization_translations");
/// How often a file's translations into a locale were changed.
pub const FILE_LOCALES: Table<(TenantId, FileId, String), FileLocaleRow> =
    Table::new(0x0331, FAMILY, "localization_file_locales").hot();

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    FILES.spec(),
    FILE_PATHS.spec(),
    FILE_VERSIONS.spec(),
    KEY_FILES.spec(),
    KEY_FILES_BY_PROJECT.spec(),
    CATALOGUES.spec(),
    IMPORTS.spec(),
    KEY_CONTEXTS.spec(),
    TRANSLATIONS.spec(),
    FILE_LOCALES.spec(),
];

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileRow {
    /// Where it lies in the project.
    pub path: String,
    /// What kind of file it is, for good.
    pub format: Format,
    /// The root key of a rails file, for good; else empty.
    pub root_locale: String,
    /// Its latest version, from 1.
    pub version: FileVersion,
    /// What its keys' ids begin with.
    pub key_prefix: u64,
    /// SHA-256 of the latest version's bytes.
    pub sha256: [u8; 32],
    /// How many bytes those are.
    pub size_bytes: u64,
    /// How many active keys it has.
    pub keys: u32,
    /// When it was first uploaded.
    pub created_at: Timestamp,
    /// When it was last uploaded.
    pub updated_at: Timestamp,
    /// How many words the sources of its active keys have; `None`: nobody has counted, and a [`Cause::File`] is open.
    ///
    /// [`Cause::File`]: super::rejudge::Cause::File
    pub words: Option<u64>,
}
impl Row for FileRow {
    const VERSION: u8 = 2;

    /// In version 1 nobody had counted words.
    fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("a file has unknown version {version}")));
        }
        let old: FileRowBefore2 = decode_plain(body)?;
        Ok(FileRow {
            path: old.path,
            format: old.format,
            root_locale: old.root_locale,
            version: old.version,
            key_prefix: old.key_prefix,
            sha256: old.sha256,
            size_bytes: old.size_bytes,
            keys: old.keys,
            created_at: old.created_at,
            updated_at: old.updated_at,
            words: None,
        })
    }
}

/// A file as it was stored before version 2 of its row.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileRowBefore2 {
    /// As in [`FileRow`], and so all others.
    pub path: String,
    /// What kind of file.
    pub format: Format,
    /// The root key.
    pub root_locale: String,
    /// The latest version.
    pub version: FileVersion,
    /// What its keys' ids begin with.
    pub key_prefix: u64,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// How many bytes.
    pub size_bytes: u64,
    /// Active keys.
    pub keys: u32,
    /// First uploaded.
    pub created_at: Timestamp,
    /// Last uploaded.
    pub updated_at: Timestamp,
}

impl FileRow {
    /// The file of the id.
    pub fn into_file(self, file_id: FileId) -> File {
        File {
            file_id,
            path: self.path,
            format: self.format,
            root_locale: self.root_locale,
            version: self.version,
            key_prefix: self.key_prefix,
            sha256: self.sha256,
            size_bytes: self.size_bytes,
            keys: self.keys,
            words: self.words,
        }
    }
}

/// A file's path.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FilePathRow {
    /// Whose it is.
    pub file_id: FileId,
}
impl Row for FilePathRow {}

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileVersionRow {
    /// The bytes as they came, sealed for the tenant.
    pub original: LargeValue,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// Active keys.
    pub keys: u32,
    /// When it was uploaded.
    pub imported_at: Timestamp,
    /// By whom.
    pub imported_by: [u8; 16],
    /// The number of its audit event.
    pub audit_seq: u64,
}
impl Row for FileVersionRow {}

/// Whose keys have ids with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyFileRow {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
}
impl Row for KeyFileRow {}

/// The keys of a file's latest version.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CatalogueRow {
    /// The version it is of.
    pub version: FileVersion,
    /// Its pages, one after another, sealed for the tenant.
    pub value: LargeValue,
    /// Where they lie, in the order of the keys' numbers.
    pub pages: Vec<PageRow>,
    /// The number the next new key gets.
    pub next_number: u64,
}
impl Row for CatalogueRow {
    const VERSION: u8 = 2;

    /// In version 1 pages did not say how many of their keys are active.
    fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("a list of keys has unknown version {version}")));
        }
        let (version, value, pages, next_number): (_, _, Vec<(u64, u64, u32)>, _) = decode_plain(body)?;
        let page = |(first, offset, length)| PageRow { first, offset, length, active: None };
        Ok(CatalogueRow { version, value, pages: pages.into_iter().map(page).collect(), next_number })
    }
}

/// A page of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PageRow {
    /// The number of its first key.
    pub first: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// How many of its keys are active; `None`: nobody has counted.
    pub active: Option<u32>,
}

/// What an upload changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ImportRow {
    /// The version it made.
    pub version: FileVersion,
    /// The changes, sealed for the tenant; the interface's lines are made of them.
    pub changes: LargeValue,
    /// SHA-256 of the interface's lines.
    pub manifest_sha256: [u8; 32],
}
impl Row for ImportRow {}

/// What translators are told of a file's keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyContextsRow {
    /// How often it was set, from 1.
    pub version: u64,
    /// Every path and what is told of it, sealed for the tenant.
    pub value: LargeValue,
    /// Its pages, in the order of the digests of paths; none: it is one page, in the order of paths.
    pub pages: Vec<ContextPageRow>,
}
impl Row for KeyContextsRow {
    const VERSION: u8 = 2;

    /// In version 1 there were no pages.
    fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("key context has unknown version {version}")));
        }
        let (version, value) = decode_plain(body)?;
        Ok(KeyContextsRow { version, value, pages: Vec::new() })
    }
}

/// A page of key context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ContextPageRow {
    /// The first eight bytes of the digest of the path that comes first.
    pub first: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
}

/// The translation of a key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranslationRow {
    /// How often its text was written.
    pub revision: u64,
    /// Its review state.
    pub state: ReviewState,
    /// The version of the file in which the source it was made from came up.
    pub source_version: FileVersion,
    /// What it says.
    pub content: Translated,
    /// Who wrote it.
    pub origin: Option<Wording>,
    /// Who wrote its text.
    pub updated_by: [u8; 16],
    /// When.
    pub updated_at: Timestamp,
    /// What approved it, as long as it is approved.
    pub approved: Option<Approval>,
}
impl Row for TranslationRow {
    const VERSION: u8 = 2;

    /// In version 1 an approval did not say what it came from.
    fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("a translation has unknown version {version}")));
        }
        decode_plain::<TranslationRowV1>(body).map(TranslationRow::from)
    }
}

/// A translation in version 1 of its row.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranslationRowV1 {
    /// As today.
    pub revision: u64,
    /// As today.
    pub state: ReviewState,
    /// As today.
    pub source_version: FileVersion,
    /// As today.
    pub content: Translated,
    /// As today.
    pub origin: Option<Wording>,
    /// As today.
    pub updated_by: [u8; 16],
    /// As today.
    pub updated_at: Timestamp,
    /// When, and by which principal.
    pub approved: Option<(Timestamp, [u8; 16])>,
}

impl From<TranslationRowV1> for TranslationRow {
    fn from(row: TranslationRowV1) -> TranslationRow {
        let approval = |(at, by)| Approval { at, by, label: None, reference: None };
        TranslationRow {
            revision: row.revision,
            state: row.state,
            source_version: row.source_version,
            content: row.content,
            origin: row.origin,
            updated_by: row.updated_by,
            updated_at: row.updated_at,
            approved: row.approved.map(approval),
        }
    }
}

/// How often a file's translations into a locale were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FileLocaleRow {
    /// Every writing, transition and settlement counts one, and so does every outdating whose translation was written
    /// anew since; those that are outdated now are counted when that is asked for.
    pub changes: u64,
    /// How many translations there are.
    pub translations: u64,
}
impl Row for FileLocaleRow {}
