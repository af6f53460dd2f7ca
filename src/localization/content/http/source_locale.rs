//! The source locale of a project, which its files' keys are in.

use quintet_platform::json::Json;
use quintet_platform::service::{Answer, Content, Endpoint, Id, KeyRule, Route, json as success, written};
use quintet_storage::Failure;

use crate::access::Action;
use crate::content::source_locale::put_source_locale;
use crate::http::{Answered, CORE, Call, Form, LOCALE_CHARS_MAX, Localization, TAGGED, read};
use crate::refusal::Refusal;
use crate::spaces::http::locales::expected;
use crate::spaces::http::{PROJECT, permitted};
use crate::spaces::{ProjectId, SourceLocale, given_locale};

const GET: Route = Route::get("get_source_locale", "/v1/projects/{project_id}/source-locale")
    .permission("p_<p>_read")
    .summary("Its source locale; the entity tag is \"s<version>\"")
    .segments(&[PROJECT])
    .successes(&[success(200, "SourceLocale")])
    .etag("s");
const PUT: Route = Route::put("put_source_locale", "/v1/projects/{project_id}/source-locale")
    .permission("p_<p>_manage")
    .summary("Replace its source locale, as long as it has no file; needs If-Match")
    .segments(&[PROJECT])
    .key(KeyRule::Optional)
    .conditional()
    .body(Content::Json("SourceLocalePut"))
    .successes(&[success(200, "SourceLocale")])
    .etag("s")
    .marks(&[CORE, TAGGED])
    .codes(&["precondition_required", "precondition_failed", "conflict"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

async fn get(call: Call) -> Answered {
    let project = permitted(&call, Action::Read)?;
    let told = call.answer(200, |_| Ok(write_source_locale(project.project_id, &project.source)?))?;
    Ok(told.tagged(&project.source.etag()))
}

async fn put(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tag = read_put(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.context.demand_core()?;
    let project_id = permitted(call, Action::Manage)?.project_id;
    let locale = given_locale(&tag)?;
    let (actor, expected) = (call.caller.actor.clone(), expected(call));
    let put = change.write(move |tx, now| {
        let set = put_source_locale(tx, now, &actor, project_id, &expected, locale)?;
        Ok(Answer::json(200, write_source_locale(project_id, &set)?).tagged(&set.etag()))
    });
    put.await
}

/// SourceLocalePut.
fn read_put(json: Json) -> Result<String, Refusal> {
    let mut form = Form::of_body(json)?;
    let tag = form.required_text("source_locale", 1, LOCALE_CHARS_MAX);
    form.finish()?;
    read(tag)
}

#[derive(serde::Serialize)]
struct SourceLocaleBody<'a> {
    project_id: Id,
    source_locale: &'a str,
    identity_key: &'a str,
    version: u64,
}

fn write_source_locale(project_id: ProjectId, one: &SourceLocale) -> Result<Vec<u8>, Failure> {
    written(&SourceLocaleBody {
        project_id: Id(project_id.0),
        source_locale: &one.locale.tag,
        identity_key: &one.locale.identity_key,
        version: one.version,
    })
}
