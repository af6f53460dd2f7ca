//! The one clock: real time, or a rehearsal that moves only when told; and the work that falls due by it.
//!
//! Everything that happens at an instant (sweeps, retries, schedules, expiries) is a [`DueWork`] which knows when
//! it is next due. In real time one task for each sleeps until then. A rehearsal clock stands still until
//! [`Clock::advance`] steps it from one due instant to the next, running at each whatever is due until nothing is.
//! In both modes work that is due *now* runs without being told ([`Clock::wake`]).
//!
//! The reading of a rehearsal clock is a row of the store, written before the clock shows it: no row can carry an
//! instant that a restart would take the clock back behind.
//!
//! This is the only file that asks the system for the time of day.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bincode::{Decode, Encode};
use futures_util::FutureExt as _;
use quintet_storage::{Abort, Failure, Family, Read as _, Row, Store, Table, TimeSource, Timestamp, WriteTx};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

pub use futures_util::future::BoxFuture;

pub use crate::time_text::{TimeParseError, parse_rfc3339, rfc3339, write_rfc3339};

/// The rehearsal clock's reading; one row.
pub(crate) const READING: Table<u8, Reading> = Table::new(0x0100, Family::APPLIANCE, "platform.clock");

/// The key of the one row of [`READING`].
const THE_READING: u8 = 0;

/// How long a step of a rehearsal clock may wait for the writer.
const STEP_DEADLINE: Duration = Duration::from_secs(30);

/// How often one piece of work may be found due again at one instant before an advance gives up on it.
const ROUNDS_AT_ONE_INSTANT: u32 = 1_000;

/// The longest real sleep, so that a corrected system clock is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// Where a rehearsal clock stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Reading {
    at: Timestamp,
}

impl Row for Reading {}

/// How long work is left alone, in real time.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Between a wake and the look at what is due, so that wakes by the thousand cost a few looks.
    pub look: Duration,
    /// Between two attempts of work that is still due after it ran (the store refused, say).
    pub retry: Duration,
}

/// What will do for most work.
const PAUSES: Pauses = Pauses { look: Duration::from_millis(5), retry: Duration::from_secs(1) };

/// Work that falls due at instants of the clock.
pub trait DueWork: Send + Sync {
    /// A name for logs and errors, such as `ledger.hold_expiry`.
    fn name(&self) -> &'static str;

    /// The earliest instant at which there is something to do; `None` while there is nothing. Called often: answer
    /// from memory or from one read of the newest snapshot.
    fn next_due(&self) -> Option<Timestamp>;

    /// The table whose rows fall due by this work, if it is a table: when a transaction says that a row of it falls due
    /// ([`WriteTx::falls_due`]), the work is looked at anew.
    fn agenda(&self) -> Option<u16> {
        None
    }

    /// How long it is left alone.
    fn pauses(&self) -> Pauses {
        PAUSES
    }

    /// Does everything that is due at the clock's present reading and returns when nothing more is. What fails is
    /// left due: it will be tried again. Never runs twice at a time.
    fn run_due(&self) -> BoxFuture<'_, ()>;
}

/// What an advance did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvanceReport {
    /// Where the clock stands now.
    pub now: Timestamp,
    /// At how many instants before the end it stopped because something was due.
    pub steps: u64,
}

/// Why a clock was not advanced, or not all the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// It keeps real time.
    #[error("this clock keeps real time; only a rehearsal clock can be advanced")]
    RealTime,
    /// The clock cannot stand so late: the end of the year 9999 is the last instant.
    #[error("the clock cannot go beyond the year 9999")]
    TooFar,
    /// A piece of work does not come to rest; the clock stands at the instant where that showed.
    #[error("{0} is still due after running many times at one instant")]
    NotAtRest(&'static str),
    /// The reading could not be stored; the clock stands where it stood.
    #[error("the clock's reading could not be stored: {0}")]
    Store(Failure),
}

