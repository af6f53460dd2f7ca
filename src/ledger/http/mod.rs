//! The ledger over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `request` (the way of a request), `input`, `output`, `answer` ·
//! `partners`, `bulk` · `describe` (what the service says of itself).

mod answer;
mod bulk;
mod describe;
mod input;
mod output;
mod partners;
mod request;
mod routes;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{delete, get, patch, post};
use quintet_platform::Foundation;
use quintet_platform::access::CredentialState;
use quintet_platform::cursor;
use quintet_platform::http::json::Json;
use quintet_platform::http::query::Query;
use quintet_platform::http::request_id;
use quintet_platform::limits::RateLimiter;
use quintet_storage::{Abort, Failure, Read as _, Snapshot, Timestamp, Uuid, decode_plain, encode_plain};

use crate::accounts::{self, Account, CreateAccount, PatchAccount};
use crate::as_of;
use crate::asset_types::{self, AssetType, CreateAssetType};
use crate::balance;
use crate::holds::{self, SettleHold, Settled};
use crate::model::{AccountId, AssetTypeId, Basis, TenantId, TransactionId, TransactionState};
use crate::posting::{self, PostTransaction, Posted};
use crate::refusal::Refusal;
use crate::statement::{self, StatementQuery};
use crate::sweep::Sweep;
use crate::tables::ASSET_TYPES;
use answer::{Answer, refuse};
use request::{
    Mutation, Target, WRITER_TIME, answered, enter, failed, limit_rate, mutate, parameter_refusal, read, refusal_of,
};
use routes::*;
pub use routes::{ROUTES, Route};

/// How many source addresses the edge remembers at a time.
const EDGE_SOURCES_MAX: usize = 65_536;
/// The largest and the usual page.
const PAGE_MAX: i64 = 1000;
const PAGE_DEFAULT: i64 = 50;

/// What the ledger needs to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    edge: RateLimiter,
    sweep: Arc<Sweep>,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts. `edge_rate_per_second`: requests from each source address, 0 switches the limit
    /// off; `edge_burst`: how many of them at once.
    #[must_use]
    pub fn new(foundation: Foundation, edge_rate_per_second: u32, edge_burst: u32) -> Context {
        let edge = RateLimiter::new(edge_rate_per_second, edge_burst, EDGE_SOURCES_MAX);
        let sweep = Arc::new(Sweep::new(foundation.store.clone()));
        Context(Arc::new(Parts { foundation, edge, sweep }))
    }

    pub(crate) fn sweep(&self) -> Arc<Sweep> {
        Arc::clone(&self.sweep)
    }
}

/// The ledger's listener.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(HEALTH.path, get(get_health))
        .route(ASSET_TYPE_CREATE.path, post(create_asset_type).get(list_asset_types))
        .route(ACCOUNT_CREATE.path, post(create_account).get(list_accounts))
        .route(ACCOUNT_GET.path, get(get_account).patch(patch_account))
        .route(BALANCE_GET.path, get(get_balance))
        .route(BALANCE_AS_OF.path, get(get_balance_as_of))
        .route(ENTRY_LIST.path, get(list_entries))
        .route(TRANSACTION_POST.path, post(post_transaction))
        .route(TRANSACTION_BULK.path, post(bulk::post_bulk))
        .route(TRANSACTION_GET.path, get(get_transaction))
        .route(TRANSACTION_COMMIT.path, post(commit_transaction))
        .route(TRANSACTION_VOID.path, post(void_transaction))
        .route(SUB_TENANT_CREATE.path, post(partners::create_sub_tenant).get(partners::list_sub_tenants))
        .route(SUB_TENANT_PATCH.path, patch(partners::patch_sub_tenant))
        .route(KEY_CREATE.path, post(partners::issue_key).get(partners::list_keys))
        .route(KEY_DELETE.path, delete(partners::revoke_key))
        .route(OPENAPI.path, get(describe::get_openapi))
        .route(LLMS.path, get(describe::get_llms))
        .fallback(async || refuse(&Refusal::NotFound))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn_with_state(context.clone(), limit_rate))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::InternalError)
}

