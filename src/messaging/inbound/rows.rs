//! Rows of endpoints: finding them by their agent or their id, and keeping what changes.

use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Uuid, WriteTx, decode_plain, encode_plain};

use super::model::{Counts, Endpoint, EndpointId, Secrets};
use super::tables::{BY_ID, COUNTS, CountsRow, ENDPOINTS, EndpointRow, OwnerRow, SecretsSealed};
use crate::model::AgentKey;

/// The endpoint of an agent.
pub(super) fn find(read: &impl Read, agent: AgentKey) -> Result<Option<Endpoint>, Failure> {
    Ok(read.get(&ENDPOINTS, &agent)?.map(EndpointRow::into_endpoint))
}

/// Whose an endpoint is.
pub(super) fn owner(read: &impl Read, id: EndpointId) -> Result<Option<AgentKey>, Failure> {
    Ok(read.get(&BY_ID, &id)?.map(|OwnerRow { workspace, agent }| (workspace, agent)))
}

/// The endpoint of an agent with the bytes that sign for it; `None`: there is none, or its tenant has been erased.
pub(super) fn open(read: &impl Read, tenant_id: Uuid, agent: AgentKey) -> Result<Option<(Endpoint, Secrets)>, Failure> {
    let Some(row) = read.get(&ENDPOINTS, &agent)? else { return Ok(None) };
    let plain = match seal::open(read, KeyOwner::Tenant(tenant_id), &ENDPOINTS, &agent, &row.secrets) {
        Ok(plain) => plain,
        Err(Abort::Refused(Erased)) => return Ok(None),
        Err(Abort::Failed(failure)) => return Err(failure),
    };
    let SecretsSealed { current, previous } = decode_plain(&plain)?;
    let secrets = Secrets { current: Secret::new(current), previous: previous.map(Secret::new) };
    Ok(Some((row.into_endpoint(), secrets)))
}

/// Keeps an endpoint, a new one as well, with its secrets.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    tenant_id: Uuid,
    agent: AgentKey,
    endpoint: &Endpoint,
    secrets: &Secrets,
) -> Result<(), Failure> {
    let plain = Secret::new(encode_plain(&SecretsSealed {
        current: secrets.current.expose().clone(),
        previous: secrets.previous.as_ref().map(|previous| previous.expose().clone()),
    })?);
    let sealed = seal::seal(tx, KeyOwner::Tenant(tenant_id), &ENDPOINTS, &agent, plain.expose());
    let sealed = sealed.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Whoever still has a key of an erased tenant is turned away before this.
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    })?;
    tx.put(&BY_ID, &endpoint.id, &OwnerRow { workspace: agent.0, agent: agent.1 })?;
    tx.put(&ENDPOINTS, &agent, &EndpointRow::of(endpoint, sealed))
}

/// Takes an endpoint away, and what was counted of it.
pub(super) fn remove(tx: &mut WriteTx<'_>, agent: AgentKey, id: EndpointId) {
    tx.delete(&ENDPOINTS, &agent);
    tx.delete(&BY_ID, &id);
    tx.delete(&COUNTS, &agent);
}

/// What has come of an endpoint's calls, as far as that is stored.
pub(super) fn counts(read: &impl Read, agent: AgentKey) -> Result<Counts, Failure> {
    Ok(read.get(&COUNTS, &agent)?.map_or_else(Counts::default, |CountsRow(counts)| counts))
}

/// Keeps that.
pub(super) fn put_counts(tx: &mut WriteTx<'_>, agent: AgentKey, counts: Counts) -> Result<(), Failure> {
    tx.put(&COUNTS, &agent, &CountsRow(counts))
}