/// The clock. Clones are the same clock.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    /// Microseconds since the epoch; `None`: real time.
    rehearsal: Option<AtomicI64>,
    /// Where a rehearsal clock keeps its reading.
    store: OnceLock<Store>,
    work: Mutex<Vec<Arc<Slot>>>,
    /// One advance at a time.
    advancing: tokio::sync::Mutex<()>,
    /// Counts everything that can change what is due.
    changes: watch::Sender<u64>,
    started: Instant,
    /// The time of day at `started`, in microseconds.
    started_at: i64,
}

/// Registered work and the lock that keeps it from running twice at a time.
struct Slot {
    work: Arc<dyn DueWork>,
    running: tokio::sync::Mutex<()>,
    /// When the work was due at the last look, in microseconds; the end of time while a look is going on.
    earliest: AtomicI64,
    /// Asks whoever watches the work to look at it anew.
    woken: Notify,
}

impl Clock {
    /// A clock that keeps real time.
    #[must_use]
    pub fn system() -> Clock {
        Clock::new(None)
    }

    /// A clock that stands at `start` until it is advanced. Give it its memory with [`Clock::resume`].
    #[must_use]
    pub fn rehearsal(start: Timestamp) -> Clock {
        Clock::new(Some(AtomicI64::new(start.as_micros())))
    }

    fn new(rehearsal: Option<AtomicI64>) -> Clock {
        Clock(Arc::new(Inner {
            rehearsal,
            store: OnceLock::new(),
            work: Mutex::new(Vec::new()),
            advancing: tokio::sync::Mutex::new(()),
            changes: watch::Sender::new(0),
            started: Instant::now(),
            started_at: system_time().as_micros(),
        }))
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0.rehearsal {
            Some(micros) => Timestamp::from_micros(micros.load(Ordering::Acquire)),
            None => system_time(),
        }
    }

