//! The crash simulator: random work on a simulated disk that loses power at any call, also during recovery.
//!
//! `QUINTET_SEED` takes a printed seed back; `QUINTET_CRASHES` sets how many crashes the random run makes.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::model::ModelTables;
use super::workload::{self, Content, End, No, TABLES, check_all, check_scan, transact};
use crate::env::sim::SimDisk;
use crate::error::{Abort, Failure, OpenError};
use crate::log::Trust;
use crate::open::options::StoreOptions;
use crate::open::start::{Started, start};
use crate::tables::registry::Registry;
use crate::time::{Lsn, TimeSource, Timestamp};
use crate::write::pipeline::Applier;
use crate::write::writer::{Group, Verb};

const DIRECTORY_ID: [u8; 16] = *b"a test directory";
const SEGMENT_BYTES: u64 = 24 << 10;

struct NoTime;
impl TimeSource for NoTime {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }
}

fn options() -> StoreOptions {
    StoreOptions { segment_bytes: SEGMENT_BYTES, ..StoreOptions::new("unused", Arc::new(NoTime)) }
}

/// One machine: its disk, its tables, and what must be true of them.
pub(super) struct Machine {
    pub(super) random: fastrand::Rng,
    pub(super) disk: SimDisk,
    pub(super) tables: Arc<ModelTables>,
    pub(super) started: Option<Started>,
    /// How the next start reads the log.
    pub(super) trust: Trust,
    /// The log above this stays, whatever the tables have flushed.
    pub(super) keep_above: Lsn,
    /// Groups on their way: durable, not yet applied.
    durable: Vec<Group>,
    /// What executed transactions have made of the content.
    content: Arc<Mutex<Content>>,
    /// The content after each transaction, by LSN.
    history: Vec<Content>,
    /// The last transaction that was answered.
    pub(super) acknowledged: Arc<AtomicU64>,
    pub(super) flushed: Lsn,
    /// The first transaction of the newest frame in the log.
    last_frame: Lsn,
    /// How eagerly durable groups are applied, in eighths.
    apply_share: u8,
    /// The writer's time at the last transaction, in microseconds.
    last_time: Arc<AtomicI64>,
    steps: i64,
}

/// The power is gone.
#[derive(Debug)]
pub(super) struct PowerLoss;

impl Machine {
    pub(super) fn new(seed: u64) -> Machine {
        let mut random = fastrand::Rng::with_seed(seed);
        Machine {
            apply_share: random.u8(1..=8),
            random,
            disk: SimDisk::default(),
            tables: Arc::new(ModelTables::empty()),
            started: None,
            trust: Trust::Original,
            keep_above: Lsn::MAX,
            durable: Vec::new(),
            content: Arc::default(),
            history: vec![Content::new()],
            acknowledged: Arc::default(),
            flushed: 0,
            last_frame: 1,
            last_time: Arc::default(),
            steps: 0,
        }
    }

    /// Starts the store and checks that nothing acknowledged is missing and nothing is invented.
    pub(super) fn start(&mut self) -> Result<(), PowerLoss> {
        let registry = Registry::new(&[TABLES]).unwrap();
        let disk = Arc::new(self.disk.clone());
        let tables = Arc::clone(&self.tables);
        match start(disk, tables, registry, DIRECTORY_ID, self.trust, &options()) {
            Ok(started) => self.started = Some(started),
            Err(OpenError::Io { .. }) => return Err(PowerLoss),
            Err(error) => panic!("a crash must never look like this: {error}"),
        }
        let (lsn, _) = self.tables.newest();
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        assert!(lsn >= acknowledged, "acknowledged up to {acknowledged}, recovered up to {lsn}");
        assert!((lsn as usize) < self.history.len(), "recovered {lsn}, which was never executed");
        self.history.truncate(lsn as usize + 1);
        let content = self.history.last().unwrap().clone();
        check_all(&crate::Snapshot::new(self.snapshot(), lsn, Timestamp::EPOCH), &content).unwrap();
        *self.content.lock().unwrap() = content;
        // Transactions that were lost have taken their time with them.
        self.last_time.store(self.started.as_ref().unwrap().published().time().as_micros(), Ordering::SeqCst);
        self.durable.clear();
        Ok(())
    }

