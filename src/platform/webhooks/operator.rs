//! The operator's side of webhooks: what endpoints there are and how they stand, what became of deliveries, and sending
//! once more. Records look as the tenant's own listener shows them; no secret is among them.

use std::collections::BTreeMap;

use http::Uri;
use quintet_storage::{Abort, Failure, Store, Timestamp, WriteTx};
use serde_json::Value;
use uuid::Uuid;

use super::manage::NotDone;
use super::model::{Deed, DisabledReason, EndpointChange, EndpointKey};
use super::room::Webhooks;
use crate::clock::Clock;
use crate::deliveries::{self, Counters, Dead, DeadPage, Delivery, DeliveryState, End, Filter, Pump, Target};
use crate::egress::{Egress, EgressError, Party, authority_of};

/// Lists that one of the operator's looks through: each of them is bounded.
const LISTS_MAX: usize = 10;

/// What the operator looks at and does.
#[derive(Clone)]
pub struct Operator {
    /// Of which service.
    pub webhooks: Webhooks,
    /// The memory.
    pub store: Store,
    /// The one clock.
    pub clock: Clock,
    /// What makes deliveries.
    pub pump: Pump,
    /// What they go through.
    pub egress: Egress,
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
}

/// A host that active endpoints are at.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name, and the port.
    pub authority: String,
    /// An endpoint there.
    pub example: EndpointKey,
    /// How many endpoints there are.
    pub endpoints: u64,
    uri: Uri,
}

impl Operator {
    /// The endpoints of a tenant, newest first.
    ///
    /// # Errors
    /// The store's failures.
    pub fn endpoints(&self, tenant_id: Uuid) -> Result<Vec<Value>, Failure> {
        let (read, now) = self.store.read_now(self.clock.now());
        let endpoints = self.webhooks.all(&read, tenant_id)?;
        let record = |(id, endpoint): &(Uuid, _)| {
            self.webhooks.record(&read, now, EndpointKey { tenant_id, endpoint_id: *id }, endpoint)
        };
        endpoints.iter().rev().map(record).collect()
    }

    /// An endpoint of a tenant, if that has it.
    ///
    /// # Errors
    /// The store's failures.
    pub fn endpoint(&self, key: EndpointKey) -> Result<Option<Value>, Failure> {
        let (read, now) = self.store.read_now(self.clock.now());
        self.webhooks.find(&read, key)?.map(|endpoint| self.webhooks.record(&read, now, key, &endpoint)).transpose()
    }

    /// The newest deliveries of a tenant that were asked for, each with the instant at which it was enqueued; and whether
    /// there are older ones.
    ///
    /// # Errors
    /// The store's failures.
    pub fn deliveries(&self, tenant_id: Uuid, wanted: &Wanted) -> Result<(Vec<(Timestamp, Value)>, bool), Failure> {
        let of = self.webhooks.outbox(tenant_id);
        let read = self.store.read();
        let waits = matches!(wanted.state, Some(DeliveryState::Pending | DeliveryState::Delivering));
        if waits && deliveries::counters(&read, of)?.pending == 0 {
            return Ok((Vec::new(), false));
        }
        let Wanted { endpoint_id, state, limit } = *wanted;
        let mut filter = Filter { endpoint_id, resource: None, state, since: 0, before: None, limit };
        let state = |delivery: &Delivery| self.pump.state(of, delivery);
        let (mut found, mut is_truncated) = (Vec::new(), false);
        for _ in 0..LISTS_MAX {
            let page = deliveries::list(&read, of, filter, state)?;
            filter.limit -= page.items.len();
            found.splice(..0, page.items);
            (is_truncated, filter.before) = (page.is_truncated, page.next_before);
            if !is_truncated || filter.limit == 0 {
                break;
            }
        }
        let item =
            |one: &Delivery| Ok((one.created_at, self.webhooks.write_delivery(&read, tenant_id, one, state(one))?));
        let items = found.iter().map(item).collect::<Result<_, Failure>>()?;
        Ok((items, is_truncated))
    }

    /// A delivery of a tenant.
    ///
    /// # Errors
    /// The store's failures.
    pub fn delivery(&self, tenant_id: Uuid, id: u64) -> Result<Option<Value>, Failure> {
        let of = self.webhooks.outbox(tenant_id);
        let read = self.store.read();
        let write = |delivery: Delivery| {
            self.webhooks.write_delivery(&read, tenant_id, &delivery, self.pump.state(of, &delivery))
        };
        deliveries::find(&read, of, id)?.map(write).transpose()
    }

    /// The last number given to a delivery of a tenant.
    ///
    /// # Errors
    /// The store's failures.
    pub fn last_delivery(&self, tenant_id: Uuid) -> Result<u64, Failure> {
        Ok(deliveries::counters(&self.store.read(), self.webhooks.outbox(tenant_id))?.last_id)
    }

    /// Some deliveries to an endpoint that were given up, and that nobody has sent once more.
    ///
    /// # Errors
    /// The store's failures.
    pub fn dead(&self, tenant_id: Uuid, wanted: &Dead) -> Result<DeadPage, Failure> {
        deliveries::dead(&self.store.read(), self.webhooks.outbox(tenant_id), wanted)
    }

