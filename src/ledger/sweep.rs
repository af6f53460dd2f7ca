//! The expiry sweep: releases holds when they lapse.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Failure, Store, Timestamp};

use crate::holds::{Expiry, FIRST_EXPIRY, expire_holds, next_hold_expiry};

/// How long one transaction of the sweep may wait for the writer; the clock tries again later.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Watches the holds of all tenants.
pub(crate) struct Sweep {
    store: Store,
    /// Up to where everything was released: no hold can be due before, and none need be looked for there, where a
    /// long row of deleted ones may lie. Also keeps two looks from overtaking each other.
    swept_to: Mutex<Expiry>,
    /// The earliest expiry at the last look; the end of time while one is going on.
    earliest: AtomicI64,
}

impl Sweep {
    pub(crate) fn new(store: Store) -> Sweep {
        Sweep { store, swept_to: Mutex::new(FIRST_EXPIRY), earliest: AtomicI64::new(i64::MAX) }
    }

    /// Whether a hold that has just been placed lapses before everything the clock was told of, so that the clock
    /// must be woken. Most do not, and waking costs more than placing.
    ///
    /// None is missed: a look marks itself before it takes its snapshot, so whoever finds the mark of an earlier
    /// look had placed the hold before the snapshot.
    pub(crate) fn is_news(&self, expires_at: Timestamp) -> bool {
        expires_at.as_micros() < self.earliest.load(Ordering::SeqCst)
    }

    fn look(&self) -> Result<Option<Timestamp>, Failure> {
        let swept_to = self.swept_to();
        self.earliest.store(i64::MAX, Ordering::SeqCst);
        let due = next_hold_expiry(&self.store.read(), *swept_to)?;
        self.earliest.store(due.map_or(i64::MAX, Timestamp::as_micros), Ordering::SeqCst);
        Ok(due)
    }

    fn swept_to(&self) -> MutexGuard<'_, Expiry> {
        self.swept_to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sweep_all(&self) {
        loop {
            let from = *self.swept_to();
            let slice = self.store.write(Instant::now() + WRITER_TIME, move |tx, now| expire_holds(tx, now, from));
            match slice.await {
                Ok(swept) => {
                    let mut swept_to = self.swept_to();
                    *swept_to = swept.swept_to.max(*swept_to);
                    if swept.holds == 0 {
                        return;
                    }
                }
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "lapsed holds could not be released; trying again later");
                    return;
                }
                Err(Abort::Refused(refusal)) => {
                    tracing::error!(?refusal, "a lapsed hold could not be released");
                    return;
                }
            }
        }
    }
}

impl DueWork for Sweep {
    fn name(&self) -> &'static str {
        "ledger.hold_expiry"
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.look().unwrap_or_else(|failure| {
            tracing::warn!(%failure, "the holds cannot be read");
            None
        })
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sweep_all())
    }
}
