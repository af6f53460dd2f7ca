//! The partner's routes: sub-tenants and their keys.

use quintet_platform::access::{
    AnnouncedKey, Authority, IssuedKey, KeyChangeFailure, KeyRecord, PreparedSecret, TenantStatus,
};
use quintet_platform::idempotency::{self, Lookup};
use quintet_platform::json::{Json, Number};
use quintet_platform::service::{
    Change, Content, Demands, Dialect as _, Endpoint, Fault, KeyRule, Route, Segment, Shape, failed, json as success,
    next_cursor, refusal_of,
};
use quintet_storage::{Abort, Failure, Uuid};

use super::dialect::{Answered, CURSOR, Call, LIMIT, Ledger, answer_in_turn, of_verb};
use super::form::{Form, complete, nothing};
use super::wire::{Id, Instant, json};
use crate::model::{Role, SubTenantKind, TenantId};
use crate::refusal::Refusal;
use crate::sub_tenants::{self, CreateSubTenant, IssueSubTenantKey, PatchSubTenant, RevokeSubTenantKey, SubTenant};

/// A malformed id names nothing.
const SUB_TENANT: Segment = Segment::new("sub_tenant_id", Shape::Uuid).written("id");
/// The id of a key: a ULID in lower case.
const KEY: Segment = Segment::new("key_id", Shape::Pattern("^[0-7][0-9a-hjkmnp-tv-z]{25}$"));

const CREATE: Route = Route::post("create_sub_tenant", "/v1/sub-tenants")
    .permission("ledger_partner")
    .summary("Create a client sub-tenant")
    .key(KeyRule::Required)
    .body(Content::Json("SubTenantCreate"))
    .successes(&[success(201, "SubTenant")])
    .makes("sub_tenant_id", "sub_tenant_id")
    .codes(&["INVALID_TENANT"]);
const LIST: Route = Route::get("list_sub_tenants", "/v1/sub-tenants")
    .permission("ledger_partner")
    .summary("List the sub-tenants, oldest first")
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "SubTenantPage")]);
const PATCH: Route = Route::patch("patch_sub_tenant", "/v1/sub-tenants/{id}")
    .permission("ledger_partner")
    .summary("Rename, suspend, activate a sub-tenant")
    .segments(&[SUB_TENANT])
    .key(KeyRule::Required)
    .body(Content::Json("SubTenantPatch"))
    .successes(&[success(200, "SubTenant")])
    .codes(&["SUB_TENANT_NOT_FOUND", "INVALID_TENANT", "IMMUTABLE_VIOLATION"]);
const KEY_CREATE: Route = Route::post("create_sub_tenant_key", "/v1/sub-tenants/{id}/keys")
    .permission("ledger_partner")
    .summary("Issue a key of a sub-tenant; it is shown this once")
    .segments(&[SUB_TENANT])
    .key(KeyRule::Required)
    .body(Content::Json("KeyCreate"))
    .successes(&[success(201, "KeyIssued")])
    .makes("key_id", "key_id")
    .codes(&["SUB_TENANT_NOT_FOUND", "INVALID_KEY", "CONSTRAINT_VIOLATION"]);
const KEY_LIST: Route = Route::get("list_sub_tenant_keys", "/v1/sub-tenants/{id}/keys")
    .permission("ledger_partner")
    .summary("List the keys of a sub-tenant, without their secrets")
    .segments(&[SUB_TENANT])
    .successes(&[success(200, "KeyList")])
    .codes(&["SUB_TENANT_NOT_FOUND"]);
const KEY_DELETE: Route = Route::delete("revoke_sub_tenant_key", "/v1/sub-tenants/{id}/keys/{key_id}")
    .permission("ledger_partner")
    .summary("Revoke a key; the next request with it is refused")
    .segments(&[SUB_TENANT, KEY])
    .key(KeyRule::Required)
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "KeyRevoked")])
    .codes(&["SUB_TENANT_NOT_FOUND", "KEY_NOT_FOUND", "REVOCATION_FAILED"]);

pub(super) const ENDPOINTS: &[Endpoint<Ledger>] = &[
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&PATCH, |call| Box::pin(patch(call))),
    Endpoint::new(&KEY_CREATE, |call| Box::pin(issue_key(call))),
    Endpoint::new(&KEY_LIST, |call| Box::pin(list_keys(call))),
    Endpoint::new(&KEY_DELETE, |call| Box::pin(revoke_key(call))),
];

