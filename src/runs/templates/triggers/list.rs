//! Lists of triggers, newest first. A template has a hundred at most.

use quintet_storage::{Failure, Read};

use super::model::Trigger;
use super::rows::all;
use crate::lists::Listed;
use crate::model::{TemplateKey, TriggerId};

/// A page of a template's triggers.
pub(in super::super) fn list(
    read: &impl Read,
    key: TemplateKey,
    after: Option<TriggerId>,
    limit: usize,
) -> Result<Listed<TriggerId, Trigger>, Failure> {
    let all = all(read, key)?.into_iter().rev().filter(|(id, _)| after.is_none_or(|after| *id < after));
    let mut items: Vec<(TriggerId, Trigger)> = all.take(limit.saturating_add(1)).collect();
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(|(id, _)| *id);
    Ok(Listed { items, next })
}
