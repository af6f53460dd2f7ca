//! What the service writes: the wire types and their JSON.

use quintet_platform::clock::rfc3339;
use quintet_storage::{Failure, Timestamp, Uuid};
use serde::ser::{Serialize, Serializer};

use crate::content::{
    File, KeyContext, ListedKey, Material, MetadataEntry, Source, Translated, Translation, Wish, category_at,
};
use crate::language::{CLDR_VERSION, CheckOutcome, Locale, LocaleProfile};
use crate::spaces::{Project, ProjectId, ProjectLocales, SourceLocale, Workspace};

/// An id as text.
pub(super) struct Id(pub(super) Uuid);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

/// An instant as text, in UTC.
pub(super) struct Instant(pub(super) Timestamp);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// JSON of a wire type. None of them has anything that cannot be written.
pub(super) fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::with_capacity(512);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => Ok(body),
        Err(error) => Err(Failure::Damaged(format!("a stored value cannot be written as JSON: {error}"))),
    }
}

#[derive(serde::Serialize)]
struct Alive {
    status: &'static str,
}

/// The process lives.
pub(super) fn alive() -> Result<Vec<u8>, Failure> {
    json(&Alive { status: "ok" })
}

#[derive(serde::Serialize)]
struct Readiness {
    status: &'static str,
    checks: Vec<Check>,
}

#[derive(serde::Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    ms: u64,
}

/// Whether the service can work, and the ten checks.
pub(super) fn readiness(is_ready: bool, outcomes: &[CheckOutcome]) -> Result<Vec<u8>, Failure> {
    let check = |one: &CheckOutcome| Check { name: one.name.name(), ok: one.ok, ms: one.milliseconds };
    let status = if is_ready { "ok" } else { "unavailable" };
    json(&Readiness { status, checks: outcomes.iter().map(check).collect() })
}

#[derive(serde::Serialize)]
struct Me<'a> {
    tenant_id: Id,
    principal_id: Id,
    kind: &'static str,
    permissions: &'a [String],
}

/// Who the caller is.
pub(super) fn me(tenant_id: Uuid, principal_id: Uuid, permissions: &[String]) -> Result<Vec<u8>, Failure> {
    json(&Me { tenant_id: Id(tenant_id), principal_id: Id(principal_id), kind: "service_account", permissions })
}

#[derive(serde::Serialize)]
struct WorkspaceBody<'a> {
    id: Id,
    short_id: &'a str,
    slug: &'a str,
    name: &'a str,
    created_at: Instant,
}

fn of_workspace(one: &Workspace) -> WorkspaceBody<'_> {
    WorkspaceBody {
        id: Id(one.workspace_id.0),
        short_id: &one.short_id,
        slug: &one.slug,
        name: &one.name,
        created_at: Instant(one.created_at),
    }
}

/// One workspace.
pub(super) fn workspace(one: &Workspace) -> Result<Vec<u8>, Failure> {
    json(&of_workspace(one))
}

#[derive(serde::Serialize)]
struct WorkspacePage<'a> {
    workspaces: Vec<WorkspaceBody<'a>>,
    next_cursor: Option<String>,
}

/// A page of workspaces.
pub(super) fn workspaces(page: &[Workspace], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&WorkspacePage { workspaces: page.iter().map(of_workspace).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct ProjectBody<'a> {
    id: Id,
    short_id: &'a str,
    workspace_id: Id,
    slug: &'a str,
    name: &'a str,
    source_locale: &'a str,
    legal_prefixes: &'a [String],
    created_at: Instant,
}

fn of_project(one: &Project) -> ProjectBody<'_> {
    ProjectBody {
        id: Id(one.project_id.0),
        short_id: &one.short_id,
        workspace_id: Id(one.workspace_id.0),
        slug: &one.slug,
        name: &one.name,
        source_locale: &one.source.locale.tag,
        legal_prefixes: &one.legal_prefixes,
        created_at: Instant(one.created_at),
    }
}

/// One project.
pub(super) fn project(one: &Project) -> Result<Vec<u8>, Failure> {
    json(&of_project(one))
}

#[derive(serde::Serialize)]
struct ProjectPage<'a> {
    projects: Vec<ProjectBody<'a>>,
    next_cursor: Option<String>,
}

/// A page of projects.
pub(super) fn projects(page: &[Project], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&ProjectPage { projects: page.iter().map(of_project).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct TagBody<'a> {
    tag: &'a str,
    identity_key: &'a str,
}

#[derive(serde::Serialize)]
struct ProjectLocalesBody<'a> {
    project_id: Id,
    version: u64,
    locales: Vec<TagBody<'a>>,
}

