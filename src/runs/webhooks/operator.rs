//! The operator's side of webhooks: what endpoints there are and how they stand, what became of deliveries, and sending
//! once more. Records look as the tenant's own listener shows them; no secret is among them.

use std::collections::BTreeMap;

use http::Uri;
use quintet_platform::access::Service;
use quintet_platform::deliveries::{
    self, Counters, Dead, DeadPage, Delivery, DeliveryState, End, Filter, Target, health_of, is_repeated,
};
use quintet_platform::egress::{EgressError, Party, authority_of};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};
use serde_json::Value;

use super::endpoints::{all, find};
use super::http::wire::{write_delivery, write_endpoint};
use super::manage::{self, INACTIVE, NO_ENDPOINT};
use super::model::{DisabledReason, Endpoint, EndpointChange, EndpointId, outbox};
use super::tables::ENDPOINTS;
use crate::context::Context;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// Endpoints read in one step.
const PAGE_ROWS: usize = 256;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// There is no such thing; says what.
    #[error("{0}")]
    NoSuch(String),
    /// It cannot be done as things stand; says why.
    #[error("{0}")]
    NotNow(String),
    /// The endpoint must be enabled before.
    #[error("the endpoint is inactive")]
    Inactive,
}

impl quintet_storage::Refusal for NotDone {}

/// What a tenant's request would be refused with, for the operator.
fn not_done(abort: Abort<Refusal>) -> Abort<NotDone> {
    match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(INACTIVE) => Abort::Refused(NotDone::Inactive),
        Abort::Refused(Refusal::NoSuch(what)) => Abort::Refused(NotDone::NoSuch(what.to_owned())),
        Abort::Refused(Refusal::NotNow(why)) => Abort::Refused(NotDone::NotNow(why.to_owned())),
        Abort::Refused(Refusal::LimitReached(name, most)) => {
            Abort::Refused(NotDone::NotNow(format!("there are {most} already, which is {name}")))
        }
        Abort::Refused(_) => Abort::Refused(NotDone::NotNow("the tenant itself would be refused".to_owned())),
    }
}

/// The endpoints of a tenant, newest first.
///
/// # Errors
/// The store's failures.
pub fn endpoints(context: &Context, tenant_id: Uuid) -> Result<Vec<Value>, Failure> {
    let (read, now) = context.store.read_now(context.clock.now());
    let endpoints = all(&read, TenantId(tenant_id))?;
    endpoints.iter().rev().map(|(id, endpoint)| record(&read, now, (TenantId(tenant_id), *id), endpoint)).collect()
}

/// An endpoint of a tenant, if that has it.
///
/// # Errors
/// The store's failures.
pub fn endpoint(context: &Context, tenant_id: Uuid, endpoint_id: Uuid) -> Result<Option<Value>, Failure> {
    let (read, now) = context.store.read_now(context.clock.now());
    let key = (TenantId(tenant_id), EndpointId(endpoint_id));
    find(&read, key)?.map(|endpoint| record(&read, now, key, &endpoint)).transpose()
}

fn record(
    read: &impl Read,
    now: Timestamp,
    (tenant_id, id): (TenantId, EndpointId),
    endpoint: &Endpoint,
) -> Result<Value, Failure> {
    Ok(write_endpoint(now, id, endpoint, &health_of(read, outbox(tenant_id), id.0)?))
}

/// Enables an endpoint; its health is counted anew. One that is active stays as it is.
///
/// # Errors
/// [`NotDone::NoSuch`], and the store's failures.
pub fn enable(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    endpoint_id: Uuid,
) -> Result<Value, Abort<NotDone>> {
    let key = (TenantId(tenant_id), EndpointId(endpoint_id));
    let endpoint = find(tx, key)?.ok_or(NO_ENDPOINT).map_err(|refusal| not_done(refusal.into()))?;
    if endpoint.disabled.is_none() {
        return Ok(record(tx, now, key, &endpoint)?);
    }
    let asked = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    let endpoint = manage::change(tx, now, key, asked).map_err(not_done)?;
    Ok(record(tx, now, key, &endpoint)?)
}

