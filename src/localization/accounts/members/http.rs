//! Members over HTTP.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, WriteTx};

use super::create::{CreateMember, create_member};
use super::erase::erase_member;
use super::remove::remove_member;
use crate::access::Wanted;
use crate::accounts::leaving::demand_may_shut_out;
use crate::audit::Actor;
use crate::http::{Answered, Call, Form, LIMIT, Localization, read};
use crate::model::TenantId;
use crate::principals::{
    ADDRESS_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, MarkKey, Member, MemberId, get_member, is_address, list_members,
};
use crate::refusal::Refusal;

/// The member that a path names.
pub const MEMBER: Segment = Segment::new("member_id", Shape::Uuid);

/// What all of these routes ask for.
const MANAGE: &str = "org_members-manage";

const LIST: Route = Route::get("list_members", "/v1/members")
    .permission(MANAGE)
    .summary("List the members, the oldest first, removed and erased ones among them")
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "MemberPage")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_member", "/v1/members")
    .permission(MANAGE)
    .summary("Invite a member, pending until the first sign-in; nothing is sent")
    .key(KeyRule::Optional)
    .body(Content::Json("MemberCreate"))
    .successes(&[success(201, "Member")])
    .makes(MEMBER.noun, "id")
    .codes(&["conflict"]);
const GET: Route = Route::get("get_member", "/v1/members/{member_id}")
    .permission(MANAGE)
    .summary("One member")
    .segments(&[MEMBER])
    .successes(&[success(200, "Member")]);
const REMOVE: Route = Route::delete("remove_member", "/v1/members/{member_id}")
    .permission(MANAGE)
    .summary("Remove a member: sessions, keys and grants end with it; nobody removes who holds more over the tenant")
    .segments(&[MEMBER])
    .key(KeyRule::Optional)
    .successes(&[success(200, "Member")]);
const ERASE: Route = Route::post("erase_member", "/v1/members/{member_id}/erase")
    .permission(MANAGE)
    .summary("Remove a member, and destroy what tells of the person")
    .segments(&[MEMBER])
    .key(KeyRule::Optional)
    .successes(&[success(200, "Member")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&REMOVE, |call| Box::pin(change(call, remove_member))),
    Endpoint::new(&ERASE, |call| Box::pin(change(call, erase_member))),
];

async fn list(mut call: Call) -> Answered {
    const KIND: &str = "members";
    let page = call.page::<MemberId>(KIND, &LIMIT)?;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let told = context.aside(tenant_id, move |read| {
        let (found, more) = list_members(read, tenant_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.member_id);
        Ok(Answer::json(200, write_page(&found, next_cursor(KIND, last.as_ref())?)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let command = read_create(change.json()?)?;
    // Of a member who was erased since nobody knows whether this is what was asked then.
    change.begin_telling(|_, _| Ok(None))?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let actor = call.caller.actor.clone();
    let made = change.write(move |tx, now| {
        let made = create_member(tx, now, &actor, command)?;
        Ok(answer_of(201, &made)?)
    });
    made.await
}

async fn get(call: Call) -> Answered {
    let read = call.snapshot();
    call.caller.demand(&read, Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let member_id = call.segment(MEMBER.name).map(MemberId).ok_or(Refusal::NotFound)?;
    let found = get_member(&read, call.caller.tenant_id(), member_id).map_err(refusal_of)?;
    call.answer(200, |_| Ok(written(&of_member(&found))?))
}

/// A verb of one member.
type Verb = fn(&mut WriteTx<'_>, Timestamp, &Actor, MemberId) -> Result<Member, Abort<Refusal>>;

async fn change(call: Call, verb: Verb) -> Answered {
    let mut change = call.change().await?.freeing(true);
    let (tenant_id, named) = (change.call.caller.tenant_id(), change.call.segment(MEMBER.name).map(MemberId));
    change.begin_telling(|read, id| match named {
        Some(named) if named.0 == id => of_erased(read, tenant_id, named),
        _ => Ok(None),
    })?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let member_id = named.ok_or(Refusal::NotFound)?;
    let (actor, by) = (call.caller.actor.clone(), call.caller.key.clone());
    let changed = change.write(move |tx, now| {
        demand_may_shut_out(tx, now, actor.tenant_id, &by, member_id.0)?;
        let changed = verb(tx, now, &actor, member_id)?;
        Ok(answer_of(200, &changed)?)
    });
    changed.await
}

/// What a repeat of a request is told whose member was erased since: that one as it is now.
fn of_erased(read: &Snapshot, tenant_id: TenantId, id: MemberId) -> Result<Option<Vec<u8>>, Abort<Refusal>> {
    Ok(Some(written(&of_member(&get_member(read, tenant_id, id)?))?))
}

/// MemberCreate.
fn read_create(json: Json) -> Result<CreateMember, Refusal> {
    let mut form = Form::of_body(json)?;
    let email: Option<String> = form.required("email");
    if email.as_deref().is_some_and(|email| !is_address(email)) {
        form.wrong("email", format!("is an e-mail address of at most {ADDRESS_CHARS_MAX} characters"));
    }
    let display_name = form.optional_line("display_name", DISPLAY_NAME_CHARS_MAX);
    form.finish()?;
    Ok(CreateMember { email: read(email)?, display_name, mark_key: MarkKey::draw() })
}

/// What tells of a person is remembered under that one's own key, and so is gone with it.
fn answer_of(status: u16, member: &Member) -> Result<Answer, Failure> {
    let answer = Answer::json(status, written(&of_member(member))?);
    Ok(if member.person.is_some() { answer.personal(member.member_id.0) } else { answer })
}

#[derive(serde::Serialize)]
struct MemberBody<'a> {
    id: Id,
    short_id: &'a str,
    status: &'static str,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<&'a str>,
    created_at: Instant,
}

fn of_member(one: &Member) -> MemberBody<'_> {
    MemberBody {
        id: Id(one.member_id.0),
        short_id: &one.short_id,
        status: one.status.name(),
        email: one.email(),
        display_name: one.person.as_ref().and_then(|person| person.display_name.as_deref()),
        created_at: Instant(one.created_at),
    }
}

#[derive(serde::Serialize)]
struct MemberPage<'a> {
    members: Vec<MemberBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &[Member], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&MemberPage { members: page.iter().map(of_member).collect(), next_cursor })
}
