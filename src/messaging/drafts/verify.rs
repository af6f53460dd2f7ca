//! What contradicts itself in the rows of drafts.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::tables::{COUNTS, CountRow, DRAFTS, TEXTS};
use crate::model::AgentKey;

/// Everything that does: a draft and its text are there together, and they are as many as is counted.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut real: BTreeMap<AgentKey, u32> = BTreeMap::new();
    each(read, &DRAFTS, findings, |key, _, findings| {
        *real.entry((key.0, key.1)).or_default() += 1;
        if !read.contains(&TEXTS, &key)? {
            findings.push(format!("the draft {key:?} says nothing"));
        }
        Ok(())
    })?;
    each(read, &TEXTS, findings, |key, _, findings| {
        if !read.contains(&DRAFTS, &key)? {
            findings.push(format!("there is a text of a draft {key:?} that is not there"));
        }
        Ok(())
    })?;
    each(read, &COUNTS, findings, |agent, CountRow(count), findings| {
        let real = real.get(&agent).copied().unwrap_or_default();
        if count != real {
            findings.push(format!("the agent {agent:?} has {real} drafts, and counts {count}"));
        }
        Ok(())
    })
}
