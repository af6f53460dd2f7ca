//! The page of a link: GET shows what is to be decided and changes nothing, whoever follows it; POST decides (P3).
//!
//! What is sent counts only from the page itself: a form that says from where it is, and is from here. What goes wrong is a
//! page, too, and never a yes.

use http::HeaderValue;
use http::header::RETRY_AFTER;
use quintet_platform::http::body;
use quintet_platform::http::query::Query;
use quintet_platform::service::{
    Answer, Content, Dialect as _, Fault, Route, Segment, ServiceRefusal as _, Shape, Success, Visit, media, refusal_of,
};
use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::super::decide::{NO_APPROVER, decide_on_page, no_link};
use super::super::links;
use super::super::model::{Choice, Person, Status};
use super::super::record::{self, Known};
use super::html::{self, Open};
use crate::dialect::{Answered, Messaging, WRITER_TIME};
use crate::identity::{Workspace, serving, workspaces};
use crate::pages::{answer, is_from_here, notice, source};
use crate::refusal::Refusal;

/// The largest form: a reason, percent-encoded.
const FORM_BYTES_MAX: usize = 64 << 10;

const TOKEN: Segment = Segment::new("token", Shape::Text { min: 1, max: 64 });
const AS_PAGE: &[(&str, &str)] = &[("text/html", r#"{"type":"string"}"#)];
const FIELDS: &str = r#"{"type":"object","required":["verdict"],"properties":{
    "verdict":{"type":"string","enum":["approved","rejected"],"description":"Which button was pressed."},
    "reason":{"type":"string","maxLength":2000,"description":"Why; needed to reject."}}}"#;

const fn page(status: u16, about: &'static str) -> Success {
    media(status, AS_PAGE).about(about)
}

pub(super) const SHOW: Route = Route::get("show_approval_page", "/approve/{token}")
    .summary("The page on which a person decides; looking at it changes nothing")
    .segments(&[TOKEN])
    .any_parameter()
    .successes(&[
        page(200, "The page"),
        page(403, "The workspace is suspended"),
        page(404, "There is no such link"),
        page(410, "Decided, or over"),
        page(503, "Not now"),
    ]);
pub(super) const DECIDE: Route = Route::post("decide_on_approval_page", "/approve/{token}")
    .summary("The form of that page, which is taken from the page alone")
    .segments(&[TOKEN])
    .any_parameter()
    .body(Content::Media(&[("application/x-www-form-urlencoded", FIELDS)]))
    .successes(&[
        page(200, "What was recorded"),
        page(403, "It is not from the page, or the workspace is suspended"),
        page(404, "There is no such link"),
        page(408, "The form did not arrive"),
        page(410, "Decided, or over; nothing was changed"),
        page(413, "The form is too large"),
        page(422, "The page again, with what is wrong"),
        page(503, "Not now"),
    ]);

/// What a link leads to.
struct Found {
    known: Known,
    workspace: Workspace,
    person: Person,
    is_entitled: bool,
}

/// What a link leads to, if anything.
fn found(read: &impl Read, token: &str) -> Result<Found, Abort<Refusal>> {
    let (key, person) = links::find(read, token)?.ok_or_else(no_link)?;
    let workspace = workspaces::find(read, key.0)?.ok_or_else(no_link)?;
    serving(read, &workspace)?;
    let known = record::known(read, &workspace, key)?.ok_or_else(no_link)?;
    let is_entitled = links::is_entitled(read, key, &known.approval, &person)?;
    Ok(Found { known, workspace, person, is_entitled })
}

pub(super) async fn show(visit: Visit<Messaging>) -> Answered {
    let token: String = visit.segment(TOKEN.name).unwrap_or_default();
    Ok(match found(&visit.snapshot(), &token).map_err(refusal_of) {
        Ok(found) => shown(&found, visit.now(), None),
        Err(refusal) => refused(&refusal),
    })
}

/// The page of what was found, as things stand.
fn shown(found: &Found, now: Timestamp, wrong: Option<(String, String)>) -> Answer {
    let Found { known, workspace, person, is_entitled } = found;
    if known.approval.status_at(now) != Status::Pending {
        return answer(410, html::over(workspace, &known.approval, known.verdict.as_ref(), now));
    }
    if !is_entitled {
        return refused(&Refusal::Denied(NO_APPROVER));
    }
    let status = if wrong.is_some() { 422 } else { 200 };
    answer(status, html::open(&Open { known, workspace, person, now, wrong }))
}

