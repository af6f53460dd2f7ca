//! Lists of runs, newest first.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid};

use super::descriptions;
use super::model::{Description, Run};
use super::tables::RUNS;
use crate::model::{RunId, TenantId};
use crate::states::RunState;

/// Rows read at a time, at least.
const SLICE: usize = 64;
/// Rows looked at for one page.
const LOOKED_AT_MAX: usize = 5_000;
/// Bytes of rows looked at for one page, about. Labels alone can make a row of 25 KiB.
const LOOKED_AT_BYTES_MAX: usize = 4 << 20;
/// Bytes of what the runs of a page are to run, about: a page is cut behind the run that exceeds them.
const PAGE_BYTES_MAX: usize = 2 << 20;

/// Which runs are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) state: Option<RunState>,
    pub(crate) tag: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) image: Option<String>,
    pub(crate) workflow_id: Option<Uuid>,
    pub(crate) submitted_after: Option<Timestamp>,
    pub(crate) submitted_before: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, run: &Run) -> bool {
        self.state.is_none_or(|state| run.state == state)
            && self.tag.as_ref().is_none_or(|tag| run.tags.contains(tag))
            && self.name.as_ref().is_none_or(|name| run.name.as_ref() == Some(name))
            && self.image.as_ref().is_none_or(|image| run.image == *image)
            && self.workflow_id.is_none_or(|id| run.workflow_id == Some(id))
            && self.submitted_after.is_none_or(|at| run.submitted_at >= at)
            && self.submitted_before.is_none_or(|at| run.submitted_at < at)
    }
}

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Its runs, with what they are to run.
    pub(crate) runs: Vec<(RunId, Run, Option<Description>)>,
    /// Behind which run the next page begins, if there is one.
    pub(crate) next: Option<RunId>,
}

/// A page of a tenant's runs, newest first. It has at most `limit` of them, fewer where much had to be looked at or
/// they are large.
pub(crate) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<RunId>,
    limit: usize,
) -> Result<Page, Failure> {
    let slice = limit.clamp(SLICE, LOOKED_AT_MAX) + 1;
    let mut page = Page { runs: Vec::new(), next: after };
    let (mut looked_at, mut looked_at_bytes, mut page_bytes) = (0, 0, 0);
    loop {
        let mut scan = Scan::prefix(&(tenant_id,)).newest_first().limit(slice);
        if let Some(after) = page.next {
            scan = scan.after(&(tenant_id, after));
        }
        let rows = read.scan(&RUNS, scan)?;
        let is_last = rows.len() < slice;
        for ((_, run_id), row) in rows {
            let run = Run::from(row);
            // Runs come newest first: all that follow are older still.
            if filter.submitted_after.is_some_and(|at| run.submitted_at < at) {
                return Ok(Page { next: None, ..page });
            }
            if page_bytes > PAGE_BYTES_MAX || looked_at_bytes > LOOKED_AT_BYTES_MAX {
                return Ok(page);
            }
            looked_at += 1;
            looked_at_bytes += row_bytes(&run);
            if filter.takes(&run) {
                if page.runs.len() == limit {
                    return Ok(page);
                }
                let description = descriptions::get(read, (tenant_id, run_id))?;
                page_bytes += description.as_ref().map_or(0, description_bytes);
                page.runs.push((run_id, run, description));
            }
            page.next = Some(run_id);
        }
        if is_last {
            return Ok(Page { next: None, ..page });
        }
        if looked_at >= LOOKED_AT_MAX {
            return Ok(page);
        }
    }
}

/// About how many bytes the row of a run has that grow with what was submitted.
fn row_bytes(run: &Run) -> usize {
    let tags: usize = run.tags.iter().map(String::len).sum();
    tags + run.image.len() + run.message.as_ref().map_or(0, String::len)
}

fn description_bytes(description: &Description) -> usize {
    let words = description.command.iter().chain(&description.env_names);
    words.map(|word| word.len() + 8).sum()
}
