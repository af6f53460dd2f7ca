//! Removes expired answers, hour by hour, in transactions short enough that nobody waits for them.

use quintet_storage::{Failure, Read as _, Scan, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::tables::{ANSWERS, ANSWERS_BY_EXPIRY, ExpiryMark};
use crate::jobs::{Agenda, HOUR_MICROS, Progress, Swept, start_of_hour};

/// The most answers removed in one transaction.
const SLICE_ROWS: usize = 500;

/// The answers by the hour at whose start they expire. Time never goes back in the log and whatever is kept is kept for a
/// while, so new rows only come in behind the hour that was swept last.
pub struct ExpiredAnswers;

impl Agenda for ExpiredAnswers {
    /// An hour since the epoch.
    type Place = u32;

    const NAME: &'static str = "platform.expired_answers";
    const TAG: u16 = ANSWERS_BY_EXPIRY.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: u32 = 0;

    fn next(&self, read: &Snapshot, from: u32) -> Result<Option<Timestamp>, Failure> {
        let rows = read.scan(&ANSWERS_BY_EXPIRY, rows_from(from).limit(1))?;
        Ok(rows.first().map(|((hour, _, _), ExpiryMark)| start_of_hour(*hour)))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: u32) -> Result<Swept<u32>, Failure> {
        let oldest = tx.scan(&ANSWERS_BY_EXPIRY, rows_from(from).limit(SLICE_ROWS))?;
        let expired = oldest.into_iter().take_while(|((hour, _, _), ExpiryMark)| *hour <= hour_of(now));
        let mut removed = 0;
        for ((hour, tenant_id, digest), ExpiryMark) in expired {
            tx.delete(&ANSWERS, &(tenant_id, digest));
            tx.delete(&ANSWERS_BY_EXPIRY, &(hour, tenant_id, digest));
            removed += 1;
        }
        if removed == SLICE_ROWS {
            return Ok(Swept { to: None, progress: Progress::More });
        }
        Ok(Swept { to: Some(hour_of(now).saturating_add(1)), progress: Progress::Rest })
    }
}

fn rows_from(hour: u32) -> Scan<(u32, Uuid, u128)> {
    Scan::all().from(&(hour, Uuid::nil(), 0))
}

/// The hour an instant lies in, since the epoch.
fn hour_of(instant: Timestamp) -> u32 {
    u32::try_from(instant.as_micros().div_euclid(HOUR_MICROS).max(0)).unwrap_or(u32::MAX)
}
