//! A timer fires.

use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Timer, TimerState};
use super::rows::{find, put};
use super::tables::CONTENTS;
use crate::alarms::contents;
use crate::alarms::told::{Alarm, tell};
use crate::alarms::wire::{late_seconds, millis, write_tags};
use crate::model::TimerKey;

/// Has a timer tell its webhook, if it is still pending, however late it is.
pub(crate) fn fire(tx: &mut WriteTx<'_>, now: Timestamp, key: TimerKey) -> Result<(), Failure> {
    let Some(timer) = find(tx, key)?.filter(|timer| timer.state == TimerState::Pending) else { return Ok(()) };
    let delivery_id = match contents::open(tx, &CONTENTS, &key)? {
        Some(contents) => {
            let alarm = Alarm {
                event: "timer.fired",
                resource_type: "timer",
                resource_id: ulid(key.1.0),
                data: data(now, key, &timer, contents.payload()?),
                kept_days: timer.retention_days,
            };
            tell(tx, now, key.0, &timer.address, &contents, alarm)?
        }
        // The tenant has been erased: there is nothing left to sign with.
        None => None,
    };
    let fired = Timer { state: TimerState::Fired { at: now, delivery_id }, ..timer.clone() };
    put(tx, key, Some(&timer), &fired)
}

/// What is told, in the order of the documentation.
fn data(now: Timestamp, key: TimerKey, timer: &Timer, payload: Json) -> Json {
    Json::object([
        ("timer_id", Json::from(ulid(key.1.0))),
        ("name", timer.name.as_deref().into()),
        ("tags", write_tags(&timer.tags)),
        ("fire_at", millis(timer.fire_at)),
        ("fired_at", millis(now)),
        ("late_seconds", late_seconds(now, timer.fire_at)),
        ("payload", payload),
    ])
}