/// The target locales of a project.
pub(super) fn project_locales(project_id: ProjectId, set: &ProjectLocales) -> Result<Vec<u8>, Failure> {
    let locales = set.locales.iter().map(|one| TagBody { tag: &one.tag, identity_key: &one.identity_key });
    json(&ProjectLocalesBody { project_id: Id(project_id.0), version: set.version, locales: locales.collect() })
}

#[derive(serde::Serialize)]
struct SourceLocaleBody<'a> {
    project_id: Id,
    source_locale: &'a str,
    identity_key: &'a str,
    version: u64,
}

/// The source locale of a project.
pub(super) fn source_locale(project_id: ProjectId, one: &SourceLocale) -> Result<Vec<u8>, Failure> {
    json(&SourceLocaleBody {
        project_id: Id(project_id.0),
        source_locale: &one.locale.tag,
        identity_key: &one.locale.identity_key,
        version: one.version,
    })
}

#[derive(serde::Serialize)]
struct LocaleListBody<'a> {
    cldr_version: &'static str,
    locales: Vec<ProfileBody<'a>>,
}

#[derive(serde::Serialize)]
struct ProfileBody<'a> {
    tag: &'a str,
    identity_key: &'a str,
    reviewed: bool,
    direction: &'static str,
    cardinal: Vec<&'static str>,
    ordinal: Vec<&'static str>,
}

/// Every locale of CLDR.
pub(super) fn locale_list(profiles: &[LocaleProfile]) -> Result<Vec<u8>, Failure> {
    json(&LocaleListBody { cldr_version: CLDR_VERSION, locales: profiles.iter().map(of_profile).collect() })
}

fn of_profile(one: &LocaleProfile) -> ProfileBody<'_> {
    ProfileBody {
        tag: &one.tag,
        identity_key: &one.identity_key,
        reviewed: one.reviewed,
        direction: one.direction.name(),
        cardinal: one.cardinal.names(),
        ordinal: one.ordinal.names(),
    }
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum ValidationBody<'a> {
    Valid { valid: bool, canonical: &'a str, content_form: &'a str, identity_key: &'a str },
    Invalid { valid: bool, code: &'a str },
}

/// Whether a tag is a locale.
pub(super) fn validation(outcome: &Result<Locale, &'static str>) -> Result<Vec<u8>, Failure> {
    json(&match outcome {
        Ok(locale) => ValidationBody::Valid {
            valid: true,
            canonical: locale.canonical(),
            content_form: locale.content_form(),
            identity_key: locale.identity_key(),
        },
        Err(code) => ValidationBody::Invalid { valid: false, code },
    })
}

#[derive(serde::Serialize)]
struct FileBody<'a> {
    file_id: Id,
    project_id: Id,
    path: &'a str,
    format: &'static str,
    version: u32,
    sha256: Hex,
    size: u64,
    keys: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    root_locale: &'a str,
}

/// A digest as text.
struct Hex([u8; 32]);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

fn of_file(project_id: ProjectId, file: &File) -> FileBody<'_> {
    FileBody {
        file_id: Id(file.file_id.0),
        project_id: Id(project_id.0),
        path: &file.path,
        format: file.format.name(),
        version: file.version,
        sha256: Hex(file.sha256),
        size: file.size_bytes,
        keys: file.keys,
        profile: file.format.profile(),
        root_locale: &file.root_locale,
    }
}

/// An upload that was stored.
pub(super) fn imported(project_id: ProjectId, file: &File) -> Result<Vec<u8>, Failure> {
    json(&of_file(project_id, file))
}

#[derive(serde::Serialize)]
struct FilePage<'a> {
    files: Vec<FileBody<'a>>,
    next_cursor: Option<String>,
}

/// A page of files.
pub(super) fn files(project_id: ProjectId, page: &[File], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    let files = page.iter().map(|file| of_file(project_id, file)).collect();
    json(&FilePage { files, next_cursor })
}

/// Texts by the names of their categories, in CLDR's order.
struct FormsBody<'a>(Vec<(&'static str, &'a str)>);

impl Serialize for FormsBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(serde::Serialize)]
struct KeyBody<'a> {
    id: Id,
    file_id: Id,
    path: &'a str,
    plural: bool,
    source: Option<&'a str>,
    forms: Option<FormsBody<'a>>,
}

