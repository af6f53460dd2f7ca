//! The one writer: executes transactions one after another and gathers them into groups for the log.
//!
//! Nothing here waits or does input and output but for reads of the tables; the threads are in [`pipeline`](super::pipeline),
//! and the crash simulator steps the same parts on one thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::collections::btree_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::ids::IdMint;
use super::tx::{HotRows, Lent, Pending, PendingRow, WriteTx, Writes};
use super::waking::GroupNotes;
use crate::error::{Abort, Failure};
use crate::log::format::{self, FrameHeader, Op};
use crate::tables::projection::{Applied, Projection};
use crate::time::{Lsn, Timestamp};
use crate::vault::Vault;

/// A group is handed to the log when it holds so many bytes, even if more work waits: with chunks of large values in
/// it, a group of 1 MiB made others wait 25 ms, this 17 ms (benches/storage_import.rs).
pub(crate) const GROUP_BYTES: usize = 256 << 10;

/// Tells a caller how its transaction ended, once that is durable (or never will be).
pub(crate) type Answer = Box<dyn FnOnce(Result<(), Failure>) + Send>;

/// How a verb ended, before anything is durable.
pub(crate) enum Ended {
    /// Its writes count.
    Committed(Answer),
    /// Its writes are dropped; the answer still waits until what it saw is durable.
    Refused(Answer),
    /// Its writes are dropped, and the caller has been told.
    Failed,
}

/// A caller's work: runs once, on the writer.
pub(crate) trait Work: Send {
    /// Executes the verb.
    fn run(self: Box<Self>, tx: &mut WriteTx<'_>, now: Timestamp) -> Ended;
    /// Tells the caller that the verb never ran.
    fn turn_away(self: Box<Self>, failure: Failure);
}

/// A verb together with the way to answer it.
pub(crate) struct Verb<F, A> {
    pub(crate) verb: F,
    pub(crate) answer: A,
}

impl<F, A, T, R> Work for Verb<F, A>
where
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send,
    A: FnOnce(Result<T, Abort<R>>) + Send + 'static,
    T: Send + 'static,
    R: Send + 'static,
{
    fn run(self: Box<Self>, tx: &mut WriteTx<'_>, now: Timestamp) -> Ended {
        let Verb { verb, answer } = *self;
        // A verb leaves no state outside the transaction, and the transaction is dropped: nothing is left torn.
        match catch_unwind(AssertUnwindSafe(|| verb(tx, now))) {
            Ok(Ok(value)) => Ended::Committed(Box::new(move |durable| {
                answer(durable.map(|()| value).map_err(Abort::Failed));
            })),
            Ok(Err(Abort::Refused(refusal))) => Ended::Refused(Box::new(move |durable| {
                answer(Err(durable.map_or_else(Abort::Failed, |()| Abort::Refused(refusal))));
            })),
            Ok(Err(Abort::Failed(failure))) => {
                answer(Err(Abort::Failed(failure)));
                Ended::Failed
            }
            Err(_) => {
                tracing::error!("a transaction's code panicked; its writes are dropped");
                answer(Err(Abort::Failed(Failure::Panicked)));
                Ended::Failed
            }
        }
    }

    fn turn_away(self: Box<Self>, failure: Failure) {
        (self.answer)(Err(Abort::Failed(failure)));
    }
}

/// Transactions that go to the log together.
pub(crate) struct Group {
    /// The frame in the making: room for the header, then the operations.
    pub(crate) frame: Vec<u8>,
    /// Transactions and time; the log adds the rest.
    pub(crate) header: FrameHeader,
    /// Answers to give once the group is durable and published, refusals among them.
    pub(crate) answers: Vec<Answer>,
    /// What its transactions leave for those who wait.
    pub(crate) notes: GroupNotes,
}

impl Group {
    fn new(first_lsn: Lsn) -> Group {
        let header = FrameHeader {
            payload_bytes: 0,
            checksum: 0,
            previous_checksum: 0,
            transactions: 0,
            first_lsn,
            synced_lsn: 0,
            time: Timestamp::EPOCH,
            id_tick: 0,
        };
        Group { frame: format::begin_frame(), header, answers: Vec::new(), notes: GroupNotes::default() }
    }

    /// Whether it holds nothing, not even an answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Whether it should go to the log even if more work waits.
    pub(crate) fn is_full(&self) -> bool {
        self.frame.len() >= GROUP_BYTES
    }

