//! What contradicts itself in the rows of usage.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::end_of;
use super::tables::USAGE;
use super::{Daily, count};
use crate::due::{self, Due};
use crate::model::WorkspaceNo;

/// Messages of agents that are kept, by workspace and day.
pub(crate) type Sent = BTreeMap<(WorkspaceNo, u32), u64>;

/// Everything that does; `sent` are messages that must have been counted. What is told and not kept counts, too, so that a
/// day may have more.
pub(crate) fn verify(read: &impl Read, sent: &Sent, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &USAGE, findings, |(workspace, day), row, findings| {
        let used = row.into_day().of(Daily::Messages);
        let messages = sent.get(&(workspace, day)).copied().unwrap_or(0);
        if used < messages {
            findings
                .push(format!("on day {day} of {workspace:?} are {messages} messages, of which {used} are counted"));
        }
        if !due::is_put(read, end_of(day).plus_seconds(count::KEPT_SECONDS), Due::Usage((workspace, day)))? {
            findings.push(format!("day {day} of {workspace:?} is never forgotten"));
        }
        Ok(())
    })
}
