//! What contradicts itself in the rows of reminders.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::State;
use super::tables::{COUNTS, CountsRow, REMINDERS, TEXTS};
use crate::due::{self, Due};
use crate::model::AgentKey;

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted: BTreeMap<AgentKey, CountsRow> = BTreeMap::new();
    each(read, &REMINDERS, findings, |key, row, findings| {
        let reminder = row.into_reminder();
        let counts = counted.entry((key.0, key.1)).or_default();
        counts.last = counts.last.max(key.2);
        counts.kept += 1;
        counts.scheduled += u32::from(reminder.state == State::Scheduled);
        if !due::is_put_or_parked(read, key.0, (reminder.looked_at, Due::Remind(key)))? {
            findings.push(format!("the reminder {key:?} is not looked at when it says"));
        }
        if reminder.state != State::Scheduled && reminder.due_at.is_some() {
            findings.push(format!("the reminder {key:?} has ended and is due"));
        }
        if !read.contains(&TEXTS, &key)? {
            findings.push(format!("the reminder {key:?} says nothing"));
        }
        Ok(())
    })?;
    each(read, &TEXTS, findings, |key, _, findings| {
        if !read.contains(&REMINDERS, &key)? {
            findings.push(format!("there is a text of a reminder {key:?} that is not there"));
        }
        Ok(())
    })?;
    each(read, &COUNTS, findings, |agent, row, findings| {
        let real = counted.remove(&agent).unwrap_or_default();
        if (row.scheduled, row.kept) != (real.scheduled, real.kept) || row.last < real.last {
            findings.push(format!("the agent {agent:?} has reminders {real:?}, and counts {row:?}"));
        }
        Ok(())
    })?;
    findings.extend(counted.keys().map(|agent| format!("the reminders of {agent:?} are not counted")));
    Ok(())
}
