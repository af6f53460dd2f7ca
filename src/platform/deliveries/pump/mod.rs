//! The pump: makes the attempts that are due.
//!
//! It is work of the clock ([`DueWork`]): whenever something is due it takes in what the due index has, and makes as many
//! attempts at once as may be. Each runs by itself, and is settled with those that end at the same time; once that is
//! durable, the next ones begin. On a rehearsal clock the work waits until nothing is under way, so that whoever moves
//! the clock finds everything done that fell due.
//!
//! What lies before a *floor* in the index is in hand, or left there for a lane that has enough: it is never looked at
//! again from the beginning, for there lies a long row of deleted rows.
//!
//! Reading order: `waiting` (whose turn it is) · `attempt` · this file.

mod attempt;
mod waiting;

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use quintet_storage::{Abort, Failure, Read as _, Scan, Store, Timestamp, WriteTx};
use tokio::sync::Notify;
use uuid::Uuid;

use super::list::state_of;
use super::model::{Attempted, Delivery, DeliveryState, LastError, Outbox, Verdict};
use super::room::DeliveryRoom;
use super::settle::{Finished, settle};
use super::tables::{DUE, DuePlace, DueRow};
use crate::access::Service;
use crate::clock::{BoxFuture, Clock, DueWork, Pauses};
use crate::egress::Egress;
use waiting::{InFlightMax, Kind, Pace, QUEUE_HELD_MAX, QueueKey, Taken, Waiting, first_at};

/// Rows of the index that are looked at at a time, read at a time, and looked at for a queue that has run empty.
const LOOK_ROWS: usize = 1_024;
const PAGE_ROWS: usize = 256;
const FEED_ROWS: usize = 8_192;
/// Attempts settled in one transaction.
const SETTLED_AT_ONCE: usize = 64;
/// Bytes after which the rest of them is left to the next one.
const SETTLED_BYTES_MAX: usize = 256 << 10;
/// An attempt that takes longer than this part of what it may is slow: 5 s where it may take 15.
const SLOW_PART: u32 = 3;
/// How long settling may wait for the writer, and how long it waits before it tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);
const SETTLE_PAUSE: Duration = Duration::from_secs(1);
/// How long the index is left alone when it cannot be read.
const READ_PAUSE_MICROS: i64 = 1_000_000;
/// How often new rows are looked for while a rehearsal clock waits.
const REST_PAUSE: Duration = Duration::from_millis(20);
/// How long the index is left alone after a look: looking costs more than what a single row brings, and under load rows
/// come in all the time. An attempt waits half of it on average, at most.
const QUIET_MICROS: i64 = 2_000;
/// See [`DueWork::pauses`]: a first attempt should be made at once.
const PAUSES: Pauses = Pauses { look: Duration::from_micros(500), retry: Duration::from_millis(2) };

/// What the pump has done since the start, for those who watch it.
#[derive(Default)]
pub struct Figures {
    /// Attempts that were taken.
    pub delivered: AtomicU64,
    /// Attempts that are made again.
    pub retried: AtomicU64,
    /// Attempts after which a delivery was given up.
    pub dead: AtomicU64,
    /// Microseconds from the enqueueing of deliveries to their end as delivered, in all.
    pub latency_micros: AtomicU64,
}

/// Makes attempts. Clones share everything.
#[derive(Clone)]
pub struct Pump(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    egress: Egress,
    rooms: HashMap<Service, Arc<dyn DeliveryRoom>>,
    in_hand: Mutex<InHand>,
    finished: Mutex<Vec<(Taken, Pace, Finished)>>,
    /// One settles for all that have finished.
    settling: tokio::sync::Mutex<()>,
    /// Somebody's attempt has been settled.
    settled: Notify,
    is_stopping: AtomicBool,
    figures: Figures,
}

struct InHand {
    waiting: Waiting,
    /// What lies before is in hand, or left for a lane that has enough.
    floor: DuePlace,
    /// Where the last look ended before it was through, and up to where the index was complete when it began.
    rest: Option<(DuePlace, DuePlace)>,
    /// In real time: what has been found to be due and not been taken in yet, and until when nobody looks again.
    found: Option<Timestamp>,
    quiet_until: Timestamp,
}

