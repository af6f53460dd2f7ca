//! Removes expired answers, hour by hour, in transactions short enough that nobody waits for them.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Read as _, Scan, Store, Timestamp, WriteTx};
use uuid::Uuid;

use super::{ANSWERS, ANSWERS_BY_EXPIRY, ExpiryMark, HOUR_MICROS};
use crate::clock::{BoxFuture, DueWork};

/// The most answers removed in one transaction.
const SLICE_ROWS: usize = 500;
/// How long one slice may wait for the writer; the next round tries again.
const DEADLINE: Duration = Duration::from_secs(10);

/// Collects expired answers. Register it as [`DueWork`].
pub struct Collector {
    store: Store,
    seen: Mutex<Seen>,
}

/// What is known of the expiry index without reading it. Time never goes back in the log, so new rows only come in
/// behind the ones that are there.
#[derive(Default)]
struct Seen {
    /// The hour of the oldest row, as long as nothing was removed.
    oldest: Option<u32>,
    /// No row has an earlier hour: scans start here and do not wade through what was removed.
    floor: u32,
}

/// What one transaction removed.
struct Slice {
    removed: usize,
    at: Timestamp,
}

impl Collector {
    /// A collector of a store's answers.
    #[must_use]
    pub fn new(store: Store) -> Collector {
        Collector { store, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn oldest_hour(&self) -> Result<Option<u32>, Failure> {
        let mut seen = self.seen();
        if seen.oldest.is_none() {
            let rows = self.store.read().scan(&ANSWERS_BY_EXPIRY, rows_from(seen.floor).limit(1))?;
            seen.oldest = rows.first().map(|((hour, _, _), ExpiryMark)| *hour);
        }
        Ok(seen.oldest)
    }

    async fn collect_all(&self) {
        let floor = self.seen().floor;
        loop {
            let slice =
                self.store.write_freeing(Instant::now() + DEADLINE, move |tx, now| collect_slice(tx, now, floor)).await;
            match slice {
                Ok(Slice { removed, .. }) if removed == SLICE_ROWS => {}
                Ok(Slice { at, .. }) => {
                    *self.seen() = Seen { oldest: None, floor: hour_of(at).saturating_add(1) };
                    return;
                }
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "expired answers could not be removed; trying again later");
                    return;
                }
            }
        }
    }
}

/// Removes the oldest answers that are expired.
fn collect_slice(tx: &mut WriteTx<'_>, now: Timestamp, floor: u32) -> Result<Slice, Abort<Infallible>> {
    let oldest = tx.scan(&ANSWERS_BY_EXPIRY, rows_from(floor).limit(SLICE_ROWS))?;
    let expired = oldest.into_iter().take_while(|((hour, _, _), ExpiryMark)| *hour <= hour_of(now));
    let mut removed = 0;
    for ((hour, tenant_id, digest), ExpiryMark) in expired {
        tx.delete(&ANSWERS, &(tenant_id, digest));
        tx.delete(&ANSWERS_BY_EXPIRY, &(hour, tenant_id, digest));
        removed += 1;
    }
    Ok(Slice { removed, at: now })
}

fn rows_from(hour: u32) -> Scan<(u32, Uuid, u128)> {
    Scan::all().from(&(hour, Uuid::nil(), 0))
}

/// The hour an instant lies in, since the epoch.
fn hour_of(instant: Timestamp) -> u32 {
    u32::try_from(instant.as_micros().div_euclid(HOUR_MICROS).max(0)).unwrap_or(u32::MAX)
}

fn start_of(hour: u32) -> Timestamp {
    Timestamp::from_micros(i64::from(hour) * HOUR_MICROS)
}

impl DueWork for Collector {
    fn name(&self) -> &'static str {
        "platform.expired_answers"
    }

    fn next_due(&self) -> Option<Timestamp> {
        match self.oldest_hour() {
            Ok(hour) => hour.map(start_of),
            Err(failure) => {
                tracing::warn!(%failure, "stored answers could not be read");
                None
            }
        }
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.collect_all())
    }
}
