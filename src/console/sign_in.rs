//! Coming in and going out: a link that works once becomes a session, in one transaction.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use http::header::SET_COOKIE;
use quintet_localization::operator::known_member;
use quintet_platform::access::is_suspended;
use quintet_platform::http::cookie::{remove_cookie, set_strict_cookie};
use quintet_platform::http::query::Query;
use quintet_platform::people::{
    Act, Link, Purpose, begin_session, end_member_session, end_operator_session, find_link, find_operator, record_deed,
    record_member_ends, take_link,
};
use quintet_platform::secrets::{Digest, digest_parts};
use quintet_platform::sessions::{
    self, LIFE_SECONDS, Marks, NewSession, Origin, Session, SessionToken, create_session, find_session,
};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::door::{Console, Door};
use super::form;
use super::notice::Notice;
use super::pages::{SignInPage, answer};
use super::visitor::{Anybody, write};
use super::words::{COOKIE, Language};

/// Who is said to have vouched for whoever came by a link.
const BY_LINK: &str = "link";
/// How long a chosen language is remembered, in seconds: a year.
const LANGUAGE_SECONDS: i64 = 365 * 86_400;

/// The page to sign in on.
pub async fn ask(anybody: Anybody, RawQuery(raw): RawQuery) -> Response {
    let next = Query::parse(raw.as_deref()).ok().and_then(|mut query| query.take("next"));
    page(StatusCode::OK, anybody, form::next_path(next), false)
}

fn page(status: StatusCode, anybody: Anybody, next: String, is_refused: bool) -> Response {
    answer(status, &SignInPage { frame: anybody.frame, next, is_refused })
}

/// Takes a link. One that was used, is over, was made for the other door or never was made: one answer. One of a tenant that
/// may not act is not used up by that.
pub async fn take(State(console): State<Console>, anybody: Anybody, body: Body) -> Result<Response, Notice> {
    let mut form = form::read(body).await?;
    let link = form.take("link").unwrap_or_default();
    let next = form::next_path(form.take("next"));
    // A whole address may be pasted as well.
    let token = link.trim().rsplit('#').next().unwrap_or_default().to_owned();
    let door = console.door;
    let is_wanted = move |purpose: &Purpose| (*purpose == Purpose::Operator) == door.is_operators();
    let now = console.app.clock.now();
    let mut begun = None;
    let secret = SessionToken::draw();
    let link = find_link(&console.app.store.read(), now, &token, is_wanted)?;
    if let Some(link) = link {
        if is_of_suspended(&console.app.store.read(), &link)? {
            return Err(Notice::Suspended);
        }
        let (digest, before) = (secret.digest(), anybody.token.clone());
        let uses = console.app.session_uses.clone();
        begun = write(&console, move |tx, now| {
            // It may have been suspended, or the link used, meanwhile.
            if is_of_suspended(tx, &link)? {
                return Ok(None);
            }
            let Some(link) = take_link(tx, now, &token, is_wanted)? else { return Ok(None) };
            match (door, before) {
                (Door::Operators, before) => begin_as_operator(tx, now, &link, digest, before.as_deref()).map(Some),
                (Door::Members, before) => {
                    let before = match before {
                        Some(text) => find_session(tx, &uses, sessions::Door::Console, &text, now)?,
                        None => None,
                    };
                    begin_as_member(tx, now, &link, digest, before)
                }
            }
        })
        .await?;
    }
    let Some(session_id) = begun else { return Ok(page(StatusCode::FORBIDDEN, anybody, next, true)) };
    let cookie = set_strict_cookie(door.cookie(), secret.text(session_id).expose(), None);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&next)).into_response())
}

/// Whether a link is for a member whose tenant may not act now.
fn is_of_suspended(read: &impl Read, link: &Link) -> Result<bool, Failure> {
    match link.purpose {
        Purpose::Operator => Ok(false),
        Purpose::Member { tenant, .. } => is_suspended(read, Uuid::from_bytes(tenant)),
    }
}