/// Has an endpoint told that it is being tried; the delivery.
///
/// # Errors
/// [`NotDone`], and the store's failures.
pub fn test(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: Uuid, endpoint_id: Uuid) -> Result<Value, Abort<NotDone>> {
    let key = (TenantId(tenant_id), EndpointId(endpoint_id));
    let delivery = manage::test(tx, now, key).map_err(not_done)?;
    Ok(write_delivery(tx, key.0, &delivery, DeliveryState::Pending)?)
}

/// Which deliveries are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Only those to this endpoint.
    pub endpoint_id: Option<Uuid>,
    /// Only those in this state.
    pub state: Option<DeliveryState>,
    /// The newest so many.
    pub limit: usize,
}

/// The newest deliveries of a tenant that were asked for, each with the instant at which it was enqueued; and whether
/// there are older ones.
///
/// # Errors
/// The store's failures.
pub fn deliveries(
    context: &Context,
    tenant_id: Uuid,
    wanted: &Wanted,
) -> Result<(Vec<(Timestamp, Value)>, bool), Failure> {
    let of = outbox(TenantId(tenant_id));
    let read = context.store.read();
    let waits = matches!(wanted.state, Some(DeliveryState::Pending | DeliveryState::Delivering));
    if waits && deliveries::counters(&read, of)?.pending == 0 {
        return Ok((Vec::new(), false));
    }
    let Wanted { endpoint_id, state, limit } = *wanted;
    let filter = Filter { endpoint_id, resource: None, state, since: 0, limit };
    let state = |delivery: &Delivery| context.settings.pump.state(of, delivery);
    let page = deliveries::list(&read, of, filter, state)?;
    let tenant_id = TenantId(tenant_id);
    let item = |one: &Delivery| Ok((one.created_at, write_delivery(&read, tenant_id, one, state(one))?));
    let items = page.items.iter().map(item).collect::<Result<_, Failure>>()?;
    Ok((items, page.is_truncated))
}

/// A delivery of a tenant.
///
/// # Errors
/// The store's failures.
pub fn delivery(context: &Context, tenant_id: Uuid, id: u64) -> Result<Option<Value>, Failure> {
    let of = outbox(TenantId(tenant_id));
    let read = context.store.read();
    let write = |delivery: Delivery| {
        write_delivery(&read, TenantId(tenant_id), &delivery, context.settings.pump.state(of, &delivery))
    };
    deliveries::find(&read, of, id)?.map(write).transpose()
}

/// Sends deliveries once more that have ended: all of them, or none. The new ones.
///
/// # Errors
/// [`NotDone`] with the number of the delivery it is about, and the store's failures.
pub fn redeliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    ids: &[u64],
) -> Result<Vec<Value>, Abort<NotDone>> {
    let mut made = Vec::new();
    for id in ids {
        let delivery = manage::redeliver(tx, now, TenantId(tenant_id), *id).map_err(|abort| match not_done(abort) {
            Abort::Refused(NotDone::NoSuch(what)) => Abort::Refused(NotDone::NoSuch(format!("delivery {id}: {what}"))),
            Abort::Refused(NotDone::NotNow(why)) => Abort::Refused(NotDone::NotNow(format!("delivery {id}: {why}"))),
            failed => failed,
        })?;
        made.push(write_delivery(tx, TenantId(tenant_id), &delivery, DeliveryState::Pending)?);
    }
    Ok(made)
}

/// The last number given to a delivery of a tenant.
///
/// # Errors
/// The store's failures.
pub fn last_delivery(context: &Context, tenant_id: Uuid) -> Result<u64, Failure> {
    Ok(deliveries::counters(&context.store.read(), outbox(TenantId(tenant_id)))?.last_id)
}

/// Some deliveries to an endpoint that were given up, and that nobody has sent once more.
///
/// # Errors
/// The store's failures.
pub fn dead(context: &Context, tenant_id: Uuid, wanted: &Dead) -> Result<DeadPage, Failure> {
    deliveries::dead(&context.store.read(), outbox(TenantId(tenant_id)), wanted)
}

