//! Lists of schedules, newest first. A tenant has a thousand at most.

use quintet_storage::{Failure, Read, Scan};

use super::model::Schedule;
use super::tables::SCHEDULES;
use crate::model::{ScheduleId, TenantId};

/// Which schedules are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) is_enabled: Option<bool>,
    pub(super) name: Option<String>,
}

impl Filter {
    fn takes(&self, schedule: &Schedule) -> bool {
        self.is_enabled.is_none_or(|wanted| schedule.is_enabled == wanted)
            && self.name.as_ref().is_none_or(|name| schedule.name.as_ref() == Some(name))
    }
}

/// The first of a tenant's schedules behind one that a filter takes, newest first, and whether there are more.
pub(super) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<ScheduleId>,
    limit: usize,
) -> Result<(Vec<(ScheduleId, Schedule)>, bool), Failure> {
    let scan = Scan::prefix(&(tenant_id,)).newest_first();
    let scan = after.iter().fold(scan, |scan, after| scan.after(&(tenant_id, *after)));
    let rows = read.scan(&SCHEDULES, scan)?.into_iter();
    let mut found: Vec<(ScheduleId, Schedule)> = rows
        .map(|((_, id), row)| (id, Schedule::from(row)))
        .filter(|(_, schedule)| filter.takes(schedule))
        .take(limit.saturating_add(1))
        .collect();
    let has_more = found.len() > limit;
    found.truncate(limit);
    Ok((found, has_more))
}
