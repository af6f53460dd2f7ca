//! Events of webhooks that have settled something: they are known for 30 days (localization, W3).

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Read, Scan, Snapshot, Timestamp, WriteTx};

use super::tables::{DECISION_EVENTS, DECISION_EVENTS_BY_AGE, DecisionEventRow, DecisionMarkRow};

/// How long an event is known, in seconds.
const KNOWN_SECONDS: i64 = 30 * 86_400;
/// How many are forgotten in one transaction.
const SLICE_ROWS: usize = 500;

/// Whether an event has settled something.
///
/// # Errors
/// Only the store's.
pub fn is_known_event(read: &impl Read, event_id: &str) -> Result<bool, Failure> {
    read.contains(&DECISION_EVENTS, &event_id.to_owned())
}

/// Records an event in the transaction that settles by it.
///
/// # Errors
/// Only the store's.
pub fn record_event(tx: &mut WriteTx<'_>, now: Timestamp, event_id: &str) -> Result<(), Failure> {
    tx.put(&DECISION_EVENTS, &event_id.to_owned(), &DecisionEventRow { at: now })?;
    let until = now.plus_seconds(KNOWN_SECONDS);
    tx.put(&DECISION_EVENTS_BY_AGE, &(until, event_id.to_owned()), &DecisionMarkRow)?;
    tx.falls_due(DECISION_EVENTS_BY_AGE.spec().tag, until);
    Ok(())
}

/// Forgets events that are old.
pub struct ExpiredEvents;

impl Agenda for ExpiredEvents {
    type Place = Timestamp;

    const NAME: &'static str = "localization.decision_events";
    const TAG: u16 = DECISION_EVENTS_BY_AGE.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Timestamp = Timestamp::EPOCH;

    fn next(&self, read: &Snapshot, from: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let scan = Scan::all().from(&(from, String::new())).limit(1);
        Ok(read.scan(&DECISION_EVENTS_BY_AGE, scan)?.first().map(|((at, _), _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<Swept<Timestamp>, Failure> {
        let scan = Scan::all().from(&(from, String::new())).limit(SLICE_ROWS);
        let rows = tx.scan(&DECISION_EVENTS_BY_AGE, scan)?;
        let is_full = rows.len() == SLICE_ROWS;
        let (mut to, mut is_rest) = (from, !is_full);
        for ((at, event_id), _) in rows {
            if at > now {
                is_rest = true;
                break;
            }
            to = at;
            tx.delete(&DECISION_EVENTS_BY_AGE, &(at, event_id.clone()));
            tx.delete(&DECISION_EVENTS, &event_id);
        }
        Ok(Swept { to: Some(to), progress: if is_rest { Progress::Rest } else { Progress::More } })
    }
}