impl Pump {
    /// A pump for these rooms.
    #[must_use]
    pub fn new(store: Store, clock: Clock, egress: Egress, rooms: Vec<Arc<dyn DeliveryRoom>>) -> Pump {
        let rooms = rooms.into_iter().map(|room| (room.service(), room)).collect();
        let in_hand = Mutex::new(InHand {
            waiting: Waiting::default(),
            floor: first_at(Timestamp::EPOCH),
            rest: None,
            found: None,
            quiet_until: Timestamp::EPOCH,
        });
        Pump(Arc::new(Inner {
            store,
            clock,
            egress,
            rooms,
            in_hand,
            finished: Mutex::default(),
            settling: tokio::sync::Mutex::new(()),
            settled: Notify::new(),
            is_stopping: AtomicBool::new(false),
            figures: Figures::default(),
        }))
    }

    /// How a delivery stands at this moment.
    #[must_use]
    pub fn state(&self, outbox: Outbox, delivery: &Delivery) -> DeliveryState {
        let (tenant_id, service, id) = outbox.place(delivery.id);
        let due = delivery.next_attempt_at.map(|at| (at, tenant_id, service, id));
        let in_hand = self.0.in_hand();
        state_of(delivery, due.is_some_and(|due| in_hand.waiting.is_in_flight(&due)))
    }

    #[cfg(test)]
    pub(super) fn downgrade(&self) -> std::sync::Weak<impl Sized + use<>> {
        Arc::downgrade(&self.0)
    }

    /// Attempts under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.in_hand().waiting.in_flight()
    }

    /// Since when the oldest attempt is due that waits or is under way; later than now if nothing is due.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn oldest_due(&self) -> Result<Option<Timestamp>, Failure> {
        let oldest = self.0.in_hand().waiting.oldest();
        Ok(match oldest {
            Some(at) => Some(at),
            None => self.0.next_due()?,
        })
    }

    /// What it has done.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.0.figures
    }

    /// Begins no more attempts, and waits for those under way, at most so long. What does not end in time is made again
    /// after the next start.
    pub async fn stop(&self, at_most: Duration) {
        self.0.is_stopping.store(true, Ordering::SeqCst);
        let rest = async {
            while self.in_flight() > 0 {
                let settled = self.0.settled.notified();
                tokio::select! {
                    () = settled => {}
                    () = tokio::time::sleep(REST_PAUSE) => {}
                }
            }
        };
        let _ = tokio::time::timeout(at_most, rest).await;
    }
}

impl DueWork for Pump {
    fn name(&self) -> &'static str {
        "platform.deliveries"
    }

    fn agenda(&self) -> Option<u16> {
        Some(DUE.spec().tag)
    }

    fn pauses(&self) -> Pauses {
        PAUSES
    }

    fn next_due(&self) -> Option<Timestamp> {
        if self.0.is_stopping() {
            return None;
        }
        self.0.next_look().unwrap_or_else(|failure| {
            tracing::warn!(%failure, "it cannot be found out which deliveries are due");
            // Again, for what waits is nobody else's to wake, but not at once.
            Some(self.0.clock.now().plus_micros(READ_PAUSE_MICROS))
        })
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                if let Err(failure) = self.0.pump() {
                    tracing::warn!(%failure, "deliveries that are due cannot be read; trying again later");
                    return;
                }
                let is_done = self.0.is_stopping() || self.0.in_hand().waiting.is_empty();
                if is_done || !self.0.clock.is_rehearsal() {
                    return;
                }
                tokio::select! {
                    () = self.0.settled.notified() => {}
                    () = tokio::time::sleep(REST_PAUSE) => {}
                }
            }
        })
    }
}

