//! API keys over HTTP.

use std::slice;
use std::sync::Arc;

use quintet_platform::access::{IssuedKey, KeyRecord, PreparedSecret};
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Instant, KeyRule, Route, Segment, Shape, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::{Abort, Failure, Read, Uuid};

use super::issue::{IssueKeyFor, issue_key};
use super::list::list_keys;
use super::model::Holder;
use super::revoke::revoke_key;
use crate::access::Wanted;
use crate::accounts::members::http::MEMBER;
use crate::accounts::service_accounts::http::ACCOUNT;
use crate::http::{Answered, Call, Form, LIMIT, Localization};
use crate::model::TenantId;
use crate::principals::{AccountId, LABEL_CHARS_MAX, MemberId, get_member};
use crate::refusal::Refusal;

const KEY: Segment = Segment::new("key_id", Shape::Pattern("^[0-7][0-9a-hjkmnp-tv-z]{25}$"));

/// What all of these routes ask for.
const MANAGE: &str = "org_members-manage";

const ISSUE_SUMMARY: &str = "Issue a key, which may do what its principal may; the secret is told this once, and nobody issues one who may do less";
const LIST_SUMMARY: &str = "List the keys without their secrets, the oldest first, revoked ones among them";

const ISSUE_TO_ACCOUNT: Route =
    Route::post("issue_service_account_key", "/v1/service-accounts/{service_account_id}/keys")
        .permission(MANAGE)
        .summary(ISSUE_SUMMARY)
        .segments(&[ACCOUNT])
        .key(KeyRule::Optional)
        .body(Content::OptionalJson("ApiKeyCreate"))
        .successes(&[success(201, "ApiKeyIssued")])
        .makes(KEY.noun, "key_id")
        .codes(&["conflict", "unknown_field", "invalid_body"]);
const LIST_OF_ACCOUNT: Route =
    Route::get("list_service_account_keys", "/v1/service-accounts/{service_account_id}/keys")
        .permission(MANAGE)
        .summary(LIST_SUMMARY)
        .segments(&[ACCOUNT])
        .parameters(&[CURSOR, LIMIT])
        .successes(&[success(200, "ApiKeyPage")])
        .codes(&["busy"]);
const ISSUE_TO_MEMBER: Route = Route::post("issue_member_key", "/v1/members/{member_id}/keys")
    .permission(MANAGE)
    .summary(ISSUE_SUMMARY)
    .segments(&[MEMBER])
    .key(KeyRule::Optional)
    .body(Content::OptionalJson("ApiKeyCreate"))
    .successes(&[success(201, "ApiKeyIssued")])
    .makes(KEY.noun, "key_id")
    .codes(&["conflict", "unknown_field", "invalid_body"]);
const LIST_OF_MEMBER: Route = Route::get("list_member_keys", "/v1/members/{member_id}/keys")
    .permission(MANAGE)
    .summary(LIST_SUMMARY)
    .segments(&[MEMBER])
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "ApiKeyPage")])
    .codes(&["busy"]);
const REVOKE: Route = Route::delete("revoke_api_key", "/v1/api-keys/{key_id}")
    .permission(MANAGE)
    .summary("Revoke a key of a member or service account")
    .segments(&[KEY])
    .key(KeyRule::Optional)
    .successes(&[success(200, "ApiKey")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&ISSUE_TO_ACCOUNT, |call| Box::pin(issue(call, account_of))),
    Endpoint::new(&LIST_OF_ACCOUNT, |call| Box::pin(list(call, account_of))),
    Endpoint::new(&ISSUE_TO_MEMBER, |call| Box::pin(issue(call, member_of))),
    Endpoint::new(&LIST_OF_MEMBER, |call| Box::pin(list(call, member_of))),
    Endpoint::new(&REVOKE, |call| Box::pin(revoke(call))),
];

/// Whom a path names.
type Named = fn(&Call) -> Option<Holder>;

fn account_of(call: &Call) -> Option<Holder> {
    call.segment::<Uuid>(ACCOUNT.name).map(|id| Holder::Account(AccountId(id)))
}

fn member_of(call: &Call) -> Option<Holder> {
    call.segment::<Uuid>(MEMBER.name).map(|id| Holder::Member(MemberId(id)))
}

