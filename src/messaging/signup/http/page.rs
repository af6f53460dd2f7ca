//! The pages of signing up: GET changes nothing, whoever follows a link; POST counts from the pages themselves alone.

use std::time::Duration;

use http::HeaderValue;
use http::header::RETRY_AFTER;
use quintet_platform::http::body;
use quintet_platform::http::query::Query;
use quintet_platform::secrets::{Secret, digest, random_bytes};
use quintet_platform::service::{
    Answer, Content, Dialect as _, Fault, Route, Segment, ServiceRefusal as _, Shape, Success, Visit, media, refusal_of,
};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::super::ask as asking;
use super::super::confirm as confirming;
use super::super::model::Wish;
use super::html;
use crate::context::Context;
use crate::dialect::{Answered, Messaging, WRITER_TIME};
use crate::identity::keys::{PreparedKey, token_place};
use crate::outbox::Note;
use crate::pages::{answer, is_from_here, network, notice};
use crate::refusal::Refusal;
use crate::relay;

/// The largest form.
const FORM_BYTES_MAX: usize = 8 << 10;
/// Bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;
/// How long one waits for others whose mail is being sent.
const PATIENCE: Duration = Duration::from_secs(10);

const TOKEN: Segment = Segment::new("token", Shape::Text { min: 1, max: 64 });
const AS_PAGE: &[(&str, &str)] = &[("text/html", r#"{"type":"string"}"#)];
const FIELDS: &str = r#"{"type":"object","required":["address","name","workspace"],"properties":{
    "address":{"type":"string","maxLength":254},"name":{"type":"string","maxLength":100},
    "workspace":{"type":"string","maxLength":40}}}"#;

const fn page(status: u16, about: &'static str) -> Success {
    media(status, AS_PAGE).about(about)
}

pub(super) const FORM: Route = Route::get("show_sign_up", "/signup")
    .summary("The page on which one signs up, if the operator lets everybody")
    .any_parameter()
    .successes(&[page(200, "The page"), page(404, "Nobody signs up here by himself")]);
pub(super) const ASK: Route = Route::post("sign_up", "/signup")
    .summary("The form of that page: sends a link to the address")
    .any_parameter()
    .body(Content::Media(&[("application/x-www-form-urlencoded", FIELDS)]))
    .successes(&[
        page(200, "The relay has taken the mail"),
        page(403, "It is not from the page"),
        page(404, "Nobody signs up here by himself"),
        page(408, "The form did not arrive"),
        page(413, "The form is too large"),
        page(422, "The page again, with what is wrong"),
        page(429, "Too many wait for their confirmation"),
        page(503, "Not now"),
    ]);
pub(super) const SHOW: Route = Route::get("show_sign_up_link", "/signup/{token}")
    .summary("The page of the link; looking at it makes nothing")
    .segments(&[TOKEN])
    .any_parameter()
    .successes(&[
        page(200, "The page"),
        page(404, "There is no such link, or nobody signs up here"),
        page(503, "Not now"),
    ]);
pub(super) const CONFIRM: Route = Route::post("confirm_sign_up", "/signup/{token}")
    .summary("The form of that page: makes the tenant, the workspace and its first key, which is shown this once")
    .segments(&[TOKEN])
    .any_parameter()
    .successes(&[
        page(200, "The workspace is there, and this is its key"),
        page(403, "It is not from the page"),
        page(404, "There is no such link, or nobody signs up here"),
        page(409, "The short name was taken meanwhile"),
        page(503, "Not now"),
    ]);

/// Whether anybody may sign up: the operator says so, and mail leaves.
fn is_open(context: &Context) -> bool {
    context.settings.is_signup_open && context.settings.mail.relay.is_some()
}

fn closed() -> Answer {
    answer(404, notice("Closed", "Nobody signs up here by himself. Ask whoever runs this server."))
}

pub(super) async fn form(visit: Visit<Messaging>) -> Answered {
    Ok(match is_open(&visit.context) {
        true => answer(200, html::form(&Wish::default(), None)),
        false => closed(),
    })
}

pub(super) async fn ask(mut visit: Visit<Messaging>) -> Answered {
    if !is_open(&visit.context) {
        return Ok(closed());
    }
    if !is_from_here(&visit.context, visit.headers()) {
        return Ok(answer(403, notice("Not from this page", NOT_FROM_HERE)));
    }
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, FORM_BYTES_MAX, Messaging::DEMANDS.body_time).await;
    let wish = match body.map_err(|error| Refusal::from(Fault::of_body(error))) {
        Ok(bytes) => read(&bytes),
        Err(refusal) => return Ok(refused(&refusal)),
    };
    let Some(typed) = wish else {
        return Ok(answer(422, html::form(&Wish::default(), Some("That was not the form of this page."))));
    };
    let wish = match typed.clone().check(visit.context.domain()) {
        Ok(wish) => wish,
        Err(refusal) => return Ok(again(&typed, &refusal)),
    };
    Ok(match send(&visit, wish.clone()).await {
        Ok(()) => answer(200, html::sent(&wish.address)),
        Err(refusal @ (Refusal::Invalid(_) | Refusal::NameTaken(_))) => again(&typed, &refusal),
        Err(refusal) => refused(&refusal),
    })
}