async fn get_health(State(context): State<Context>) -> Response {
    let nobody = (TenantId(Uuid::nil()), AssetTypeId(Uuid::nil()));
    let reason = if context.store.stop_reason().is_some() {
        Some("storage has stopped; a restart clears it")
    } else if context.store.read().contains(&ASSET_TYPES, &nobody).is_err() {
        Some("storage cannot be read")
    } else {
        None
    };
    // Nobody is asked here: this is what the last request that needed the authorization system has seen.
    let credential = context.authority.credential_state();
    let reason = match (reason, credential) {
        (None, CredentialState::Rejected) => Some("the authorization system refuses this service's own credential"),
        (reason, _) => reason,
    };
    let credential = credential.as_str();
    match reason {
        None => {
            let body = format!(r#"{{"status":"ok","auth_client_credential":"{credential}"}}"#);
            Answer::of(200, body.into_bytes())
        }
        Some(reason) => {
            let body =
                format!(r#"{{"status":"unhealthy","reason":"{reason}","auth_client_credential":"{credential}"}}"#);
            Answer::of(503, body.into_bytes())
        }
    }
    .into_response()
}

async fn create_asset_type(State(context): State<Context>, request: Request) -> Response {
    const CREATE: Mutation<CreateAssetType, AssetType> = Mutation {
        route: &ASSET_TYPE_CREATE,
        read: |target, body| input::create_asset_type(target.tenant_id, required(body)?),
        verb: asset_types::create_asset_type,
        status: 201,
        write: output::created_asset_type,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &CREATE).await
}

async fn list_asset_types(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &ASSET_TYPE_LIST, |snapshot, target, query| {
        end(query)?;
        Ok(output::asset_types(&asset_types::list_asset_types(snapshot, target.tenant_id)?)?)
    })
    .await
}

async fn create_account(State(context): State<Context>, request: Request) -> Response {
    const CREATE: Mutation<CreateAccount, Account> = Mutation {
        route: &ACCOUNT_CREATE,
        read: |target, body| input::create_account(target.tenant_id, required(body)?),
        verb: accounts::create_account,
        status: 201,
        write: output::created_account,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &CREATE).await
}

/// The accounts of the tenant, newest first. A page has at most `limit` accounts, and it ends early, with a
/// `next_cursor`, once its accounts take about 1 MiB: a caller who asks and never reads holds no more than that.
async fn list_accounts(State(context): State<Context>, request: Request) -> Response {
    const KIND: &str = "accounts";
    read(&context, request, &ACCOUNT_LIST, |snapshot, target, query| {
        let limit = limit(query)?;
        let after: Option<AccountId> = position(KIND, query)?;
        end(query)?;
        let (page, more) = accounts::list_accounts(snapshot, target.tenant_id, after, limit)?;
        let next = page.last().filter(|_| more).map(|last| cursor_at(KIND, &last.account_id)).transpose()?;
        Ok(output::accounts(&page, next)?)
    })
    .await
}

async fn get_account(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &ACCOUNT_GET, |snapshot, target, query| {
        end(query)?;
        Ok(output::account(&accounts::get_account(snapshot, target.tenant_id, account_id(target)?)?)?)
    })
    .await
}

async fn patch_account(State(context): State<Context>, request: Request) -> Response {
    const PATCH: Mutation<PatchAccount, Account> = Mutation {
        route: &ACCOUNT_PATCH,
        read: |target, body| input::patch_account(target.tenant_id, account_id(target)?, required(body)?),
        verb: accounts::patch_account,
        status: 200,
        write: output::account,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &PATCH).await
}

async fn get_balance(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &BALANCE_GET, |_, target, query| {
        end(query)?;
        let account_id = account_id(target)?;
        // Every posting up to `as_of` must be in the balance, those under way at this moment too.
        let (snapshot, as_of) = context.store.read_now(context.clock.now());
        let book = balance::get_balance(&snapshot, target.tenant_id, account_id)?;
        Ok(output::balance(account_id, &book, as_of)?)
    })
    .await
}

async fn get_balance_as_of(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_balance_as_of(&context, request).await)
}

async fn try_get_balance_as_of(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let (target, mut query) = enter(context, request, &BALANCE_AS_OF).await?;
    let at = input::as_of(query.take("at"))?;
    let words = Basis::ALL.map(Basis::as_str);
    let basis = query.one_of("basis", &words).map_err(|error| parameter_refusal(&error))?;
    let basis = Basis::ALL.into_iter().find(|known| Some(known.as_str()) == basis).unwrap_or(Basis::Effective);
    query.finish().map_err(|error| parameter_refusal(&error))?;
    let account_id = account_id(&target)?;
    let now = context.clock.now();
    if at > now {
        return Err(Refusal::InvalidAsOf("in the future"));
    }
    let snapshot = complete_snapshot(context, now, at).await;
    let balance = as_of::balance_as_of(&snapshot, target.tenant_id, account_id, at, basis).map_err(refusal_of)?;
    let body = output::balance_as_of(account_id, &balance, at).map_err(|failure| failed(&failure))?;
    Ok(Answer::of(200, body))
}

/// A snapshot that holds everything the ledger learned at `at` or earlier, what is under way at this moment too: an
/// answer about the past must never change. At the present instant itself, others may follow.
async fn complete_snapshot(context: &Context, now: Timestamp, at: Timestamp) -> Snapshot {
    let (snapshot, complete_until) = context.store.read_now(now);
    if at <= complete_until {
        return snapshot;
    }
    // Whatever is under way is published before a transaction behind it is answered. A store that takes no more
    // transactions has none under way.
    let behind = context.store.write(std::time::Instant::now() + WRITER_TIME, |_, _| Ok::<_, Abort<Refusal>>(()));
    let _ = behind.await;
    context.store.read()
}

