//! The partner's routes: sub-tenants and their keys.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use quintet_platform::access::{AnnouncedKey, Authority, KeyChangeFailure, KeyRecord, PreparedSecret, TenantStatus};
use quintet_platform::idempotency::{self, Lookup};
use quintet_storage::{Abort, Uuid, WriteTx};

use super::answer::Answer;
use super::request::{
    BODY_BYTES_MAX, Entered, Mutation, Target, WRITER_TIME, answered, conclude, execute, execute_secret, failed,
    mutate, read, receive, refusal_of,
};
use super::routes::{KEY_CREATE, KEY_DELETE, KEY_LIST, SUB_TENANT_CREATE, SUB_TENANT_LIST, SUB_TENANT_PATCH};
use super::{Context, cursor_at, end, input, limit, output, position, required};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::sub_tenants::{self, CreateSubTenant, IssueSubTenantKey, PatchSubTenant, RevokeSubTenantKey, SubTenant};

pub(super) async fn create_sub_tenant(State(context): State<Context>, request: Request) -> Response {
    const CREATE: Mutation<CreateSubTenant, SubTenant> = Mutation {
        route: &SUB_TENANT_CREATE,
        read: |target, body| input::create_sub_tenant(target.tenant_id, required(body)?),
        verb: sub_tenants::create_sub_tenant,
        status: 201,
        write: output::sub_tenant,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &CREATE).await
}

pub(super) async fn list_sub_tenants(State(context): State<Context>, request: Request) -> Response {
    const KIND: &str = "sub-tenants";
    read(&context, request, &SUB_TENANT_LIST, |snapshot, target, query| {
        let limit = limit(query)?;
        let after: Option<TenantId> = position(KIND, query)?;
        end(query)?;
        let (page, more) = sub_tenants::list_sub_tenants(snapshot, target.tenant_id, after, limit)?;
        let last = page.last().filter(|_| more);
        let next = last.map(|last| cursor_at(KIND, &TenantId(last.tenant.tenant_id))).transpose()?;
        Ok(output::sub_tenants(&page, next)?)
    })
    .await
}

pub(super) async fn patch_sub_tenant(State(context): State<Context>, request: Request) -> Response {
    const PATCH: Mutation<PatchSubTenant, SubTenant> = Mutation {
        route: &SUB_TENANT_PATCH,
        read: |target, body| input::patch_sub_tenant(target.tenant_id, sub_tenant_id(target)?, required(body)?),
        verb: sub_tenants::patch_sub_tenant,
        status: 200,
        write: output::sub_tenant,
        falls_due: |_| None,
        frees: |command| command.status == Some(TenantStatus::Suspended),
    };
    mutate(&context, request, &PATCH).await
}

/// A malformed id names nothing.
fn sub_tenant_id(target: &Target) -> Result<TenantId, Refusal> {
    target.id.map(TenantId).ok_or(Refusal::SubTenantNotFound)
}

pub(super) async fn list_keys(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &KEY_LIST, |snapshot, target, query| {
        end(query)?;
        let mut keys = sub_tenants::list_sub_tenant_keys(snapshot, target.tenant_id, sub_tenant_id(target)?)?;
        context.uses.fill_in(&mut keys);
        Ok(output::keys(&keys)?)
    })
    .await
}

pub(super) async fn issue_key(State(context): State<Context>, request: Request) -> Response {
    answered(try_issue_key(&context, request).await)
}

async fn try_issue_key(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let received = receive(context, request, &KEY_CREATE, BODY_BYTES_MAX).await?;
    let target = received.target;
    let mut command = received.json.and_then(|json| {
        input::issue_key(target.tenant_id, sub_tenant_id(&target)?, required(json)?, PreparedSecret::draw())
    });
    if let (Ok(command), Authority::External(_)) = (&mut command, context.authority.as_ref()) {
        announce(context, &received.entered, command).await?;
    }
    let entered = Arc::clone(&received.entered);
    let work = move |tx: &mut WriteTx<'_>, now| {
        let verb = |tx: &mut WriteTx<'_>, now, command| {
            Ok(output::issued_key(&sub_tenants::issue_sub_tenant_key(tx, now, command)?)?)
        };
        execute_secret(tx, now, &entered, command, verb, 201)
    };
    let outcome = context.store.write(Instant::now() + WRITER_TIME, work).await;
    conclude(context, &received.entered, outcome)
}

/// Makes the key known to the external authorization system before it is issued: one that nobody there knows would be
/// of no use. If the issuing then fails, that system knows a key whose secret nobody has.
async fn announce(context: &Context, entered: &Entered, command: &mut IssueSubTenantKey) -> Result<(), Refusal> {
    let (snapshot, now) = (context.store.read(), context.clock.now());
    match idempotency::lookup(&snapshot, &entered.scope, &entered.digest, now) {
        Ok(Lookup::Fresh) => {}
        // The writer will say so.
        Ok(_) | Err(_) => return Ok(()),
    }
    sub_tenants::find_sub_tenant(&snapshot, command.parent, command.sub_tenant_id).map_err(refusal_of)?;
    let drawn: Result<Uuid, Abort<Refusal>> =
        context.store.write(Instant::now() + WRITER_TIME, |tx, _| Ok(tx.new_id())).await;
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
    context.authority.announce_key(&announced).await.map_err(|failure| match failure {
        KeyChangeFailure::Refused | KeyChangeFailure::Unavailable => Refusal::AuthzUnavailable,
        KeyChangeFailure::CredentialRejected => Refusal::AuthzCredentialRejected,
    })?;
    command.drawn.0 = Some(id);
    Ok(())
}

pub(super) async fn revoke_key(State(context): State<Context>, request: Request) -> Response {
    answered(try_revoke_key(&context, request).await)
}

/// The authorization system first: if it refuses, nothing has changed here.
async fn try_revoke_key(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let received = receive(context, request, &KEY_DELETE, BODY_BYTES_MAX).await?;
    let target = received.target;
    let command = received.json.and_then(|json| {
        let sub_tenant_id = sub_tenant_id(&target)?;
        input::nothing(json)?;
        Ok(RevokeSubTenantKey { parent: target.tenant_id, sub_tenant_id, key_id: target.key_id })
    });
    if let (Ok(command), Authority::External(_)) = (&command, context.authority.as_ref()) {
        match sub_tenants::find_sub_tenant_key(&context.store.read(), command) {
            Ok(KeyRecord { key_id, .. }) => {
                context.authority.revoke_key(&key_id).await.map_err(|failure| match failure {
                    KeyChangeFailure::Refused => Refusal::RevocationFailed,
                    KeyChangeFailure::Unavailable => Refusal::AuthzUnavailable,
                    KeyChangeFailure::CredentialRejected => Refusal::AuthzCredentialRejected,
                })?;
            }
            // The writer will say so.
            Err(Abort::Refused(_)) => {}
            Err(Abort::Failed(failure)) => return Err(failed(&failure)),
        }
    }
    let entered = Arc::clone(&received.entered);
    let work = move |tx: &mut WriteTx<'_>, now| {
        let verb = |tx: &mut WriteTx<'_>, now, command| {
            Ok(output::revoked_key(&sub_tenants::revoke_sub_tenant_key(tx, now, command)?)?)
        };
        execute(tx, now, &entered, command, verb, 200)
    };
    let outcome = context.store.write_freeing(Instant::now() + WRITER_TIME, work).await;
    conclude(context, &received.entered, outcome)
}
