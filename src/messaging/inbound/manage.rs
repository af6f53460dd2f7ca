//! Making, renewing and ending endpoints.

use quintet_platform::secrets::{Secret, random_bytes};
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Counts, Endpoint, EndpointId, Secrets};
use super::rows;
use crate::identity::Workspace;
use crate::model::AgentKey;
use crate::refusal::Refusal;
use crate::words::secret::SECRET_BYTES;

/// The bytes of a new secret.
pub(super) fn draw() -> Secret<Vec<u8>> {
    Secret::new(random_bytes::<SECRET_BYTES>().to_vec())
}

/// What there is none of.
pub(super) fn absent() -> Refusal {
    Refusal::NotFound("inbound endpoint of this agent".to_owned())
}

/// Makes an agent's endpoint.
///
/// # Errors
/// It has one.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    agent: AgentKey,
    (label, secret): (String, Secret<Vec<u8>>),
) -> Result<Endpoint, Abort<Refusal>> {
    if rows::find(tx, agent)?.is_some() {
        return Err(Refusal::InboundExists.into());
    }
    let id = EndpointId(tx.new_id());
    let endpoint = Endpoint { id, label, generation: 0, previous_until: None, created_at: now };
    let secrets = Secrets { current: secret, previous: None };
    rows::put(tx, workspace.tenant_id, agent, &endpoint, &secrets)?;
    rows::put_counts(tx, agent, Counts::default())?;
    Ok(endpoint)
}

/// Gives an agent's endpoint a new secret; the one before stays good for so many seconds, and no earlier one does.
///
/// # Errors
/// There is no endpoint.
pub(super) fn rotate(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    agent: AgentKey,
    (secret, grace_seconds): (Secret<Vec<u8>>, i64),
) -> Result<Endpoint, Abort<Refusal>> {
    let (mut endpoint, before) = rows::open(tx, workspace.tenant_id, agent)?.ok_or_else(absent)?;
    endpoint.generation = endpoint.generation.saturating_add(1);
    endpoint.previous_until = (grace_seconds > 0).then(|| now.plus_seconds(grace_seconds));
    let previous = endpoint.previous_until.map(|_| before.current);
    rows::put(tx, workspace.tenant_id, agent, &endpoint, &Secrets { current: secret, previous })?;
    Ok(endpoint)
}

/// Ends an agent's endpoint.
///
/// # Errors
/// There is none.
pub(super) fn remove(tx: &mut WriteTx<'_>, agent: AgentKey) -> Result<(), Abort<Refusal>> {
    let endpoint = rows::find(tx, agent)?.ok_or_else(absent)?;
    rows::remove(tx, agent, endpoint.id);
    Ok(())
}
