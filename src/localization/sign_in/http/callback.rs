//! The way back from the provider.

use std::time::Instant;

use http::header::SET_COOKIE;
use quintet_platform::http::cookie::{Cookie, cookie, remove_cookie, set_cookie};
use quintet_platform::identity::{ExchangeFailure, Login, Signed, Unavailable, is_spent, login_name};
use quintet_platform::service::{Fault, Parameter, Route, Shape, Visit, failed, json as success, refusal_of};
use quintet_platform::sessions::{Door, Marks, Origin, Session, SessionToken, find_session};
use quintet_storage::Uuid;

use super::answers::{request_id, told, wants_page};
use super::login::can_be_entered;
use super::pages;
use crate::context::WRITER_TIME;
use crate::http::{Answered, Localization};
use crate::identity::{Identity, LOGIN_COOKIE, SESSION_COOKIE};
use crate::model::TenantId;
use crate::principals::{Subject, member_by_subject};
use crate::refusal::Refusal;
use crate::sign_in::arrive::{Arrival, Arrived, arrive};

const CODE: Parameter = Parameter::new("code", Shape::ANY, "What the provider gives for tokens.").repeatable();
const STATE: Parameter = Parameter::new("state", Shape::ANY, "What /auth/login has given along.").repeatable();
const ERROR: Parameter = Parameter::new("error", Shape::ANY, "Why the provider has let nobody in.").repeatable();
const ERROR_DESCRIPTION: Parameter = Parameter::new("error_description", Shape::ANY, "The same in words.").repeatable();
const ISSUER: Parameter = Parameter::new("iss", Shape::ANY, "Which provider answers (RFC 9207).").repeatable();

pub const CALLBACK: Route = Route::get("login_callback", "/auth/callback")
    .summary("Where the identity provider sends the browser back to: the session begins")
    .parameters(&[CODE, STATE, ERROR, ERROR_DESCRIPTION, ISSUER])
    .any_parameter()
    .no_head()
    .successes(&[success(200, "SignedIn").about("The session's cookie is set; a browser gets a page instead")])
    .codes(&["unauthenticated", "forbidden", "identity_unavailable", "busy", "storage_full", "writing_stopped"]);

/// How a callback ends that brings nobody in.
enum Failed {
    /// As every other one; the log has the reason.
    Alike,
    /// With this.
    With(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::With(refusal)
    }
}

/// Whoever comes back with what the provider gave gets a session. What fails is answered alike, whatever it was
/// (localization, N3).
pub async fn callback(mut visit: Visit<Localization>) -> Answered {
    let is_page = wants_page(visit.headers());
    let refusal = match come_back(&mut visit).await {
        Ok((session, token)) => {
            let told = || told(&session).map_err(|failure| failed::<Refusal>(&failure));
            let answer = if is_page { pages::signed_in() } else { told()? };
            let cookies = [remove_cookie(LOGIN_COOKIE), set_cookie(SESSION_COOKIE, token.expose(), None)];
            return Ok(cookies.into_iter().fold(answer, |answer, cookie| answer.also(SET_COOKIE, cookie)));
        }
        Err(Failed::Alike) => Refusal::Fault(Fault::Unauthenticated),
        Err(Failed::With(refusal)) => refusal,
    };
    match is_page {
        true => Ok(pages::refused(&refusal)),
        false => Err(refusal.into()),
    }
}

type Token = quintet_platform::secrets::Secret;

async fn come_back(visit: &mut Visit<Localization>) -> Result<(Session, Token), Failed> {
    let brought = Brought::take(visit);
    let context = visit.context.clone();
    let identity = context.demand_identity()?;
    let key = identity.keys.get().await.map_err(|failure| failed::<Refusal>(&failure))?;
    let login = match (cookie(visit.headers(), LOGIN_COOKIE), brought.state.as_deref()) {
        (Cookie::One(sealed), Some(state)) => {
            let login = key.open(sealed, &identity.purpose(), visit.now());
            login.filter(|login| login.is_answered_by(state)).ok_or_else(|| alike("no login of this browser"))?
        }
        _ => return Err(alike("no login of this browser")),
    };
    let name = login_name(&login);
    let Some(_alone) = identity.alone(name) else { return Err(alike("the login is being answered")) };
    let is_known = is_spent(&visit.snapshot(), name).map_err(|failure| failed::<Refusal>(&failure))?;
    if is_known || identity.has_failed(name) {
        return Err(alike("the login was answered before"));
    }
    let turn = match brought.asks_provider() {
        true => Some(identity.turn(visit.source()).await.map_err(Refusal::from)?),
        false => None,
    };
    let signed = match signed(identity, &login, &brought).await {
        Ok(signed) => signed,
        Err(ExchangeFailure::Unavailable(unavailable)) => return Err(away(&unavailable)),
        Err(failure) => {
            // It came to its end all the same, as far as memory goes: after a restart it is over in ten minutes.
            identity.note_failed(name);
            return Err(alike(&failure.to_string()));
        }
    };
    let tenant_id = TenantId(login.about);
    let email = verified_email(visit, identity, tenant_id, &signed).await?;
    drop(turn);
    let Signed { id, id_token, .. } = signed;
    let origin = Origin {
        issuer: identity.provider.issuer().to_owned(),
        subject: id.subject,
        provider_session: id.session,
        email,
        id_token: id_token.expose().clone(),
    };
    let token = SessionToken::draw();
    let arrival = Arrival {
        tenant_id,
        marks: Marks::of(key, &origin),
        origin,
        digest: token.digest(),
        login: name,
        login_ends_at: login.ends_at,
        before: session_before(visit)?,
        request_id: request_id(visit),
    };
    enter(visit, arrival).await.map(|session| {
        let text = token.text(session.session_id);
        (session, text)
    })
}