/// Has a sign-up wait, and sends its link. What cannot be sent does not wait.
async fn send(visit: &Visit<Messaging>, wish: Wish) -> Result<(), Refusal> {
    let context = &visit.context;
    let _turn = context.sign_ups.hold(Uuid::nil(), 1, PATIENCE).await.map_err(Refusal::from)?;
    let token: Secret = data_encoding::BASE64URL_NOPAD.encode(&random_bytes::<TOKEN_BYTES>()).into();
    let place = token_place(&digest(token.expose().as_bytes()));
    let (own, asked, source) = (token.clone(), wish.clone(), network(visit));
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| asking::ask(tx, now, asked, source, own.expose());
    context.write(WRITER_TIME, verb).await.map_err(refusal_of)?;
    let text = format!(
        "Somebody, you I hope, wants to make the workspace {} ({}) at {}.\n\nTo make it, follow this link within an \
         hour:\n{}/signup/{}\n\nIf it was not you, there is nothing to do: without the link nothing is made.\n",
        wish.slug,
        wish.name,
        context.base_url(),
        context.base_url(),
        token.expose(),
    );
    let note = Note { to: &wish.address, subject: "Confirm your address", text: &text };
    let Err(why) = relay::send_at_once(context, note).await else { return Ok(()) };
    tracing::warn!(%why, "the mail of a sign-up could not be sent");
    let forget =
        move |tx: &mut WriteTx<'_>, _: Timestamp| -> Result<(), Abort<Refusal>> { Ok(asking::expire(tx, place)?) };
    context.write(WRITER_TIME, forget).await.map_err(refusal_of)?;
    Err(Refusal::ExternalMailUnavailable)
}

pub(super) async fn show(visit: Visit<Messaging>) -> Answered {
    if !is_open(&visit.context) {
        return Ok(closed());
    }
    let token: Secret = visit.segment::<String>(TOKEN.name).unwrap_or_default().into();
    Ok(match confirming::waiting(&visit.snapshot(), visit.now(), token.expose()).map_err(refusal_of) {
        Ok((_, row)) => answer(200, html::open(&row)),
        Err(refusal) => refused(&refusal),
    })
}

pub(super) async fn confirm(visit: Visit<Messaging>) -> Answered {
    if !is_open(&visit.context) {
        return Ok(closed());
    }
    if !is_from_here(&visit.context, visit.headers()) {
        return Ok(answer(403, notice("Not from this page", NOT_FROM_HERE)));
    }
    let token: Secret = visit.segment::<String>(TOKEN.name).unwrap_or_default().into();
    let prepared = PreparedKey::draw();
    let text = prepared.text();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| confirming::confirm(tx, now, token.expose(), prepared);
    Ok(match visit.context.write(WRITER_TIME, verb).await.map_err(refusal_of) {
        Ok(workspace) => answer(200, html::made(&workspace, text.expose(), &visit.context.base_url())),
        Err(refusal) => refused(&refusal),
    })
}

/// What a form says; `None`: it is not the page's.
fn read(bytes: &[u8]) -> Option<Wish> {
    let mut form = Query::parse(Some(std::str::from_utf8(bytes).ok()?)).ok()?;
    let mut field = |name: &str| form.take(name).map(|text| text.trim().to_owned());
    let wish = Wish { address: field("address")?, name: field("name")?, slug: field("workspace")? };
    form.finish().ok()?;
    Some(wish)
}

const NOT_FROM_HERE: &str =
    "This was sent from another page, so it does not count, and nothing was done. Open the page itself.";

/// The page again, with what is wrong.
fn again(typed: &Wish, refusal: &Refusal) -> Answer {
    let wrong = match refusal {
        Refusal::Invalid(problems) => {
            problems.first().map_or_else(String::new, |one| format!("The {} {}.", one.field, one.problem))
        }
        _ => format!("The short name {} is given; take another one.", typed.slug),
    };
    answer(422, html::form(typed, Some(&wrong)))
}

/// What went wrong, for people.
fn refused(refusal: &Refusal) -> Answer {
    let verdict = refusal.verdict();
    let (status, heading, text) = match refusal {
        Refusal::NotFound(_) => (
            404,
            "No such link",
            "The link is used, or more than an hour old. If you have no key yet, sign up again; a key that was lost is made \
             anew by whoever runs this server.",
        ),
        Refusal::NameTaken(_) => (
            409,
            "Taken",
            "Somebody else has this short name since you asked. Nothing was made: sign up with another one.",
        ),
        Refusal::LimitReached(..) => {
            (429, "Too many", "Too many wait for their confirmation. Nothing was sent: try again in an hour.")
        }
        Refusal::ExternalMailUnavailable => {
            (503, "No mail", "The mail could not be sent, so nothing was kept. Try again a little later.")
        }
        Refusal::Fault(Fault::OutcomeUnknown) => (
            503,
            "Perhaps done",
            "Whether this was done is not known. Open the link again: if it is used, whoever runs this server makes you a key.",
        ),
        _ => match verdict.status {
            413 => (413, "Too long", "The form is too large. Nothing was done."),
            408 => (408, "Not complete", "The form did not arrive as a whole. Nothing was done."),
            _ => (503, "Not now", "This does not work at the moment. Nothing was done. Try again a little later."),
        },
    };
    let page = answer(status, notice(heading, text));
    match (status, verdict.retry_after_seconds) {
        (503, Some(seconds)) => page.header(RETRY_AFTER, HeaderValue::from(seconds)),
        _ => page,
    }
}
