//! Members of tenants, for the operator: who they are, what they may do in the services besides localization, and links
//! that let them in at the console.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::{Extension, Router};
use quintet_localization::operator::{self as people, Invitation, Known};
use quintet_platform::access::{Tenant, is_suspended};
use quintet_platform::clock::rfc3339;
use quintet_platform::people::{
    Act, LinkToken, NewLink, Purpose, end_member_sessions, forbid, make_link, permit, permits_of, record_deed,
};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};
use serde::{Deserialize, Serialize};

use super::asker::Asker;
use super::call::{Call, Items};
use super::console::{LinkView, Who, local_url, sign_in_url};
use super::records::Asked;
use super::task::{TaskError, WRITE_DEADLINE, blocking, meant};
use super::{localization, tenants};
use crate::app::App;

/// What a member can be permitted: in the services besides localization, whose rights come from its templates, and whether
/// decisions are the member's to take.
pub const MEMBER_PERMISSIONS: &[&str] = &[
    "ledger_reader",
    "ledger_poster",
    "ledger_admin",
    "svc_run_read",
    "svc_run_submit",
    "svc_run_control",
    "messaging_read",
    "messaging_operate",
    "decision_decide",
];

/// Members of a tenant, the oldest first; `tenant`.
pub const LIST: Call<(), Items<MemberView>> = Call::look("/members");
/// Invites a member.
pub const CREATE: Call<MemberWish, MemberView> = Call::change("/members");
/// Lets a member do more.
pub const PERMIT: Call<OneWish, MemberView> = Call::change("/members/permit");
/// Lets a member do less.
pub const FORBID: Call<OneWish, MemberView> = Call::change("/members/forbid");
/// Removes a member.
pub const REMOVE: Call<OneWish, MemberView> = Call::change("/members/remove");
/// Makes a link that lets a member in once.
pub const LINK: Call<OneWish, LinkView> = Call::change("/members/link");

/// A template that a member is to be granted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TemplateWish {
    /// Its name.
    pub name: String,
    /// Its scope: the text of a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// Asks for a new member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemberWish {
    /// The tenant's id or name.
    pub tenant: String,
    /// The member's address.
    pub email: String,
    /// Templates of localization.
    #[serde(default)]
    pub templates: Vec<TemplateWish>,
    /// What it may do in the other services.
    #[serde(default)]
    pub permissions: Vec<String>,
}

/// What is to be done with a member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneWish {
    /// The tenant's id or name.
    pub tenant: String,
    /// The member's address or id.
    pub member: String,
    /// Which permissions it is about, if about any.
    #[serde(default)]
    pub permissions: Vec<String>,
}

/// A member, as the command line shows one.
#[derive(Clone, Serialize, Deserialize)]
pub struct MemberView {
    /// Its id.
    pub member_id: String,
    /// The tenant.
    pub tenant_id: String,
    /// Its address.
    pub email: String,
    /// `pending` until the provider has vouched for it, `active`, `removed` or `erased`.
    pub status: String,
    /// The templates of localization that it was granted, each with its scope.
    pub templates: Vec<String>,
    /// What it may do in the other services.
    pub permissions: Vec<String>,
    /// When it was invited; RFC 3339.
    pub created_at: String,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(CREATE.served_by(create))
        .merge(PERMIT.served_by(async |State(app): State<App>, Extension(asker): Extension<Asker>, body: Body| {
            PERMIT.answer(&change_permits(&app, asker, PERMIT.wish(body).await?, permit).await?)
        }))
        .merge(FORBID.served_by(async |State(app): State<App>, Extension(asker): Extension<Asker>, body: Body| {
            FORBID.answer(&change_permits(&app, asker, FORBID.wish(body).await?, forbid).await?)
        }))
        .merge(REMOVE.served_by(remove))
        .merge(LINK.served_by(async |State(app): State<App>, Extension(asker): Extension<Asker>, body: Body| {
            let (wish, who) = (LINK.wish(body).await?, Who::of(asker).await?);
            LINK.answer(&member_link(&app, wish, who).await?)
        }))
        .with_state(app)
}

