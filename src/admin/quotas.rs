//! What tenants may use, on the administration socket: calls of every service, and the quotas of runs.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use quintet_platform::access::{Service, Tenant};
use quintet_platform::http::query::Query;
use quintet_platform::metering::{MeteringRefusal, Quota, find_quota, set_quota};
use quintet_runs::operator::{self as runs, QuotaChange};
use quintet_storage::Abort;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::protocol::Items;
use super::server::{Context, answer, read};
use super::tasks::{TaskError, resolve_tenant};
use crate::app::App;

/// How long a change waits for the writer.
const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// What a tenant is to be allowed of a service.
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
    /// Quotas of runs, by name; those that are absent stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Value>,
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
    /// The quotas of runs in force, by name; absent for other services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Value>,
    /// What no tenant may exceed of them, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Value>,
}

/// The route below `/tenants`.
pub(super) fn routes() -> Router<Context> {
    Router::new().route("/tenants/{tenant}/quota", get(show_quotas).post(change_quotas))
}

async fn show_quotas(
    State(context): State<Context>,
    Path(tenant): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let app = &context.app;
    let mut query = Query::parse(raw.as_deref()).map_err(|error| TaskError::Unusable(error.to_string()))?;
    let wanted = query.take("service").map(|name| service_named(&name)).transpose()?;
    let tenant = resolve_tenant(&app.store.read(), &tenant)?;
    let services = tenant.services.iter().filter(|_| wanted.is_none());
    let items = wanted.into_iter().chain(services).map(|service| quota_view(app, &tenant, service));
    answer(&Items { items: items.collect::<Result<Vec<_>, _>>()? })
}

async fn change_quotas(
    State(context): State<Context>,
    Path(tenant): Path<String>,
    body: Body,
) -> Result<Response, TaskError> {
    let wish: QuotaWish = read(body).await?;
    let app = &context.app;
    let service = service_named(&wish.service)?;
    let tenant = resolve_tenant(&app.store.read(), &tenant)?;
    let tenant_id = tenant.tenant_id;
    let change = wish.quotas.as_ref().map(|quotas| run_quotas(app, &tenant, service, quotas)).transpose()?;
    let names = change.as_ref().map(QuotaChange::names).unwrap_or_default();
    let of_calls = wish.monthly_calls.is_some() || wish.burst_per_second.is_some();
    let changed = app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        if of_calls {
            let before = find_quota(tx, tenant_id, service)?;
            let quota = Quota {
                monthly_calls: wish.monthly_calls.unwrap_or(before.monthly_calls),
                burst_per_second: wish.burst_per_second.unwrap_or(before.burst_per_second),
            };
            set_quota(tx, now, tenant_id, service, quota)?;
        }
        match change {
            Some(change) => Ok(runs::set_quotas(tx, now, tenant_id, change)?),
            None => Ok(()),
        }
    });
    changed.await.map_err(|abort| match abort {
        Abort::Failed(failure) => TaskError::Store(failure),
        Abort::Refused(refusal @ MeteringRefusal::TenantNotFound) => TaskError::NotFound(refusal.to_string()),
        Abort::Refused(refusal) => TaskError::Unusable(refusal.to_string()),
    })?;
    runs::quotas_changed(&app.runs);
    tracing::info!(%tenant_id, %service, of_calls, quotas = names.join(","), "the operator changed quotas of a tenant");
    answer(&quota_view(app, &tenant, service)?)
}

/// A change of the quotas of runs, held against the ceilings.
fn run_quotas(app: &App, tenant: &Tenant, service: Service, quotas: &Value) -> Result<QuotaChange, TaskError> {
    if service != Service::Runs {
        return Err(TaskError::Unusable(format!("these are quotas of runs; {service} has none but those of calls")));
    }
    if !tenant.services.contains(Service::Runs) {
        return Err(TaskError::Conflict("the tenant is not provisioned for runs".into()));
    }
    QuotaChange::read(&app.runs, quotas).map_err(TaskError::Unusable)
}

fn quota_view(app: &App, tenant: &Tenant, service: Service) -> Result<QuotaView, TaskError> {
    let read = app.store.read();
    let tenant_id = tenant.tenant_id;
    let quota = find_quota(&read, tenant_id, service)?;
    let usage = app.meter.usage(&read, service, tenant_id, app.clock.now());
    let has_quotas = service == Service::Runs && tenant.services.contains(service);
    Ok(QuotaView {
        tenant_id: tenant_id.to_string(),
        service: service.name().to_owned(),
        monthly_calls: quota.monthly_calls,
        burst_per_second: quota.burst_per_second,
        period: format!("{:04}-{:02}", usage.year, usage.month),
        calls: usage.calls,
        quotas: if has_quotas { Some(runs::quotas(&app.runs, tenant_id)?) } else { None },
        ceilings: has_quotas.then(|| runs::ceilings(&app.runs)),
    })
}

fn service_named(name: &str) -> Result<Service, TaskError> {
    name.parse().map_err(|error| TaskError::Unusable(format!("{name:?} is {error}")))
}