    fn snapshot(&self) -> Arc<dyn crate::tables::projection::ProjectionRead> {
        use crate::tables::projection::Projection;
        self.tables.snapshot()
    }

    pub(super) fn step(&mut self) -> Result<(), PowerLoss> {
        self.steps += 1;
        match self.random.u8(..16) {
            0..9 => self.execute(),
            9..12 => self.commit()?,
            // With a low share durable groups pile up before they are applied.
            12..15 if self.random.u8(..8) < self.apply_share => self.apply(),
            12..15 => self.commit()?,
            _ => self.flush()?,
        }
        Ok(())
    }

    fn execute(&mut self) {
        if self.started.as_ref().unwrap().writer.group().frame.len() > 8 << 10 {
            return;
        }
        let end = match self.random.u8(..12) {
            0 => End::Refuse,
            1 => End::Panic,
            _ => End::Commit,
        };
        let content = Arc::clone(&self.content);
        let before = content.lock().unwrap().clone();
        let mut random = self.random.fork();
        let last_time = Arc::clone(&self.last_time);
        let acknowledged = Arc::clone(&self.acknowledged);
        // What an answer vouches for: the transaction itself if it wrote, else everything before it.
        let vouched = Arc::new(AtomicU64::new(self.history.len() as Lsn - 1));
        let vouches = Arc::clone(&vouched);
        let check_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&check_failed);
        let work = Verb {
            verb: move |tx: &mut crate::WriteTx<'_>, now: Timestamp| {
                // Time goes on in the order of the log, across crashes too, however the clock wobbles.
                assert!(last_time.fetch_max(now.as_micros(), Ordering::SeqCst) <= now.as_micros());
                transact(tx, &mut random, &content, end)
            },
            answer: move |outcome: Result<(), Abort<No>>| match outcome {
                Ok(()) | Err(Abort::Refused(No)) => {
                    acknowledged.fetch_max(vouches.load(Ordering::SeqCst), Ordering::SeqCst);
                }
                // Any other panic is a check in the transaction that did not hold.
                Err(Abort::Failed(Failure::Panicked)) => failed.store(end != End::Panic, Ordering::SeqCst),
                Err(Abort::Failed(failure)) => assert_eq!(failure, Failure::OutcomeUnknown),
            },
        };
        let now = workload::wobbling_time(&mut self.random, self.steps);
        let started = self.started.as_mut().unwrap();
        let (applied, _) = self.tables.newest();
        started.writer.forget_applied(applied);
        let committed = started.writer.execute(Box::new(work), now);
        assert!(!check_failed.load(Ordering::SeqCst), "a read inside a transaction was wrong");
        if committed {
            vouched.store(self.history.len() as Lsn, Ordering::SeqCst);
            self.history.push(self.content.lock().unwrap().clone());
        } else {
            // Nothing was written, even if the transaction meant to commit.
            assert_eq!(*self.content.lock().unwrap(), before);
        }
    }

    fn commit(&mut self) -> Result<(), PowerLoss> {
        let started = self.started.as_mut().unwrap();
        if started.writer.group().is_empty() {
            return Ok(());
        }
        let mut group = started.writer.take_group();
        if started.committer.commit(&mut group).is_err() {
            group.fail(&Failure::OutcomeUnknown);
            return Err(PowerLoss);
        }
        if group.header.transactions > 0 {
            self.last_frame = group.header.first_lsn;
        }
        self.durable.push(group);
        Ok(())
    }

    fn apply(&mut self) {
        if self.durable.is_empty() {
            return;
        }
        let mut group = self.durable.remove(0);
        let applier: &Applier = &self.started.as_ref().unwrap().applier;
        applier.apply(&mut group).unwrap();
        for answer in group.answers {
            answer(Ok(()));
        }
        let (lsn, _) = self.tables.newest();
        let snapshot = crate::Snapshot::new(self.snapshot(), lsn, Timestamp::EPOCH);
        let content = self.history[lsn as usize].clone();
        check_all(&snapshot, &content).unwrap();
        check_scan(&snapshot, &mut self.random, 0, &content).unwrap();
    }

    fn flush(&mut self) -> Result<(), PowerLoss> {
        use crate::tables::projection::Projection;
        self.tables.flush().unwrap();
        self.flushed = self.tables.newest().0;
        self.started.as_ref().unwrap().remove_segments(self.flushed.min(self.keep_above));
        // The spare segment is laid ready now and then, as the background does.
        if self.random.bool() && crate::log::writer::prepare_spare(&self.disk, SEGMENT_BYTES).is_err() {
            return Err(PowerLoss);
        }
        Ok(())
    }

    /// Power loss, or only the process gone.
    pub(super) fn crash(&mut self) {
        let process_only = self.random.u8(..4) == 0;
        if let Some(started) = self.started.take() {
            drop(started);
        }
        self.durable.clear();
        self.disk = if process_only { self.disk.kill() } else { self.disk.crash(&mut self.random) };
        self.tables = Arc::new(self.tables.crash(&mut self.random));
    }
}

