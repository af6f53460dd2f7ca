//! The rows of endpoints: an endpoint and what its tenant's active ones ask for are written together.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::{Endpoint, EndpointKey, Subscription};
use super::room::Webhooks;
use super::tables::{EndpointId, EndpointRow, TenantId};
use crate::deliveries::drop_target;
use crate::secrets::Secret;

/// Endpoints read in one step.
const PAGE_ROWS: usize = 256;

/// An endpoint with the bytes that sign for it; without them, its tenant has been erased.
pub type Opened = (Endpoint, Option<Secret<Vec<u8>>>);

impl EndpointKey {
    fn place(self) -> (TenantId, EndpointId) {
        (TenantId(self.tenant_id), EndpointId(self.endpoint_id))
    }
}

impl Webhooks {
    /// An endpoint of a tenant.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn find(&self, read: &impl Read, key: EndpointKey) -> Result<Option<Endpoint>, Failure> {
        Ok(read.get(self.endpoints, &key.place())?.map(Endpoint::from))
    }

    /// All of a tenant, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn all(&self, read: &impl Read, tenant_id: Uuid) -> Result<Vec<(Uuid, Endpoint)>, Failure> {
        let rows = read.scan(self.endpoints, Scan::prefix(&(TenantId(tenant_id),)))?;
        Ok(rows.into_iter().map(|((_, id), row)| (id.0, row.into())).collect())
    }

    /// How many endpoints a tenant has, and how many of them are inactive: counted, for there are few.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn counts(&self, read: &impl Read, tenant_id: Uuid) -> Result<(usize, usize), Failure> {
        let endpoints = self.all(read, tenant_id)?;
        let inactive = endpoints.iter().filter(|(_, endpoint)| endpoint.disabled.is_some()).count();
        Ok((endpoints.len(), inactive))
    }

    /// Looks at the endpoints of all tenants.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn each(&self, read: &impl Read, mut see: impl FnMut(EndpointKey, Endpoint)) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let scan = after.iter().fold(Scan::all(), |scan, last| scan.after(last));
            let rows = read.scan(self.endpoints, scan.limit(PAGE_ROWS))?;
            let is_last = rows.len() < PAGE_ROWS;
            after = rows.last().map(|(key, _)| *key);
            for ((tenant_id, endpoint_id), row) in rows {
                see(EndpointKey { tenant_id: tenant_id.0, endpoint_id: endpoint_id.0 }, row.into());
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// An endpoint with the bytes that sign for it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(&self, read: &impl Read, key: EndpointKey) -> Result<Option<Opened>, Failure> {
        let Some(row) = read.get(self.endpoints, &key.place())? else { return Ok(None) };
        let opened = match seal::open(read, KeyOwner::Tenant(key.tenant_id), self.endpoints, &key.place(), &row.secret)
        {
            Ok(plain) => Some(Secret::new(plain.to_vec())),
            Err(Abort::Refused(Erased)) => None,
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        Ok(Some((row.into(), opened)))
    }

    /// What a tenant's active endpoints ask for.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn subscribed(&self, read: &impl Read, tenant_id: Uuid) -> Result<Vec<Subscription>, Failure> {
        Ok(read.get(self.subscriptions, &TenantId(tenant_id))?.map_or_else(Vec::new, Into::into))
    }

    /// Writes an endpoint, with its secret if that is new. False if that cannot be kept, for the tenant has been erased.
    pub(super) fn put(
        &self,
        tx: &mut WriteTx<'_>,
        key: EndpointKey,
        endpoint: &Endpoint,
        secret: Option<&[u8]>,
    ) -> Result<bool, Failure> {
        let place = key.place();
        let sealed = match secret {
            Some(secret) => match seal::seal(tx, KeyOwner::Tenant(key.tenant_id), self.endpoints, &place, secret) {
                Ok(sealed) => Some(sealed),
                Err(Abort::Refused(Erased)) => None,
                Err(Abort::Failed(failure)) => return Err(failure),
            },
            None => tx.get(self.endpoints, &place)?.map(|row| row.secret),
        };
        let Some(sealed) = sealed else { return Ok(false) };
        tx.put(self.endpoints, &place, &EndpointRow::new(endpoint, sealed))?;
        self.resubscribe(tx, key, self.wanted(key, endpoint))?;
        Ok(true)
    }

    /// What is to be written down of what an endpoint asks for.
    pub(super) fn wanted(&self, key: EndpointKey, endpoint: &Endpoint) -> Option<Subscription> {
        let events = self.events_of(&endpoint.patterns);
        endpoint.disabled.is_none().then_some(Subscription { endpoint_id: key.endpoint_id, events })
    }

    /// Takes an endpoint away, and its deliveries.
    pub(super) fn delete(&self, tx: &mut WriteTx<'_>, now: Timestamp, key: EndpointKey) -> Result<(), Failure> {
        tx.delete(self.endpoints, &key.place());
        self.resubscribe(tx, key, None)?;
        drop_target(tx, now, self.outbox(key.tenant_id), key.endpoint_id)
    }

    fn resubscribe(
        &self,
        tx: &mut WriteTx<'_>,
        EndpointKey { tenant_id, endpoint_id }: EndpointKey,
        subscription: Option<Subscription>,
    ) -> Result<(), Failure> {
        let mut all = self.subscribed(tx, tenant_id)?;
        let place = all.iter().position(|one| one.endpoint_id == endpoint_id);
        match (place, subscription) {
            (Some(place), None) => drop(all.remove(place)),
            (Some(place), Some(subscription)) => {
                if let Some(one) = all.get_mut(place) {
                    *one = subscription;
                }
            }
            (None, Some(subscription)) => all.push(subscription),
            (None, None) => return Ok(()),
        }
        if all.is_empty() {
            tx.delete(self.subscriptions, &TenantId(tenant_id));
            return Ok(());
        }
        tx.put(self.subscriptions, &TenantId(tenant_id), &all.into())
    }
}