/// Runs a verb on the writer; what it refuses is a sentence.
async fn write<T: Send + 'static>(
    app: &App,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<String>> + Send + 'static,
) -> Result<T, TaskError> {
    app.store.write(Instant::now() + WRITE_DEADLINE, verb).await.map_err(told)
}

fn told(abort: Abort<String>) -> TaskError {
    match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(reason) => TaskError::Unusable(reason),
    }
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let wanted = asked.0.take("tenant").unwrap_or_default();
    let listed = blocking(move || {
        let read = app.store.read();
        let tenant = tenants::resolve(&read, &wanted)?;
        let members = people::known_members(&read, tenant.tenant_id)?;
        let views = members.into_iter().map(|member| view(&read, tenant.tenant_id, member));
        Ok::<_, TaskError>(views.collect::<Result<Vec<_>, _>>()?)
    });
    LIST.answer(&Items { items: listed.await?? })
}

async fn create(State(app): State<App>, Extension(asker): Extension<Asker>, body: Body) -> Result<Response, TaskError> {
    let (wish, who) = (CREATE.wish(body).await?, Who::of(asker).await?);
    CREATE.answer(&create_member(&app, wish, &who).await?)
}

/// Invites a member and gives it what was asked for, in one transaction.
///
/// # Errors
/// The wish makes no sense, there is no such tenant, or the store failed.
pub async fn create_member(app: &App, wish: MemberWish, who: &Who) -> Result<MemberView, TaskError> {
    let tenant = tenants::resolve(&app.store.read(), &wish.tenant)?;
    check_permissions(&wish.permissions)?;
    let invitation = Invitation::of(&wish.email).map_err(TaskError::Unusable)?;
    let templates = wish.templates.iter();
    let templates = templates.map(|one| localization::grant_wish(&tenant, Some(&one.name), one.scope.as_deref()));
    let templates: Vec<_> = templates.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let (tenant_id, permissions, by, uid) = (tenant.tenant_id, wish.permissions, who.name.clone(), who.uid);
    let made = write(app, move |tx, now| {
        let member_id = people::invite_member(tx, now, tenant_id, invitation, uid)?;
        record_deed(tx, now, Act::MemberCreate, &by, &member_id.to_string())?;
        for template in templates {
            people::grant(tx, now, tenant_id, member_id, template)?;
        }
        permit(tx, now, (tenant_id, member_id), &permissions, &by)?;
        Ok(member_id)
    });
    shown(app, tenant_id, made.await?)
}