fn sub_tenant_id(call: &Call) -> Result<TenantId, Refusal> {
    call.segment(SUB_TENANT.name).map(TenantId).ok_or(Refusal::SubTenantNotFound)
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let parent = change.call.caller.tenant_id;
    let command = change.json().and_then(|json| read_create(parent, json));
    change.write(|tx, now| of_verb(201, sub_tenants::create_sub_tenant(tx, now, command?), write_sub_tenant)).await
}

async fn list(mut call: Call) -> Answered {
    const KIND: &str = "sub-tenants";
    let page = call.page::<TenantId>(KIND, &LIMIT)?;
    answer_in_turn(&call, move |read, tenant_id| {
        let (found, more) = sub_tenants::list_sub_tenants(read, tenant_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| TenantId(last.tenant.tenant_id));
        Ok(write_page(&found, next_cursor(KIND, last.as_ref())?)?)
    })
    .await
}

async fn patch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let (parent, sub_tenant_id) = (change.call.caller.tenant_id, sub_tenant_id(&change.call));
    let command = change.json().and_then(|json| read_patch(parent, sub_tenant_id?, json));
    let shuts_out = command.as_ref().is_ok_and(|command| command.status == Some(TenantStatus::Suspended));
    let change = change.freeing(shuts_out);
    change.write(|tx, now| of_verb(200, sub_tenants::patch_sub_tenant(tx, now, command?), write_sub_tenant)).await
}

async fn list_keys(call: Call) -> Answered {
    let sub_tenant_id = sub_tenant_id(&call)?;
    let context = call.context.clone();
    answer_in_turn(&call, move |read, tenant_id| {
        let mut keys = sub_tenants::list_sub_tenant_keys(read, tenant_id, sub_tenant_id)?;
        context.uses.fill_in(&mut keys);
        Ok(write_keys(&keys)?)
    })
    .await
}

async fn issue_key(call: Call) -> Answered {
    let mut change = call.change().await?;
    let (parent, sub_tenant_id) = (change.call.caller.tenant_id, sub_tenant_id(&change.call));
    let mut command =
        change.json().and_then(|json| read_issue(parent, sub_tenant_id.clone()?, json, PreparedSecret::draw()));
    if let Ok(sub_tenant_id) = sub_tenant_id {
        let snapshot = change.call.snapshot();
        let count = move || Ok(sub_tenants::are_all_issued(&snapshot, sub_tenant_id)?);
        if change.call.in_turn(&change.call.context.turns, count).await? {
            let full = Refusal::ConstraintViolation("a sub-tenant has at most 10,000 keys");
            command = command.and(Err(full));
        }
    }
    if let (Ok(command), Authority::External(_)) = (&mut command, change.call.foundation().authority.as_ref()) {
        announce(&change, command).await?;
    }
    change
        .write(|tx, now| {
            let issued = of_verb(201, sub_tenants::issue_sub_tenant_key(tx, now, command?), write_issued)?;
            Ok(issued.secret())
        })
        .await
}

/// Makes the key known to the external authorization system before it is issued: one that nobody there knows would be
/// of no use. If the issuing then fails, that system knows a key whose secret nobody has.
async fn announce(change: &Change<Ledger>, command: &mut IssueSubTenantKey) -> Result<(), Refusal> {
    let (foundation, snapshot, now) = (change.call.foundation(), change.call.snapshot(), change.call.now());
    let found = change.entered().map(|entered| idempotency::lookup(&snapshot, &entered.scope, &entered.digest, now));
    match found {
        Some(Ok(Lookup::Fresh)) => {}
        // The writer will say so.
        _ => return Ok(()),
    }
    sub_tenants::find_sub_tenant(&snapshot, command.parent, command.sub_tenant_id).map_err(refusal_of)?;
    let Demands { writer_time, .. } = Ledger::DEMANDS;
    let deadline = std::time::Instant::now() + writer_time;
    let drawn: Result<Uuid, Abort<Refusal>> = foundation.store.write(deadline, |tx, _| Ok(tx.new_id())).await;
    let id = drawn.map_err(refusal_of)?;
    let (key_id, api_key) = command.drawn.1.key_as(id);
    let announced = AnnouncedKey {
        key_id: &key_id,
        api_key: &api_key,
        tenant_id: command.sub_tenant_id.0,
        label: &command.label,
        permissions: &command.role.permissions(),
        expires_at: command.ttl_days.map(|days| now.plus_seconds(i64::from(days) * 86_400)),
    };
    foundation.authority.announce_key(&announced).await.map_err(|failure| match failure {
        KeyChangeFailure::Refused | KeyChangeFailure::Unavailable => Fault::AuthorizationUnavailable,
        KeyChangeFailure::CredentialRejected => Fault::AppliancesCredentialRejected,
    })?;
    command.drawn.0 = Some(id);
    Ok(())
}

