//! What must be true of the rows of triggers.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Timestamp};

use super::super::rows::find as find_template;
use super::rows::find;
use super::tables::{CONTENTS, TRIGGERS};
use crate::due::{self, Fire};
use crate::model::TriggerKey;
use crate::schedules::plan::Plan;

/// Triggers, what they hold, and what begins by them agree.
pub(in super::super) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &TRIGGERS, findings, |key, row, findings| {
        let trigger = row.0;
        let mut wrong = |what: &str| findings.push(format!("trigger {} of tenant {} {what}", key.2, key.0));
        match trigger.next_fire_at {
            Some(_) if !trigger.is_enabled => wrong("is paused and waits for an instant"),
            Some(at) if !due::is_fire_put(read, at, Fire::Trigger(key))? => wrong("has nothing that it waits for"),
            Some(at) if trigger.seen_to.is_some_and(|seen_to| at <= seen_to) => wrong("goes back in time"),
            _ => {}
        }
        if Plan::of(&trigger.timing).is_none() {
            wrong("has a pattern or a time zone that is none");
        }
        if !read.contains(&CONTENTS, &key)? {
            wrong("has no contents");
        }
        if find_template(read, (key.0, key.1))?.is_none() {
            wrong("has no template");
        }
        Ok(())
    })?;
    each(read, &CONTENTS, findings, |key: TriggerKey, _, findings| {
        if find(read, key)?.is_none() {
            findings.push(format!("there are contents of a trigger {} of tenant {}, which is none", key.2, key.0));
        }
        Ok(())
    })
}

/// Whether a trigger begins at this instant.
pub(in super::super) fn begins_at(read: &impl Read, key: TriggerKey, at: Timestamp) -> Result<bool, Failure> {
    Ok(find(read, key)?.is_some_and(|trigger| trigger.next_fire_at == Some(at)))
}