type ChangePermits = fn(&mut WriteTx<'_>, Timestamp, (Uuid, Uuid), &[String], &str) -> Result<Vec<String>, Failure>;

async fn change_permits(app: &App, asker: Asker, wish: OneWish, verb: ChangePermits) -> Result<MemberView, TaskError> {
    check_permissions(&wish.permissions)?;
    let by = Who::of(asker).await?.name;
    let (tenant, member) = one(app, &wish)?;
    let whose = (tenant.tenant_id, live(member)?);
    let changed = write(app, move |tx, now| {
        demand_live(tx, whose)?;
        Ok(verb(tx, now, whose, &wish.permissions, &by)?)
    });
    changed.await?;
    shown(app, whose.0, whose.1)
}

async fn remove(State(app): State<App>, Extension(asker): Extension<Asker>, body: Body) -> Result<Response, TaskError> {
    let (wish, who) = (REMOVE.wish(body).await?, Who::of(asker).await?);
    let (tenant, member) = one(&app, &wish)?;
    let whose = (tenant.tenant_id, member.member_id);
    // It shuts somebody out: it goes on below the disk reserve.
    let deadline = Instant::now() + WRITE_DEADLINE;
    let removed = app.store.write_freeing(deadline, move |tx, now| remove_member(tx, now, whose, &who));
    removed.await.map_err(told)?;
    REMOVE.answer(&shown(&app, whose.0, whose.1)?)
}

/// Removes a member, and says who asked for it. One that is removed already stays so, and nothing is recorded.
fn remove_member(tx: &mut WriteTx<'_>, now: Timestamp, whose: (Uuid, Uuid), who: &Who) -> Result<(), Abort<String>> {
    let known = people::known_member(tx, whose.0, &whose.1.to_string())?;
    if known.is_some_and(|known| known.is_live) {
        record_deed(tx, now, Act::MemberRemove, &who.name, &whose.1.to_string())?;
        end_member_sessions(tx, now, whose, &who.name)?;
    }
    people::remove_known(tx, now, whose.0, whose.1, who.uid)
}

/// Makes a link that lets a member in once.
///
/// # Errors
/// There is no such member, its tenant is suspended, the console is off, or the store failed.
pub async fn member_link(app: &App, wish: OneWish, who: Who) -> Result<LinkView, TaskError> {
    let off = || TaskError::Conflict("the listener of the console is off (listen.console): there are no pages".into());
    let bound = app.places.of("console").ok_or_else(off)?;
    let base_url = match app.config.console_public_url.as_str() {
        "" => local_url(bound),
        public_url => public_url.to_owned(),
    };
    let (tenant, member) = one(app, &wish)?;
    let whose = (tenant.tenant_id, live(member)?);
    if is_suspended(&app.store.read(), whose.0)? {
        let reason =
            "the tenant is suspended: nobody of it is let in until `quintet tenant activate` lets it act again";
        return Err(TaskError::Conflict(reason.into()));
    }
    let token = LinkToken::draw();
    let digest = token.digest();
    let made = write(app, move |tx, now| {
        demand_live(tx, whose)?;
        people::link_made(tx, now, whose.0, whose.1, who.uid)?;
        let new = NewLink { purpose: Purpose::member(whose.0, whose.1), asked_by: who.name, digest };
        Ok(make_link(tx, now, new)?)
    });
    let (link_id, ends_at) = made.await?;
    Ok(LinkView { url: sign_in_url(&base_url, token.text(link_id).expose()), ends_at: rfc3339(ends_at) })
}

/// The tenant and the member that a wish is about.
fn one(app: &App, wish: &OneWish) -> Result<(Tenant, Known), TaskError> {
    let read = app.store.read();
    let tenant = tenants::resolve(&read, &wish.tenant)?;
    let none = || TaskError::NotThere(format!("no member has the address or id {:?}", wish.member), SHOWN_BY);
    let member = people::known_member(&read, tenant.tenant_id, &wish.member)?.ok_or_else(none)?;
    Ok((tenant, member))
}

const SHOWN_BY: &str = "`quintet member list --tenant T` shows who there is";

/// The id of a member that may be let in.
fn live(member: Known) -> Result<Uuid, TaskError> {
    match member.is_live {
        true => Ok(member.member_id),
        false => Err(TaskError::Conflict(format!("the member is {}", member.status))),
    }
}

/// The same within the transaction: it may have been removed meanwhile.
fn demand_live(read: &impl Read, (tenant_id, member_id): (Uuid, Uuid)) -> Result<(), Abort<String>> {
    let found = people::known_member(read, tenant_id, &member_id.to_string())?;
    match found.is_some_and(|member| member.is_live) {
        true => Ok(()),
        false => Err(Abort::Refused("the member has been removed".to_owned())),
    }
}

fn check_permissions(names: &[String]) -> Result<(), TaskError> {
    match names.iter().find(|name| !MEMBER_PERMISSIONS.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(TaskError::Unusable(format!("unknown permission {name:?}; {}", meant(name, MEMBER_PERMISSIONS))))
        }
    }
}

fn shown(app: &App, tenant_id: Uuid, member_id: Uuid) -> Result<MemberView, TaskError> {
    let read = app.store.read();
    let found = people::known_member(&read, tenant_id, &member_id.to_string())?;
    let member = found.ok_or_else(|| TaskError::Failed("the member was lost".into()))?;
    Ok(view(&read, tenant_id, member)?)
}

fn view(read: &impl Read, tenant_id: Uuid, member: Known) -> Result<MemberView, Failure> {
    let permissions = permits_of(read, tenant_id, member.member_id)?;
    let Known { member_id, email, status, created_at, templates, .. } = member;
    Ok(MemberView {
        member_id: member_id.to_string(),
        tenant_id: tenant_id.to_string(),
        email,
        status: status.to_owned(),
        templates,
        permissions,
        created_at: rfc3339(created_at),
    })
}
