//! The pump: makes the attempts that are due.
//!
//! It is work of the clock: whenever something is due it begins as many attempts as may be at once. Each runs by itself, and
//! when it is settled the next one begins. On a rehearsal clock the work waits until nothing is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Failure, Timestamp};
use tokio::sync::{Notify, Semaphore};

use super::ahead::{Ahead, READ_PAUSE};
use super::client::{Connection, connect};
use super::settle::{Outcome, Settled, settle};
use super::turns::Queues;
use super::written::{Written, write};
use crate::context::Context;
use crate::mail::messages;
use crate::model::{MessageId, WorkspaceNo};
use crate::outbox::{self, OutgoingKey, State, What};

/// Attempts at once, and of one workspace.
const AT_ONCE_MAX: usize = 16;
const OF_A_WORKSPACE_MAX: usize = 8;
/// A mail with more bytes of files is held as a whole only when few others are.
const LARGE_BYTES: u64 = 1 << 20;
const LARGE_AT_ONCE_MAX: usize = 2;
/// How long a connection waits for another mail, and how many it takes.
const KEPT_TIME: Duration = Duration::from_secs(5);
const MAILS_OF_A_CONNECTION_MAX: u32 = 100;
/// How long settling may wait for the writer, and how long it waits before it tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);
const SETTLE_PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked for what is under way while a rehearsal clock waits.
const REST_PAUSE: Duration = Duration::from_millis(20);
/// How long the index is left alone when it cannot be read, in microseconds.
const FAILED_PAUSE_MICROS: i64 = 1_000_000;

/// Hands mail to the relay. Clones share everything.
#[derive(Clone)]
pub(crate) struct Pump(Arc<Inner>);

struct Inner {
    context: Context,
    in_hand: Mutex<InHand>,
    kept: Mutex<Vec<(Connection, Instant)>>,
    large: Semaphore,
    settled: Notify,
}

#[derive(Default)]
struct InHand {
    ahead: Ahead,
    under_way: BTreeSet<OutgoingKey>,
    /// Large ones that wait until another one has ended: they take nobody's place meanwhile.
    large: Queues,
    /// What cannot be seen to until the next start: it is damaged.
    left_alone: BTreeSet<OutgoingKey>,
    /// Nothing can be written down any more: what is sent now would be sent again.
    is_over: bool,
}

/// What became of an attempt.
enum Tried {
    /// It was made.
    Made(Outcome),
    /// The mail is large, and as many as may be are under way.
    Waits,
    /// The mail is gone, or not due any more.
    Nothing,
}

/// Who has how many attempts under way.
struct Places(BTreeMap<WorkspaceNo, usize>);

impl Places {
    /// Whether a workspace may have one more.
    fn has(&self, workspace: WorkspaceNo) -> bool {
        self.0.get(&workspace).is_none_or(|count| *count < OF_A_WORKSPACE_MAX)
    }
}

impl InHand {
    fn places(&self) -> Places {
        let mut places = BTreeMap::new();
        for (workspace, _) in &self.under_way {
            *places.entry(*workspace).or_default() += 1;
        }
        Places(places)
    }
}

impl Pump {
    pub(crate) fn new(context: Context) -> Pump {
        Pump(Arc::new(Inner {
            context,
            in_hand: Mutex::default(),
            kept: Mutex::default(),
            large: Semaphore::new(LARGE_AT_ONCE_MAX),
            settled: Notify::new(),
        }))
    }
}

