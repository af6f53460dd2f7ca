//! Lists of timers, newest first.

use quintet_storage::{Failure, Read, Timestamp};

use super::model::Timer;
use super::tables::TIMERS;
use crate::lists::{Listed, Looked, newest_first};
use crate::model::{TenantId, TimerId};

/// Which timers are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// The name of a state.
    pub(super) state: Option<&'static str>,
    pub(super) tag: Option<String>,
    pub(super) name: Option<String>,
    pub(super) created_after: Option<Timestamp>,
    pub(super) created_before: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, timer: &Timer) -> bool {
        self.state.is_none_or(|state| timer.state.name() == state)
            && self.tag.as_ref().is_none_or(|tag| timer.tags.contains(tag))
            && self.name.as_ref().is_none_or(|name| timer.name.as_ref() == Some(name))
            && self.created_after.is_none_or(|at| timer.created_at >= at)
            && self.created_before.is_none_or(|at| timer.created_at < at)
    }
}

/// A page of a tenant's timers, newest first.
pub(super) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<TimerId>,
    limit: usize,
) -> Result<Listed<TimerId, Timer>, Failure> {
    newest_first(read, &TIMERS, tenant_id, (after, limit), |row| {
        let timer = Timer::from(row);
        let bytes = timer.tags.iter().map(String::len).sum();
        let looked = match timer {
            timer if filter.created_after.is_some_and(|at| timer.created_at < at) => Looked::TooOld,
            timer if filter.takes(&timer) => Looked::Taken(timer),
            _ => Looked::PassedOver,
        };
        (looked, bytes)
    })
}