/// A run that loses power at the given call and then, after a restart, goes on in peace.
fn run_with_loss_at(seed: u64, call: u64) -> bool {
    let mut machine = Machine::new(seed);
    machine.disk.fail_from(call);
    let lost = machine.start().is_err() || (0..200).any(|_| machine.step().is_err()) || machine.disk.calls() >= call;
    machine.crash();
    assert!(machine.start().is_ok());
    for _ in 0..20 {
        assert!(machine.step().is_ok());
    }
    machine.crash();
    assert!(machine.start().is_ok());
    lost
}

pub(super) fn seed_from_environment() -> Option<u64> {
    std::env::var("QUINTET_SEED").ok()?.parse().ok()
}

/// Prints the seed if the test does not come to its end.
pub(super) struct TellSeed(pub(super) u64);
impl Drop for TellSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run it again with QUINTET_SEED={}", self.0);
        }
    }
}

#[test]
fn every_call_may_be_the_last() {
    for seed in seed_from_environment().map_or(0..6, |seed| seed..seed + 1) {
        let _tell = TellSeed(seed);
        let mut call = 1;
        while run_with_loss_at(seed, call) {
            call += 1;
        }
        assert!(call > 30, "the run makes {call} calls only");
    }
}

#[test]
fn crashes_at_random_lose_nothing_acknowledged() {
    let wanted: u64 = std::env::var("QUINTET_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let first = seed_from_environment();
    let mut crashes = 0;
    let mut seed = first.unwrap_or(1_000);
    while crashes < wanted {
        let _tell = TellSeed(seed);
        let mut machine = Machine::new(seed);
        for _ in 0..25 {
            let call = machine.disk.calls() + machine.random.u64(1..40);
            machine.disk.fail_from(call);
            if machine.start().is_ok() {
                let steps = machine.random.usize(..80);
                for _ in 0..steps {
                    if machine.step().is_err() {
                        break;
                    }
                }
            }
            machine.crash();
            crashes += 1;
        }
        assert!(machine.start().is_ok());
        if first.is_some() {
            break;
        }
        seed += 1;
    }
    println!("{crashes} simulated crashes survived");
}

/// Flips bits in what a killed process has left, one at a time, and starts on each.
fn flip_bits(watermark_lost: bool) -> usize {
    let mut found = 0;
    for seed in 0..40 {
        let _tell = TellSeed(seed);
        let mut machine = Machine::new(seed);
        assert!(machine.start().is_ok());
        for _ in 0..60 {
            assert!(machine.step().is_ok());
        }
        machine.started = None;
        let acknowledged = machine.acknowledged.load(Ordering::SeqCst);
        // Without the watermark the very last frame cannot be told from a torn one.
        let proven = if watermark_lost { acknowledged.min(machine.last_frame - 1) } else { acknowledged };
        for _ in 0..25 {
            let disk = machine.disk.kill();
            if watermark_lost {
                crate::env::Disk::unlink(&disk, crate::log::WATERMARK_FILE).unwrap();
            }
            let names: Vec<String> = crate::env::Disk::list(&disk).unwrap();
            let name = &names[machine.random.usize(..names.len())];
            let length = disk.content(name).len();
            // Half of the flips go where records are, not into the zeros behind them.
            let reach = if machine.random.bool() { length } else { length.min(2048) };
            disk.flip(name, machine.random.usize(..reach), machine.random.u8(..8));
            let tables = Arc::new(machine.tables.crash(&mut machine.random));
            let registry = Registry::new(&[TABLES]).unwrap();
            match start(Arc::new(disk), Arc::clone(&tables) as _, registry, DIRECTORY_ID, Trust::Original, &options()) {
                // Accepted: then what is there is what was executed, and nothing proven is missing.
                Ok(_started) => {
                    let (lsn, _) = tables.newest();
                    assert!(lsn >= proven, "{lsn} recovered, {proven} proven, after a flip in {name}");
                    let snapshot = crate::Snapshot::new(
                        crate::tables::projection::Projection::snapshot(&*tables),
                        lsn,
                        Timestamp::EPOCH,
                    );
                    check_all(&snapshot, &machine.history[lsn as usize]).unwrap();
                }
                Err(OpenError::Damaged { .. } | OpenError::LogGap { .. }) => found += 1,
                Err(error) => panic!("damage must be named: {error}"),
            }
        }
    }
    found
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    assert!(flip_bits(false) > 100);
}

#[test]
fn a_flipped_bit_is_found_by_the_frames_behind_it() {
    assert!(flip_bits(true) > 100);
}

/// The last frame is cut off at every byte, as a disk leaves it that wrote only so far; what lies behind is zeros.
#[test]
fn every_byte_position_of_a_torn_tail() {
    use crate::env::{Disk, DiskFile};
    for seed in 0..3 {
        let _tell = TellSeed(seed);
        let mut machine = Machine::new(seed);
        assert!(machine.start().is_ok());
        for _ in 0..40 {
            assert!(machine.step().is_ok());
        }
        while machine.started.as_ref().unwrap().writer.group().is_empty() {
            machine.execute();
        }
        let before = machine.disk.clone().kill();
        assert!(machine.commit().is_ok());
        machine.started = None;
        let names = before.list().unwrap();
        let name = names.iter().filter(|name| name.ends_with(".log")).max().unwrap().clone();
        let (old, new) = (before.content(&name), machine.disk.content(&name));
        let Some(first) = old.iter().zip(&new).position(|(a, b)| a != b) else { continue };
        let last = new.iter().rposition(|byte| *byte != 0).unwrap();
        for cut in first..=last + 1 {
            let disk = before.kill();
            let file: Box<dyn DiskFile> = disk.open(&name).unwrap();
            file.write_at(first as u64, &new[first..cut]).unwrap();
            file.sync_data().unwrap();
            for trust in [Trust::Original, Trust::Copy] {
                let tables = Arc::new(machine.tables.checkpoint());
                let registry = Registry::new(&[TABLES]).unwrap();
                let started =
                    start(Arc::new(disk.kill()), Arc::clone(&tables) as _, registry, DIRECTORY_ID, trust, &options());
                assert!(started.is_ok(), "seed {seed}, cut at {cut} of {last}, {trust:?}: {:?}", started.err());
                let whole = machine.history.len() as Lsn - 1;
                let (lsn, _) = tables.newest();
                assert!(
                    if cut > last { lsn == whole } else { lsn < whole },
                    "{lsn} of {whole} with {cut} of {last} bytes"
                );
                let snapshot = crate::Snapshot::new(
                    crate::tables::projection::Projection::snapshot(&*tables),
                    lsn,
                    Timestamp::EPOCH,
                );
                check_all(&snapshot, &machine.history[lsn as usize]).unwrap();
            }
        }
    }
}

#[test]
fn a_sound_frame_of_another_history_is_not_taken() {
    use crate::env::{Disk, DiskFile};
    use crate::log::LogPosition;
    use crate::log::format::{self, FrameHeader, Op};
    use crate::log::writer::LogWriter;
    let write = |disk: &SimDisk, value: &[u8]| {
        let start = LogPosition { segment: 0, last_lsn: 0, checksum: 0 };
        let mut log =
            LogWriter::start(Arc::new(disk.clone()), DIRECTORY_ID, SEGMENT_BYTES, start, Vec::new(), Trust::Original)
                .unwrap();
        for _ in 0..3 {
            let mut frame = format::begin_frame();
            format::encode_op(&mut frame, Op::Put { key: &[0x0F, 1, 0, 0, 0], value });
            let header = FrameHeader {
                payload_bytes: 0,
                checksum: 0,
                previous_checksum: 0,
                transactions: 1,
                first_lsn: 0,
                synced_lsn: 0,
                time: Timestamp::EPOCH,
                id_tick: 0,
            };
            log.append(&mut frame, header).unwrap();
        }
    };
    let (ours, theirs) = (SimDisk::default(), SimDisk::default());
    write(&ours, &[1, 1, 1]);
    write(&theirs, &[1, 1, 2]);
    // The second of the three frames, each in one block behind the header's.
    let name = crate::log::segment_name(1);
    let foreign = theirs.content(&name)[1024..1536].to_vec();
    let file: Box<dyn DiskFile> = ours.open(&name).unwrap();
    file.write_at(1024, &foreign).unwrap();
    let registry = Registry::new(&[TABLES]).unwrap();
    let refused =
        start(Arc::new(ours), Arc::new(ModelTables::empty()), registry, DIRECTORY_ID, Trust::Original, &options())
            .err();
    assert!(matches!(refused, Some(OpenError::Damaged { offset: 1024, .. })), "{refused:?}");
}

#[test]
fn garbage_in_the_log_directory_is_refused_or_ignored() {
    use crate::env::{Disk, DiskFile};
    let mut random = fastrand::Rng::with_seed(9);
    for round in 0..400 {
        let mut machine = Machine::new(round);
        assert!(machine.start().is_ok());
        for _ in 0..20 {
            assert!(machine.step().is_ok());
        }
        machine.started = None;
        // A stretch of a random file is overwritten with bytes that partly look like the format's own.
        let names = machine.disk.list().unwrap();
        let name = &names[random.usize(..names.len())];
        let length = machine.disk.content(name).len();
        let count = random.usize(1..1500);
        let mut garbage: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(count).collect();
        if random.bool() {
            garbage.splice(..4.min(count), *b"QFRM");
        }
        let file: Box<dyn DiskFile> = machine.disk.open(name).unwrap();
        file.write_at(random.usize(..length.max(1)) as u64 / 512 * 512, &garbage).unwrap();
        let registry = Registry::new(&[TABLES]).unwrap();
        let tables = Arc::new(machine.tables.crash(&mut random));
        match start(
            Arc::new(machine.disk.clone()),
            Arc::clone(&tables) as _,
            registry,
            DIRECTORY_ID,
            Trust::Original,
            &options(),
        ) {
            Ok(_) => assert!((tables.newest().0 as usize) < machine.history.len()),
            Err(OpenError::Damaged { .. } | OpenError::LogGap { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
