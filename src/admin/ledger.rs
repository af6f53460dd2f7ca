//! The ledger's part of the administration socket: proofs, balances, searches, exports, and quotas. Lists come in pages;
//! the command line asks for one after the other, so that no answer is large and no snapshot is held for long.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use quintet_ledger::operator::{self, Page, Search};
use quintet_platform::access::Service;
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::query::Query;
use quintet_platform::ids::parse_uuid;
use quintet_platform::metering::{MeteringRefusal, Quota, find_quota, set_quota};
use quintet_storage::{Abort, Timestamp, Uuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::server::{Context, answer, read};
use super::tasks::{TaskError, resolve_tenant};
use crate::app::App;

/// How long a change waits for the writer.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// What was proven.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofView {
    /// Tenants.
    pub tenants: u64,
    /// Accounts that were added up.
    pub accounts: u64,
    /// Transactions that were read.
    pub transactions: u64,
    /// Statement lines that were read.
    pub lines: u64,
    /// What does not fit; at most the first thousand.
    pub findings: Vec<FindingView>,
    /// How many findings there are in all.
    pub findings_total: u64,
}

/// Something that does not fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FindingView {
    /// Where.
    pub place: String,
    /// What.
    pub problem: String,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageView<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Records that do not read.
    pub damaged: Vec<FindingView>,
    /// Where the next page begins; absent at the end.
    pub next: Option<String>,
}

/// An account in a trial balance. Amounts are minor units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRowView {
    /// The account.
    pub account_id: String,
    /// Its name.
    pub name: String,
    /// The code of its asset type.
    pub asset: String,
    /// Fraction digits.
    pub scale: u8,
    /// `debit` or `credit`.
    pub normal_side: String,
    /// Posted debits.
    pub debits_minor: String,
    /// Posted credits.
    pub credits_minor: String,
}

/// What a tenant may use of a service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QuotaWish {
    /// The service.
    pub service: String,
    /// Calls in a calendar month; absent: as it is; null: unlimited.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub monthly_calls: Option<Option<u64>>,
    /// Calls a second; absent: as it is; null: unlimited.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub burst_per_second: Option<Option<u32>>,
}

/// Tells null from absent.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// What a tenant may use of a service, and has used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QuotaView {
    /// The tenant.
    pub tenant_id: String,
    /// The service.
    pub service: String,
    /// Calls in a calendar month; absent: unlimited.
    pub monthly_calls: Option<u64>,
    /// Calls a second; absent: unlimited.
    pub burst_per_second: Option<u32>,
    /// The present month, such as `2026-01`, UTC.
    pub period: String,
    /// Calls in it so far.
    pub calls: u64,
}

/// Where these requests hang below `/ledger`.
pub(super) fn routes() -> Router<Context> {
    Router::new()
        .route("/proof", get(prove))
        .route("/trial-balance", get(trial_balance))
        .route("/export", get(export))
        .route("/search", get(search))
        .route("/quota/{tenant}", get(show_quota).post(change_quota))
}

async fn prove(State(context): State<Context>) -> Result<Response, TaskError> {
    let store = context.app.store.clone();
    // On a large ledger it takes longer than a snapshot lives.
    let proven = tokio::task::spawn_blocking(move || {
        let view = store.long_view().map_err(TaskError::Failed)?;
        Ok::<_, TaskError>(quintet_ledger::verify(view.snapshot())?)
    });
    let proof = proven.await.map_err(|error| TaskError::Failed(error.to_string()))??;
    let findings = proof.findings.into_iter();
    answer(&ProofView {
        tenants: proof.tenants,
        accounts: proof.accounts,
        transactions: proof.transactions,
        lines: proof.lines,
        findings: findings.map(|finding| FindingView { place: finding.place, problem: finding.problem }).collect(),
        findings_total: proof.findings_total,
    })
}

/// The parameters of a list: whose, and from where on.
struct Asked {
    query: Query,
    tenant_id: Uuid,
    from: Option<Uuid>,
}

impl Asked {
    fn of(app: &App, raw: Option<&str>) -> Result<Asked, TaskError> {
        let mut query = Query::parse(raw).map_err(|error| TaskError::Unusable(error.to_string()))?;
        let tenant = query.required("tenant").map_err(|error| TaskError::Unusable(error.to_string()))?;
        let tenant_id = resolve_tenant(&app.store.read(), &tenant)?.tenant_id;
        let from = query.take("from").map(|text| id(&text)).transpose()?;
        Ok(Asked { query, tenant_id, from })
    }
}

