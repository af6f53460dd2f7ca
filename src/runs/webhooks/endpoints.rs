//! The rows of endpoints: an endpoint and what its tenant's active ones ask for are written together.

use quintet_platform::deliveries;
use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Endpoint, EndpointId, Subscription, outbox};
use super::tables::{ENDPOINTS, EndpointRow, SUBSCRIPTIONS};
use crate::model::TenantId;

/// An endpoint of a tenant.
pub(super) fn find(read: &impl Read, key: (TenantId, EndpointId)) -> Result<Option<Endpoint>, Failure> {
    Ok(read.get(&ENDPOINTS, &key)?.map(Endpoint::from))
}

/// All of a tenant, oldest first.
pub(super) fn all(read: &impl Read, tenant_id: TenantId) -> Result<Vec<(EndpointId, Endpoint)>, Failure> {
    let rows = read.scan(&ENDPOINTS, Scan::prefix(&(tenant_id,)))?;
    Ok(rows.into_iter().map(|((_, id), row)| (id, row.into())).collect())
}

/// How many endpoints a tenant has, and how many of them are inactive: counted, for there are few.
pub(crate) fn counts(read: &impl Read, tenant_id: TenantId) -> Result<(usize, usize), Failure> {
    let endpoints = all(read, tenant_id)?;
    let inactive = endpoints.iter().filter(|(_, endpoint)| endpoint.disabled.is_some()).count();
    Ok((endpoints.len(), inactive))
}

/// An endpoint with the bytes that sign for it; without them, its tenant has been erased.
pub(super) type Opened = (Endpoint, Option<Secret<Vec<u8>>>);

/// An endpoint with the bytes that sign for it.
pub(super) fn open(read: &impl Read, key: (TenantId, EndpointId)) -> Result<Option<Opened>, Failure> {
    let Some(row) = read.get(&ENDPOINTS, &key)? else { return Ok(None) };
    let opened = match seal::open(read, KeyOwner::Tenant(key.0.0), &ENDPOINTS, &key, &row.secret) {
        Ok(plain) => Some(Secret::new(plain.to_vec())),
        Err(Abort::Refused(Erased)) => None,
        Err(Abort::Failed(failure)) => return Err(failure),
    };
    Ok(Some((row.into(), opened)))
}

/// What a tenant's active endpoints ask for.
pub(super) fn subscriptions(read: &impl Read, tenant_id: TenantId) -> Result<Vec<Subscription>, Failure> {
    Ok(read.get(&SUBSCRIPTIONS, &tenant_id)?.map_or_else(Vec::new, Into::into))
}

/// Writes an endpoint, with its secret if that is new. False if that cannot be kept, for the tenant has been erased.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    key: (TenantId, EndpointId),
    endpoint: &Endpoint,
    secret: Option<&[u8]>,
) -> Result<bool, Failure> {
    let sealed = match secret {
        Some(secret) => match seal::seal(tx, KeyOwner::Tenant(key.0.0), &ENDPOINTS, &key, secret) {
            Ok(sealed) => Some(sealed),
            Err(Abort::Refused(Erased)) => None,
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        None => tx.get(&ENDPOINTS, &key)?.map(|row| row.secret),
    };
    let Some(sealed) = sealed else { return Ok(false) };
    tx.put(&ENDPOINTS, &key, &EndpointRow::new(endpoint, sealed))?;
    let subscription = Subscription { endpoint_id: key.1, events: endpoint.events() };
    resubscribe(tx, key, endpoint.disabled.is_none().then_some(subscription))?;
    Ok(true)
}

/// Takes an endpoint away, and its deliveries.
pub(super) fn delete(tx: &mut WriteTx<'_>, now: Timestamp, key: (TenantId, EndpointId)) -> Result<(), Failure> {
    tx.delete(&ENDPOINTS, &key);
    resubscribe(tx, key, None)?;
    deliveries::drop_target(tx, now, outbox(key.0), key.1.0)
}

fn resubscribe(
    tx: &mut WriteTx<'_>,
    (tenant_id, endpoint_id): (TenantId, EndpointId),
    subscription: Option<Subscription>,
) -> Result<(), Failure> {
    let mut all = subscriptions(tx, tenant_id)?;
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
        tx.delete(&SUBSCRIPTIONS, &tenant_id);
        return Ok(());
    }
    tx.put(&SUBSCRIPTIONS, &tenant_id, &all.into())
}