fn of_key(key: &ListedKey) -> KeyBody<'_> {
    let entry = &key.entry;
    let (source, forms) = match &entry.source {
        Source::Text(text) => (Some(text.as_str()), None),
        Source::Forms(forms) => {
            let forms = forms.iter().map(|(place, text)| (category_at(*place).name(), text.as_str()));
            (None, Some(FormsBody(forms.collect())))
        }
    };
    let plural = entry.source.is_plural();
    KeyBody { id: Id(key.key_id.0), file_id: Id(key.file_id.0), path: &entry.path, plural, source, forms }
}

#[derive(serde::Serialize)]
struct KeyPage<'a> {
    keys: Vec<KeyBody<'a>>,
    next_cursor: Option<String>,
}

/// A page of keys.
pub(super) fn keys(page: &[ListedKey], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    let keys = page.iter().map(of_key).collect();
    json(&KeyPage { keys, next_cursor })
}

#[derive(serde::Serialize)]
struct ContextBody<'a> {
    path: &'a str,
    context: Option<&'a str>,
    min_length: Option<u32>,
    max_length: Option<u32>,
}

fn of_context(one: &KeyContext) -> ContextBody<'_> {
    ContextBody {
        path: &one.path,
        context: one.context.as_deref(),
        min_length: one.min_length,
        max_length: one.max_length,
    }
}

#[derive(serde::Serialize)]
struct ContextsBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Id>,
    keys: Vec<ContextBody<'a>>,
}

/// Everything told of a file's keys.
pub(super) fn contexts(all: &[KeyContext]) -> Result<Vec<u8>, Failure> {
    json(&ContextsBody { file: None, keys: all.iter().map(of_context).collect() })
}

/// What was told of some keys.
pub(super) fn put_contexts(file_id: Uuid, some: &[KeyContext]) -> Result<Vec<u8>, Failure> {
    json(&ContextsBody { file: Some(Id(file_id)), keys: some.iter().map(of_context).collect() })
}

#[derive(serde::Serialize)]
struct TranslationBody<'a> {
    key_id: Id,
    locale: &'a str,
    state: &'static str,
    revision: u64,
    text: Option<&'a str>,
    forms: Option<FormsBody<'a>>,
    updated_by: Option<Id>,
    updated_at: Option<Instant>,
    origin: Option<&'static str>,
}

/// A translation.
pub(super) fn translation(one: &Translation) -> Result<Vec<u8>, Failure> {
    let written = one.written.as_ref();
    let (text, forms) = match written.map(|written| &written.content) {
        None => (None, None),
        Some(Translated::Text { text, .. }) => (Some(text.as_str()), None),
        Some(Translated::Forms(forms)) => {
            let forms = forms.iter().map(|form| (category_at(form.category).name(), form.text.as_str()));
            (None, Some(FormsBody(forms.collect())))
        }
    };
    json(&TranslationBody {
        key_id: Id(one.key_id.0),
        locale: &one.locale,
        state: one.state.name(),
        revision: written.map_or(0, |written| written.revision),
        text,
        forms,
        updated_by: written.map(|written| Id(written.updated_by)),
        updated_at: written.map(|written| Instant(written.updated_at)),
        origin: written.and_then(|written| written.origin).map(|origin| origin.name()),
    })
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataEntryBody<'a> {
    key: &'a str,
    source_hash: Hex,
    target_hash: Hex,
    status: &'static str,
    approved_at: Option<Instant>,
    approved_by: Option<Id>,
}

#[derive(serde::Serialize)]
struct MetadataBody<'a> {
    project_id: Id,
    file_id: Id,
    locale: &'a str,
    revision: u64,
    entries: Vec<MetadataEntryBody<'a>>,
}

/// What is told of each key of an export.
pub(super) fn metadata(
    project_id: ProjectId,
    wish: &Wish,
    material: &Material,
    entries: &[MetadataEntry],
) -> Result<Vec<u8>, Failure> {
    json(&MetadataBody {
        project_id: Id(project_id.0),
        file_id: Id(material.file.file_id.0),
        locale: wish.locale.canonical(),
        revision: material.revision,
        entries: entries.iter().map(of_metadata).collect(),
    })
}

fn of_metadata(one: &MetadataEntry) -> MetadataEntryBody<'_> {
    let approval = one.approval.as_ref();
    MetadataEntryBody {
        key: &one.key,
        source_hash: Hex(one.source_sha256),
        target_hash: Hex(one.target_sha256),
        status: one.state.name(),
        approved_at: approval.map(|approval| Instant(approval.at)),
        approved_by: approval.map(|approval| Id(Uuid::from_bytes(approval.by))),
    }
}