/// What the callback brings; what comes several times means nothing.
struct Brought {
    code: Option<String>,
    state: Option<String>,
    /// Whether the provider says that it has let nobody in.
    is_error: bool,
    issuer: Result<Option<String>, ()>,
}

impl Brought {
    fn take(visit: &mut Visit<Localization>) -> Brought {
        let mut of = |parameter: &Parameter| visit.texts(parameter).unwrap_or_default();
        let only = |texts: Vec<String>| <[String; 1]>::try_from(texts).ok().map(|[only]| only);
        let issuers = of(&ISSUER);
        let issuer = match issuers.len() {
            0 => Ok(None),
            _ => only(issuers).map(Some).ok_or(()),
        };
        Brought { code: only(of(&CODE)), state: only(of(&STATE)), is_error: !of(&ERROR).is_empty(), issuer }
    }
}

impl Brought {
    /// Whether the provider is asked for what it brings.
    fn asks_provider(&self) -> bool {
        self.code.is_some() && !self.is_error && self.issuer.is_ok()
    }
}

/// Who has signed in at the provider.
async fn signed(identity: &Identity, login: &Login, brought: &Brought) -> Result<Signed, ExchangeFailure> {
    let Brought { code, is_error, issuer, .. } = brought;
    let (Ok(issuer), Some(code), false) = (issuer, code, is_error) else { return Err(ExchangeFailure::Refused) };
    if !identity.provider.is_answering(issuer.as_deref()).await? {
        return Err(ExchangeFailure::Refused);
    }
    identity.provider.exchange(login, code, &identity.callback_url()).await
}

/// The address that the provider vouches for. Who is bound to the subject already can do without it, should the provider not
/// answer.
async fn verified_email(
    visit: &Visit<Localization>,
    identity: &Identity,
    tenant_id: TenantId,
    signed: &Signed,
) -> Result<Option<String>, Failed> {
    match identity.provider.email_of(signed).await {
        Ok(email) => Ok(email.and_then(|email| email.verified().map(str::to_owned))),
        Err(unavailable) => {
            let subject = Subject { issuer: identity.provider.issuer().to_owned(), subject: signed.id.subject.clone() };
            let known = member_by_subject(&visit.snapshot(), tenant_id, &subject);
            let known = known.map_err(|failure| failed::<Refusal>(&failure))?;
            known.map(|_| None).ok_or_else(|| away(&unavailable))
        }
    }
}

/// The session that the browser holds until now.
fn session_before(visit: &Visit<Localization>) -> Result<Option<Uuid>, Refusal> {
    let Cookie::One(token) = cookie(visit.headers(), SESSION_COOKIE) else { return Ok(None) };
    let uses = &visit.foundation().session_uses;
    let found = find_session(&visit.snapshot(), uses, Door::Localization, token, visit.now());
    Ok(found.map_err(|failure| failed::<Refusal>(&failure))?.map(|session| session.session_id))
}

/// The one transaction of a login that was answered.
async fn enter(visit: &Visit<Localization>, arrival: Arrival) -> Result<Session, Failed> {
    let tenant_id = arrival.tenant_id.0;
    let arrived = visit.context.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
        if can_be_entered(tx, tenant_id)? { arrive(tx, now, arrival) } else { Err(Refusal::NotMember.into()) }
    });
    match arrived.await {
        Ok(Arrived::Session(session)) => Ok(session),
        Ok(Arrived::NobodyHere) => Err(Refusal::NotMember.into()),
        Ok(Arrived::Spent) => Err(alike("the login was answered before")),
        Err(abort) => Err(refusal_of(abort).into()),
    }
}

fn alike(reason: &str) -> Failed {
    tracing::info!(reason, "a sign-in has failed");
    Failed::Alike
}

fn away(unavailable: &Unavailable) -> Failed {
    tracing::warn!(%unavailable, "a sign-in cannot go on: the identity provider does not answer as it should");
    Failed::With(Refusal::IdentityUnavailable)
}
