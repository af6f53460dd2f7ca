//! What is stored of days.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0514 | usage | workspace, day since the epoch | what was used of it |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use super::model::Day;
use crate::model::{FAMILY, WorkspaceNo};

pub(super) const USAGE: Table<(WorkspaceNo, u32), DayRow> = Table::new(0x0514, FAMILY, "messaging_usage").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[USAGE.spec()];

/// See [`Day`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct DayRow {
    messages: u64,
    external_out: u64,
    external_in: u64,
    approvals: u64,
}
impl Row for DayRow {}

impl DayRow {
    pub(super) fn of(day: Day) -> DayRow {
        let Day { messages, external_out, external_in, approvals } = day;
        DayRow { messages, external_out, external_in, approvals }
    }

    pub(super) fn into_day(self) -> Day {
        let DayRow { messages, external_out, external_in, approvals } = self;
        Day { messages, external_out, external_in, approvals }
    }
}
