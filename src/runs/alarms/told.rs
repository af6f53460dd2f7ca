//! An alarm fires: its webhook, and nobody else, is told.

use quintet_platform::json::Json;
use quintet_platform::webhooks::Event;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Address, Contents};
use crate::model::TenantId;
use crate::webhooks::emit::{Inline, Listeners, emit};

/// What is told of an alarm that fires.
pub(crate) struct Alarm {
    /// `timer.fired` for instance.
    pub(crate) event: &'static str,
    /// `timer` for instance.
    pub(crate) resource_type: &'static str,
    pub(crate) resource_id: String,
    /// An object.
    pub(crate) data: Json,
    /// How long the delivery is kept once it has ended, in days.
    pub(crate) kept_days: u64,
}

/// Tells an alarm's webhook of it; the number of the delivery, or none if the tenant has been erased.
pub(crate) fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    address: &Address,
    contents: &Contents,
    alarm: Alarm,
) -> Result<Option<u64>, Failure> {
    let event = Event {
        event_id: tx.new_id(),
        name: alarm.event.to_owned(),
        occurred_at: now,
        tenant_id: tenant_id.0,
        resource_type: alarm.resource_type,
        resource_id: alarm.resource_id,
        data: alarm.data,
    };
    let inline = Inline { url: address.url.clone(), key: Some(contents.key.clone()) };
    emit(tx, &event, Listeners::only(inline), alarm.kept_days)
}