/// The authorization system first: if it refuses, nothing has changed here.
async fn revoke_key(call: Call) -> Answered {
    let mut change = call.change().await?;
    let (parent, sub_tenant_id) = (change.call.caller.tenant_id, sub_tenant_id(&change.call));
    let key_id: String = change.call.segment(KEY.name).unwrap_or_default();
    let command = change.optional_json().and_then(|json| {
        let sub_tenant_id = sub_tenant_id?;
        nothing(json)?;
        Ok(RevokeSubTenantKey { parent, sub_tenant_id, key_id })
    });
    if let Ok(command) = &command {
        revoke_elsewhere(&change.call, command).await?;
    }
    let change = change.freeing(true);
    change.write(|tx, now| of_verb(200, sub_tenants::revoke_sub_tenant_key(tx, now, command?), write_revoked)).await
}

async fn revoke_elsewhere(call: &Call, command: &RevokeSubTenantKey) -> Result<(), Refusal> {
    let authority = &call.foundation().authority;
    let Authority::External(_) = authority.as_ref() else { return Ok(()) };
    match sub_tenants::find_sub_tenant_key(&call.snapshot(), command) {
        Ok(KeyRecord { key_id, .. }) => authority.revoke_key(&key_id).await.map_err(|failure| match failure {
            KeyChangeFailure::Refused => Refusal::RevocationFailed,
            KeyChangeFailure::Unavailable => Fault::AuthorizationUnavailable.into(),
            KeyChangeFailure::CredentialRejected => Fault::AppliancesCredentialRejected.into(),
        }),
        // The writer will say so.
        Err(Abort::Refused(_)) => Ok(()),
        Err(Abort::Failed(failure)) => Err(failed(&failure)),
    }
}

/// The members of a sub-tenant that a PATCH knows but never changes.
const SUB_TENANT_IMMUTABLE: [&str; 4] = ["sub_tenant_id", "kind", "contact_email", "created_at"];

/// POST /v1/sub-tenants
fn read_create(parent: TenantId, json: Json) -> Result<CreateSubTenant, Refusal> {
    let mut form = Form::of_body(json)?;
    let name: Option<String> = form.required("name");
    let kind: Option<String> = form.required("kind");
    let kind = kind.and_then(|kind| {
        let refusal = Refusal::InvalidTenant("kind is one of production, sandbox");
        form.ruled(SubTenantKind::parse(&kind).ok_or(refusal))
    });
    let contact_email: Option<String> = form.required("contact_email");
    form.finish()?;
    Ok(CreateSubTenant {
        parent,
        name: complete(name)?,
        kind: complete(kind)?,
        contact_email: complete(contact_email)?,
    })
}

/// PATCH /v1/sub-tenants/{id}
fn read_patch(parent: TenantId, sub_tenant_id: TenantId, json: Json) -> Result<PatchSubTenant, Refusal> {
    let mut form = Form::of_body(json)?;
    for name in SUB_TENANT_IMMUTABLE {
        if form.fields.take(name).is_some() {
            form.refusal.get_or_insert(Refusal::ImmutableViolation(name));
        }
    }
    let name = form.fields.optional("name");
    let name = form.noted(name).flatten();
    let status = form.fields.optional::<String>("status");
    let status = form.noted(status).flatten().and_then(|text| {
        let known = [TenantStatus::Active, TenantStatus::Suspended].into_iter().find(|status| status.name() == text);
        if known.is_none() {
            form.problem("status", "must be one of active, suspended");
        }
        known
    });
    form.finish()?;
    Ok(PatchSubTenant { parent, sub_tenant_id, name, status })
}