async fn issue(call: Call, named: Named) -> Answered {
    let mut change = call.change().await?;
    let label = match change.optional_json()? {
        Some(json) => read_label(json)?,
        None => String::new(),
    };
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let holder = named(call).ok_or(Refusal::NotFound)?;
    let command = IssueKeyFor { holder, label, secret: PreparedSecret::draw() };
    let (actor, by) = (call.caller.actor.clone(), call.caller.key.clone());
    let issued = change.write(move |tx, now| {
        let IssuedKey { key_id, api_key, .. } = issue_key(tx, now, &actor, &by, command)?;
        let told = |api_key| written(&IssuedBody { key_id: &key_id, api_key });
        let answer = Answer::json(201, told(Some(api_key.expose()))?).remembered_as(told(None)?);
        // What was asked has the label.
        Ok(if let Holder::Member(id) = holder { answer.personal(id.0) } else { answer })
    });
    issued.await
}

async fn list(mut call: Call, named: Named) -> Answered {
    // One principal's page is not another's.
    let holder = named(&call);
    let kind = format!("api_keys {}", holder.map(Holder::principal_id).unwrap_or_default());
    let page = call.page::<String>(&kind, &LIMIT)?;
    let snapshot = call.snapshot();
    call.caller.demand(&snapshot, Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let holder = holder.ok_or(Refusal::NotFound)?;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let uses = Arc::clone(&context.uses);
    let told = context.aside(tenant_id, move |read| {
        holder.is_live(read, tenant_id)?;
        let (mut found, more) = list_keys(read, tenant_id, holder.principal_id(), page.after, page.limit)?;
        uses.fill_in(&mut found);
        let last = found.last().filter(|_| more).map(|last| last.key_id.clone());
        Ok(Answer::json(200, write_page(&found, next_cursor(&kind, last.as_ref())?)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn revoke(call: Call) -> Answered {
    let mut change = call.change().await?.freeing(true);
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let key_id: String = call.segment(KEY.name).ok_or(Refusal::NotFound)?;
    let (actor, by, context) = (call.caller.actor.clone(), call.caller.key.clone(), call.context.clone());
    let revoked = change.write(move |tx, now| {
        let mut key = revoke_key(tx, now, &actor, &by, &key_id)?;
        context.uses.fill_in(slice::from_mut(&mut key));
        let answer = Answer::json(200, written(&of_key(&key))?);
        Ok(if is_of_person(tx, actor.tenant_id, &key)? { answer.personal(key.principal_id) } else { answer })
    });
    revoked.await
}

/// Whether a key is that of a member of whom something is left.
fn is_of_person(read: &impl Read, tenant_id: TenantId, key: &KeyRecord) -> Result<bool, Abort<Refusal>> {
    match get_member(read, tenant_id, MemberId(key.principal_id)) {
        Ok(member) => Ok(member.person.is_some()),
        Err(Abort::Refused(Refusal::NotFound)) => Ok(false),
        Err(abort) => Err(abort),
    }
}

/// ApiKeyCreate.
fn read_label(json: Json) -> Result<String, Refusal> {
    let mut form = Form::of_body(json)?;
    let label = form.optional_line("label", LABEL_CHARS_MAX);
    form.finish()?;
    Ok(label.unwrap_or_default())
}

#[derive(serde::Serialize)]
struct IssuedBody<'a> {
    key_id: &'a str,
    api_key: Option<&'a String>,
}

#[derive(serde::Serialize)]
struct KeyBody<'a> {
    key_id: &'a str,
    label: &'a str,
    created_at: Instant,
    expires_at: Option<Instant>,
    revoked_at: Option<Instant>,
    last_used_at: Option<Instant>,
}

fn of_key(one: &KeyRecord) -> KeyBody<'_> {
    KeyBody {
        key_id: &one.key_id,
        label: &one.label,
        created_at: Instant(one.created_at),
        expires_at: one.expires_at.map(Instant),
        revoked_at: one.revoked_at.map(Instant),
        last_used_at: one.last_used_at.map(Instant),
    }
}

#[derive(serde::Serialize)]
struct KeyPage<'a> {
    keys: Vec<KeyBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &[KeyRecord], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&KeyPage { keys: page.iter().map(of_key).collect(), next_cursor })
}