    /// An instant that only goes forward, for pacing callers ([`limits`](crate::limits)) and nothing that is
    /// stored: real time passes in it even while a rehearsal stands still, since its callers are real.
    #[must_use]
    pub fn pacing_now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.0.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        match &self.0.rehearsal {
            Some(micros) => Timestamp::from_micros(micros.load(Ordering::Acquire)).plus_micros(elapsed),
            None => Timestamp::from_micros(self.0.started_at).plus_micros(elapsed),
        }
    }

    /// Whether it moves only when told.
    #[must_use]
    pub fn is_rehearsal(&self) -> bool {
        self.0.rehearsal.is_some()
    }

    /// Gives a rehearsal clock its memory: it goes on from the reading that `store` holds, or, in a new store,
    /// notes down where it stands. To be called right after the store is opened, before anything else is written.
    /// Nothing happens in real time. The clock holds the store from now on, and the store the clock:
    /// [`Store::shutdown`] is what ends them.
    ///
    /// # Errors
    /// What the store answers.
    pub fn resume(&self, store: &Store) -> Result<(), Failure> {
        let Some(micros) = &self.0.rehearsal else { return Ok(()) };
        match store.read().get(&READING, &THE_READING)? {
            Some(reading) => micros.store(reading.at.as_micros(), Ordering::Release),
            None => {
                let at = self.now();
                let deadline = Instant::now() + STEP_DEADLINE;
                let kept = store.write_blocking(deadline, move |tx, _| put_reading(tx, at));
                kept.map_err(failure_of)?;
            }
        }
        // A second call finds the first store still there; both are the same one.
        let _ = self.0.store.set(store.clone());
        self.wake();
        Ok(())
    }

    /// Adds work. It is watched from now on, whether or not [`Clock::run_real_time`] has begun.
    pub fn register(&self, work: Arc<dyn DueWork>) {
        let earliest = AtomicI64::new(i64::MAX);
        let slot = Slot { work, running: tokio::sync::Mutex::new(()), earliest, woken: Notify::new() };
        self.0.work.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(slot));
        self.wake();
    }

    /// Says that something may have become due earlier than it was. Cheap; call it after every transaction that
    /// creates such a thing.
    pub fn wake(&self) {
        self.0.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Hears of rows that fall due, as they are published: the work whose agenda they are in is looked at anew if they are
    /// due earlier than what it is known to have. Most are not, and looking costs more than writing a row. None is missed:
    /// a look marks itself before it takes its snapshot, so whoever finds the mark of an earlier look had published the
    /// row before the snapshot.
    pub fn attend(&self, store: &Store) {
        let clock = Arc::downgrade(&self.0);
        store.on_due(Box::new(move |agenda, at| {
            let Some(inner) = clock.upgrade() else { return };
            let work = inner.work.lock().unwrap_or_else(PoisonError::into_inner);
            for slot in work.iter().filter(|slot| slot.work.agenda() == Some(agenda)) {
                if at.as_micros() < slot.earliest.load(Ordering::SeqCst) {
                    slot.woken.notify_one();
                }
            }
        }));
    }

    /// The earliest instant at which something is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.slots().iter().filter_map(|slot| slot.work.next_due()).min()
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        self.0.work.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves a rehearsal clock `seconds` on: to each instant at which something falls due, in order, running what
    /// is due there to rest, and then to the end. If it is given up half-way (the caller left), the clock stands
    /// at the last step.
    ///
    /// # Errors
    /// See [`ClockError`].
    pub async fn advance(&self, seconds: u64) -> Result<AdvanceReport, ClockError> {
        let Some(reading) = &self.0.rehearsal else { return Err(ClockError::RealTime) };
        let _alone = self.0.advancing.lock().await;
        let seconds = i64::try_from(seconds).map_err(|_| ClockError::TooFar)?;
        let target = self.now().plus_seconds(seconds);
        if target > latest() {
            return Err(ClockError::TooFar);
        }
        let mut steps = 0;
        loop {
            self.run_to_rest().await?;
            let now = self.now();
            let Some(next) = self.next_due().filter(|next| *next > now && *next <= target) else { break };
            self.step(reading, next).await?;
            steps += 1;
        }
        if self.now() < target {
            self.step(reading, target).await?;
            self.run_to_rest().await?;
        }
        Ok(AdvanceReport { now: self.now(), steps })
    }

    /// Stores the new reading, then shows it.
    async fn step(&self, reading: &AtomicI64, to: Timestamp) -> Result<(), ClockError> {
        if let Some(store) = self.0.store.get() {
            let deadline = Instant::now() + STEP_DEADLINE;
            let kept = store.write(deadline, move |tx, _| put_reading(tx, to)).await;
            kept.map_err(|abort| ClockError::Store(failure_of(abort)))?;
        }
        reading.fetch_max(to.as_micros(), Ordering::AcqRel);
        self.wake();
        Ok(())
    }

    /// Runs what is due now until nothing is.
    async fn run_to_rest(&self) -> Result<(), ClockError> {
        let mut rounds = 0;
        loop {
            let mut ran = None;
            for slot in self.slots() {
                if slot.is_due(self.now()) {
                    slot.run_if_due(self).await;
                    ran = Some(slot.work.name());
                }
            }
            if ran.is_none() && self.is_at_rest().await {
                return Ok(());
            }
            rounds += 1;
            if rounds >= ROUNDS_AT_ONE_INSTANT {
                return Err(ClockError::NotAtRest(ran.unwrap_or("due work")));
            }
        }
    }

    /// Whether nothing is due and nothing runs. Work that runs untold may end between two looks, and make something due that
    /// was looked at before it. What runs is waited for, and others may run meanwhile: it may wait for them.
    async fn is_at_rest(&self) -> bool {
        let slots = self.slots();
        let mut held = Vec::with_capacity(slots.len());
        for slot in &slots {
            let Ok(alone) = slot.running.try_lock() else {
                drop(held);
                drop(slot.running.lock().await);
                return false;
            };
            held.push(alone);
        }
        !slots.iter().any(|slot| slot.is_due(self.now()))
    }

    /// Watches all registered work and runs it when it is due, each in a task of its own, until `shutdown`
    /// resolves; then waits for what is running at that moment.
    pub async fn run_real_time(&self, shutdown: impl Future<Output = ()>) {
        let mut changes = self.0.changes.subscribe();
        let stopping = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut watched = 0;
        loop {
            for slot in self.slots().into_iter().skip(watched) {
                watched += 1;
                tasks.spawn(watch_slot(self.clone(), slot, stopping.subscribe()));
            }
            tokio::select! {
                () = &mut shutdown => break,
                _ = changes.changed() => {}
            }
        }
        stopping.send_replace(true);
        while tasks.join_next().await.is_some() {}
    }

    /// How long until `due`, for sleeping; a rehearsal clock has no such time.
    fn real_wait(&self, due: Timestamp) -> Option<Duration> {
        if self.is_rehearsal() {
            return None;
        }
        let micros = u64::try_from(due.micros_since(self.now())).unwrap_or(0);
        Some(Duration::from_micros(micros).min(LONGEST_SLEEP))
    }
}

