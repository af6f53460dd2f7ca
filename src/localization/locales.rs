//! A project's target locales and its source locale, each with a version of its own, which is its entity tag.

use quintet_platform::http::etag::ETag;
use quintet_platform::http::json::Json;
use quintet_storage::{Abort, Read, Scan, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::language::{Locale, check_stored_length};
use crate::model::{ProjectId, StoredLocale, TenantId};
use crate::projects::get_project;
use crate::refusal::Refusal;
use crate::tables::{FILES, PROJECT_LOCALES, PROJECTS, ProjectLocalesRow};

/// The content form a tag is stored under.
///
/// # Errors
/// [`Refusal::Tag`]
fn stored(tag: &str) -> Result<StoredLocale, Refusal> {
    source(tag).map(|given| given.stored)
}

/// A source locale as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenLocale {
    /// As it is stored.
    pub stored: StoredLocale,
    /// As it was given, its canonical tag, its content form; each once.
    pub roots: Vec<String>,
}

/// The source locale that a tag names.
///
/// # Errors
/// [`Refusal::Tag`]
pub fn source(tag: &str) -> Result<GivenLocale, Refusal> {
    let refused = |refusal: crate::language::LocaleRefusal| Refusal::Tag(refusal.code());
    let locale = Locale::parse(tag).map_err(refused)?;
    check_stored_length(&locale).map_err(refused)?;
    let mut roots: Vec<String> = Vec::with_capacity(1);
    for root in [tag, locale.canonical(), locale.content_form()] {
        if !roots.iter().any(|known| known == root) {
            roots.push(root.to_owned());
        }
    }
    let stored = StoredLocale { tag: locale.content_form().to_owned(), identity_key: locale.identity_key().to_owned() };
    Ok(GivenLocale { stored, roots })
}

/// The set of some tags, in the order of their identity keys.
///
/// # Errors
/// [`Refusal::Tag`] for the first tag that is no locale, then [`Refusal::LocaleDuplicate`].
pub fn stored_set(tags: &[String]) -> Result<Vec<StoredLocale>, Refusal> {
    let mut locales = tags.iter().map(|tag| stored(tag)).collect::<Result<Vec<_>, _>>()?;
    locales.sort_by(|one, other| one.identity_key.cmp(&other.identity_key));
    let twice = locales.iter().zip(locales.iter().skip(1)).any(|(one, next)| one.identity_key == next.identity_key);
    if twice { Err(Refusal::LocaleDuplicate) } else { Ok(locales) }
}

/// The target locales of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectLocales {
    /// Which project.
    pub project_id: ProjectId,
    /// Their version and themselves.
    pub row: ProjectLocalesRow,
}

impl ProjectLocales {
    /// `"v<version>"`
    #[must_use]
    pub fn etag(&self) -> ETag {
        ETag::strong(&format!("v{}", self.row.version))
    }
}

/// The source locale of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocale {
    /// Which project.
    pub project_id: ProjectId,
    /// The locale.
    pub locale: StoredLocale,
    /// Its version.
    pub version: u64,
}

impl SourceLocale {
    /// `"s<version>"`
    #[must_use]
    pub fn etag(&self) -> ETag {
        ETag::strong(&format!("s{}", self.version))
    }
}

/// What a caller says of the state that it wants to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing, or "whatever there is".
    Unsaid,
    /// One of these strong tags; others it named can match nothing.
    Tags(Vec<ETag>),
}

impl Expected {
    /// Whether the current tag is the one the caller has read.
    fn check(&self, current: &ETag) -> Result<(), Refusal> {
        match self {
            Expected::Unsaid => Err(Refusal::PreconditionRequired),
            Expected::Tags(tags) if tags.iter().any(|tag| tag.matches_strongly(current)) => Ok(()),
            Expected::Tags(_) => Err(Refusal::PreconditionFailed(current.clone())),
        }
    }
}

/// The target locales of a project that is the tenant's.
///
/// # Errors
/// Only the store's.
pub fn get_locales(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
) -> Result<ProjectLocales, Abort<Refusal>> {
    let row = read.get(&PROJECT_LOCALES, &(tenant_id, project_id))?.unwrap_or_default();
    Ok(ProjectLocales { project_id, row })
}

/// Replaces the target locales.
///
/// # Errors
/// [`Refusal::NotFound`], [`Refusal::PreconditionRequired`], [`Refusal::PreconditionFailed`], in this order.
pub fn put_locales(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    expected: &Expected,
    locales: Vec<StoredLocale>,
) -> Result<ProjectLocales, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    get_project(tx, tenant_id, project_id)?;
    let mut set = get_locales(tx, tenant_id, project_id)?;
    expected.check(&set.etag())?;
    set.row.version += 1;
    set.row.locales = locales;
    tx.put(&PROJECT_LOCALES, &(tenant_id, project_id), &set.row)?;
    let tags: Vec<Json> = set.row.locales.iter().take(TAGS_TOLD_MAX).map(|locale| locale.tag.as_str().into()).collect();
    let event = Event::about("project_locales.set", "project", project_id.0).with([
        ("version", Json::from(set.row.version)),
        ("count", Json::from(set.row.locales.len())),
        ("locales", Json::from(tags)),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(set)
}

/// How many tags an audit event names, so that it stays within its bounds whatever their lengths.
const TAGS_TOLD_MAX: usize = 50;

/// The source locale of a project.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_source_locale(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
) -> Result<SourceLocale, Abort<Refusal>> {
    let project = get_project(read, tenant_id, project_id)?;
    Ok(SourceLocale { project_id, locale: project.row.source_locale, version: project.row.source_version })
}

/// Replaces the source locale of a project that has no file yet.
///
/// # Errors
/// [`Refusal::NotFound`], [`Refusal::PreconditionRequired`], [`Refusal::PreconditionFailed`], [`Refusal::Conflict`]
/// once a file exists, in this order.
pub fn put_source_locale(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    expected: &Expected,
    locale: GivenLocale,
) -> Result<SourceLocale, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut project = get_project(tx, tenant_id, project_id)?;
    expected.check(&get_source_locale(tx, tenant_id, project_id)?.etag())?;
    if !tx.scan(&FILES, Scan::prefix(&(tenant_id, project_id)).limit(1))?.is_empty() {
        return Err(Refusal::Conflict("the project has a file, whose keys are in the source locale").into());
    }
    project.row.source_version += 1;
    project.row.source_locale = locale.stored;
    project.row.source_roots = locale.roots;
    tx.put(&PROJECTS, &(tenant_id, project_id), &project.row)?;
    let event = Event::about("source_locale.set", "project", project_id.0).with([
        ("version", Json::from(project.row.source_version)),
        ("source_locale", Json::from(project.row.source_locale.tag.as_str())),
    ]);
    audit::record(tx, now, actor, event)?;
    get_source_locale(tx, tenant_id, project_id)
}
