//! Tenants, for operators: counts, limits and health, and nothing of what they have stored.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use quintet_localization::operator::count_members;
use quintet_platform::access::{
    Tenant, TenantStatus, find_tenant, is_suspended, list_keys, list_sub_tenants, list_tenants,
};
use quintet_platform::http::query::Query;
use quintet_platform::ids::parse_uuid;
use quintet_storage::{Failure, Snapshot, Timestamp, Uuid};
use serde_json::Value;

use super::door::Console;
use super::notice::Notice;
use super::pages::{Figure, QuotaLine, TenantLine, TenantPage, TenantsPage, UsageLine, answer, instant};
use super::visitor::Operator;
use crate::admin::quotas::{self, QuotaView};
use crate::app::App;

/// Tenants of a page.
const PAGE_ROWS: usize = 50;
/// Keys, and tenants of a tenant, that are counted; beyond it a page says that there are more.
const COUNTED_MAX: usize = 1_000;

/// The list, a page at a time.
pub async fn list(
    State(console): State<Console>,
    operator: Operator,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let mut query = Query::parse(raw.as_deref()).map_err(|_| Notice::Malformed)?;
    let after = query.take("after").map(|text| parse_uuid(&text).ok_or(Notice::Malformed)).transpose()?;
    let mut tenants = list_tenants(&console.app.store.read(), after, PAGE_ROWS + 1)?;
    let has_more = tenants.len() > PAGE_ROWS;
    tenants.truncate(PAGE_ROWS);
    let next = tenants.last().filter(|_| has_more).map(|last| last.tenant_id.to_string());
    let read = console.app.store.read();
    let tenants = tenants.iter().map(|tenant| line(&read, tenant)).collect::<Result<_, _>>()?;
    Ok(answer(StatusCode::OK, &TenantsPage { frame: operator.frame, tenants, next, is_first: after.is_none() }))
}

/// One of them.
pub async fn show(
    State(console): State<Console>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Notice> {
    let id = id.ok().and_then(|Path(text)| parse_uuid(&text)).ok_or(Notice::NotFound)?;
    let app = console.app.clone();
    let looked = tokio::task::spawn_blocking(move || look(&app, id)).await.map_err(|_| Notice::Unavailable)??;
    let (tenant, parent, counts, views) = looked;
    let mut quotas = Vec::new();
    for view in &views {
        quotas.extend(view.quotas.iter().flat_map(quota_lines));
    }
    let usage = views.into_iter().map(usage).collect();
    let page = TenantPage { frame: operator.frame, tenant, parent, counts, usage, quotas };
    Ok(answer(StatusCode::OK, &page))
}

type Looked = (TenantLine, Option<String>, Vec<Figure>, Vec<QuotaView>);

fn look(app: &App, id: Uuid) -> Result<Looked, Notice> {
    let read = app.store.read();
    let tenant = find_tenant(&read, id)?.ok_or(Notice::NotFound)?;
    let views = tenant.services.iter().map(|service| quotas::view(app, &tenant, service));
    let views = views.collect::<Result<Vec<_>, _>>()?;
    let parent = tenant.parent.map(|parent| parent.to_string());
    Ok((line(&read, &tenant)?, parent, counts(app, &read, id)?, views))
}

fn line(read: &Snapshot, tenant: &Tenant) -> Result<TenantLine, Failure> {
    let services: Vec<&str> = tenant.services.iter().map(|service| service.name()).collect();
    Ok(TenantLine {
        id: tenant.tenant_id.to_string(),
        name: tenant.name.clone(),
        // A sub-tenant is as active as its parent.
        is_active: tenant.status == TenantStatus::Active && !is_suspended(read, tenant.tenant_id)?,
        services: services.join(", "),
        created_at: instant(tenant.created_at),
    })
}

fn counts(app: &App, read: &Snapshot, id: Uuid) -> Result<Vec<Figure>, Failure> {
    let now = app.clock.now();
    let keys = list_keys(read, id, None, COUNTED_MAX)?;
    let is_good = |expires_at: Option<Timestamp>| expires_at.is_none_or(|expires_at| expires_at > now);
    let good = keys.iter().filter(|key| key.revoked_at.is_none() && is_good(key.expires_at)).count();
    let sub_tenants = list_sub_tenants(read, id, None, COUNTED_MAX)?.len();
    let figure = |key, value: usize| {
        let value = if value == COUNTED_MAX { format!("{value}+") } else { value.to_string() };
        Figure { key, value, state: "" }
    };
    Ok(vec![
        figure("tenant.keys", keys.len()),
        figure("tenant.keys_good", good),
        figure("tenant.members", count_members(read, id)? as usize),
        figure("tenant.sub_tenants", sub_tenants),
    ])
}

fn usage(view: QuotaView) -> UsageLine {
    UsageLine {
        service: view.service,
        period: view.period,
        calls: view.calls,
        calls_max: view.monthly_calls,
        burst_max: view.burst_per_second,
        is_used_up: view.monthly_calls.is_some_and(|max| view.calls >= max),
    }
}

fn quota_lines(quotas: &Value) -> Vec<QuotaLine> {
    let members = quotas.as_object().into_iter().flatten();
    let told = members.filter(|(name, _)| *name != "tenant_id");
    let line = |(name, value): (&String, &Value)| QuotaLine {
        name: name.clone(),
        value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    told.map(line).collect()
}
