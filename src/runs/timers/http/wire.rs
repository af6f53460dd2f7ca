//! Writing timers.

use quintet_platform::deliveries::{Delivery, DeliveryState};
use quintet_platform::ids::ulid;
use quintet_platform::json::Json;

use super::super::model::{Timer, TimerState};
use crate::alarms::wire::{millis, millis_or_null, write_address, write_tags};
use crate::model::TimerId;

/// A timer with its payload, and with the delivery that tells of it.
pub(super) fn write_timer(id: TimerId, timer: &Timer, payload: Json, delivery: Json) -> Json {
    let fired_at = match timer.state {
        TimerState::Fired { at, .. } => Some(at),
        TimerState::Pending | TimerState::Cancelled { .. } => None,
    };
    Json::object([
        ("timer_id", Json::from(ulid(id.0))),
        ("name", timer.name.as_deref().into()),
        ("fire_at", millis(timer.fire_at)),
        ("state", timer.state.name().into()),
        ("tags", write_tags(&timer.tags)),
        ("payload", payload),
        ("webhook", write_address(&timer.address)),
        ("created_at", millis(timer.created_at)),
        ("fired_at", millis_or_null(fired_at)),
        ("delivery", delivery),
    ])
}

/// The delivery that tells of a timer.
pub(super) fn write_told(delivery: &Delivery, state: DeliveryState) -> Json {
    let begun = delivery.attempts + u32::from(state == DeliveryState::Delivering);
    Json::object([
        ("delivery_id", Json::from(delivery.id)),
        ("state", state.name().into()),
        ("attempt", begun.into()),
        ("last_error", delivery.last_error.map(|error| error.name()).into()),
    ])
}
