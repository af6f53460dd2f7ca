//! Who is in, and ending that. Operators see all sessions, and what was done with links; members see their own.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use quintet_localization::operator::known_member;
use quintet_platform::access::find_tenant;
use quintet_platform::ids::parse_uuid;
use quintet_platform::people::{end_member_session, end_operator_session, list_deeds, list_operators};
use quintet_platform::sessions::{Door as SessionDoor, Session, list_sessions, sessions_of};
use quintet_storage::{Failure, Snapshot, Uuid};

use super::door::{Console, Door};
use super::form;
use super::notice::Notice;
use super::pages::{DeedLine, SessionLine, SessionsPage, answer, instant};
use super::visitor::{Member, Operator, write};

/// Sessions of members that operators are shown.
const MEMBERS_MAX: usize = 200;
/// Deeds that they are shown.
const DEEDS_MAX: usize = 100;

/// Whoever is in, at either door.
pub enum Either {
    /// An operator.
    Operator(Operator),
    /// A member.
    Member(Box<Member>),
}

impl axum::extract::FromRequestParts<Console> for Either {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut http::request::Parts, console: &Console) -> Result<Either, Response> {
        match console.door {
            Door::Operators => Operator::from_request_parts(parts, console).await.map(Either::Operator),
            Door::Members => {
                Member::from_request_parts(parts, console).await.map(|member| Either::Member(Box::new(member)))
            }
        }
    }
}

/// The list.
pub async fn list(State(console): State<Console>, visitor: Either) -> Result<Response, Notice> {
    let (read, now) = (console.app.store.read(), console.app.clock.now());
    let page = match visitor {
        Either::Operator(operator) => {
            let own = operator.session.session_id;
            let sessions = list_operators(&read, now)?.into_iter().map(|session| SessionLine {
                id: session.session_id.to_string(),
                who: session.login,
                tenant: None,
                created_at: instant(session.created_at),
                last_used_at: Some(instant(session.last_used_at)),
                ends_at: instant(session.ends_at),
                is_own: session.session_id == own,
            });
            let sessions = sessions.collect();
            let of_members = lines_of_members(&read, list_sessions(&read, SessionDoor::Console, now, MEMBERS_MAX)?)?;
            let deeds = list_deeds(&read, DEEDS_MAX)?.into_iter().map(|deed| DeedLine {
                at: instant(deed.at),
                act: format!("act.{}", deed.act.name()),
                by: deed.by,
                about: deed.about,
            });
            SessionsPage { frame: operator.frame, sessions, of_members, deeds: deeds.collect() }
        }
        Either::Member(member) => {
            let Session { tenant_id, principal_id, session_id, .. } = member.session;
            let own = sessions_of(&read, SessionDoor::Console, tenant_id, principal_id, now)?;
            let sessions = own.into_iter().map(|session| SessionLine {
                is_own: session.session_id == session_id,
                ..line(session, member.known.email.clone(), None)
            });
            let sessions = sessions.collect();
            SessionsPage { frame: member.frame, sessions, of_members: Vec::new(), deeds: Vec::new() }
        }
    };
    Ok(answer(StatusCode::OK, &page))
}

fn line(session: Session, who: String, tenant: Option<String>) -> SessionLine {
    SessionLine {
        id: session.session_id.to_string(),
        who,
        tenant,
        created_at: instant(session.created_at),
        last_used_at: None,
        ends_at: instant(session.ends_at),
        is_own: false,
    }
}

/// Sessions of members, with the names of their tenants; whose each is, is told by address.
fn lines_of_members(read: &Snapshot, sessions: Vec<Session>) -> Result<Vec<SessionLine>, Failure> {
    let mut names: BTreeMap<Uuid, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for session in sessions {
        let tenant_id = session.tenant_id;
        let name = match names.entry(tenant_id) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let name = find_tenant(read, tenant_id)?.map(|tenant| tenant.name).unwrap_or_default();
                new.insert(name).clone()
            }
        };
        let known = known_member(read, tenant_id, &session.principal_id.to_string())?;
        let who = known.map_or_else(|| session.principal_id.to_string(), |known| known.email);
        lines.push(line(session, who, Some(name)));
    }
    Ok(lines)
}

/// Ends a session: an operator anybody's here, a member one of his own. Somebody else's, one of another door, and one that
/// has ended, is none.
pub async fn end(State(console): State<Console>, visitor: Either, body: Body) -> Result<Response, Notice> {
    let mut form = form::read(body).await?;
    let id = form.take("session").and_then(|text| parse_uuid(&text)).ok_or(Notice::Malformed)?;
    let is_members = form.one_of("kind", &["own", "member"]).map_err(|_| Notice::Malformed)? == Some("member");
    let now = console.app.clock.now();
    let ended = match visitor {
        Either::Operator(operator) => {
            let by = operator.session.login;
            write(&console, move |tx, now| match is_members {
                true => end_member_session(tx, now, id, &by),
                false => end_operator_session(tx, now, id, &by),
            })
            .await?
        }
        Either::Member(member) => {
            let Session { tenant_id, principal_id, .. } = member.session;
            let own = sessions_of(&console.app.store.read(), SessionDoor::Console, tenant_id, principal_id, now)?;
            if !own.iter().any(|session| session.session_id == id) {
                return Err(Notice::NotFound);
            }
            write(&console, move |tx, now| end_member_session(tx, now, id, &principal_id.to_string())).await?
        }
    };
    match ended {
        true => Ok(Redirect::to("/sessions").into_response()),
        false => Err(Notice::NotFound),
    }
}
