//! The expiry sweep: releases holds when they lapse.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, WriteTx};

use crate::holds::{self, Expiry, FIRST_EXPIRY, expire_holds, next_hold_expiry};
use crate::tables::HOLDS;

/// The holds of all tenants by when they lapse.
pub(crate) struct LapsedHolds;

impl Agenda for LapsedHolds {
    type Place = Expiry;

    const NAME: &'static str = "ledger.hold_expiry";
    const TAG: u16 = HOLDS.spec().tag;
    const IS_FREEING: bool = false;
    const FIRST: Expiry = FIRST_EXPIRY;

    fn next(&self, read: &Snapshot, from: Expiry) -> Result<Option<Timestamp>, Failure> {
        next_hold_expiry(read, from)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Expiry) -> Result<Swept<Expiry>, Failure> {
        match expire_holds(tx, now, from) {
            Ok(holds::Swept { holds, swept_to }) => {
                let progress = if holds == 0 { Progress::Rest } else { Progress::More };
                Ok(Swept { to: Some(swept_to), progress })
            }
            Err(Abort::Failed(failure)) => Err(failure),
            Err(Abort::Refused(refusal)) => {
                Err(Failure::Damaged(format!("a lapsed hold cannot be released: {refusal:?}")))
            }
        }
    }
}
