//! Simulated copies: a copier reads the log's files and the checkpoints bit by bit, in an order of its own, while the
//! store goes on; what it has made must open with everything that was acknowledged before it began.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::crash::{Machine, TellSeed, seed_from_environment};
use super::model::ModelTables;
use crate::env::sim::SimDisk;
use crate::env::{Disk, DiskFile};
use crate::log::Trust;
use crate::time::Lsn;

/// A copier's reads end at borders of this many bytes: what a processor copies at once.
const LINE_BYTES: usize = 64;

/// Checkpoints with the step at which each was made.
struct Checkpoints(Vec<(Lsn, Arc<ModelTables>, usize)>);

impl Checkpoints {
    /// The rule of `copies::checkpoint`: one goes once its successor has been there for a window.
    fn look(&mut self, machine: &mut Machine, step: usize, window: usize) {
        if self.0.last().is_none_or(|(lsn, ..)| machine.flushed > *lsn) {
            self.0.push((machine.flushed, Arc::new(machine.tables.checkpoint()), step));
        }
        while self.0.get(1).is_some_and(|(_, _, made)| step - made >= window) {
            self.0.remove(0);
        }
        machine.keep_above = self.0[0].0;
    }
}

/// What is still to be copied, in the copier's order.
enum Piece {
    File(String),
    ListOfCheckpoints,
    ListOfSegments,
    Checkpoint(Lsn),
}

#[derive(Default)]
struct Copier {
    todo: Vec<Piece>,
    /// The file under way, what has been read of it, and how long it was when it was opened.
    reading: Option<(String, Vec<u8>)>,
    files: BTreeMap<String, Vec<u8>>,
    checkpoints: Vec<(Lsn, Arc<ModelTables>)>,
}

impl Copier {
    fn new(machine: &mut Machine) -> Copier {
        let mut todo = vec![Piece::ListOfCheckpoints, Piece::ListOfSegments];
        machine.random.shuffle(&mut todo);
        Copier { todo, ..Copier::default() }
    }

    /// Reads a little; `false` once there is nothing left to do.
    fn step(&mut self, machine: &mut Machine, checkpoints: &Checkpoints) -> bool {
        if let Some((name, mut got)) = self.reading.take() {
            // A file that was removed is still read to its end through the open descriptor; this one is simply gone.
            let content = machine.disk.content(&name);
            let more = machine.random.usize(1..200) * LINE_BYTES;
            let until = (got.len() + more).min(content.len());
            got.extend_from_slice(&content[got.len().min(until)..until]);
            if got.len() < content.len() {
                self.reading = Some((name, got));
            } else if !content.is_empty() {
                self.files.insert(name, got);
            }
            return true;
        }
        match self.todo.pop() {
            None => return false,
            Some(Piece::File(name)) => self.reading = Some((name, Vec::new())),
            Some(Piece::ListOfSegments) => {
                let mut names = Disk::list(&machine.disk).unwrap();
                machine.random.shuffle(&mut names);
                self.todo.extend(names.into_iter().map(Piece::File));
            }
            Some(Piece::ListOfCheckpoints) => {
                self.todo.extend(checkpoints.0.iter().map(|(lsn, ..)| Piece::Checkpoint(*lsn)));
                // Between the segments or behind them.
                machine.random.shuffle(&mut self.todo);
            }
            Some(Piece::Checkpoint(lsn)) => {
                let found = checkpoints.0.iter().find(|(other, ..)| *other == lsn);
                self.checkpoints.extend(found.map(|(_, tables, _)| (lsn, Arc::clone(tables))));
            }
        }
        true
    }

    /// The copy as a disk, synced as `opening` does.
    fn disk(&self) -> SimDisk {
        let disk = SimDisk::default();
        for (name, content) in &self.files {
            let file: Box<dyn DiskFile> = disk.create(name).unwrap();
            file.write_at(0, content).unwrap();
            file.sync_data().unwrap();
        }
        disk.sync_directory().unwrap();
        disk
    }
}

/// Copies while the store works; the copy must hold what was acknowledged when the copier began. With the copied disk
/// the machine then lives on through crashes.
fn copy_under_load(seed: u64, crash_copy: bool) {
    const WINDOW: usize = 400;
    let _tell = TellSeed(seed);
    let mut machine = Machine::new(seed);
    let mut checkpoints = Checkpoints(Vec::new());
    assert!(machine.start().is_ok());
    let warm_up = machine.random.usize(0..600);
    for step in 0..warm_up {
        machine.step().unwrap();
        checkpoints.look(&mut machine, step, WINDOW);
    }
    checkpoints.look(&mut machine, warm_up, WINDOW);
    let acknowledged = machine.acknowledged.load(Ordering::SeqCst);
    let mut copier = Copier::new(&mut machine);
    let mut step = warm_up;
    let mut is_done = false;
    while !is_done {
        for _ in 0..machine.random.usize(1..4) {
            is_done |= !copier.step(&mut machine, &checkpoints);
        }
        if step - warm_up < WINDOW {
            machine.step().unwrap();
            step += 1;
            checkpoints.look(&mut machine, step, WINDOW);
        }
    }
    // What came after the copy began may be in it or not.
    machine.started = None;
    let disk = copier.disk();
    let (lsn, tables) = copier.checkpoints.iter().max_by_key(|(lsn, _)| *lsn).expect("a checkpoint is in every copy");
    machine.acknowledged.store(acknowledged.max(*lsn), Ordering::SeqCst);
    machine.flushed = *lsn;
    machine.disk = disk;
    machine.tables = Arc::new(tables.checkpoint());
    machine.keep_above = Lsn::MAX;
    machine.trust = Trust::Copy;
    if crash_copy {
        // The power fails while the copy is opened, again and again; it is a copy until its IDENTITY is written.
        for call in 1..40 {
            machine.disk.fail_from(machine.disk.calls() + call);
            if machine.start().is_ok() {
                break;
            }
            machine.crash();
            machine.tables = Arc::new(tables.checkpoint());
        }
    }
    if machine.started.is_none() {
        assert!(machine.start().is_ok());
    }
    machine.trust = Trust::Original;
    for _ in 0..40 {
        if machine.step().is_err() {
            break;
        }
    }
    machine.crash();
    assert!(machine.start().is_ok());
}

#[test]
fn a_copy_taken_under_load_holds_everything_acknowledged_before() {
    let first = seed_from_environment();
    let wanted = std::env::var("QUINTET_COPIES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for seed in first.map_or(0..wanted, |seed| seed..seed + 1) {
        copy_under_load(seed, seed % 3 == 0);
    }
}
