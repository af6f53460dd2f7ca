//! A copy of the directory is a backup: copies of a running appliance's directory, made under full load with everyday
//! tools and with a slow one, open with everything that was acknowledged before the copy began.
//!
//! `QUINTET_COPIES=long` (`make copies-long`) adds what takes minutes: copies that need most of the copy window, or
//! more than it, and copies at the moment a checkpoint is made.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::appliance::{Appliance, Setup, say_skipped, stderr};
use crate::support::load::{Books, Found, Posting};

const CALLERS: usize = 16;

/// So large that segments roll and tables are flushed while a copier works.
const PADDING_BYTES: usize = 8 << 10;

/// The smallest copy window there is.
const WINDOW: Duration = Duration::from_secs(60);

/// For how long the load is a full one; copies that take longer are made under about 500 postings a second, which
/// still roll a segment every few seconds.
const FULL_LOAD: Duration = Duration::from_secs(15);

/// Who copies.
#[derive(Clone, Copy, Debug)]
enum Copier {
    Cp,
    Rsync,
    Tar,
    /// Copies the state of one instant, as a snapshot of the volume does: the appliance stands still meanwhile.
    Snapshot,
    /// Reads directories and files in random order, with pauses, and takes about this long.
    Slow(Duration),
}

impl Copier {
    /// Copies a directory to a new place. Files that vanish under the copier are no failure of the copy; false if
    /// there is no such program here.
    fn copy(self, from: &Path, to: &Path) -> bool {
        match self {
            Copier::Cp | Copier::Snapshot => run(Command::new("cp").arg("-a").arg(from).arg(to), &[0, 1]),
            Copier::Rsync => run(Command::new("rsync").arg("-aH").arg(from.join("")).arg(to), &[0, 24]),
            Copier::Tar => {
                let archive = to.with_extension("tar");
                run(Command::new("tar").arg("-C").arg(from).arg("-cf").arg(&archive).arg("."), &[0, 1]);
                fs::create_dir(to).unwrap();
                run(Command::new("tar").arg("-C").arg(to).arg("-xpf").arg(&archive), &[0]);
                fs::remove_file(archive).unwrap();
                true
            }
            Copier::Slow(duration) => {
                copy_slowly(from, to, Instant::now() + duration);
                true
            }
        }
    }
}

/// Runs a program that must end with one of these codes; false if it is not installed.
fn run(command: &mut Command, codes: &[i32]) -> bool {
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        say_skipped(&format!("{} is not installed", command.get_program().to_string_lossy()));
        return false;
    };
    let code = output.status.code().unwrap();
    assert!(codes.contains(&code), "{command:?} ended with {code}: {}", stderr(&output));
    true
}

/// Copies a tree in random order, a chunk at a time, with pauses: each entry gets an equal share of the time that is
/// left, since nobody knows how large the rest will be when its turn comes.
fn copy_slowly(from: &Path, to: &Path, until: Instant) {
    fs::create_dir(to).unwrap();
    // A directory may be gone as well as a file.
    let Ok(entries) = fs::read_dir(from) else { return };
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap()).collect();
    fastrand::shuffle(&mut entries);
    while let Some(entry) = entries.pop() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let share = until.saturating_duration_since(Instant::now()) / (entries.len() as u32 + 1);
        let until = Instant::now() + share;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            copy_slowly(&from, &to, until);
        } else if kind.is_file() {
            copy_file_slowly(&from, &to, until);
        }
    }
    if let Ok(found) = fs::metadata(from) {
        fs::set_permissions(to, found.permissions()).unwrap();
    }
}

fn copy_file_slowly(from: &Path, to: &Path, until: Instant) {
    let Ok(mut source) = File::open(from) else { return };
    let found = source.metadata().unwrap();
    let mut copy = File::create(to).unwrap();
    let mut chunk = vec![0; fastrand::usize(4 << 10..1 << 20)];
    let mut left_bytes = found.len();
    loop {
        let count = source.read(&mut chunk).unwrap();
        if count == 0 {
            break;
        }
        copy.write_all(&chunk[..count]).unwrap();
        let share = (count as f64 / left_bytes.max(1) as f64).min(1.0);
        std::thread::sleep(until.saturating_duration_since(Instant::now()).mul_f64(share));
        left_bytes = left_bytes.saturating_sub(count as u64);
    }
    fs::set_permissions(to, found.permissions()).unwrap();
}

fn setup(data: &Path) -> Setup {
    Setup::new().on(data).env("QUINTET_STORAGE__COPY_WINDOW_MINUTES", "1")
}

fn is_long() -> bool {
    std::env::var("QUINTET_COPIES").is_ok_and(|wish| wish == "long")
}

/// An appliance under test, its books, and a place for copies beside its directory.
struct Scene {
    parent: tempfile::TempDir,
    appliance: Option<Appliance>,
    books: Books,
}

/// A copy and what had been posted by the time it was over.
struct Copied {
    path: PathBuf,
    postings: Vec<Posting>,
    began: Instant,
    took: Duration,
}

