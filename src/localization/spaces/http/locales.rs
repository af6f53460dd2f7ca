//! The target locales of a project. Its source locale is replaced where its files are known: in
//! [`content`](crate::content).

use http::header::IF_MATCH;
use quintet_platform::http::etag::TagList;
use quintet_platform::json::Json;
use quintet_platform::service::{Answer, Content, Endpoint, Id, KeyRule, Route, failed, json as success, written};
use quintet_storage::Failure;

use super::projects::{PROJECT, permitted};
use crate::access::Action;
use crate::http::{Answered, CORE, Call, Form, LOCALE_CHARS_MAX, Localization, TAGGED, read};
use crate::refusal::Refusal;
use crate::spaces::locales::{self, stored_set};
use crate::spaces::model::{Expected, LOCALES_MAX, ProjectId, ProjectLocales};

const GET: Route = Route::get("get_project_locales", "/v1/projects/{project_id}/locales")
    .permission("p_<p>_read")
    .summary("Its target locales; the entity tag is \"v<version>\"")
    .segments(&[PROJECT])
    .successes(&[success(200, "ProjectLocales")])
    .etag("v");
const PUT: Route = Route::put("put_project_locales", "/v1/projects/{project_id}/locales")
    .permission("p_<p>_manage")
    .summary("Replace its target locales; needs If-Match")
    .segments(&[PROJECT])
    .key(KeyRule::Optional)
    .conditional()
    .body(Content::Json("ProjectLocalesPut"))
    .successes(&[success(200, "ProjectLocales")])
    .etag("v")
    .marks(&[CORE, TAGGED])
    .codes(&["precondition_required", "precondition_failed", "locale_duplicate"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

/// What `If-Match` says.
pub fn expected(call: &Call) -> Expected {
    match TagList::of(call.headers(), &IF_MATCH) {
        TagList::Absent | TagList::Any => Expected::Unsaid,
        TagList::Malformed => Expected::Tags(Vec::new()),
        TagList::Tags(tags) => Expected::Tags(tags),
    }
}

async fn get(call: Call) -> Answered {
    let project_id = permitted(&call, Action::Read)?.project_id;
    let set = locales::get_locales(&call.snapshot(), call.caller.tenant_id(), project_id);
    let set = set.map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(call.answer(200, |_| Ok(write_locales(project_id, &set)?))?.tagged(&set.etag()))
}

async fn put(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tags = read_put(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.context.demand_core()?;
    let project_id = permitted(call, Action::Manage)?.project_id;
    let set = stored_set(&tags)?;
    let (actor, expected) = (call.caller.actor.clone(), expected(call));
    let put = change.write(move |tx, now| {
        let set = locales::put_locales(tx, now, &actor, project_id, &expected, set)?;
        Ok(Answer::json(200, write_locales(project_id, &set)?).tagged(&set.etag()))
    });
    put.await
}

/// ProjectLocalesPut.
fn read_put(json: Json) -> Result<Vec<String>, Refusal> {
    let mut form = Form::of_body(json)?;
    let locales: Option<Vec<String>> = form.required("locales");
    if let Some(tags) = &locales {
        let fits = |tag: &String| (1..=LOCALE_CHARS_MAX).contains(&tag.chars().count());
        if !(1..=LOCALES_MAX).contains(&tags.len()) || !tags.iter().all(fits) {
            form.wrong("locales", "has 1 to 100 items of 1 to 64 characters");
        }
    }
    form.finish()?;
    read(locales)
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

fn write_locales(project_id: ProjectId, set: &ProjectLocales) -> Result<Vec<u8>, Failure> {
    let locales = set.locales.iter().map(|one| TagBody { tag: &one.tag, identity_key: &one.identity_key });
    written(&ProjectLocalesBody { project_id: Id(project_id.0), version: set.version, locales: locales.collect() })
}