    /// Ends every transaction in it with a failure.
    pub(crate) fn fail(self, failure: &Failure) {
        for answer in self.answers {
            answer(Err(failure.clone()));
        }
    }
}

/// The writer's state.
pub(crate) struct Writer {
    tables: Arc<dyn Projection>,
    vault: Arc<Vault>,
    pending: Pending,
    /// The keys of pending writes in the order they were decided.
    unapplied: VecDeque<(Lsn, Arc<[u8]>)>,
    hot: RefCell<HotRows>,
    ids: IdMint,
    group: Group,
    next_lsn: Lsn,
    last_time: Timestamp,
    transaction_bytes_max: usize,
}

impl Writer {
    /// Continues behind `last`.
    pub(crate) fn new(
        tables: Arc<dyn Projection>,
        vault: Arc<Vault>,
        last: Applied,
        seed: u64,
        transaction_bytes_max: usize,
    ) -> Writer {
        Writer {
            tables,
            vault,
            pending: Pending::new(),
            unapplied: VecDeque::new(),
            hot: RefCell::default(),
            ids: IdMint::after(last.id_tick, seed),
            group: Group::new(last.lsn + 1),
            next_lsn: last.lsn + 1,
            last_time: last.time,
            transaction_bytes_max,
        }
    }

    /// Executes one piece of work at `clock`'s time, which never decreases from one transaction to the next.
    /// Says whether it committed, for the statistics.
    pub(crate) fn execute(&mut self, work: Box<dyn Work>, clock: Timestamp) -> bool {
        let now = clock.max(self.last_time);
        self.last_time = now;
        let mut tx = WriteTx::new(Lent {
            tables: self.tables.as_ref(),
            pending: &self.pending,
            hot: &self.hot,
            ids: &mut self.ids,
            vault: &self.vault,
            now,
            bytes_max: self.transaction_bytes_max,
        });
        let ended = work.run(&mut tx, now);
        let writes = tx.into_writes();
        match ended {
            Ended::Committed(answer) if writes.bytes > self.transaction_bytes_max => answer(Err(Failure::TooLarge)),
            // Nothing written: a read in the order of writes. It is answered like a refusal.
            Ended::Committed(answer) if writes.rows.is_empty() => self.group.answers.push(answer),
            Ended::Committed(answer) => {
                self.join(writes, now);
                self.group.answers.push(answer);
                return true;
            }
            Ended::Refused(answer) => self.group.answers.push(answer),
            Ended::Failed => {}
        }
        false
    }

    fn join(&mut self, writes: Writes, now: Timestamp) {
        let lsn = self.next_lsn;
        self.next_lsn += 1;
        self.group.header.transactions += 1;
        self.group.header.time = now;
        self.group.header.id_tick = self.ids.tick();
        let hot = self.hot.get_mut();
        self.group.notes.join(writes.notes);
        for (key, row) in writes.rows {
            let op = match &row.value {
                Some(value) => Op::Put { key: &key, value },
                None => Op::Delete { key: &key },
            };
            format::encode_op(&mut self.group.frame, op);
            match row.decoded {
                Some(decoded) => {
                    hot.insert(Arc::clone(&key), Some(decoded), row.value.as_ref().map_or(0, |value| value.len()));
                }
                None => hot.remove(&key),
            }
            self.unapplied.push_back((lsn, Arc::clone(&key)));
            self.pending.insert(key, PendingRow { lsn, value: row.value });
        }
    }

    /// The last transaction that was executed.
    pub(crate) fn last_lsn(&self) -> Lsn {
        self.next_lsn - 1
    }

    /// The group in the making.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Hands the group over and begins the next.
    pub(crate) fn take_group(&mut self) -> Group {
        std::mem::replace(&mut self.group, Group::new(self.next_lsn))
    }

    /// Forgets pending writes that the tables now hold.
    pub(crate) fn forget_applied(&mut self, applied: Lsn) {
        while let Some((lsn, _)) = self.unapplied.front() {
            if *lsn > applied {
                break;
            }
            let Some((lsn, key)) = self.unapplied.pop_front() else { break };
            if let Entry::Occupied(row) = self.pending.entry(key)
                && row.get().lsn == lsn
            {
                row.remove();
            }
        }
    }

    /// After a failure nothing of what was executed but not made durable may be seen again.
    pub(crate) fn drop_pending(&mut self) {
        self.pending.clear();
        self.unapplied.clear();
        self.hot.get_mut().clear();
    }
}