impl Scene {
    fn new() -> Scene {
        let parent = tempfile::tempdir().unwrap();
        let appliance = setup(&parent.path().join("data")).start();
        let books = Books::open(&appliance).padded(PADDING_BYTES);
        Scene { parent, appliance: Some(appliance), books }
    }

    fn data(&self) -> PathBuf {
        self.parent.path().join("data")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    fn appliance(&self) -> &Appliance {
        self.appliance.as_ref().unwrap()
    }

    /// Starts it again, after the directory has been dealt with.
    fn restart(&mut self) {
        self.appliance = Some(setup(&self.data()).start());
    }

    /// The names of the checkpoints, also of one that is being made.
    fn checkpoints(&self) -> BTreeSet<OsString> {
        let entries = fs::read_dir(self.data().join("checkpoints"));
        entries.map(|entries| entries.flatten().map(|entry| entry.file_name()).collect()).unwrap_or_default()
    }

    /// Copies the directory while the appliance is under full load, before, during and after.
    fn copy_under_load(&self, copier: Copier, name: &str) -> Option<Copied> {
        let pause =
            Duration::from_millis(if matches!(copier, Copier::Slow(time) if time > FULL_LOAD) { 30 } else { 0 });
        let load = self.books.paced_load(self.appliance(), CALLERS, pause);
        load.wait_for(500);
        let path = self.path(name);
        let began = Instant::now();
        if matches!(copier, Copier::Snapshot) {
            self.appliance().signal("STOP");
        }
        let is_copied = copier.copy(&self.data(), &path);
        self.appliance().signal("CONT");
        let took = began.elapsed();
        load.wait_for(100);
        let postings = load.finish();
        is_copied.then_some(Copied { path, postings, began, took })
    }

    /// Asks the appliance itself for everything, too; from then on it is settled.
    fn settle(&mut self, postings: Vec<Posting>, case: &str) {
        let found = self.books.audit(self.appliance(), &postings, Instant::now(), case);
        self.books.settle(postings, found);
    }
}

/// Opens a copy; what is in it.
fn open(books: &Books, path: &Path, postings: &[Posting], since: Instant, case: &str) -> Found {
    let copy = setup(path).try_start().unwrap_or_else(|reason| panic!("{case}: the copy does not open: {reason}"));
    let found = books.audit(&copy, postings, since, case);
    assert_eq!(copy.stop(), Some(0), "{case}");
    found
}

/// A copy that took longer than the window may be refused, with the reason and what to do; never opened wrong.
fn open_or_refuse(books: &Books, copied: &Copied, case: &str) {
    let took = copied.took.as_secs_f64();
    match setup(&copied.path).try_start() {
        Ok(copy) => {
            let found = books.audit(&copy, &copied.postings, copied.began, case);
            say(&format!("{case} took {took:.1} s, has {} postings and lacks {}", found.there, found.absent));
            assert_eq!(copy.stop(), Some(0), "{case}");
        }
        Err(reason) => {
            assert!(copied.took > WINDOW, "{case} took {took:.1} s and does not open: {reason}");
            assert!(reason.contains("exit status: 4") && reason.contains("what to do"), "{case}: {reason}");
            say(&format!("{case} took {took:.1} s and is refused: {reason}"));
        }
    }
}

/// One round with one copier.
fn try_live_copy(scene: &mut Scene, copier: Copier, name: &str) {
    let Some(copied) = scene.copy_under_load(copier, name) else { return };
    let case = format!("a copy by {copier:?}");
    open_or_refuse(&scene.books, &copied, &case);
    scene.settle(copied.postings, &case);
    fs::remove_dir_all(copied.path).unwrap();
}

/// The figures of long runs.
#[expect(clippy::print_stdout, reason = "shown if asked for, like any test's output")]
fn say(figures: &str) {
    println!("{figures}");
}

#[test]
fn a_live_copy_by_cp_opens() {
    try_live_copy(&mut Scene::new(), Copier::Cp, "copy");
}

#[test]
fn a_live_copy_by_rsync_opens() {
    try_live_copy(&mut Scene::new(), Copier::Rsync, "copy");
}

#[test]
fn a_live_copy_by_tar_opens() {
    try_live_copy(&mut Scene::new(), Copier::Tar, "copy");
}

#[test]
fn a_snapshot_of_the_volume_opens() {
    try_live_copy(&mut Scene::new(), Copier::Snapshot, "copy");
}

#[test]
fn a_live_copy_by_a_slow_copier_opens() {
    let mut scene = Scene::new();
    let durations: &[u64] = if is_long() { &[5, 15, 30, 45] } else { &[4] };
    for seconds in durations {
        try_live_copy(&mut scene, Copier::Slow(Duration::from_secs(*seconds)), &format!("copy-{seconds}"));
    }
}

#[test]
fn a_live_copy_slower_than_the_window_opens_right_or_says_why_not() {
    if !is_long() {
        return say_skipped("it takes minutes; QUINTET_COPIES=long (make copies-long) runs it");
    }
    try_live_copy(&mut Scene::new(), Copier::Slow(WINDOW * 2), "copy");
}

#[test]
fn a_live_copy_while_a_checkpoint_is_made_opens() {
    if !is_long() {
        return say_skipped("it takes a minute; QUINTET_COPIES=long (make copies-long) runs it");
    }
    let mut scene = Scene::new();
    for round in 0..3 {
        let load = scene.books.load(scene.appliance(), CALLERS);
        let (before, begun) = (scene.checkpoints(), Instant::now());
        while scene.checkpoints().is_subset(&before) {
            assert!(begun.elapsed() < WINDOW, "no checkpoint was made in a copy window");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (path, began) = (scene.path(&format!("copy-{round}")), Instant::now());
        Copier::Cp.copy(&scene.data(), &path);
        let postings = load.finish();
        let case = format!("a copy beside checkpoint {round}");
        open(&scene.books, &path, &postings, began, &case);
        scene.settle(postings, &case);
    }
}

#[test]
fn a_copy_of_a_stopped_directory_has_everything() {
    let mut scene = Scene::new();
    let load = scene.books.load(scene.appliance(), CALLERS);
    load.wait_for(500);
    let postings = load.finish();
    assert_eq!(scene.appliance.take().unwrap().stop(), Some(0));
    for copier in [Copier::Cp, Copier::Rsync, Copier::Tar] {
        let path = scene.path(&format!("{copier:?}"));
        if copier.copy(&scene.data(), &path) {
            open(&scene.books, &path, &postings, Instant::now(), &format!("a copy at rest by {copier:?}"));
        }
    }
    scene.restart();
    scene.settle(postings, "the original");
}

/// A copy is put back over the directory it was made of, which has gone on meanwhile; then life goes on there.
fn try_restore(copier: Copier, put_back: impl Fn(&Path, &Path) -> bool) {
    let mut scene = Scene::new();
    let Some(Copied { path, mut postings, began, .. }) = scene.copy_under_load(copier, "copy") else { return };
    let load = scene.books.load(scene.appliance(), CALLERS);
    load.wait_for(2_000);
    postings.extend(load.finish());
    // A restore in place is told by what a checkpoint leaves behind; there is one every few minutes.
    assert!(scene.appliance().cli(&["verify"]).status.success());
    scene.appliance.take().unwrap().kill();
    if !put_back(&path, &scene.data()) {
        return;
    }
    scene.restart();
    let found = scene.books.audit(scene.appliance(), &postings, began, "restored");
    assert!(found.absent >= 2_000, "what was posted after the copy is gone with it, but only {} are", found.absent);
    scene.books.settle(postings, found);
    for end in ["killed", "stopped"] {
        let load = scene.books.load(scene.appliance(), CALLERS);
        load.wait_for(500);
        let appliance = scene.appliance.take().unwrap();
        let postings = if end == "killed" {
            appliance.kill();
            load.finish()
        } else {
            let postings = load.finish();
            assert_eq!(appliance.stop(), Some(0));
            postings
        };
        scene.restart();
        scene.settle(postings, &format!("restored, then {end}"));
    }
}

fn put_in_place(copy: &Path, data: &Path) -> bool {
    fs::remove_dir_all(data).unwrap();
    run(Command::new("cp").arg("-a").arg(copy).arg(data), &[0])
}

/// rsync onto a directory that exists. By default it takes files of one size and one second for the same, and all of
/// this happens within a second.
fn rsync_back(options: &[&str], copy: &Path, data: &Path) -> bool {
    let always = ["-aH", "--delete", "--checksum"];
    run(Command::new("rsync").args(always).args(options).arg(copy.join("")).arg(data), &[0])
}

#[test]
fn a_copy_put_in_the_place_of_the_removed_original_opens() {
    try_restore(Copier::Cp, put_in_place);
}

#[test]
fn a_copy_put_back_by_rsync_opens() {
    try_restore(Copier::Cp, |copy, data| rsync_back(&[], copy, data));
}

#[test]
fn a_copy_put_back_in_place_opens() {
    try_restore(Copier::Cp, |copy, data| rsync_back(&["--inplace"], copy, data));
}

#[test]
fn a_snapshot_put_back_opens() {
    try_restore(Copier::Snapshot, put_in_place);
    try_restore(Copier::Snapshot, |copy, data| rsync_back(&[], copy, data));
    try_restore(Copier::Snapshot, |copy, data| rsync_back(&["--inplace"], copy, data));
}

#[test]
fn a_copy_of_a_copy_opens() {
    let mut scene = Scene::new();
    let Copied { path, postings, began, .. } = scene.copy_under_load(Copier::Cp, "copy").unwrap();
    // Of a copy that was never opened.
    let second = scene.path("copy-of-copy");
    assert!(Copier::Cp.copy(&path, &second));
    open(&scene.books, &second, &postings, began, "a copy of a copy");
    // Of a copy that runs by itself now: the original is gone.
    scene.appliance.take().unwrap().kill();
    fs::remove_dir_all(scene.data()).unwrap();
    fs::rename(&path, scene.data()).unwrap();
    scene.restart();
    let found = scene.books.audit(scene.appliance(), &postings, began, "a copy in the place of the original");
    scene.books.settle(postings, found);
    try_live_copy(&mut scene, Copier::Slow(Duration::from_secs(2)), "copy-of-running-copy");
}
