//! Keys: list them, and find the one that a path names.

use quintet_platform::service::{
    Answer, CURSOR, Endpoint, Id, Route, Segment, Shape, json as success, next_cursor, refusal_of, written,
};
use quintet_storage::{Abort, Failure, Read};

use super::wire::Forms;
use crate::access::{Action, Wanted};
use crate::content::contexts::find_context;
use crate::content::keys::{self, ListedKey, get_key};
use crate::content::model::{FileId, Key, KeyClass, KeyContext, KeyEntry, KeyId, Source, category_at};
use crate::content::translation::translation_locale;
use crate::http::{Answered, Call, Caller, LIMIT, Localization};
use crate::language::Locale;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::http::{PROJECT, permitted};
use crate::spaces::{Project, get_project};

/// The key that a path names.
pub const KEY: Segment = Segment::new("key_id", Shape::Uuid);
/// The locale that a path names. Whatever is longer is no tag that can be stored.
pub const LOCALE: Segment = Segment::new("locale", Shape::Pattern("^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$"));

/// The locale of the path, and which key it names.
///
/// # Errors
/// In this order: [`Refusal::Tag`], [`Refusal::NotFound`].
pub fn place_of(call: &Call) -> Result<(Locale, KeyId), Refusal> {
    let locale = translation_locale(&call.segment::<String>(LOCALE.name).unwrap_or_default())?;
    let key_id = call.segment(KEY.name).map(KeyId).ok_or(Refusal::NotFound)?;
    Ok((locale, key_id))
}

/// A key and the project it lies in.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn find_key(
    read: &impl Read,
    shelf: &Shelf,
    caller: &Caller,
    key_id: KeyId,
) -> Result<(Key, Project), Abort<Refusal>> {
    let key = get_key(read, shelf, caller.tenant_id(), key_id)?;
    let project = get_project(read, caller.tenant_id(), key.project_id)?;
    Ok((key, project))
}

const LIST: Route = Route::get("list_keys", "/v1/projects/{project_id}/keys")
    .permission("p_<p>_read")
    .summary("List its active keys, in the order of ids")
    .segments(&[PROJECT])
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "KeyPage")])
    .makes(KEY.noun, "keys/0/id")
    .codes(&["busy"]);

const GET: Route = Route::get("get_key", "/v1/keys/{key_id}")
    .permission("p_<p>_read")
    .summary("A key, obsolete or not, and what translators are told of it")
    .segments(&[KEY])
    .successes(&[success(200, "KeyView")])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&LIST, |call| Box::pin(list(call))), Endpoint::new(&GET, |call| Box::pin(get(call)))];

async fn get(call: Call) -> Answered {
    let key_id = call.segment(KEY.name).map(KeyId).ok_or(Refusal::NotFound)?;
    let context = call.context.clone();
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let (key, project) = find_key(read, &call.context.shelf, &call.caller, key_id)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        let (entry, tenant_id) = (&key.entry, call.caller.tenant_id());
        let told = find_context(read, &call.context.shelf, tenant_id, key.file_id, &entry.path)?;
        Ok(Answer::json(200, write_view(&key, told.as_ref())?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

#[derive(serde::Serialize)]
struct KeyView<'a> {
    #[serde(flatten)]
    key: KeyBody<'a>,
    project_id: Id,
    obsolete: bool,
    class: Option<&'static str>,
    context: Option<&'a str>,
    min_length: Option<u32>,
    max_length: Option<u32>,
}

fn write_view(key: &Key, told: Option<&KeyContext>) -> Result<Vec<u8>, Failure> {
    written(&KeyView {
        key: body(key.key_id, key.file_id, &key.entry),
        project_id: Id(key.project_id.0),
        obsolete: key.entry.is_obsolete,
        class: told.and_then(|told| told.class).map(KeyClass::name),
        context: told.and_then(|told| told.context.as_deref()),
        min_length: told.and_then(|told| told.min_length),
        max_length: told.and_then(|told| told.max_length),
    })
}

async fn list(mut call: Call) -> Answered {
    let kind = format!("keys {}", call.segment::<String>(PROJECT.name).unwrap_or_default());
    let page = call.page::<KeyId>(&kind, &LIMIT)?;
    let project_id = permitted(&call, Action::Read)?.project_id;
    let context = call.context.clone();
    let listed = context.aside(call.caller.tenant_id(), move |read| {
        let found = keys::list_keys(read, call.caller.tenant_id(), project_id, page.after, page.limit)?;
        Ok(Answer::json(200, write_page(&found.keys, next_cursor(&kind, found.next.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

#[derive(serde::Serialize)]
struct KeyBody<'a> {
    id: Id,
    file_id: Id,
    path: &'a str,
    plural: bool,
    source: Option<&'a str>,
    forms: Option<Forms<'a>>,
}

fn body(key_id: KeyId, file_id: FileId, entry: &KeyEntry) -> KeyBody<'_> {
    let (source, forms) = match &entry.source {
        Source::Text(text) => (Some(text.as_str()), None),
        Source::Forms(forms) => {
            let forms = forms.iter().map(|(place, text)| (category_at(*place).name(), text.as_str()));
            (None, Some(Forms(forms.collect())))
        }
    };
    let plural = entry.source.is_plural();
    KeyBody { id: Id(key_id.0), file_id: Id(file_id.0), path: &entry.path, plural, source, forms }
}

#[derive(serde::Serialize)]
struct KeyPage<'a> {
    keys: Vec<KeyBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &[ListedKey], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&KeyPage { keys: page.iter().map(|key| body(key.key_id, key.file_id, &key.entry)).collect(), next_cursor })
}
