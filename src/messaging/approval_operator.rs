//! The operator's side of approvals: those of all workspaces, deciding them, links to their pages, and kinds.
//!
//! What is shown is what the command line prints, and nothing that is stored.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Abort, Failure, Read, Snapshot, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approvals::decide::decide as decide_approval;
use crate::approvals::kinds::{self, Kind};
use crate::approvals::links::{self, Token};
use crate::approvals::model::{Act, Choice, How, Person, Status};
use crate::approvals::record::{self, Known};
use crate::approvals::rows;
use crate::context::Context;
use crate::identity::Workspace;
use crate::model::{ApprovalId, ApprovalKey};
use crate::operator::{Missing, NotDone, all, named, not_done_for};
use crate::refusal::Refusal;

/// Approvals of one workspace that a list has at the most.
const LISTED_MAX: usize = 200;

/// A record as it is shown: that of the service, and what only the operator is told.
pub type ApprovalView = Map<String, Value>;

/// Who asks at the command line, as the system knows him.
#[derive(Clone, Debug)]
pub struct Login {
    /// His name.
    pub name: String,
    /// His number.
    pub uid: u32,
}

/// Decides an approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecideWish {
    /// `approved` or `rejected`.
    pub verdict: String,
    /// Why; needed to reject.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who decides; none: who asks.
    #[serde(default)]
    pub by: Option<String>,
}

/// Asks for a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkWish {
    /// For which approver; none: the only one, or who asks where the kind names none.
    #[serde(default)]
    pub approver: Option<String>,
}

/// A link to the page of an approval; shown this once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkView {
    /// Of which.
    pub approval_id: String,
    /// For whom.
    pub person: String,
    /// Where it is.
    pub url: String,
    /// When it is over at the latest; RFC 3339.
    pub expires_at: String,
}

/// Says what a kind is to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindWish {
    /// Addresses of those who approve.
    #[serde(default)]
    pub approvers: Vec<String>,
    /// How long is waited if the request does not say, in minutes.
    #[serde(default)]
    pub expires_minutes: Option<i64>,
}

/// A kind of approvals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindView {
    /// Its name.
    pub kind: String,
    /// Addresses of those who approve.
    pub approvers: Vec<String>,
    /// How long is waited if the request does not say, in minutes; none: a day.
    pub expires_minutes: Option<i64>,
    /// When the operator said so; RFC 3339.
    pub changed_at: Option<String>,
}

fn not_done(abort: Abort<Refusal>) -> Abort<NotDone> {
    match abort {
        Abort::Refused(Refusal::AlreadyDecided(status)) => {
            NotDone::NotNow(format!("the approval is {} already; nothing was changed", status.replace('_', " "))).into()
        }
        Abort::Refused(Refusal::Suspended) => {
            NotDone::NotNow("the workspace, or its tenant, is suspended".into()).into()
        }
        abort => not_done_for(Missing::Approval, abort),
    }
}

/// A record, with what only the operator is told.
fn shown(workspace: &Workspace, known: &Known, now: Timestamp) -> Result<ApprovalView, Failure> {
    let mut members = known.members(now);
    members.insert(1, ("workspace", workspace.slug.as_str().into()));
    members.push(("attestation", known.approval.attestation.name().into()));
    // To the digit: readers of JSON may write numbers in another way.
    members.push(("canonical_action", known.matter.action.as_str().into()));
    let verdict = known.verdict.as_ref();
    let text = |text: Option<&str>| Json::from(text.filter(|text| !text.is_empty()));
    members.push(("decided_by", text(verdict.map(|verdict| verdict.by.as_str()))));
    members.push(("decided_how", text(verdict.and_then(|verdict| verdict.how).map(How::name))));
    members.push(("decided_from", text(verdict.map(|verdict| verdict.source.as_str()))));
    let written = to_compact(&Json::object(members));
    serde_json::from_str(&written).map_err(|error| Failure::Io(format!("a record is no JSON: {error}")))
}

/// The workspace and the key of an approval, of whichever workspace it is.
fn place(read: &impl Read, id: &str) -> Result<(Workspace, ApprovalKey), Abort<NotDone>> {
    let none = || NotDone::NoSuch(Missing::Approval, format!("approval {id:?}"));
    let approval = ApprovalId(parse_ulid(id).ok_or_else(none)?);
    for workspace in all(read)? {
        let key = (workspace.no, approval);
        if rows::find(read, key)?.is_some() {
            return Ok((workspace, key));
        }
    }
    Err(none().into())
}

