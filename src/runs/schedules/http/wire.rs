//! Writing schedules.

use quintet_platform::ids::ulid;
use quintet_platform::json::Json;

use super::super::model::Schedule;
use super::super::plan::Plan;
use crate::alarms::wire::{millis, millis_or_null, write_address};
use crate::model::ScheduleId;

/// A schedule with its payload.
pub(super) fn write_schedule(id: ScheduleId, schedule: &Schedule, payload: Json) -> Json {
    let timing = &schedule.timing;
    let next_fires = Plan::of(timing).map_or_else(Vec::new, |plan| plan.next_fires(schedule.next_fire_at));
    Json::object([
        ("schedule_id", Json::from(ulid(id.0))),
        ("name", schedule.name.as_deref().into()),
        ("cron", timing.cron.as_str().into()),
        ("timezone", timing.timezone.as_str().into()),
        ("webhook", write_address(&schedule.address)),
        ("payload", payload),
        ("start_at", millis_or_null(timing.start_at)),
        ("end_at", millis_or_null(timing.end_at)),
        ("misfire", schedule.misfire.name().into()),
        ("enabled", schedule.is_enabled.into()),
        ("next_fire_at", millis_or_null(schedule.next_fire_at)),
        ("next_fires", next_fires.into_iter().map(millis).collect::<Vec<_>>().into()),
        ("last_fire_at", millis_or_null(schedule.last_fire_at)),
        ("fire_count", schedule.fire_count.into()),
        ("missed_count", schedule.missed_count.into()),
        ("created_at", millis(schedule.created_at)),
        ("updated_at", millis(schedule.updated_at)),
    ])
}
