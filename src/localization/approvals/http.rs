//! Approval requests over HTTP: make one, read one.

use std::time::Instant;

use quintet_platform::egress::authority_of;
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Fault, KeyRule, Route, Segment, Shape, json as success, refusal_of,
};
use quintet_storage::{Abort, Read as _, Uuid};

use super::batch::Batch;
use super::begin::{BeginRequest, begin_request, find_open};
use super::request::get_request;
use super::submit::{fail, submit};
use super::tables::{APPROVAL_CONTEXTS, APPROVAL_ITEMS};
use super::view::{write_request, write_view};
use crate::access::{Action, Wanted};
use crate::content::{FileId, get_file, translation_locale};
use crate::context::WRITER_TIME;
use crate::decisions::Asked;
use crate::http::{Answered, Call, Form, Localization, TAGGED, read, to_its_end};
use crate::refusal::Refusal;
use crate::spaces::http::PROJECT;
use crate::spaces::{Project, ProjectId, get_project};

/// The longest tag that a body may have, in characters; what is stored is shorter.
const LOCALE_CHARS_MAX: usize = 255;
/// The longest address that a request may name.
const URL_CHARS_MAX: usize = 2_048;
/// How often a request is prepared anew because others have changed something.
const ATTEMPTS_MAX: usize = 8;
/// The request that a path names.
const REQUEST: Segment = Segment::new("request_id", Shape::Uuid);

const CREATE: Route = Route::post("create_approval_request", "/v1/projects/{project_id}/approval-requests")
    .permission("p_<p>_release")
    .summary("Have up to 200 translations of a file approved by one decision")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("ApprovalRequestCreate"))
    .successes(&[success(201, "ApprovalRequest")])
    .makes(REQUEST.noun, "id")
    .marks(&[TAGGED])
    .codes(&["approval_pending", "nothing_to_approve", "decision_unavailable", "busy"]);
const GET: Route = Route::get("get_approval_request", "/v1/approval-requests/{request_id}")
    .permission("p_<p>_read")
    .summary("One request: its items, what was shown, what was decided")
    .segments(&[REQUEST])
    .successes(&[success(200, "ApprovalRequestView")])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&CREATE, |call| Box::pin(create(call))), Endpoint::new(&GET, |call| Box::pin(get(call)))];

/// A body as it came, the tag unread.
#[derive(Clone)]
struct Body {
    file_id: FileId,
    locale: String,
    review_url: Option<String>,
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let body = read_body(change.json()?)?;
    change.begin()?;
    // A caller that leaves must not stop half of it.
    to_its_end(make(change, body)).await
}

/// Makes the request and has its decision raised.
async fn make(change: Change<Localization>, body: Body) -> Answered {
    let context = change.call.context.clone();
    let tenant_id = change.call.caller.tenant_id();
    let asked = change.entered().map(Asked::of);
    let request_id = begin(&change, body, asked).await?;
    let _in_flight = context.decisions.enter(request_id);
    match submit(&context, tenant_id, request_id).await {
        Ok(request) => {
            let body = write_request(&request).map_err(Abort::<Refusal>::Failed).map_err(refusal_of)?;
            Ok(Answer::json(201, body))
        }
        Err(Abort::Refused(Refusal::DecisionUnavailable)) => {
            let deadline = Instant::now() + WRITER_TIME;
            let failed = context.store.write(deadline, move |tx, now| fail(tx, now, tenant_id, request_id)).await;
            failed.map_err(refusal_of::<Refusal>)?;
            Err(Refusal::DecisionUnavailable.into())
        }
        Err(abort) => Err(refusal_of(abort).into()),
    }
}

/// Makes the request, whose decision is yet to be raised; its id.
async fn begin(change: &Change<Localization>, body: Body, asked: Option<Asked>) -> Result<Uuid, Refusal> {
    let call = &change.call;
    let tenant_id = call.caller.tenant_id();
    let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    for _ in 0..ATTEMPTS_MAX {
        let (caller, context) = (call.caller.clone(), call.context.clone());
        let (body, asked) = (body.clone(), asked.clone());
        let found = call.context.in_turn(tenant_id, move |store| {
            let read = store.read();
            let project = get_project(&read, tenant_id, project_id)?;
            caller.demand(&read, Wanted::InProject(project.place(), Action::Release))?;
            get_file(&read, tenant_id, project_id, body.file_id)?;
            let locale = translation_locale(&body.locale)?;
            if let Some(own) = find_open(&read, tenant_id, body.file_id, locale.canonical(), asked.as_ref())? {
                return Ok(Err(own));
            }
            let batch = Batch::find(&read, &context.shelf, tenant_id, &project, body.file_id, &locale)?;
            Ok(Ok(BeginRequest { project_id, locale, review_url: body.review_url, asked, batch }))
        });
        let command = match found.await.map_err(refusal_of)? {
            Ok(command) => command,
            Err(own) => return Ok(own),
        };
        let actor = call.caller.actor.clone();
        let begun = change.write_first(move |tx, now| begin_request(tx, now, &actor, command));
        if let Some(request_id) = begun.await? {
            return Ok(request_id);
        }
    }
    Err(Refusal::Fault(Fault::Busy))
}

/// ApprovalRequestCreate.
fn read_body(json: Json) -> Result<Body, Refusal> {
    let mut form = Form::of_body(json)?;
    let file_id = form.required_id("file").map(FileId);
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    let review_url = form.optional_text("review_url", 1, URL_CHARS_MAX);
    if review_url.as_deref().is_some_and(|url| !is_https(url)) {
        form.wrong("review_url", "is an https:// address");
    }
    form.finish()?;
    Ok(Body { file_id: read(file_id)?, locale: read(locale)?, review_url })
}

/// Whether a text is an address of the web that is encrypted: as browsers send one, for people who decide follow it. No
/// credentials, and nothing that looks like something else (RFC 3986, section 3).
fn is_https(text: &str) -> bool {
    let is_encoded = |text: &str| {
        text.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()))
    };
    text.is_ascii()
        && is_encoded(text)
        && text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme_str() == Some("https") && authority_of(&uri).is_some())
}

async fn get(call: Call) -> Answered {
    let context = call.context.clone();
    let tenant_id = call.caller.tenant_id();
    let told = context.aside(tenant_id, move |read| {
        let request_id: Uuid = call.segment(REQUEST.name).ok_or(Refusal::NotFound)?;
        let request = get_request(read, tenant_id, request_id)?;
        let project: Project = get_project(read, tenant_id, request.project_id)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        let items = read.get(&APPROVAL_ITEMS, &(tenant_id, request_id))?.map(|row| row.items).unwrap_or_default();
        let shown = read.get(&APPROVAL_CONTEXTS, &(tenant_id, request_id))?.map(|row| row.text).unwrap_or_default();
        Ok(Answer::json(200, write_view(&request, &items, &shown)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encrypted_ones() {
        for good in [
            "https://a",
            "https://a.example/x?y#z",
            "HTTPS://a.example",
            "https://[::1]:8443/%C3%A4",
            "https://a:65535",
        ] {
            assert!(is_https(good), "{good}");
        }
        for bad in ["http://a", "https://", "https:a", "a", "//a", "https://a b", "ftp://a", "https:///x"] {
            assert!(!is_https(bad), "{bad}");
        }
        for bad in [
            "https://a/\u{202e}",
            "https://h:99999/",
            "https://h:/",
            "https://a/%zz",
            "https://a/%4",
            "https://u:p@h/",
            "https://a/\u{e9}",
        ] {
            assert!(!is_https(bad), "{bad}");
        }
    }
}