pub(super) async fn decide(mut visit: Visit<Messaging>) -> Answered {
    if !is_from_here(&visit.context, visit.headers()) {
        return Ok(answer(403, notice("Not from this page", NOT_FROM_HERE)));
    }
    let token: String = visit.segment(TOKEN.name).unwrap_or_default();
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, FORM_BYTES_MAX, Messaging::DEMANDS.body_time).await;
    let form = match body.map_err(|error| Refusal::from(Fault::of_body(error))) {
        Ok(bytes) => form(&bytes),
        Err(refusal) => return Ok(refused(&refusal)),
    };
    let (choice, reason) = match form {
        Ok((Some(choice), reason)) => (choice, reason),
        Ok((None, reason)) => return Ok(again(&visit, &token, "Press one of the two buttons.", reason)),
        Err(()) => return Ok(again(&visit, &token, "That was not the form of this page.", String::new())),
    };
    let source = source(&visit);
    let (own, typed) = (token.clone(), reason.clone());
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| decide_on_page(tx, now, &own, choice, (source, reason));
    Ok(match visit.context.write(WRITER_TIME, verb).await.map_err(refusal_of) {
        Ok((workspace, approval, person)) => answer(200, html::recorded(&workspace, &approval, &person)),
        Err(Refusal::Invalid(problems)) => {
            let wrong = problems.first().map_or_else(String::new, |one| format!("A {} {}.", one.field, one.problem));
            again(&visit, &token, &wrong, typed)
        }
        // Somebody else was first, or it is too late: the page says how it ended.
        Err(Refusal::AlreadyDecided(_)) => match found(&visit.snapshot(), &token).map_err(refusal_of) {
            Ok(found) => shown(&found, visit.now(), None),
            Err(refusal) => refused(&refusal),
        },
        Err(refusal) => refused(&refusal),
    })
}

/// The page again, with what is wrong.
fn again(visit: &Visit<Messaging>, token: &str, wrong: &str, reason: String) -> Answer {
    match found(&visit.snapshot(), token).map_err(refusal_of) {
        Ok(found) => shown(&found, visit.now(), Some((wrong.to_owned(), reason))),
        Err(refusal) => refused(&refusal),
    }
}

/// What a form says: a choice, if it says one, and a reason.
fn form(bytes: &[u8]) -> Result<(Option<Choice>, String), ()> {
    let text = std::str::from_utf8(bytes).map_err(drop)?;
    let mut form = Query::parse(Some(text)).map_err(drop)?;
    let choice = form.take("verdict");
    // Browsers send a text's lines with both line end characters.
    let reason = form.take("reason").unwrap_or_default().replace("\r\n", "\n").trim().to_owned();
    form.finish().map_err(drop)?;
    match choice {
        None => Ok((None, reason)),
        Some(choice) => Ok((Some(Choice::named(&choice).ok_or(())?), reason)),
    }
}

const NOT_FROM_HERE: &str = "This decision was sent from another page, so it does not count, and nothing was changed. Open \
    the link itself and decide there.";

/// What went wrong, for people. None of it is a yes.
fn refused(refusal: &Refusal) -> Answer {
    let verdict = refusal.verdict();
    let (status, heading, text) = match refusal {
        Refusal::NotFound(_) => {
            (404, "No such link", "There is nothing to decide here. Look whether the address is complete.")
        }
        Refusal::Denied(_) => (410, "This link is over", "Whom it was made for does not approve this any more."),
        Refusal::Suspended => (403, "Suspended", "The workspace is suspended: nothing is decided until it is active."),
        Refusal::WorkspaceDeleted => (410, "This is over", "The workspace has been deleted."),
        Refusal::Fault(Fault::OutcomeUnknown) => (
            503,
            "Perhaps recorded",
            "Whether this was recorded is not known. Open the link again in a moment: it shows how things stand.",
        ),
        _ => match verdict.status {
            413 => (413, "Too long", "The form is too large. Nothing was changed."),
            408 => (408, "Not complete", "The form did not arrive as a whole. Nothing was changed."),
            _ => (503, "Not now", "This does not work at the moment. Nothing was changed. Try again a little later."),
        },
    };
    let page = answer(status, notice(heading, text));
    match (status, verdict.retry_after_seconds) {
        (503, Some(seconds)) => page.header(RETRY_AFTER, HeaderValue::from(seconds)),
        _ => page,
    }
}
