//! What is stored of timers. Nobody but `rows` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0416 | timers | tenant, timer | how a timer stands |
//! | 0x0417 | timer contents | tenant, timer | its secret and its payload, sealed |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Timer, TimerState};
use crate::alarms::ContentsRow;
use crate::alarms::model::Address;
use crate::model::{FAMILY, TimerKey};

/// Timers.
pub(super) const TIMERS: Table<TimerKey, TimerRow> = Table::new(0x0416, FAMILY, "runs_timers");
/// What they hold.
pub(super) const CONTENTS: Table<TimerKey, ContentsRow> = Table::new(0x0417, FAMILY, "runs_timer_contents");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[TIMERS.spec(), CONTENTS.spec()];

/// See [`Timer`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TimerRow {
    name: Option<String>,
    tags: Vec<String>,
    address: Address,
    fire_at: Timestamp,
    state: TimerState,
    created_at: Timestamp,
    retention_days: u64,
}
impl Row for TimerRow {}

impl From<&Timer> for TimerRow {
    fn from(timer: &Timer) -> TimerRow {
        TimerRow {
            name: timer.name.clone(),
            tags: timer.tags.clone(),
            address: timer.address.clone(),
            fire_at: timer.fire_at,
            state: timer.state,
            created_at: timer.created_at,
            retention_days: timer.retention_days,
        }
    }
}

impl From<TimerRow> for Timer {
    fn from(row: TimerRow) -> Timer {
        Timer {
            name: row.name,
            tags: row.tags,
            address: row.address,
            fire_at: row.fire_at,
            state: row.state,
            created_at: row.created_at,
            retention_days: row.retention_days,
        }
    }
}
