//! Who asks: an operator or a member with a session that lets in here and now; or nobody, who is asked to sign in.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, MatchedPath};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use quintet_localization::operator::{Known, known_member};
use quintet_platform::access::{Services, Tenant, find_tenant, is_suspended};
use quintet_platform::http::cookie::{Cookie, cookie};
use quintet_platform::http::query::encode_segment;
use quintet_platform::people::{OperatorSession, find_operator, is_use_due, note_use};
use quintet_platform::sessions::{self, Session, find_session};
use quintet_platform::vouched::Vouched;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::door::{Console, Door};
use super::notice::Notice;
use super::pages::Frame;
use super::rooms::Asking;
use super::words::Language;

/// The page of the editor: signing in leads back to it also from what is sent there.
pub const EDITOR: &str = "/projects/{project}/locales/{locale}";
/// How long a page waits for the writer.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);
/// What a page's own script says that asks for the page anew, to keep it fresh. Nobody is kept in by that.
const REFRESH: &str = "x-quintet-refresh";
/// How long it waits to note that it was asked for.
const NOTE_DEADLINE: Duration = Duration::from_millis(200);

/// An operator who is in.
pub struct Operator {
    /// His session.
    pub session: OperatorSession,
    /// What is around his page.
    pub frame: Frame,
}

/// A member who is in.
pub struct Member {
    /// His session.
    pub session: Session,
    /// Who he is.
    pub known: Known,
    /// His tenant.
    pub tenant: Tenant,
    /// The rooms, asked as him.
    pub asking: Asking,
    /// What is around his page.
    pub frame: Frame,
}

/// Whoever asks, in or not.
pub struct Anybody {
    /// What is around the page.
    pub frame: Frame,
    /// The session that the browser holds; it may be none of ours.
    pub token: Option<String>,
}

impl Anybody {
    fn of(console: &Console, parts: &Parts) -> Anybody {
        let token = match cookie(&parts.headers, console.door.cookie()) {
            Cookie::One(token) => Some(token.to_owned()),
            Cookie::Absent | Cookie::Unclear => None,
        };
        let language = Language::of(&parts.headers);
        let frame = Frame {
            language,
            door: console.door,
            who: None,
            path: parts.uri.path().to_owned(),
            services: Services::default(),
        };
        Anybody { frame, token }
    }

    /// Leads to where people sign in, and from there back. Of the address the path alone goes along: no secret is in that.
    fn asked_to_sign_in(&self, parts: &Parts) -> Response {
        // What was sent to a page that can be looked at leads back to that page.
        let is_page = parts.extensions.get::<MatchedPath>().is_some_and(|matched| matched.as_str() == EDITOR);
        let back = if is_page || parts.method == http::Method::GET { self.frame.path.as_str() } else { "/" };
        let address = match back {
            "/" => "/sign-in".to_owned(),
            path => format!("/sign-in?next={}", encode_segment(path)),
        };
        Redirect::to(&address).into_response()
    }
}

impl FromRequestParts<Console> for Anybody {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Anybody, Infallible> {
        Ok(Anybody::of(console, parts))
    }
}

impl FromRequestParts<Console> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Operator, Response> {
        let anybody = Anybody::of(console, parts);
        match operator(console, anybody.token.as_deref(), is_use(parts)).await {
            Ok(Some(session)) => {
                let frame = Frame { who: Some(session.login.clone()), ..anybody.frame };
                Ok(Operator { session, frame })
            }
            Ok(None) => Err(anybody.asked_to_sign_in(parts)),
            Err(failure) => Err(Notice::from(failure).into_response()),
        }
    }
}

impl FromRequestParts<Console> for Member {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Member, Response> {
        let anybody = Anybody::of(console, parts);
        match member(console, anybody.token.as_deref(), is_use(parts)) {
            Ok(Some((session, known, tenant))) => {
                let Some(rooms) = &console.rooms else { return Err(Notice::Unavailable.into_response()) };
                let asking = Asking::new(rooms, Vouched::for_session(&session));
                let frame = Frame { who: Some(known.email.clone()), services: tenant.services, ..anybody.frame };
                Ok(Member { session, known, tenant, asking, frame })
            }
            Ok(None) => Err(anybody.asked_to_sign_in(parts)),
            Err(notice) => Err(notice.into_response()),
        }
    }
}

/// Whether somebody asks, and not a page by itself.
fn is_use(parts: &Parts) -> bool {
    !parts.headers.contains_key(REFRESH)
}

/// The operator of a token. That he asked is noted once a minute, if it `is_use`.
async fn operator(console: &Console, token: Option<&str>, is_use: bool) -> Result<Option<OperatorSession>, Failure> {
    let Some(token) = token.filter(|_| console.door == Door::Operators) else { return Ok(None) };
    let (store, now) = (&console.app.store, console.app.clock.now());
    let Some(session) = find_operator(&store.read(), token, now)? else { return Ok(None) };
    if is_use && is_use_due(&session, now) {
        let id = session.session_id;
        let noted = store.write_freeing(Instant::now() + NOTE_DEADLINE, move |tx, now| {
            note_use(tx, now, id).map_err(Abort::<Infallible>::Failed)
        });
        // Whoever wants to see why nothing can be written is not kept from it.
        if noted.await.is_err() {
            tracing::debug!("the use of an operator's session could not be noted");
        }
    }
    Ok(Some(session))
}

/// The member of a token, if the tenant may act. That he asked is noted, if it `is_use`.
fn member(console: &Console, token: Option<&str>, is_use: bool) -> Result<Option<(Session, Known, Tenant)>, Notice> {
    let Some(token) = token.filter(|_| console.door == Door::Members) else { return Ok(None) };
    let (app, now) = (&console.app, console.app.clock.now());
    let read = app.store.read();
    let Some(session) = find_session(&read, &app.session_uses, sessions::Door::Console, token, now)? else {
        return Ok(None);
    };
    let known = known_member(&read, session.tenant_id, &session.principal_id.to_string())?;
    let Some(known) = known.filter(|known| known.is_live) else { return Ok(None) };
    let Some(tenant) = find_tenant(&read, session.tenant_id)? else { return Ok(None) };
    if is_suspended(&read, session.tenant_id)? {
        return Err(Notice::Suspended);
    }
    if is_use && app.session_uses.note(session.session_id, now) {
        app.clock.wake();
    }
    Ok(Some((session, known, tenant)))
}

/// Runs a verb that refuses nothing. It goes on below the disk reserve: letting people in and out needs little room, and who
/// comes may be the one who makes more.
pub async fn write<T: Send + 'static>(
    console: &Console,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Notice> {
    let deadline = Instant::now() + WRITE_DEADLINE;
    let done =
        console.app.store.write_freeing(deadline, |tx, now| verb(tx, now).map_err(Abort::<Infallible>::Failed)).await;
    done.map_err(|abort| match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(never) => match never {},
    })
}
