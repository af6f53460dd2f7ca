//! Counting against the day's allowance.

use quintet_platform::clock::rfc3339;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::day::used;
use super::model::{Daily, Day, day_of, end_of};
use super::tables::{DayRow, USAGE};
use crate::due::{self, Due};
use crate::identity::{Workspace, workspaces};
use crate::refusal::{Refusal, UsedUp};

/// How long a day is kept after its end, in seconds: so that verification and people can look at yesterday.
pub(super) const KEPT_SECONDS: i64 = 7 * 86_400;

/// Counts so many of something.
///
/// # Errors
/// The day's allowance does not reach that far; nothing is counted.
pub(crate) fn count(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    daily: Daily,
    number: u64,
) -> Result<(), Abort<Refusal>> {
    let day = day_of(now);
    let mut today = used(tx, workspace.no, day)?;
    let (before, max) = (today.of(daily), workspaces::limit(tx, workspace.no, daily.limit())?);
    if before.saturating_add(number) > max {
        return Err(used_up(daily, max, before, day, now).into());
    }
    if today == Day::default() {
        due::put(tx, end_of(day).plus_seconds(KEPT_SECONDS), Due::Usage((workspace.no, day)))?;
    }
    today.add(daily, number);
    Ok(tx.put(&USAGE, &(workspace.no, day), &DayRow::of(today))?)
}

fn used_up(daily: Daily, max: u64, used: u64, day: u32, now: Timestamp) -> Refusal {
    let reset_at = end_of(day);
    let micros = u64::try_from(reset_at.as_micros() - now.as_micros()).unwrap_or(0);
    Refusal::QuotaExceeded(UsedUp {
        limit: daily.limit().name,
        max,
        used,
        reset_at: rfc3339(reset_at),
        seconds: micros.div_ceil(1_000_000).max(1),
    })
}