/// The newest approvals, of one workspace or of all that are there; of one status, if one is named.
///
/// # Errors
/// There is no such workspace or status, or the store's failures.
pub fn list(context: &Context, slug: Option<&str>, status: Option<&str>) -> Result<Vec<ApprovalView>, Abort<NotDone>> {
    let (read, now) = (context.store.read(), context.now());
    let unknown = |name: &str| {
        let names = Status::ALL.map(Status::name).join(", ");
        NotDone::Unusable(format!("there is no status {name:?}; there are {names}"))
    };
    let status = status.map(|name| Status::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let workspaces = match slug {
        Some(slug) => vec![named(&read, slug)?],
        None => all(&read)?,
    };
    let mut views = Vec::new();
    for workspace in workspaces {
        for id in rows::list(&read, workspace.no, status, None, LISTED_MAX)? {
            let known = record::known(&read, &workspace, (workspace.no, id))?;
            let is_so = |known: &Known| status.is_none_or(|status| status == known.approval.status_at(now));
            if let Some(known) = known.filter(is_so) {
                views.push(shown(&workspace, &known, now)?);
            }
        }
    }
    Ok(views)
}

/// One approval.
///
/// # Errors
/// There is none, or the store's failures.
pub fn show(context: &Context, id: &str) -> Result<ApprovalView, Abort<NotDone>> {
    let read = context.store.read();
    let (workspace, key) = place(&read, id)?;
    Ok(of(&read, &workspace, key, context.now())?)
}

fn of(read: &impl Read, workspace: &Workspace, key: ApprovalKey, now: Timestamp) -> Result<ApprovalView, Failure> {
    let known = record::known(read, workspace, key)?;
    known.map_or_else(|| Ok(Map::new()), |known| shown(workspace, &known, now))
}

/// Decides an approval, as a person who is logged in on the machine.
///
/// # Errors
/// There is none, it has its verdict, or the wish makes no sense. Nothing changes then.
pub fn decide(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    id: &str,
    wish: DecideWish,
    login: &Login,
) -> Result<ApprovalView, Abort<NotDone>> {
    let (_, key) = place(tx, id)?;
    let unknown = || NotDone::Unusable(format!("the verdict is {:?}, and must be approved or rejected", wish.verdict));
    let choice = Choice::named(&wish.verdict).ok_or_else(unknown)?;
    let act = Act {
        by: wish.by.unwrap_or_else(|| login.name.clone()),
        how: How::Cli,
        source: format!("uid {} ({})", login.uid, login.name),
        reason: wish.reason.unwrap_or_default(),
    };
    let (workspace, _) = decide_approval(tx, now, key, choice, act).map_err(not_done)?;
    Ok(of(tx, &workspace, key, now)?)
}

/// The token of a link, drawn before the transaction that makes it. Use each once.
#[derive(Debug)]
pub struct PreparedLink(Token);

impl PreparedLink {
    /// Draws it from the system's random source.
    #[must_use]
    pub fn draw() -> PreparedLink {
        PreparedLink(Token::draw())
    }
}

/// Makes a link to the page of an approval.
///
/// # Errors
/// There is none, it has its verdict, or it is not told for whom the link is to be.
pub fn link(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    base_url: &str,
    id: &str,
    (wish, login): (LinkWish, &Login),
    PreparedLink(token): PreparedLink,
) -> Result<LinkView, Abort<NotDone>> {
    let (_, key) = place(tx, id)?;
    let approval = rows::named(tx, key).map_err(not_done)?;
    let approvers = kinds::find(tx, key.0, &approval.kind)?.unwrap_or_default().approvers;
    let person = match (wish.approver, approvers.as_slice()) {
        (Some(address), _) => Person::Approver(address),
        (None, []) => Person::Operator(login.name.clone()),
        (None, [only]) => Person::Approver(only.clone()),
        (None, several) => {
            let why = format!("the kind has several approvers; name one with --approver: {}", several.join(", "));
            return Err(NotDone::Unusable(why).into());
        }
    };
    links::make(tx, now, key, person.clone(), &token).map_err(not_done)?;
    Ok(LinkView {
        approval_id: quintet_platform::ids::ulid(key.1.0),
        person: person.name().to_owned(),
        url: token.url(base_url).expose().clone(),
        expires_at: rfc3339(approval.expires_at),
    })
}

fn shown_kind(name: &str, kind: Kind) -> KindView {
    KindView {
        kind: name.to_owned(),
        approvers: kind.approvers,
        expires_minutes: kind.expires_minutes,
        changed_at: kind.changed_at.map(rfc3339),
    }
}

/// The kinds of a workspace, by name.
///
/// # Errors
/// There is no such workspace, or the store's failures.
pub fn list_kinds(context: &Context, slug: &str) -> Result<Vec<KindView>, Abort<NotDone>> {
    let read: Snapshot = context.store.read();
    let workspace = named(&read, slug)?;
    Ok(kinds::list(&read, workspace.no)?.into_iter().map(|(name, kind)| shown_kind(&name, kind)).collect())
}

/// Makes a kind, or replaces what was said of it.
///
/// # Errors
/// There is no such workspace, or the wish makes no sense.
pub fn set_kind(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    domain: &str,
    (slug, name): (&str, &str),
    wish: KindWish,
) -> Result<KindView, Abort<NotDone>> {
    let workspace = named(tx, slug)?;
    let said = (wish.approvers, wish.expires_minutes);
    let kind = kinds::set(tx, now, workspace.no, domain, name, said).map_err(not_done)?;
    Ok(shown_kind(name, kind))
}

/// Removes a kind.
///
/// # Errors
/// There is no such workspace or kind.
pub fn remove_kind(tx: &mut WriteTx<'_>, slug: &str, name: &str) -> Result<KindView, Abort<NotDone>> {
    let workspace = named(tx, slug)?;
    let removed = kinds::remove(tx, workspace.no, name).map_err(|abort| not_done_for(Missing::Kind, abort))?;
    Ok(shown_kind(name, removed))
}

/// Where pages of approvals are reached, and what agents' addresses end with.
#[must_use]
pub fn places(context: &Context) -> (String, String) {
    (context.base_url(), context.domain().to_owned())
}