/// Sends those of a page once more that are still given up and that nobody has sent once more since; how many.
///
/// # Errors
/// [`NotDone`] if the endpoint is gone or inactive, and the store's failures.
pub fn redeliver_dead(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    endpoint_id: Uuid,
    page: &DeadPage,
) -> Result<u64, Abort<NotDone>> {
    let (tenant_id, of) = (TenantId(tenant_id), outbox(TenantId(tenant_id)));
    manage::check_active(tx, (tenant_id, EndpointId(endpoint_id))).map_err(not_done)?;
    let mut count = 0;
    for id in &page.ids {
        let Some(delivery) = deliveries::find(tx, of, *id)? else { continue };
        let is_dead = delivery.end == Some(End::Dead) && delivery.target == Target::Endpoint(endpoint_id);
        if !is_dead || is_repeated(tx, of, &delivery, page.seen_until)? {
            continue;
        }
        manage::redeliver(tx, now, tenant_id, *id).map_err(not_done)?;
        count += 1;
    }
    Ok(count)
}

/// How the webhooks of all tenants stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Endpoints.
    pub endpoints: u64,
    /// Those that are inactive.
    pub disabled: u64,
    /// Those of them that were disabled because nothing arrived.
    pub given_up: u64,
    /// Deliveries that have not ended, inline ones too.
    pub waiting: u64,
    /// Since when the oldest of their attempts is due; none if none is.
    pub oldest_due_at: Option<Timestamp>,
}

/// How the webhooks of all tenants stand.
///
/// # Errors
/// The store's failures.
pub fn standing(context: &Context) -> Result<Standing, Failure> {
    let mut standing = Standing::default();
    each_endpoint(&context.store.read(), |_, endpoint| {
        standing.endpoints += 1;
        standing.disabled += u64::from(endpoint.disabled.is_some());
        standing.given_up += u64::from(endpoint.disabled == Some(DisabledReason::DeadWithoutSuccess));
    })?;
    standing.waiting = outboxes(context)?.iter().map(|(_, counters)| counters.pending).sum();
    let now = context.clock.now();
    standing.oldest_due_at = context.settings.pump.oldest_due()?.filter(|at| *at <= now);
    Ok(standing)
}

/// What the deliveries of each tenant have come to.
///
/// # Errors
/// The store's failures.
pub fn outboxes(context: &Context) -> Result<Vec<(Uuid, Counters)>, Failure> {
    deliveries::all_counters(&context.store.read(), Service::Runs)
}

fn each_endpoint(read: &impl Read, mut see: impl FnMut((TenantId, EndpointId), &Endpoint)) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let scan = after.iter().fold(Scan::all(), |scan, last| scan.after(last));
        let rows = read.scan(&ENDPOINTS, scan.limit(PAGE_ROWS))?;
        let is_last = rows.len() < PAGE_ROWS;
        after = rows.last().map(|(key, _)| *key);
        for (key, row) in rows {
            see(key, &row.into());
        }
        if is_last {
            return Ok(());
        }
    }
}

/// A host that active endpoints are at.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name, and the port.
    pub authority: String,
    /// An endpoint there: whose, and which.
    pub example: (Uuid, Uuid),
    /// How many endpoints there are.
    pub endpoints: u64,
    uri: Uri,
}

/// The hosts that active endpoints are at, each once.
///
/// # Errors
/// The store's failures.
pub fn hosts(context: &Context) -> Result<Vec<Host>, Failure> {
    let mut found: BTreeMap<String, Host> = BTreeMap::new();
    each_endpoint(&context.store.read(), |(tenant_id, endpoint_id), endpoint| {
        let uri = endpoint.url.parse::<Uri>().ok().filter(|_| endpoint.disabled.is_none());
        let Some((authority, uri)) = uri.and_then(|uri| Some((authority_of(&uri)?, uri))) else { return };
        let example = (tenant_id.0, endpoint_id.0);
        let new = || Host { authority: authority.clone(), example, endpoints: 0, uri };
        found.entry(authority.clone()).or_insert_with(new).endpoints += 1;
    })?;
    Ok(found.into_values().collect())
}

/// What would keep a delivery from this host before anything is connected; none: nothing. Asked on nobody's account, so
/// that no tenant has a lookup less for it.
pub async fn obstacle(context: &Context, host: &Host) -> Option<EgressError> {
    context.settings.egress.look_up(&host.uri, Party::OPERATOR).await.err()
}
