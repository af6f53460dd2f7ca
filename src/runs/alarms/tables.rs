//! What is stored of all alarms alike. Nobody but `counts` and `contents` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0418 | alarm counts (hot) | tenant | how many alarms it has that count |
//! | 0x041C | alarm days (hot) | tenant | how often they have told something on its last day, UTC |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec};

use super::model::Counts;
use crate::model::{FAMILY, TenantId};

/// See [`Counts`].
pub(super) const COUNTS: Table<TenantId, CountsRow> = Table::new(0x0418, FAMILY, "runs_alarm_counts").hot();

/// How much alarms have told.
pub(super) const DAYS: Table<TenantId, DayRow> = Table::new(0x041C, FAMILY, "runs_alarm_days").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[COUNTS.spec(), DAYS.spec()];

/// See [`Counts`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountsRow(pub(super) Counts);
impl Row for CountsRow {}

/// What was told on a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct DayRow {
    /// Its number.
    pub(super) day: i64,
    pub(super) told: u64,
}
impl Row for DayRow {}

/// What an alarm holds, sealed for its tenant: [`Contents`](super::model::Contents). Timers and schedules each have a table
/// of these.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ContentsRow(pub(super) Sealed);
impl Row for ContentsRow {}