/// POST /v1/sub-tenants/{id}/keys
fn read_issue(
    parent: TenantId,
    sub_tenant_id: TenantId,
    json: Json,
    secret: PreparedSecret,
) -> Result<IssueSubTenantKey, Refusal> {
    let mut form = Form::of_body(json)?;
    let label: Option<String> = form.required("label");
    let role: Option<String> = form.required("role");
    let role = role.and_then(|role| {
        form.ruled(Role::parse(&role).ok_or(Refusal::InvalidKey("role is one of admin, poster, reader")))
    });
    let ttl_days: Option<Number> = form.optional("ttl_days");
    let ttl_days = ttl_days.and_then(|days| {
        if !days.is_integer() {
            form.problem("ttl_days", "must be an integer");
            return None;
        }
        let days = days.as_i64().and_then(|days| u32::try_from(days).ok());
        form.ruled(days.ok_or(Refusal::InvalidKey("ttl_days is 1 to 3650")))
    });
    form.finish()?;
    Ok(IssueSubTenantKey {
        parent,
        sub_tenant_id,
        label: complete(label)?,
        role: complete(role)?,
        ttl_days,
        drawn: (None, secret),
    })
}

#[derive(serde::Serialize)]
struct SubTenantRecord<'a> {
    sub_tenant_id: Id,
    name: &'a str,
    kind: &'static str,
    contact_email: &'a str,
    status: &'static str,
    created_at: Instant,
}

fn sub_tenant_record(one: &SubTenant) -> SubTenantRecord<'_> {
    SubTenantRecord {
        sub_tenant_id: Id(one.tenant.tenant_id),
        name: &one.tenant.name,
        kind: one.row.kind.as_str(),
        contact_email: &one.row.contact_email,
        status: one.tenant.status.name(),
        created_at: Instant(one.tenant.created_at),
    }
}

/// One sub-tenant.
fn write_sub_tenant(one: &SubTenant) -> Result<Vec<u8>, Failure> {
    json(&sub_tenant_record(one))
}

#[derive(serde::Serialize)]
struct SubTenantPage<'a> {
    sub_tenants: Vec<SubTenantRecord<'a>>,
    next_cursor: Option<String>,
}

/// A page of sub-tenants.
fn write_page(page: &[SubTenant], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&SubTenantPage { sub_tenants: page.iter().map(sub_tenant_record).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct KeyIssued<'a> {
    key_id: &'a str,
    api_key: &'a str,
    label: &'a str,
    role: Option<&'static str>,
    created_at: Instant,
    expires_at: Option<Instant>,
}

fn role(permissions: &[String]) -> Option<&'static str> {
    Role::of_permissions(permissions).map(Role::as_str)
}

/// A key just issued, with its secret.
fn write_issued(key: &IssuedKey) -> Result<Vec<u8>, Failure> {
    json(&KeyIssued {
        key_id: &key.key_id,
        api_key: key.api_key.expose(),
        label: &key.label,
        role: role(&key.permissions),
        created_at: Instant(key.created_at),
        expires_at: key.expires_at.map(Instant),
    })
}

#[derive(serde::Serialize)]
struct SubTenantKeyRecord {
    key_id: String,
    label: String,
    role: Option<&'static str>,
    created_at: Instant,
    expires_at: Option<Instant>,
    revoked_at: Option<Instant>,
    last_used_at: Option<Instant>,
}

#[derive(serde::Serialize)]
struct SubTenantKeyList {
    keys: Vec<SubTenantKeyRecord>,
}

/// Every key of a sub-tenant.
fn write_keys(all: &[KeyRecord]) -> Result<Vec<u8>, Failure> {
    let record = |key: &KeyRecord| SubTenantKeyRecord {
        key_id: key.key_id.clone(),
        label: key.label.clone(),
        role: role(&key.permissions),
        created_at: Instant(key.created_at),
        expires_at: key.expires_at.map(Instant),
        revoked_at: key.revoked_at.map(Instant),
        last_used_at: key.last_used_at.map(Instant),
    };
    json(&SubTenantKeyList { keys: all.iter().map(record).collect() })
}

#[derive(serde::Serialize)]
struct KeyRevoked<'a> {
    key_id: &'a str,
    revoked: bool,
}

/// The end of a key.
fn write_revoked(key: &KeyRecord) -> Result<Vec<u8>, Failure> {
    json(&KeyRevoked { key_id: &key.key_id, revoked: true })
}
