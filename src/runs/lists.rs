//! Pages of a tenant's lists, newest first: timers, schedules, workflows.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::next_cursor;
use quintet_storage::bincode::Encode;
use quintet_storage::{Failure, Key, Read, Row, Scan, Table};

use crate::model::TenantId;

/// Rows read at a time, at least.
const SLICE: usize = 64;
/// Rows looked at for one page.
const LOOKED_AT_MAX: usize = 5_000;
/// Bytes of labels looked at for one page, about. They alone can make a row of 25 KiB.
const LOOKED_AT_BYTES_MAX: usize = 4 << 20;

/// Bytes of a page, about: it is cut behind the item that exceeds them.
const PAGE_BYTES_MAX: usize = 2 << 20;

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Listed<I, T> {
    pub(crate) items: Vec<(I, T)>,
    /// Behind which the next page begins, if there is one.
    pub(crate) next: Option<I>,
}

/// What one is, for a list.
pub(crate) enum Looked<T> {
    /// It is asked for.
    Taken(T),
    /// It is not.
    PassedOver,
    /// Neither it nor what is older is asked for.
    TooOld,
}

/// A page of what a tenant has in a table, newest first: at most `limit`, fewer where much had to be looked at. `look` says
/// of each row what it is, and how many bytes its labels have.
pub(crate) fn newest_first<I: Copy + Key, R: Row, T>(
    read: &impl Read,
    table: &Table<(TenantId, I), R>,
    tenant_id: TenantId,
    (after, limit): (Option<I>, usize),
    mut look: impl FnMut(R) -> (Looked<T>, usize),
) -> Result<Listed<I, T>, Failure> {
    let slice = limit.clamp(SLICE, LOOKED_AT_MAX) + 1;
    let mut page = Listed { items: Vec::new(), next: after };
    let (mut looked_at, mut looked_at_bytes) = (0, 0);
    loop {
        let scan = Scan::prefix(&(tenant_id,)).newest_first().limit(slice);
        let scan = page.next.iter().fold(scan, |scan, after| scan.after(&(tenant_id, *after)));
        let rows = read.scan(table, scan)?;
        let is_last = rows.len() < slice;
        for ((_, id), row) in rows {
            if looked_at >= LOOKED_AT_MAX || looked_at_bytes > LOOKED_AT_BYTES_MAX {
                return Ok(page);
            }
            let (looked, bytes) = look(row);
            looked_at += 1;
            looked_at_bytes += bytes;
            match looked {
                Looked::TooOld => return Ok(Listed { next: None, ..page }),
                Looked::Taken(_) if page.items.len() == limit => return Ok(page),
                Looked::Taken(item) => page.items.push((id, item)),
                Looked::PassedOver => {}
            }
            page.next = Some(id);
        }
        if is_last {
            return Ok(Listed { next: None, ..page });
        }
    }
}

/// A page of a list: as many of these items as it has room for, and the cursor of what is behind them. `next` is behind
/// which the next page begins if all of them have room.
pub(crate) fn write_page<I: Copy + Encode, T>(
    kind: &str,
    all: Vec<(I, T)>,
    mut next: Option<I>,
    mut write: impl FnMut(I, T) -> Result<Json, Failure>,
) -> Result<String, Failure> {
    let (count, mut bytes, mut items) = (all.len(), 0, Vec::new());
    for (id, item) in all {
        let item = to_compact(&write(id, item)?);
        bytes += item.len();
        items.push(item);
        if bytes > PAGE_BYTES_MAX && items.len() < count {
            next = Some(id);
            break;
        }
    }
    let cursor = to_compact(&Json::from(next_cursor(kind, next.as_ref())?));
    Ok(format!("{{\"items\":[{}],\"next_cursor\":{cursor}}}", items.join(",")))
}