impl TimeSource for Clock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }
}

impl Slot {
    /// When the work is due next.
    fn look(&self) -> Option<Timestamp> {
        self.earliest.store(i64::MAX, Ordering::SeqCst);
        let due = self.work.next_due();
        self.earliest.store(due.map_or(i64::MAX, Timestamp::as_micros), Ordering::SeqCst);
        due
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.work.next_due().is_some_and(|due| due <= now)
    }

    /// A panic of the work is logged and leaves it due.
    async fn run_if_due(&self, clock: &Clock) {
        let _alone = self.running.lock().await;
        if !self.is_due(clock.now()) {
            return;
        }
        if let Err(panic) = AssertUnwindSafe(self.work.run_due()).catch_unwind().await {
            tracing::error!(work = self.work.name(), reason = panic_text(&*panic), "due work panicked");
        }
    }
}

/// Runs one piece of work whenever it is due, until told to stop.
async fn watch_slot(clock: Clock, slot: Arc<Slot>, mut stopping: watch::Receiver<bool>) {
    let mut changes = clock.0.changes.subscribe();
    let pauses = slot.work.pauses();
    while !*stopping.borrow_and_update() {
        changes.mark_unchanged();
        let next_due = slot.look();
        let is_due = next_due.is_some_and(|due| due <= clock.now());
        if is_due {
            slot.run_if_due(&clock).await;
        }
        let rest = async {
            if !is_due {
                tokio::select! {
                    () = sleep_for(next_due.and_then(|due| clock.real_wait(due))) => {}
                    _ = changes.changed() => tokio::time::sleep(pauses.look).await,
                    () = slot.woken.notified() => tokio::time::sleep(pauses.look).await,
                }
            } else if slot.is_due(clock.now()) {
                tokio::time::sleep(pauses.retry).await;
            }
        };
        tokio::select! {
            () = rest => {}
            _ = stopping.changed() => break,
        }
    }
}

/// Sleeps, or for ever.
async fn sleep_for(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

fn failure_of(abort: Abort<Infallible>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(never) => match never {},
    }
}

/// Never takes the stored reading back.
fn put_reading(tx: &mut WriteTx<'_>, at: Timestamp) -> Result<(), Abort<Infallible>> {
    let stored = quintet_storage::Read::get(tx, &READING, &THE_READING)?;
    if stored.is_none_or(|stored: Reading| stored.at < at) {
        tx.put(&READING, &THE_READING, &Reading { at })?;
    }
    Ok(())
}

/// The last instant a clock may show: what RFC 3339 can write.
fn latest() -> Timestamp {
    parse_rfc3339("9999-12-31T23:59:59Z").unwrap_or(Timestamp::MAX)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the time of day")]
fn system_time() -> Timestamp {
    let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    };
    Timestamp::from_micros(micros)
}
