//! The expiry sweep: releases holds when they lapse.

use std::time::{Duration, Instant};

use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Store, Timestamp};

use crate::holds::{expire_holds, next_hold_expiry};

/// How long one transaction of the sweep may wait for the writer; the clock tries again later.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Watches the holds of all tenants.
pub(crate) struct Sweep {
    store: Store,
}

impl Sweep {
    pub(crate) fn new(store: Store) -> Sweep {
        Sweep { store }
    }

    async fn sweep_all(&self) {
        loop {
            match self.store.write(Instant::now() + WRITER_TIME, expire_holds).await {
                Ok(0) => return,
                Ok(_) => {}
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
        match next_hold_expiry(&self.store.read()) {
            Ok(due) => due,
            Err(failure) => {
                tracing::warn!(%failure, "the holds cannot be read");
                None
            }
        }
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sweep_all())
    }
}