fn id(text: &str) -> Result<Uuid, TaskError> {
    parse_uuid(text).ok_or_else(|| TaskError::Unusable(format!("{text:?} is no id")))
}

fn instant(text: &str) -> Result<Timestamp, TaskError> {
    parse_rfc3339(text).map_err(|error| TaskError::Unusable(format!("{text:?}: {error}")))
}

fn page<T, V>(page: Page<T>, view: impl FnMut(T) -> V) -> PageView<V> {
    let damaged = page.damaged.into_iter();
    PageView {
        items: page.items.into_iter().map(view).collect(),
        damaged: damaged.map(|(id, problem)| FindingView { place: id.to_string(), problem }).collect(),
        next: page.next.map(|id| id.to_string()),
    }
}

async fn trial_balance(State(context): State<Context>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let asked = Asked::of(&context.app, raw.as_deref())?;
    let rows = operator::trial_balance(&context.app.store.read(), asked.tenant_id, asked.from)?;
    answer(&page(rows, |row| TrialRowView {
        account_id: row.account_id.to_string(),
        name: row.name,
        asset: row.asset,
        scale: row.scale,
        normal_side: row.normal_side.to_owned(),
        debits_minor: row.debits.to_string(),
        credits_minor: row.credits.to_string(),
    }))
}

async fn export(State(context): State<Context>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let asked = Asked::of(&context.app, raw.as_deref())?;
    let records = operator::export(&context.app.store.read(), asked.tenant_id, asked.from)?;
    answer(&page(records, |record: Value| record))
}

async fn search(State(context): State<Context>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(&context.app, raw.as_deref())?;
    let query = &mut asked.query;
    let wanted = Search {
        account_id: query.take("account").map(|text| id(&text)).transpose()?,
        from: query.take("since").map(|text| instant(&text)).transpose()?,
        until: query.take("until").map(|text| instant(&text)).transpose()?,
        external_id: query.take("external_id"),
        description: query.take("description"),
        metadata: query.take("metadata"),
    };
    let records = operator::search(&context.app.store.read(), asked.tenant_id, &wanted, asked.from)?;
    answer(&page(records, |record: Value| record))
}

async fn show_quota(
    State(context): State<Context>,
    Path(tenant): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let mut query = Query::parse(raw.as_deref()).map_err(|error| TaskError::Unusable(error.to_string()))?;
    let service = query.required("service").map_err(|error| TaskError::Unusable(error.to_string()))?;
    let tenant_id = resolve_tenant(&context.app.store.read(), &tenant)?.tenant_id;
    answer(&quota_view(&context.app, tenant_id, service_named(&service)?)?)
}

async fn change_quota(
    State(context): State<Context>,
    Path(tenant): Path<String>,
    body: Body,
) -> Result<Response, TaskError> {
    let wish: QuotaWish = read(body).await?;
    let app = &context.app;
    let service = service_named(&wish.service)?;
    let tenant_id = resolve_tenant(&app.store.read(), &tenant)?.tenant_id;
    let changed = app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        let before = find_quota(tx, tenant_id, service)?;
        let quota = Quota {
            monthly_calls: wish.monthly_calls.unwrap_or(before.monthly_calls),
            burst_per_second: wish.burst_per_second.unwrap_or(before.burst_per_second),
        };
        set_quota(tx, now, tenant_id, service, quota)
    });
    changed.await.map_err(|abort| match abort {
        Abort::Failed(failure) => TaskError::Store(failure),
        Abort::Refused(refusal @ MeteringRefusal::TenantNotFound) => TaskError::NotFound(refusal.to_string()),
        Abort::Refused(refusal) => TaskError::Unusable(refusal.to_string()),
    })?;
    answer(&quota_view(app, tenant_id, service)?)
}

fn quota_view(app: &App, tenant_id: Uuid, service: Service) -> Result<QuotaView, TaskError> {
    let read = app.store.read();
    let quota = find_quota(&read, tenant_id, service)?;
    let usage = app.meter.usage(&read, service, tenant_id, app.clock.now());
    Ok(QuotaView {
        tenant_id: tenant_id.to_string(),
        service: service.name().to_owned(),
        monthly_calls: quota.monthly_calls,
        burst_per_second: quota.burst_per_second,
        period: format!("{:04}-{:02}", usage.year, usage.month),
        calls: usage.calls,
    })
}

fn service_named(name: &str) -> Result<Service, TaskError> {
    name.parse().map_err(|error| TaskError::Unusable(format!("{name:?} is {error}")))
}