    /// How the webhooks of all tenants stand.
    ///
    /// # Errors
    /// The store's failures.
    pub fn standing(&self) -> Result<Standing, Failure> {
        let mut standing = Standing::default();
        self.webhooks.each(&self.store.read(), |_, endpoint| {
            standing.endpoints += 1;
            standing.disabled += u64::from(endpoint.disabled.is_some());
            standing.given_up += u64::from(endpoint.disabled == Some(DisabledReason::DeadWithoutSuccess));
        })?;
        standing.waiting = self.outboxes()?.iter().map(|(_, counters)| counters.pending).sum();
        Ok(standing)
    }

    /// What the deliveries of each tenant have come to.
    ///
    /// # Errors
    /// The store's failures.
    pub fn outboxes(&self) -> Result<Vec<(Uuid, Counters)>, Failure> {
        deliveries::all_counters(&self.store.read(), self.webhooks.service)
    }

    /// The hosts that active endpoints are at, each once.
    ///
    /// # Errors
    /// The store's failures.
    pub fn hosts(&self) -> Result<Vec<Host>, Failure> {
        let mut found: BTreeMap<String, Host> = BTreeMap::new();
        self.webhooks.each(&self.store.read(), |example, endpoint| {
            let uri = endpoint.url.parse::<Uri>().ok().filter(|_| endpoint.disabled.is_none());
            let Some((authority, uri)) = uri.and_then(|uri| Some((authority_of(&uri)?, uri))) else { return };
            let new = || Host { authority: authority.clone(), example, endpoints: 0, uri };
            found.entry(authority.clone()).or_insert_with(new).endpoints += 1;
        })?;
        Ok(found.into_values().collect())
    }

    /// What would keep a delivery from this host before anything is connected; none: nothing. Asked on nobody's account, so
    /// that no tenant has a lookup less for it.
    pub async fn obstacle(&self, host: &Host) -> Option<EgressError> {
        self.egress.look_up(&host.uri, Party::OPERATOR).await.err()
    }
}

impl Webhooks {
    /// Enables an endpoint for the operator; its health is counted anew. One that is active stays as it is.
    ///
    /// # Errors
    /// [`NotDone::NoEndpoint`], and the store's failures.
    pub fn enable_for_operator(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        key: EndpointKey,
    ) -> Result<Value, Abort<NotDone>> {
        let mut endpoint = self.find(tx, key)?.ok_or(NotDone::NoEndpoint)?;
        if endpoint.disabled.is_some() {
            let asked = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
            endpoint = self.change(tx, now, key, asked)?;
            (self.record)(tx, now, key.tenant_id, Deed::Enabled(key.endpoint_id, &endpoint))?;
        }
        Ok(self.record(tx, now, key, &endpoint)?)
    }

    /// Has an endpoint told for the operator that it is being tried; the delivery.
    ///
    /// # Errors
    /// [`NotDone`], and the store's failures.
    pub fn test_for_operator(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        key: EndpointKey,
    ) -> Result<Value, Abort<NotDone>> {
        let delivery = self.test(tx, now, key)?;
        (self.record)(tx, now, key.tenant_id, Deed::Tested(key.endpoint_id))?;
        Ok(self.write_delivery(tx, key.tenant_id, &delivery, DeliveryState::Pending)?)
    }

    /// Sends deliveries once more that have ended: all of them, or none. The new ones.
    ///
    /// # Errors
    /// [`NotDone`] with the number of the delivery it is about, and the store's failures.
    pub fn redeliver_all(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        tenant_id: Uuid,
        ids: &[u64],
    ) -> Result<Vec<Value>, Abort<NotDone>> {
        let mut made = Vec::new();
        for id in ids {
            let delivery = self.redeliver(tx, now, tenant_id, *id).map_err(|abort| match abort {
                Abort::Refused(what) if what != NotDone::Inactive => Abort::Refused(NotDone::Of(*id, Box::new(what))),
                other => other,
            })?;
            (self.record)(tx, now, tenant_id, Deed::Redelivered(*id, delivery.id))?;
            made.push(self.write_delivery(tx, tenant_id, &delivery, DeliveryState::Pending)?);
        }
        Ok(made)
    }

    /// Sends those of a page once more that are still given up and that nobody has sent once more since; how many.
    ///
    /// # Errors
    /// [`NotDone`] if the endpoint is gone or inactive, or too much waits for it; and the store's failures.
    pub fn redeliver_dead(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        key: EndpointKey,
        page: &DeadPage,
    ) -> Result<u64, Abort<NotDone>> {
        let of = self.outbox(key.tenant_id);
        self.check_active(tx, key)?;
        let mut count = 0;
        for id in &page.ids {
            let Some(delivery) = deliveries::find(tx, of, *id)? else { continue };
            let is_dead = delivery.end == Some(End::Dead) && delivery.target == Target::Endpoint(key.endpoint_id);
            // What has been sent once more since the page was read says so itself.
            if !is_dead || delivery.repeated_by().is_some() {
                continue;
            }
            let again = self.redeliver(tx, now, key.tenant_id, *id)?;
            (self.record)(tx, now, key.tenant_id, Deed::Redelivered(*id, again.id))?;
            count += 1;
        }
        Ok(count)
    }
}
