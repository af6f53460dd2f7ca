//! What the service writes: the wire types and their JSON.

use quintet_platform::clock::rfc3339;
use quintet_storage::{Failure, Timestamp, Uuid};
use serde::ser::{Serialize, Serializer};

use crate::core::{CLDR_VERSION, CheckOutcome, Locale, LocaleProfile};
use crate::locales::{ProjectLocales, SourceLocale};
use crate::projects::Project;
use crate::workspaces::Workspace;

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
        short_id: &one.row.short_id,
        slug: &one.row.slug,
        name: &one.row.name,
        created_at: Instant(one.row.created_at),
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
        short_id: &one.row.short_id,
        workspace_id: Id(one.row.workspace_id.0),
        slug: &one.row.slug,
        name: &one.row.name,
        source_locale: &one.row.source_locale.tag,
        legal_prefixes: &one.row.legal_prefixes,
        created_at: Instant(one.row.created_at),
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
pub(super) fn project_locales(set: &ProjectLocales) -> Result<Vec<u8>, Failure> {
    let locales = set.row.locales.iter().map(|one| TagBody { tag: &one.tag, identity_key: &one.identity_key });
    json(&ProjectLocalesBody { project_id: Id(set.project_id.0), version: set.row.version, locales: locales.collect() })
}

#[derive(serde::Serialize)]
struct SourceLocaleBody<'a> {
    project_id: Id,
    source_locale: &'a str,
    identity_key: &'a str,
    version: u64,
}

/// The source locale of a project.
pub(super) fn source_locale(one: &SourceLocale) -> Result<Vec<u8>, Failure> {
    json(&SourceLocaleBody {
        project_id: Id(one.project_id.0),
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
