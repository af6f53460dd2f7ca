//! What contradicts itself in the rows of drafts.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::tables::{DRAFTS, TEXTS};

/// Everything that does: a draft and its text are there together.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &DRAFTS, findings, |key, _, findings| {
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
    })
}
