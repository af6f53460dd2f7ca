//! Lists of timers, newest first.

use quintet_storage::{Failure, Read, Scan, Timestamp};

use super::model::Timer;
use super::tables::TIMERS;
use crate::model::{TenantId, TimerId};

/// Rows read at a time, at least.
const SLICE: usize = 64;
/// Rows looked at for one page.
const LOOKED_AT_MAX: usize = 5_000;
/// Bytes of labels looked at for one page, about. They alone can make a row of 25 KiB.
const LOOKED_AT_BYTES_MAX: usize = 4 << 20;

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

/// A page of a list.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) timers: Vec<(TimerId, Timer)>,
    /// Behind which timer the next page begins, if there is one.
    pub(super) next: Option<TimerId>,
}

/// A page of a tenant's timers, newest first. It has at most `limit` of them, fewer where much had to be looked at.
pub(super) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<TimerId>,
    limit: usize,
) -> Result<Page, Failure> {
    let slice = limit.clamp(SLICE, LOOKED_AT_MAX) + 1;
    let mut page = Page { timers: Vec::new(), next: after };
    let (mut looked_at, mut looked_at_bytes) = (0, 0);
    loop {
        let scan = Scan::prefix(&(tenant_id,)).newest_first().limit(slice);
        let scan = page.next.iter().fold(scan, |scan, after| scan.after(&(tenant_id, *after)));
        let rows = read.scan(&TIMERS, scan)?;
        let is_last = rows.len() < slice;
        for ((_, timer_id), row) in rows {
            let timer = Timer::from(row);
            // They come newest first: all that follow are older still.
            if filter.created_after.is_some_and(|at| timer.created_at < at) {
                return Ok(Page { next: None, ..page });
            }
            if looked_at >= LOOKED_AT_MAX || looked_at_bytes > LOOKED_AT_BYTES_MAX {
                return Ok(page);
            }
            looked_at += 1;
            looked_at_bytes += timer.tags.iter().map(String::len).sum::<usize>();
            if filter.takes(&timer) {
                if page.timers.len() == limit {
                    return Ok(page);
                }
                page.timers.push((timer_id, timer));
            }
            page.next = Some(timer_id);
        }
        if is_last {
            return Ok(Page { next: None, ..page });
        }
    }
}