/// The session that the browser held until now ends: whoever had it before has nothing of the new one.
fn begin_as_operator(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    link: &Link,
    digest: Digest,
    before: Option<&str>,
) -> Result<Uuid, Failure> {
    if let Some(before) = before.map(|text| find_operator(tx, text, now)).transpose()?.flatten() {
        end_operator_session(tx, now, before.session_id, &before.login)?;
    }
    begin_session(tx, now, &link.asked_by, digest)
}

/// Likewise. `None`: the member has been removed since.
fn begin_as_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    link: &Link,
    digest: Digest,
    before: Option<Session>,
) -> Result<Option<Uuid>, Failure> {
    let Purpose::Member { tenant, principal } = link.purpose else { return Ok(None) };
    let (tenant_id, principal_id) = (Uuid::from_bytes(tenant), Uuid::from_bytes(principal));
    let known = known_member(tx, tenant_id, &principal_id.to_string())?;
    if !known.is_some_and(|known| known.is_live) {
        return Ok(None);
    }
    if let Some(before) = before {
        end_member_session(tx, now, before.session_id, &before.principal_id.to_string())?;
    }
    let new = NewSession {
        door: sessions::Door::Console,
        tenant_id,
        principal_id,
        digest,
        origin: Origin {
            issuer: BY_LINK.to_owned(),
            subject: principal_id.to_string(),
            provider_session: None,
            email: None,
            id_token: String::new(),
        },
        marks: Marks { subject: mark(tenant_id, principal_id), provider_session: None },
        ends_at: now.plus_seconds(LIFE_SECONDS),
    };
    let made = match create_session(tx, now, new) {
        Ok(made) => made,
        // It was erased.
        Err(Abort::Refused(_)) => return Ok(None),
        Err(Abort::Failed(failure)) => return Err(failure),
    };
    let (session_id, by) = (made.session.session_id, principal_id.to_string());
    record_member_ends(tx, now, &made.ended, &by)?;
    record_deed(tx, now, Act::MemberSignIn, &by, &session_id.to_string())?;
    Ok(Some(session_id))
}

/// The mark of who came by a link: no provider's, whose marks are digests under a key.
fn mark(tenant_id: Uuid, principal_id: Uuid) -> u128 {
    let digest = digest_parts(&[BY_LINK.as_bytes(), tenant_id.as_bytes(), principal_id.as_bytes()]);
    digest.first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
}

/// Goes out: the session ends, and the cookie goes.
pub async fn leave(State(console): State<Console>, anybody: Anybody) -> Result<Response, Notice> {
    if let Some(token) = anybody.token {
        let (door, uses) = (console.door, console.app.session_uses.clone());
        let ended = write(&console, move |tx, now| match door {
            Door::Operators => match find_operator(tx, &token, now)? {
                Some(session) => end_operator_session(tx, now, session.session_id, &session.login).map(drop),
                None => Ok(()),
            },
            Door::Members => match find_session(tx, &uses, sessions::Door::Console, &token, now)? {
                Some(session) => {
                    end_member_session(tx, now, session.session_id, &session.principal_id.to_string()).map(drop)
                }
                None => Ok(()),
            },
        });
        ended.await?;
    }
    Ok(([(SET_COOKIE, remove_cookie(console.door.cookie()))], Redirect::to("/sign-in")).into_response())
}

/// Remembers a language.
pub async fn choose_language(body: Body) -> Result<Response, Notice> {
    let mut form = form::read(body).await?;
    let language = form.take("language").and_then(|tag| Language::of_tag(&tag)).ok_or(Notice::Malformed)?;
    let next = form::next_path(form.take("next"));
    let cookie = set_strict_cookie(COOKIE, language.tag(), Some(LANGUAGE_SECONDS));
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&next)).into_response())
}