impl DueWork for Pump {
    fn name(&self) -> &'static str {
        "messaging.outbox"
    }

    fn agenda(&self) -> Option<u16> {
        Some(outbox::DUE_TAG)
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.0.next_due().unwrap_or_else(|failure| {
            tracing::warn!(%failure, "it cannot be found out which mail is due");
            Some(self.0.context.now().plus_micros(FAILED_PAUSE_MICROS))
        })
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                if let Err(failure) = self.0.begin() {
                    tracing::warn!(%failure, "mail that is due cannot be read; trying again later");
                    return;
                }
                if !self.0.context.clock.is_rehearsal() || self.0.in_hand().under_way.is_empty() {
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
    fn in_hand(&self) -> MutexGuard<'_, InHand> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When something may begin. `None`: nothing waits, or what waits is seen to when an attempt ends.
    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        let mut in_hand = self.in_hand();
        if !self.may_begin(&in_hand) {
            return Ok(None);
        }
        let is_read = self.read_on(&mut in_hand)?;
        let now = self.context.now();
        let places = in_hand.places();
        if in_hand.ahead.queues.has_startable(|workspace| places.has(workspace)) {
            return Ok(Some(now));
        }
        let soon = now.plus_micros(READ_PAUSE.as_micros().try_into().unwrap_or(i64::MAX));
        let (has_rest, later) = in_hand.ahead.rest();
        Ok(if has_rest || !is_read { Some(later.map_or(soon, |later| later.min(soon))) } else { later })
    }

    fn may_begin(&self, in_hand: &InHand) -> bool {
        !in_hand.is_over && !self.context.stopping.is_stopping() && in_hand.under_way.len() < AT_ONCE_MAX
    }

    /// Reads what is due, unless that was done a moment ago; whether it was done now. A rehearsal clock stands still, so
    /// all of it is read at once there.
    fn read_on(&self, in_hand: &mut InHand) -> Result<bool, Failure> {
        let is_rehearsal = self.context.clock.is_rehearsal();
        if in_hand.ahead.is_fresh() && !is_rehearsal {
            return Ok(false);
        }
        let read = self.context.store.read();
        // What was due before the clock was put back is due still.
        let now = self.context.now().max(read.time());
        let InHand { ahead, under_way, left_alone, large, .. } = in_hand;
        let is_busy = |key: &OutgoingKey| under_way.contains(key) || left_alone.contains(key) || large.contains(key);
        loop {
            ahead.read(&read, now, is_busy)?;
            if !is_rehearsal || !ahead.rest().0 {
                return Ok(true);
            }
        }
    }

    /// Begins as many attempts as may be; whether any was.
    fn begin(self: &Arc<Self>) -> Result<bool, Failure> {
        let mut in_hand = self.in_hand();
        if !self.may_begin(&in_hand) {
            return Ok(false);
        }
        self.read_on(&mut in_hand)?;
        let mut has_begun = false;
        let mut large_places = self.large.available_permits();
        while in_hand.under_way.len() < AT_ONCE_MAX {
            let places = in_hand.places();
            let has_place = |workspace| places.has(workspace);
            let large = if large_places > 0 { in_hand.large.take(has_place) } else { None };
            large_places = large_places.saturating_sub(usize::from(large.is_some()));
            let Some(key) = large.or_else(|| in_hand.ahead.queues.take(has_place)) else { break };
            in_hand.under_way.insert(key);
            has_begun = true;
            self.context.mail_under_way.send_modify(|count| *count += 1);
            tokio::spawn(Arc::clone(self).see_to(key));
        }
        Ok(has_begun)
    }

    /// Makes an attempt and has it settled; then the next ones begin.
    async fn see_to(self: Arc<Self>, key: OutgoingKey) {
        let tried = AssertUnwindSafe(self.attempt(key)).catch_unwind().await;
        match tried.unwrap_or(Err(Failure::Panicked)) {
            Ok(Tried::Made(outcome)) => self.settle(key, outcome).await,
            Ok(Tried::Waits) => self.in_hand().large.push(key),
            Ok(Tried::Nothing) => {}
            Err(failure) if is_lasting(&failure) => self.leave_alone(key, &failure),
            Err(failure) => {
                tracing::warn!(%failure, "a mail that is due cannot be read; trying again");
                tokio::time::sleep(SETTLE_PAUSE).await;
            }
        }
        self.in_hand().under_way.remove(&key);
        self.context.mail_under_way.send_modify(|count| *count = count.saturating_sub(1));
        // Where nothing can begin now, the clock finds out when.
        if !self.begin().is_ok_and(|has_begun| has_begun) {
            self.context.clock.wake();
        }
        self.settled.notify_waiters();
    }

    fn leave_alone(&self, key: OutgoingKey, failure: &Failure) {
        tracing::error!(%failure, "a mail is damaged, or cannot be seen to; it is left alone until the next start");
        self.in_hand().left_alone.insert(key);
    }

    /// Makes an attempt.
    async fn attempt(self: &Arc<Self>, key: OutgoingKey) -> Result<Tried, Failure> {
        let Some(outgoing) = outbox::find(&self.context.store.read(), key)? else { return Ok(Tried::Nothing) };
        if !matches!(outgoing.state, State::Due(_)) {
            return Ok(Tried::Nothing);
        }
        let Some(relay) = &self.context.settings.mail.relay else {
            return Ok(Tried::Made(Outcome::NotAsked("messaging.smtp_relay names no relay".to_owned())));
        };
        let is_large = match &outgoing.what {
            What::Message(_) => {
                let message = messages::get(&self.context.store.read(), (key.0, MessageId(key.1)))?;
                message.attachments.iter().map(|file| file.value.size_bytes).sum::<u64>() > LARGE_BYTES
            }
            What::Note { .. } => false,
        };
        let turn = if is_large { self.large.try_acquire().ok() } else { None };
        if is_large && turn.is_none() {
            return Ok(Tried::Waits);
        }
        let context = self.context.clone();
        let writing =
            tokio::task::spawn_blocking(move || write(&context.store.read(), context.domain(), key, &outgoing));
        let mail: Written = match writing.await.map_err(|_| Failure::Panicked)?? {
            Ok(mail) => mail,
            Err(_) => return Ok(Tried::Made(Outcome::Nothing)),
        };
        let mut connection = match self.kept().await {
            Some(connection) => connection,
            None => match connect(&self.context.settings.mail.egress, relay, self.context.domain()).await {
                Ok(connection) => connection,
                Err(why) => return Ok(Tried::Made(Outcome::NotAsked(format!("the relay: {why}")))),
            },
        };
        let (said, is_good) = connection.hand(&mail).await;
        if is_good && connection.taken < MAILS_OF_A_CONNECTION_MAX {
            self.keep(connection);
        } else if is_good {
            tokio::spawn(connection.leave());
        }
        drop(turn);
        Ok(Tried::Made(Outcome::Said(mail.recipients.into_iter().zip(said).collect())))
    }

    /// A connection that is there from a moment ago.
    async fn kept(&self) -> Option<Connection> {
        loop {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (mut connection, since) = kept?;
            if since.elapsed() < KEPT_TIME && connection.is_good().await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for the next mail; none comes within the time: it is closed.
    fn keep(self: &Arc<Self>, connection: Connection) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((connection, Instant::now()));
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT_TIME).await;
            let over: Vec<Connection> = {
                let mut kept = inner.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let (over, rest) = kept.drain(..).partition(|(_, since)| since.elapsed() >= KEPT_TIME);
                *kept = rest;
                let over: Vec<(Connection, Instant)> = over;
                over.into_iter().map(|(connection, _)| connection).collect()
            };
            for connection in over {
                connection.leave().await;
            }
        });
    }

    /// Writes down what came of an attempt, however often that has to be tried: what the relay has taken is not sent again
    /// because the disk is full for a while.
    async fn settle(&self, key: OutgoingKey, outcome: Outcome) {
        let outcome = Arc::new(outcome);
        loop {
            let said = Arc::clone(&outcome);
            let verb = move |tx: &mut quintet_storage::WriteTx<'_>, now| -> Result<Settled, Abort<Infallible>> {
                Ok(settle(tx, now, key, &said)?)
            };
            match self.context.write(WRITER_TIME, verb).await {
                Ok(settled) => return self.count(settled),
                Err(Abort::Failed(Failure::Stopped)) => {
                    self.in_hand().is_over = true;
                    return;
                }
                Err(Abort::Failed(failure)) if is_lasting(&failure) => return self.leave_alone(key, &failure),
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "what came of a mail cannot be written down; trying again");
                    tokio::time::sleep(SETTLE_PAUSE).await;
                }
                Err(Abort::Refused(never)) => match never {},
            }
        }
    }

    fn count(&self, settled: Settled) {
        let figures = &self.context.mail_figures;
        figures.sent.fetch_add(u64::from(settled.is_sent), Ordering::Relaxed);
        figures.retried.fetch_add(u64::from(settled.is_retried), Ordering::Relaxed);
        figures.given_up.fetch_add(settled.given_up, Ordering::Relaxed);
    }
}

/// Whether trying again fails again: what is stored, or what is made of it, is not as it should be.
fn is_lasting(failure: &Failure) -> bool {
    matches!(failure, Failure::Damaged(_) | Failure::Panicked | Failure::TooLarge)
}