async fn list_entries(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &ENTRY_LIST, |snapshot, target, query| {
        let limit = limit(query)?;
        let state = query.take("state").map(|text| TransactionState::parse(&text).ok_or(Refusal::InvalidState));
        let account_id = account_id(target)?;
        let state = state.transpose()?;
        let kind = format!("entries {account_id} {}", state.map_or("all", TransactionState::as_str));
        let after: Option<(TransactionId, u8)> = position(&kind, query)?;
        end(query)?;
        let wanted = StatementQuery { tenant_id: target.tenant_id, account_id, state, after, limit };
        let (page, more) = statement::list_entries(snapshot, wanted)?;
        let last = page.last().filter(|_| more);
        let next = last.map(|last| cursor_at(&kind, &(last.transaction_id, last.line_no))).transpose()?;
        Ok(output::entries(&page, next)?)
    })
    .await
}

async fn post_transaction(State(context): State<Context>, request: Request) -> Response {
    const POST: Mutation<PostTransaction, Posted> = Mutation {
        route: &TRANSACTION_POST,
        read: |target, body| input::post_transaction(target.tenant_id, required(body)?),
        verb: posting::post_transaction,
        status: 201,
        write: output::posted,
        falls_due: |command| command.hold_until,
        frees: |_| false,
    };
    mutate(&context, request, &POST).await
}

async fn get_transaction(State(context): State<Context>, request: Request) -> Response {
    read(&context, request, &TRANSACTION_GET, |snapshot, target, query| {
        end(query)?;
        let transaction_id = transaction_id(target)?;
        Ok(output::transaction(&posting::get_transaction(snapshot, target.tenant_id, transaction_id)?)?)
    })
    .await
}

async fn commit_transaction(State(context): State<Context>, request: Request) -> Response {
    const COMMIT: Mutation<SettleHold, Settled> = Mutation {
        route: &TRANSACTION_COMMIT,
        read: settle_hold,
        verb: holds::commit_hold,
        status: 200,
        write: output::settled,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &COMMIT).await
}

async fn void_transaction(State(context): State<Context>, request: Request) -> Response {
    const VOID: Mutation<SettleHold, Settled> = Mutation {
        route: &TRANSACTION_VOID,
        read: settle_hold,
        verb: holds::void_hold,
        status: 200,
        write: output::settled,
        falls_due: |_| None,
        frees: |_| false,
    };
    mutate(&context, request, &VOID).await
}

fn settle_hold(target: &Target, body: Option<Json>) -> Result<SettleHold, Refusal> {
    let transaction_id = transaction_id(target)?;
    input::nothing(body)?;
    Ok(SettleHold { tenant_id: target.tenant_id, transaction_id })
}

fn required(body: Option<Json>) -> Result<Json, Refusal> {
    body.ok_or_else(|| Refusal::field("", "a JSON object is required"))
}

fn account_id(target: &Target) -> Result<AccountId, Refusal> {
    target.id.map(AccountId).ok_or_else(|| Refusal::InvalidAccountId("account_id".to_owned()))
}

/// A malformed transaction id names nothing.
fn transaction_id(target: &Target) -> Result<TransactionId, Refusal> {
    target.id.map(TransactionId).ok_or(Refusal::TransactionNotFound)
}

fn limit(query: &mut Query) -> Result<usize, Refusal> {
    let limit = query.integer("limit", 1..=PAGE_MAX).map_err(|error| parameter_refusal(&error))?;
    usize::try_from(limit.unwrap_or(PAGE_DEFAULT)).map_err(|_| Refusal::InternalError)
}

/// Where the page before ended, from the `cursor` parameter.
fn position<P: bincode::Decode<()>>(kind: &str, query: &mut Query) -> Result<Option<P>, Refusal> {
    let Some(text) = query.take("cursor") else { return Ok(None) };
    let position = cursor::decode(kind, &text).ok().and_then(|bytes| decode_plain(&bytes).ok());
    position.map(Some).ok_or_else(|| Refusal::field("cursor", "is not a cursor of this list"))
}

fn cursor_at<P: bincode::Encode>(kind: &str, position: &P) -> Result<String, Failure> {
    Ok(cursor::encode(kind, &encode_plain(position)?))
}

/// Nothing may be left of the query string.
fn end(query: &mut Query) -> Result<(), Abort<Refusal>> {
    std::mem::take(query).finish().map_err(|error| Abort::Refused(parameter_refusal(&error)))
}
