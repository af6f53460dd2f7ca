//! What happens is told to whoever asked for it, in the transaction of what happened.

use quintet_platform::json::Json;
use quintet_platform::webhooks::{Event, Subscription};
use quintet_storage::{Failure, Timestamp, Uuid, WriteTx};

use super::events::bit_of;
use super::room::WEBHOOKS;
use crate::audit::Actor;

/// Something that happened.
pub struct Told<const N: usize> {
    /// Its name in the catalogue.
    pub event: &'static str,
    /// What kind of thing it happened to.
    pub resource_type: &'static str,
    /// Which.
    pub resource_id: Uuid,
    /// What is told of it, but for who did it; no texts.
    pub data: [(&'static str, Json); N],
}

/// Tells of it.
///
/// # Errors
/// The store's.
pub fn tell<const N: usize>(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, told: Told<N>) -> Result<(), Failure> {
    let listeners = WEBHOOKS.listeners(tx, actor.tenant_id.0, bit_of(told.event))?;
    if listeners.is_empty() {
        return Ok(());
    }
    tell_listeners(tx, now, actor, &listeners, told)
}

/// Tells these of it.
pub(super) fn tell_listeners<const N: usize>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    listeners: &[Subscription],
    told: Told<N>,
) -> Result<(), Failure> {
    let Told { event, resource_type, resource_id, data } = told;
    let actor_members =
        [("actor_kind", Json::from(actor.kind.name())), ("actor_id", actor.principal_id.to_string().into())];
    let event = Event {
        event_id: tx.new_id(),
        name: event.to_owned(),
        occurred_at: now,
        tenant_id: actor.tenant_id.0,
        resource_type,
        resource_id: resource_id.to_string(),
        data: Json::object(data.into_iter().chain(actor_members)),
    };
    let envelope = WEBHOOKS.envelope_for(tx, &event, listeners.len())?;
    let kept_days = (WEBHOOKS.terms)(tx, event.tenant_id)?.kept_days;
    WEBHOOKS.tell(tx, &event, &envelope, listeners, kept_days)
}