impl Inner {
    /// Whether no more attempts are begun.
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    fn in_hand(&self) -> MutexGuard<'_, InHand> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the index is to be looked at next: in real time not again at once, and not twice for the same row.
    fn next_look(&self) -> Result<Option<Timestamp>, Failure> {
        if self.clock.is_rehearsal() {
            return self.next_due();
        }
        let now = self.clock.now();
        let known = {
            let in_hand = self.in_hand();
            // A clock that is put back makes neither wait for longer.
            let is_quiet = (1..=READ_PAUSE_MICROS).contains(&in_hand.quiet_until.micros_since(now));
            let found = in_hand.found.filter(|_| !is_quiet).map(|at| at.min(now));
            found.or(is_quiet.then_some(in_hand.quiet_until))
        };
        if known.is_some() {
            return Ok(known);
        }
        let due = self.next_due()?;
        self.in_hand().found = due.filter(|due| *due <= now);
        Ok(due)
    }

    /// When the first delivery is due that is not in hand. What is passed over on the way is not looked at again: a lane that
    /// has enough may have a hundred thousand rows there.
    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        let now = self.clock.now();
        let (read, complete_until) = self.store.read_now(now);
        let mut in_hand = self.in_hand();
        // Whoever moves a rehearsal clock waits for what is under way.
        if in_hand.waiting.is_hungry() || self.clock.is_rehearsal() && !in_hand.waiting.is_empty() {
            return Ok(Some(now));
        }
        let newest = newest_of(complete_until, now);
        let mut from = in_hand.floor;
        loop {
            let page = read.scan(&DUE, Scan::all().from(&from).limit(64))?;
            let is_last = page.len() < 64;
            for (due, row) in page {
                if !in_hand.waiting.knows(&due) && !in_hand.waiting.leaves(queue_of(&due, &row), &due) {
                    // What was due before the clock was put back is due still.
                    return Ok(Some(if due.0 <= read.time() { due.0.min(now) } else { due.0 }));
                }
                from = behind(due);
                in_hand.floor = in_hand.floor.max(from.min(newest));
            }
            if is_last {
                return Ok(None);
            }
        }
    }

    /// Takes in what is due, and begins as many attempts as may be.
    fn pump(self: &Arc<Self>) -> Result<(), Failure> {
        if self.is_stopping() {
            return Ok(());
        }
        let mut in_hand = self.in_hand();
        in_hand.found = None;
        in_hand.quiet_until = self.clock.now().plus_micros(QUIET_MICROS);
        let looked = self.take_in(&mut in_hand).and_then(|()| self.begin(&mut in_hand));
        if looked.is_err() {
            in_hand.quiet_until = self.clock.now().plus_micros(READ_PAUSE_MICROS);
        }
        looked
    }

    /// Takes in what is due of the index, from the floor on.
    fn take_in(&self, in_hand: &mut InHand) -> Result<(), Failure> {
        let (read, complete_until) = self.store.read_now(self.clock.now());
        // A clock that was put back stands before what it has written.
        let now = self.clock.now().max(read.time());
        let newest = newest_of(complete_until, now);
        let (mut from, newest) = in_hand.rest.take().unwrap_or((in_hand.floor, newest));
        let mut seen = 0;
        loop {
            let rows = read.scan(&DUE, Scan::all().from(&from).limit(PAGE_ROWS))?;
            let is_last = rows.len() < PAGE_ROWS;
            for (due, row) in rows {
                if due.0 > now {
                    in_hand.floor = in_hand.floor.max(newest);
                    return Ok(());
                }
                if seen == LOOK_ROWS {
                    in_hand.floor = in_hand.floor.max(from.min(newest));
                    in_hand.rest = Some((from, newest));
                    return Ok(());
                }
                in_hand.waiting.offer(queue_of(&due, &row), due);
                seen += 1;
                from = behind(due);
            }
            if is_last {
                in_hand.floor = in_hand.floor.max(newest);
                return Ok(());
            }
        }
    }

    /// Begins as many attempts as may be, and looks up what is left of one queue that has run empty.
    fn begin(self: &Arc<Self>, in_hand: &mut InHand) -> Result<(), Failure> {
        if let Some((queue, from)) = in_hand.waiting.take_hungry() {
            match self.rest_of(queue, from, in_hand.floor) {
                Ok((found, rest_from)) => in_hand.waiting.feed(queue, found, rest_from),
                Err(failure) => {
                    // It is looked up again: nothing else leads there.
                    in_hand.waiting.feed(queue, Vec::new(), Some(from));
                    return Err(failure);
                }
            }
        }
        while let Some(taken) = in_hand.waiting.take(|service| self.most(service)) {
            tokio::spawn(Arc::clone(self).see_to(taken));
        }
        if in_hand.waiting.is_hungry() {
            // One queue at a time: looking through the index takes its time.
            self.clock.wake();
        }
        Ok(())
    }

    /// What the index has of a queue between two places, as much as it may hold; where to look on, if not to the end.
    fn rest_of(
        &self,
        queue: QueueKey,
        from: DuePlace,
        floor: DuePlace,
    ) -> Result<(Vec<DuePlace>, Option<DuePlace>), Failure> {
        let read = self.store.read();
        let (mut found, mut seen, mut from) = (Vec::new(), 0, from);
        while seen < FEED_ROWS && found.len() < QUEUE_HELD_MAX {
            let rows = read.scan(&DUE, Scan::all().from(&from).until(&floor).limit(PAGE_ROWS))?;
            let is_last = rows.len() < PAGE_ROWS;
            seen += rows.len();
            for (due, row) in rows {
                if queue_of(&due, &row) == queue {
                    if found.len() == QUEUE_HELD_MAX {
                        return Ok((found, Some(due)));
                    }
                    found.push(due);
                }
                from = behind(due);
            }
            if is_last {
                return Ok((found, None));
            }
        }
        Ok((found, Some(from)))
    }

    fn most(&self, service: u8) -> InFlightMax {
        let room = Service::of_code(service).and_then(|service| self.rooms.get(&service));
        // Without a room there is nobody to make it to, which is found out attempt by attempt.
        room.map_or(InFlightMax { of_lane: 1, of_outbox: 1 }, |room| InFlightMax {
            of_lane: room.policy().lane_in_flight_max,
            of_outbox: room.policy().outbox_in_flight_max,
        })
    }

    /// Makes an attempt and has it settled; then the next ones begin.
    async fn see_to(self: Arc<Self>, taken: Taken) {
        let begun = Instant::now();
        let finished = loop {
            let tried = AssertUnwindSafe(self.attempt(&taken)).catch_unwind().await;
            match tried.unwrap_or(Err(Failure::Panicked)) {
                Ok(Some(finished)) => break finished,
                Ok(None) => return self.go_on([(taken, Pace::None)]),
                Err(failure) if is_lasting(&failure) => {
                    self.leave_alone(taken, &failure);
                    return self.go_on([(taken, Pace::None)]);
                }
                Err(failure) => {
                    tracing::warn!(%failure, "a delivery that is due cannot be read; trying again");
                    tokio::time::sleep(SETTLE_PAUSE).await;
                }
            }
        };
        let pace = self.pace(&finished, begun.elapsed());
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push((taken, pace, finished));
        let _alone = self.settling.lock().await;
        let batch = {
            let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            let most = finished.len().min(SETTLED_AT_ONCE);
            finished.drain(..most).collect::<Vec<_>>()
        };
        if batch.is_empty() {
            return;
        }
        let batch = Arc::new(batch);
        self.settle(&batch).await;
        self.go_on(batch.iter().map(|(taken, pace, _)| (*taken, *pace)));
    }

    /// Whether an attempt that took so long was a slow one.
    fn pace(&self, finished: &Finished, took: Duration) -> Pace {
        let policy = self.rooms.get(&finished.outbox.service).map(|room| room.policy());
        match (finished.attempted, policy) {
            (Attempted::Undeliverable(_), _) | (_, None) => Pace::None,
            (Attempted::Failed(LastError::TimedOut), _) => Pace::Slow,
            (_, Some(policy)) if took >= policy.whole_time / SLOW_PART => Pace::Slow,
            _ => Pace::Quick,
        }
    }

    /// A delivery is left alone until the next start.
    fn leave_alone(&self, taken: Taken, failure: &Failure) {
        tracing::error!(%failure, "a delivery is damaged, or cannot be seen to; it is left alone until the next start");
        self.in_hand().waiting.leave_alone(taken.due);
    }

    /// These have ended, whether or not something came of them; the next ones begin.
    fn go_on(self: &Arc<Self>, ended: impl IntoIterator<Item = (Taken, Pace)>) {
        let mut in_hand = self.in_hand();
        for (taken, pace) in ended {
            in_hand.waiting.ended(taken, pace);
        }
        if !self.is_stopping()
            && let Err(failure) = self.begin(&mut in_hand)
        {
            tracing::warn!(%failure, "deliveries that are due cannot be read; trying again later");
        }
        drop(in_hand);
        self.settled.notify_waiters();
    }

    /// Writes down what came of attempts, however often that has to be tried: what has arrived is not sent again because
    /// the disk is full for a while.
    async fn settle(self: &Arc<Self>, batch: &Arc<Vec<(Taken, Pace, Finished)>>) {
        let mut begun_from = 0;
        while begun_from < batch.len() {
            let (inner, all) = (Arc::clone(self), Arc::clone(batch));
            let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| -> Result<_, Abort<Infallible>> {
                let (mut verdicts, mut settled) = (Vec::new(), 0);
                for (_, _, finished) in all.iter().skip(begun_from) {
                    // What follows from one can be a notice to a thousand others.
                    if tx.written_bytes() >= SETTLED_BYTES_MAX {
                        break;
                    }
                    settled += 1;
                    let Some(room) = inner.rooms.get(&finished.outbox.service) else { continue };
                    let verdict = settle(tx, now, &**room, finished)?;
                    // What there was nobody to make to counts nowhere.
                    verdicts.extend(verdict.filter(|_| !matches!(finished.attempted, Attempted::Undeliverable(_))));
                }
                Ok((verdicts, settled))
            };
            match self.store.write(Instant::now() + WRITER_TIME, verb).await {
                Ok((verdicts, settled)) => {
                    self.count(&verdicts);
                    begun_from += settled;
                }
                // Nothing can be written down until a restart: what is sent now would be sent again after it.
                Err(Abort::Failed(Failure::Stopped)) => return self.is_stopping.store(true, Ordering::SeqCst),
                Err(Abort::Failed(failure)) if is_lasting(&failure) => {
                    match batch.get(begun_from..).unwrap_or_default() {
                        [] => return,
                        [(taken, ..)] => return self.leave_alone(*taken, &failure),
                        // One of them stands in the way of all others.
                        rest => {
                            for one in rest {
                                Box::pin(self.settle(&Arc::new(vec![one.clone()]))).await;
                            }
                            return;
                        }
                    }
                }
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "what came of deliveries cannot be written down; trying again");
                    tokio::time::sleep(SETTLE_PAUSE).await;
                }
                Err(Abort::Refused(never)) => match never {},
            }
        }
    }

    fn count(&self, verdicts: &[(Verdict, i64)]) {
        let add = |counter: &AtomicU64, more: u64| {
            counter.fetch_add(more, Ordering::Relaxed);
        };
        for (verdict, age_micros) in verdicts {
            match verdict {
                Verdict::Delivered => {
                    add(&self.figures.delivered, 1);
                    add(&self.figures.latency_micros, u64::try_from(*age_micros).unwrap_or(0));
                }
                Verdict::Retry(_) => add(&self.figures.retried, 1),
                Verdict::Dead => add(&self.figures.dead, 1),
            }
        }
    }
}

/// Whether trying again fails again: what is stored, or what is made of it, is not as it should be.
fn is_lasting(failure: &Failure) -> bool {
    matches!(failure, Failure::Damaged(_) | Failure::Panicked | Failure::TooLarge)
}

/// The queue of a delivery that waits.
fn queue_of(due: &DuePlace, row: &DueRow) -> QueueKey {
    let kind = if row.is_retry { Kind::Retry } else { Kind::First };
    (((due.1, due.2), Uuid::from_bytes(row.lane)), kind)
}

/// The place up to which the index is complete. What is newer may still get a neighbour before it: a transaction under way,
/// or one of this very instant.
fn newest_of(complete_until: Timestamp, now: Timestamp) -> DuePlace {
    first_at(complete_until.plus_micros(1).min(now))
}

/// The place behind one.
fn behind((at, tenant_id, service, id): DuePlace) -> DuePlace {
    (at, tenant_id, service, id.saturating_add(1))
}
