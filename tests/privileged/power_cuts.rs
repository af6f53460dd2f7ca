//! The power goes while the real binary is under load, or while it starts: the file system under it forgets what was
//! not synced, and everything that was answered is there all the same, once.
//!
//! `QUINTET_POWER_CUTS=N` makes more rounds (`make power-cuts-long`).

use std::path::Path;
use std::time::{Duration, Instant};

use crate::loop_disk::{Cut, LoopDisk};
use crate::support::appliance::{Appliance, Setup, rounds};
use crate::support::load::{Books, Posting};

const CALLERS: usize = 16;

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let rounds = rounds("QUINTET_POWER_CUTS", 12);
    let Some(disk) = LoopDisk::make(512) else { return };
    let data = disk.path().join("data");
    let begun = Instant::now();
    let mut appliance = start(&disk, &data);
    let mut books = Books::open(&appliance);
    let (mut acknowledged, mut unanswered_there) = (0, 0);
    for round in 0..rounds {
        // Most cuts are the real thing; what has been flushed from the journal or not makes other images.
        let cut = [Cut::Now, Cut::Now, Cut::AfterJournal, Cut::Now, Cut::AfterSync][round % 5];
        let postings = cut_under_load(&disk, appliance, &books, cut);
        if round % 3 == 2 {
            cut_while_starting(&disk, &data, cut);
        }
        appliance = start(&disk, &data);
        let found = books.audit(&appliance, &postings, Instant::now(), &format!("cut {round} ({cut:?})"));
        let answered = postings.iter().filter(|posting| posting.is_acknowledged()).count();
        acknowledged += answered;
        unanswered_there += found.there - answered;
        books.settle(postings, found);
    }
    println!(
        "{rounds} power cuts in {:.1} s: {acknowledged} postings acknowledged, none lost, none twice; \
         {unanswered_there} more had happened without an answer",
        begun.elapsed().as_secs_f64(),
    );
    assert!(acknowledged > rounds * 20, "only {acknowledged} postings in {rounds} rounds");
    assert_eq!(appliance.stop(), Some(0));
}

fn start(disk: &LoopDisk, data: &Path) -> Appliance {
    setup(disk, data).start()
}

fn setup(disk: &LoopDisk, data: &Path) -> Setup {
    Setup::new().on(data).log_in(disk.beside()).env("QUINTET_STORAGE__DISK_RESERVE_MB", "32")
}

/// Cuts the power at a random moment of a load; what was posted until then.
fn cut_under_load(disk: &LoopDisk, appliance: Appliance, books: &Books, cut: Cut) -> Vec<Posting> {
    let load = books.load(&appliance, CALLERS);
    load.wait_for(20);
    std::thread::sleep(Duration::from_micros(fastrand::u64(0..400_000)));
    disk.cut_power(cut);
    // What the appliance still says without a disk counts, too.
    std::thread::sleep(Duration::from_millis(fastrand::u64(0..30)));
    appliance.kill();
    let postings = load.finish();
    disk.remount();
    postings
}

/// Cuts the power at a random moment of a start.
fn cut_while_starting(disk: &LoopDisk, data: &Path, cut: Cut) {
    std::thread::scope(|scope| {
        let started = scope.spawn(|| setup(disk, data).try_start());
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..300_000)));
        disk.cut_power(cut);
        if let Ok(appliance) = started.join().unwrap() {
            appliance.kill();
        }
    });
    disk.remount();
}
