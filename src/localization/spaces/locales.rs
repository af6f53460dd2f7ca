//! A project's target locales and its source locale, each with a version of its own, which is its entity tag.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::model::{Expected, GivenLocale, ProjectId, ProjectLocales, SourceLocale, StoredLocale};
use super::projects::get_project;
use super::tables::{PROJECT_LOCALES, PROJECTS, ProjectLocalesRow};
use crate::audit::{self, Actor, Event};
use crate::language::{Locale, LocaleRefusal, check_stored_length};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The locale that a tag names, as a project's source locale.
///
/// # Errors
/// [`Refusal::Tag`]
pub fn given_locale(tag: &str) -> Result<GivenLocale, Refusal> {
    let refused = |refusal: LocaleRefusal| Refusal::Tag(refusal.code());
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
    let mut locales =
        tags.iter().map(|tag| given_locale(tag).map(|given| given.stored)).collect::<Result<Vec<_>, _>>()?;
    locales.sort_by(|one, other| one.identity_key.cmp(&other.identity_key));
    let twice = locales.iter().zip(locales.iter().skip(1)).any(|(one, next)| one.identity_key == next.identity_key);
    if twice { Err(Refusal::LocaleDuplicate) } else { Ok(locales) }
}

/// The target locales of a project that is the tenant's.
///
/// # Errors
/// Only the store's.
pub fn get_locales(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<ProjectLocales, Failure> {
    let row = read.get(&PROJECT_LOCALES, &(tenant_id, project_id))?;
    Ok(row.map(ProjectLocalesRow::into_locales).unwrap_or_default())
}

/// How many tags an audit event names, so that it stays within its bounds whatever their lengths.
const TAGS_TOLD_MAX: usize = 50;

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
    let before = get_locales(tx, tenant_id, project_id)?;
    expected.check(&before.etag())?;
    let row = ProjectLocalesRow { version: before.version + 1, locales };
    tx.put(&PROJECT_LOCALES, &(tenant_id, project_id), &row)?;
    let tags: Vec<Json> = row.locales.iter().take(TAGS_TOLD_MAX).map(|locale| locale.tag.as_str().into()).collect();
    let event = Event::about("project_locales.set", "project", project_id.0).with([
        ("version", Json::from(row.version)),
        ("count", Json::from(row.locales.len())),
        ("locales", Json::from(tags)),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(row.into_locales())
}

/// Replaces the source locale of a project; `has_files` tells whether there are keys in the one it has.
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
    has_files: bool,
) -> Result<SourceLocale, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let project = get_project(tx, tenant_id, project_id)?;
    expected.check(&project.source.etag())?;
    if has_files {
        return Err(Refusal::Conflict("the project has a file, whose keys are in the source locale").into());
    }
    let mut row = tx.get(&PROJECTS, &(tenant_id, project_id))?.ok_or(Refusal::NotFound)?;
    row.source_version += 1;
    row.source_locale = locale.stored;
    row.source_roots = locale.roots;
    tx.put(&PROJECTS, &(tenant_id, project_id), &row)?;
    let event = Event::about("source_locale.set", "project", project_id.0).with([
        ("version", Json::from(row.source_version)),
        ("source_locale", Json::from(row.source_locale.tag.as_str())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(get_project(tx, tenant_id, project_id)?.source)
}
