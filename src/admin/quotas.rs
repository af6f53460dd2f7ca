//! What tenants may use, for the operator: calls of every service, and the quotas of runs.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_platform::access::{Service, Tenant};
use quintet_platform::http::query::Query;
use quintet_platform::metering::{MeteringRefusal, Quota, find_quota, set_quota};
use quintet_runs::operator::{self, QuotaChange};
use quintet_storage::Abort;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Call, Items};
use super::task::{TaskError, WRITE_DEADLINE};
use super::{runs, tenants};
use crate::app::App;

/// What a tenant may use of a service, or of all of its services, and has used; `service`.
pub const SHOW: Call<(), Items<QuotaView>> = Call::look("/tenants/{tenant}/quota");
/// Changes what a tenant may use of a service.
pub const CHANGE: Call<QuotaWish, QuotaView> = Call::change("/tenants/{tenant}/quota");

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

pub(super) fn routes(app: App) -> Router {
    Router::new().merge(SHOW.served_by(show)).merge(CHANGE.served_by(change)).with_state(app)
}

async fn show(
    State(app): State<App>,
    Path(tenant): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let mut query = Query::parse(raw.as_deref()).map_err(|error| TaskError::Unusable(error.to_string()))?;
    let wanted = query.take("service").map(|name| service_named(&name)).transpose()?;
    let tenant = tenants::resolve(&app.store.read(), &tenant)?;
    let services = tenant.services.iter().filter(|_| wanted.is_none());
    let items = wanted.into_iter().chain(services).map(|service| view(&app, &tenant, service));
    SHOW.answer(&Items { items: items.collect::<Result<Vec<_>, _>>()? })
}

async fn change(State(app): State<App>, Path(tenant): Path<String>, body: Body) -> Result<Response, TaskError> {
    let wish = CHANGE.wish(body).await?;
    let service = service_named(&wish.service)?;
    let tenant = tenants::resolve(&app.store.read(), &tenant)?;
    let tenant_id = tenant.tenant_id;
    let change = wish.quotas.as_ref().map(|quotas| runs::quota_change(&app, &tenant, service, quotas)).transpose()?;
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
            Some(change) => Ok(operator::set_quotas(tx, now, tenant_id, change)?),
            None => Ok(()),
        }
    });
    changed.await.map_err(|abort| match abort {
        Abort::Failed(failure) => TaskError::Store(failure),
        Abort::Refused(refusal @ MeteringRefusal::TenantNotFound) => TaskError::NotFound(refusal.to_string()),
        Abort::Refused(refusal) => TaskError::Unusable(refusal.to_string()),
    })?;
    tracing::info!(%tenant_id, %service, of_calls, quotas = names.join(","), "the operator changed quotas of a tenant");
    CHANGE.answer(&view(&app, &tenant, service)?)
}

/// What a tenant may use of a service, and has used.
///
/// # Errors
/// The store cannot be read.
pub fn view(app: &App, tenant: &Tenant, service: Service) -> Result<QuotaView, TaskError> {
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
        quotas: if has_quotas { Some(operator::quotas(&app.runs, tenant_id)?) } else { None },
        ceilings: has_quotas.then(|| operator::ceilings(&app.runs)),
    })
}

fn service_named(name: &str) -> Result<Service, TaskError> {
    name.parse().map_err(|error| TaskError::Unusable(format!("{name:?} is {error}")))
}
