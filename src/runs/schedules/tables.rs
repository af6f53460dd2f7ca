//! What is stored of schedules. Nobody but `rows` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0419 | schedules | tenant, schedule | how a schedule stands |
//! | 0x041A | schedule contents | tenant, schedule | its secret and its payload, sealed |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Misfire, Schedule, Timing};
use crate::alarms::ContentsRow;
use crate::alarms::model::Address;
use crate::model::{FAMILY, ScheduleKey};

/// Schedules.
pub(super) const SCHEDULES: Table<ScheduleKey, ScheduleRow> = Table::new(0x0419, FAMILY, "runs_schedules");
/// What they hold.
pub(super) const CONTENTS: Table<ScheduleKey, ContentsRow> = Table::new(0x041A, FAMILY, "runs_schedule_contents");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[SCHEDULES.spec(), CONTENTS.spec()];

/// See [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ScheduleRow {
    name: Option<String>,
    timing: Timing,
    address: Address,
    misfire: Misfire,
    is_enabled: bool,
    next_fire_at: Option<Timestamp>,
    seen_to: Option<Timestamp>,
    last_fire_at: Option<Timestamp>,
    fire_count: u64,
    missed_count: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    key_id: String,
}
impl Row for ScheduleRow {}

impl From<&Schedule> for ScheduleRow {
    fn from(schedule: &Schedule) -> ScheduleRow {
        ScheduleRow {
            name: schedule.name.clone(),
            timing: schedule.timing.clone(),
            address: schedule.address.clone(),
            misfire: schedule.misfire,
            is_enabled: schedule.is_enabled,
            next_fire_at: schedule.next_fire_at,
            seen_to: schedule.seen_to,
            last_fire_at: schedule.last_fire_at,
            fire_count: schedule.fire_count,
            missed_count: schedule.missed_count,
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
            key_id: schedule.key_id.clone(),
        }
    }
}

impl From<ScheduleRow> for Schedule {
    fn from(row: ScheduleRow) -> Schedule {
        Schedule {
            name: row.name,
            timing: row.timing,
            address: row.address,
            misfire: row.misfire,
            is_enabled: row.is_enabled,
            next_fire_at: row.next_fire_at,
            seen_to: row.seen_to,
            last_fire_at: row.last_fire_at,
            fire_count: row.fire_count,
            missed_count: row.missed_count,
            created_at: row.created_at,
            updated_at: row.updated_at,
            key_id: row.key_id,
        }
    }
}
