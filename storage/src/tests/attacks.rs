//! What a hostile reading of this crate has found: each test showed a defect once.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::copying::{ALL, Still, options, soon};
use super::workload::{COLD, Cell, No};
use crate::copies::checkpoint::{Keeper, Rules, Source};
use crate::copies::rebuild::{self, Former};
use crate::copies::salvage::salvage;
use crate::copies::verify::{Tables, Verification};
use crate::directory::identity::{self, Provenance};
use crate::env::Disk;
use crate::env::sim::SimDisk;
use crate::error::{Abort, Failure, OpenError};
use crate::log::format::{self, FrameHeader, Op};
use crate::log::recovery;
use crate::log::writer::LogWriter;
use crate::log::{LogPosition, Trust, WATERMARK_FILE, segment_name};
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::time::Timestamp;
use crate::view::read::{Read, Scan};

fn fill(store: &Store, rows: std::ops::Range<u16>, bytes: usize) {
    for row in rows {
        let value = vec![7; bytes];
        store.write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &(1, row), &Cell(value))?)).unwrap();
    }
}

fn rows(store: &Store) -> usize {
    store.read().scan(&COLD, Scan::all()).unwrap().len()
}

fn header() -> FrameHeader {
    FrameHeader {
        payload_bytes: 0,
        checksum: 0,
        previous_checksum: 0,
        transactions: 1,
        first_lsn: 0,
        synced_lsn: 0,
        time: Timestamp::EPOCH,
        id_tick: 0,
    }
}

fn log_of_two() -> (SimDisk, [u8; 16]) {
    let disk = SimDisk::default();
    let id = [3; 16];
    let position = LogPosition { segment: 0, last_lsn: 0, checksum: 0 };
    let mut log =
        LogWriter::start(Arc::new(disk.clone()), id, 64 << 10, position, Vec::new(), Trust::Original).unwrap();
    for value in [vec![7; 100], vec![7; 1300]] {
        let mut frame = format::begin_frame();
        format::encode_op(&mut frame, Op::Put { key: b"\x01\x01k", value: &value });
        log.append(&mut frame, header()).unwrap();
        if value.len() == 100 {
            // fine
        }
    }
    (disk, id)
}

/// A torn tail, as power loss leaves it, is no reason to refuse the directory because it was copied before it was
/// started, or lies on a file system without handles.
#[test]
fn torn_tail_in_a_copy() {
    let (disk, id) = log_of_two();
    let file = disk.open(&segment_name(1)).unwrap();
    // The second frame (three sectors at 1024) was never synced: its middle sector is not there.
    file.write_at(1024 + 512, &[0; 512]).unwrap();
    let watermark = disk.open(WATERMARK_FILE).unwrap();
    watermark.write_at(0, &format::encode_watermark(1, id)).unwrap();
    let original = recovery::recover(&disk, id, 0, Trust::Original, &mut |_, _| Ok(())).unwrap();
    assert_eq!(original.last_lsn, 1);
    let copy = recovery::recover(&disk, id, 0, Trust::Copy, &mut |_, _| Ok(()));
    assert!(copy.is_ok(), "{copy:?}");
}

/// Where every start is a copy's, a frame that may sit in the page cache only is taken as durable.
#[test]
fn unsynced_frame_in_a_copy_is_carried() {
    let (disk, id) = log_of_two();
    disk.open(WATERMARK_FILE).unwrap().write_at(0, &format::encode_watermark(1, id)).unwrap();
    let original = recovery::recover(&disk, id, 0, Trust::Original, &mut |_, _| Ok(())).unwrap();
    assert_eq!(original.carried.len(), 1);
    let copy = recovery::recover(&disk, id, 0, Trust::Copy, &mut |_, _| Ok(())).unwrap();
    assert_eq!(copy.carried.len(), 1);
}

fn harmed_original(data: &Path) {
    let store = Store::open(options(data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.hold_checkpoint(100).unwrap();
    fill(&store, 5..20, 100);
    store.shutdown();
    drop(store);
    // The disk lost the log's end: frames of one sector each, behind the segment's header.
    let segment = data.join("wal/0000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[512 * 11..].fill(0);
    fs::write(&segment, bytes).unwrap();
}

/// Damage that was refused once must be refused again.
#[test]
fn refused_damage_stays_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    harmed_original(&data);
    fs::remove_dir_all(data.join("live")).unwrap();
    let first = Store::open(options(&data), ALL).map(|store| rows(&store));
    assert!(matches!(first, Err(OpenError::Damaged { .. })), "{first:?}");
    let second = Store::open(options(&data), ALL).map(|store| rows(&store));
    assert!(matches!(second, Err(OpenError::Damaged { .. })), "{second:?}");
}

/// The same, the process dying right behind the rebuild.
#[test]
fn death_behind_a_rebuild() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    harmed_original(&data);
    let id = crate::read_format(&data).unwrap().unwrap().directory_id;
    assert_eq!(identity::provenance(&data), Provenance::Original);
    fs::remove_dir_all(data.join("live")).unwrap();
    rebuild::from_checkpoint(&data, id, Former::KeepAside).unwrap();
    let second = Store::open(options(&data), ALL).map(|store| rows(&store));
    assert!(matches!(second, Err(OpenError::Damaged { .. })), "{second:?}");
}

#[test]
fn rocksdbs_own_checkpoint_leftover_goes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    drop(store);
    let left = data.join("checkpoints/0000000000000003.making.tmp");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("000009.sst"), "link").unwrap();
    let store = Store::open(options(&data), ALL).unwrap();
    store.shutdown();
    assert!(!left.exists());
}

struct Fake;
impl Source for Fake {
    fn checkpoint(&self, path: &Path) -> Result<(), Failure> {
        fs::create_dir(path).map_err(|e| Failure::Io(e.to_string()))?;
        fs::write(path.join("1.sst"), "x").map_err(|e| Failure::Io(e.to_string()))
    }
}

fn keeper(data: &Path, now: Instant) -> Keeper {
    let rules = Rules { window: Duration::from_secs(60), bytes_max: 1 << 20 };
    Keeper::new(data, Uuid::from_u128(1), Box::new(Fake), rules, now).unwrap()
}

/// A slow backup holds the oldest checkpoint: nothing else of what is kept for copies may grow without bound.
#[test]
fn a_held_checkpoint_does_not_keep_everything_behind_it() {
    let directory = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let mut keeper = keeper(directory.path(), began);
    keeper.make(1, began, &|| false).unwrap();
    keeper.hold(1, began + Duration::from_secs(36_000), true).unwrap();
    for number in 2..200_u64 {
        let now = began + Duration::from_secs(15 * number);
        keeper.make(number, now, &|| false).unwrap();
        keeper.retire(now, true, &|_| 1 << 40);
    }
    let now = began + Duration::from_secs(15 * 200);
    assert!(keeper.window(now, &|_| 0).checkpoints <= 10, "{:?}", keeper.window(now, &|_| 0));
    assert!(keeper.keep_above() > 1, "the log above {} stays", keeper.keep_above());
}

/// Only a sound successor lets a sound checkpoint go.
#[test]
fn a_damaged_successor_counts_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let mut first = keeper(directory.path(), began);
    first.make(1, began, &|| false).unwrap();
    first.make(2, began, &|| false).unwrap();
    drop(first);
    fs::write(directory.path().join("checkpoints/0000000000000002/QUINTET-MANIFEST"), "harmed").unwrap();
    let mut again = keeper(directory.path(), began);
    let later = began + Duration::from_secs(61);
    // As the thread does on an idle store.
    if again.is_due(2, later) {
        again.make(2, later, &|| false).unwrap();
    }
    again.retire(later, false, &|_| 0);
    let sound = crate::copies::checkpoint::list(directory.path()).unwrap();
    let sound = sound
        .iter()
        .filter(|(_, path)| crate::copies::checkpoint::check(path, Uuid::from_u128(1), &mut |_| Ok(())).is_ok());
    assert!(sound.count() > 0, "no sound checkpoint is left");
}

/// Two backups of an idle store hold the same checkpoint.
#[test]
fn one_release_does_not_end_the_others_hold() {
    let directory = tempfile::tempdir().unwrap();
    let now = Instant::now();
    let mut keeper = keeper(directory.path(), now);
    keeper.make(1, now, &|| false).unwrap();
    let path = keeper.hold(1, now + Duration::from_secs(3600), true).unwrap();
    keeper.hold(1, now + Duration::from_secs(3600), true).unwrap();
    keeper.release(1);
    keeper.make(2, now, &|| false).unwrap();
    keeper.retire(now, true, &|_| 0);
    assert!(path.exists());
}

#[test]
fn a_fresh_directorys_tables_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    let mode = fs::metadata(data.join("live")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "{mode:o}");
}

#[test]
fn salvage_without_a_format_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    drop(store);
    let mut bytes = fs::read(data.join("FORMAT")).unwrap();
    bytes[3] ^= 1;
    fs::write(data.join("FORMAT"), bytes).unwrap();
    assert!(Store::open(options(&data), ALL).is_err());
    let salvaged = salvage(&data, &directory.path().join("salvaged"), &[], ALL, &mut |_, _| {});
    assert!(salvaged.is_ok(), "{salvaged:?}");
}

#[test]
fn a_hold_for_ever_does_not_end_writing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    let _ = store.hold_checkpoint(u64::MAX);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(store.stop_reason(), None);
}

fn findings(path: &Path) -> Vec<String> {
    let mut silent = |_: &str, _: u64| {};
    let mut verification = Verification::begin(path, false, ALL).unwrap();
    verification.check_log(&mut silent);
    verification.check_checkpoints(&mut silent);
    verification.check_tables(&Tables::Own, &mut silent);
    verification.finish().findings.iter().map(ToString::to_string).collect()
}

/// As kill -9 leaves it in the middle of a checkpoint's removal.
#[test]
fn a_checkpoint_on_its_way_out_is_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    let first = store.hold_checkpoint(0).unwrap();
    fill(&store, 5..9, 100);
    store.hold_checkpoint(0).unwrap();
    store.shutdown();
    drop(store);
    fs::remove_file(first.path.join("QUINTET-MANIFEST")).unwrap();
    assert_eq!(findings(&data), Vec::<String>::new());
}

/// A copy made before there was a checkpoint opens; verify must say the same.
#[test]
fn verify_of_a_copy_without_a_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    drop(store);
    fs::remove_dir_all(data.join("checkpoints")).unwrap();
    fs::remove_file(data.join("IDENTITY")).unwrap();
    assert_eq!(findings(&data), Vec::<String>::new());
    let store = Store::open(options(&data), ALL).unwrap();
    assert_eq!(rows(&store), 5);
    store.shutdown();
}

/// A mode changed by hand, or a hard link to the segment, makes no copy of an original.
#[test]
fn a_changed_mode_makes_no_copy() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    drop(store);
    std::thread::sleep(Duration::from_millis(100));
    fs::set_permissions(data.join("wal/0000000000000001.log"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(identity::provenance(&data), Provenance::Original);
}

/// b5 with the log's end lost: an acknowledged transaction is gone without a word.
#[test]
fn a_changed_mode_hides_no_damage() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    harmed_original(&data);
    std::thread::sleep(Duration::from_millis(100));
    fs::set_permissions(data.join("wal/0000000000000001.log"), fs::Permissions::from_mode(0o640)).unwrap();
    let opened = Store::open(options(&data), ALL).map(|store| rows(&store));
    assert!(opened.is_err(), "{opened:?}");
}

/// Verification changes nothing.
#[test]
fn verify_of_a_backup_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    let held = store.hold_checkpoint(60).unwrap();
    let backup = directory.path().join("backup");
    crate::copies::backup::create_backup(&data, &held, &backup, &[], &mut |_, _, _| {}).unwrap();
    store.shutdown();
    assert_eq!(findings(&backup), Vec::<String>::new());
    assert!(!backup.join("LOCK").exists());
}

/// The store's last handle goes without a shutdown: the lock goes when the threads have ended.
#[test]
fn lock_outlives_threads() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for _ in 0..20 {
        let store = Store::open(options(&data), ALL).unwrap();
        fill(&store, 0..5, 100);
        drop(store);
        match Store::open(options(&data), ALL) {
            Ok(store) => store.shutdown(),
            Err(OpenError::InUse(_)) => std::thread::sleep(Duration::from_millis(300)),
            Err(other) => panic!("the lock was free, but {other}"),
        }
    }
}

/// An older copy laid over the original in place by a tool that does not keep times.
#[test]
fn log_yields_below_the_reserve() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let segments = || fs::read_dir(data.join("wal")).unwrap().count();
    let mut slow = options(&data);
    slow.copy_window = Duration::from_secs(600);
    let store = Store::open(slow, ALL).unwrap();
    fill(&store, 0..1000, 3000);
    store.shutdown();
    drop(store);
    let before = segments();
    let found = rustix::fs::statvfs(&data).unwrap();
    let free = found.f_bavail * found.f_frsize;
    let store = Store::open(StoreOptions { disk_reserve_bytes: free * 2, ..options(&data) }, ALL).unwrap();
    std::thread::sleep(Duration::from_secs(9));
    let after = segments();
    let room = store.room();
    store.shutdown();
    assert!(after < before / 2, "{before} segments before, {after} after, room {room:?}");
}

/// A destination that cannot be replaced in the end is refused at the begin.
#[test]
fn backup_to_a_linked_directory() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    let held = store.hold_checkpoint(60).unwrap();
    fs::create_dir(directory.path().join("real")).unwrap();
    let link = directory.path().join("backup");
    std::os::unix::fs::symlink(directory.path().join("real"), &link).unwrap();
    let mut copied = 0;
    let made = crate::copies::backup::create_backup(&data, &held, &link, &[], &mut |_, done, _| copied = done);
    store.shutdown();
    assert!(made.is_ok() || copied == 0, "{made:?} after {copied} bytes");
}

/// A file of the source that is not what the manifest says is not read beyond what it says.
#[test]
fn hostile_source() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    let held = store.hold_checkpoint(60).unwrap();
    let backup = directory.path().join("backup");
    let key = directory.path().join("root.key");
    fs::write(&key, "key").unwrap();
    crate::copies::backup::create_backup(&data, &held, &backup, &[(key, "root.key".into())], &mut |_, _, _| {})
        .unwrap();
    store.shutdown();
    fs::remove_file(backup.join("root.key")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", backup.join("root.key")).unwrap();
    let mut read = 0_u64;
    let began = Instant::now();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        crate::copies::backup::begin_restore(&backup, &directory.path().join("r"), None, &mut |_, done, _| {
            read = done;
            assert!(done < 1 << 30, "a gigabyte was read for a key of three bytes");
        })
        .map(|_| ())
        .map_err(|e| e.to_string())
    }));
    assert!(result.is_ok(), "{read} bytes in {:?}", began.elapsed());
}

/// Beside a busy appliance verify finds no damage where there is none.
#[test]
fn verify_beside_a_busy_store() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let busy = StoreOptions {
        segment_bytes: 32 << 10,
        flush_log_bytes: 256 << 10,
        copy_window: Duration::from_millis(80),
        copy_bytes_max: 64 << 10,
        disk_reserve_bytes: 0,
        ..StoreOptions::new(&data, Arc::new(Still))
    };
    let store = Store::open(busy, ALL).unwrap();
    let going = std::sync::atomic::AtomicBool::new(true);
    let mut found = std::collections::BTreeMap::<String, usize>::new();
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while going.load(std::sync::atomic::Ordering::SeqCst) {
                fill(&store, 0..200, 3000);
            }
        });
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(4) {
            rounds += 1;
            let mut silent = |_: &str, _: u64| {};
            let mut verification = Verification::begin(&data, true, ALL).unwrap();
            verification.check_log(&mut silent);
            verification.check_checkpoints(&mut silent);
            let verified = verification.finish();
            for told in verified.findings.iter().map(|f| f.reason.clone()).chain(verified.notes.iter().cloned()) {
                let told: String = told
                    .chars()
                    .map(|c| if c.is_ascii_hexdigit() && !c.is_ascii_lowercase() { '#' } else { c })
                    .collect();
                *found.entry(told).or_default() += 1;
            }
        }
        going.store(false, std::sync::atomic::Ordering::SeqCst);
    });
    store.shutdown();
    assert!(found.is_empty(), "{rounds} rounds: {found:#?}");
}

/// A copy whose FORMAT was read before the first start was complete is still a copy.
#[test]
fn copy_of_an_incomplete_directory() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..5, 100);
    store.shutdown();
    drop(store);
    let mut format = crate::read_format(&data).unwrap().unwrap();
    format.complete = false;
    let copy = directory.path().join("copy");
    assert!(std::process::Command::new("cp").arg("-a").arg(&data).arg(&copy).status().unwrap().success());
    crate::directory::format::write_format(&copy, &format).unwrap();
    fs::write(copy.join("live/marker.txt"), "").unwrap();
    let store = Store::open(options(&copy), ALL).unwrap();
    store.shutdown();
    assert!(!copy.join("live/marker.txt").exists(), "the copied live/ was trusted");
}

/// Which view salvage takes: one that reads everything up to a place, or one that reaches a little farther with holes.
#[test]
fn salvage_prefers_rows_over_reach() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(StoreOptions { copy_window: Duration::from_secs(600), ..options(&data) }, ALL).unwrap();
    fill(&store, 0..2000, 400);
    store.hold_checkpoint(600).unwrap();
    fill(&store, 2000..2020, 100);
    store.shutdown();
    drop(store);
    // Of live/ the big table file goes bad (a file of its own, as after a compaction); of the log the very end.
    let mut biggest: Vec<_> = fs::read_dir(data.join("live")).unwrap().map(|e| e.unwrap().path()).collect();
    biggest.retain(|path| path.extension().is_some_and(|e| e == "sst"));
    biggest.sort_by_key(|path| fs::metadata(path).unwrap().len());
    let big = biggest.pop().unwrap();
    let mut bytes = fs::read(&big).unwrap();
    let until = bytes.len() * 9 / 10;
    bytes[1000..until].fill(0x55);
    fs::remove_file(&big).unwrap();
    fs::write(&big, bytes).unwrap();
    let mut segments: Vec<_> = fs::read_dir(data.join("wal")).unwrap().map(|e| e.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|e| e == "log"));
    segments.sort();
    let mut bytes = fs::read(segments.last().unwrap()).unwrap();
    let end = bytes.iter().rposition(|b| *b != 0).unwrap() / 512 * 512;
    bytes[end..].fill(0);
    fs::write(segments.last().unwrap(), bytes).unwrap();
    let salvaged = salvage(&data, &directory.path().join("s"), &[], ALL, &mut |_, _| {}).unwrap();
    assert!(salvaged.rows >= 2019, "{} of 2020 rows from {}", salvaged.rows, salvaged.source);
}

/// Tables that were emptied, or are older than the log, are made anew like missing ones.
#[test]
fn emptied_tables_are_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(options(&data), ALL).unwrap();
    fill(&store, 0..1500, 900);
    std::thread::sleep(Duration::from_millis(5500));
    fill(&store, 0..300, 900);
    std::thread::sleep(Duration::from_millis(1500));
    store.shutdown();
    drop(store);
    assert!(!data.join("wal/0000000000000001.log").exists(), "the log has been cut");
    for entry in fs::read_dir(data.join("live")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let first = Store::open(options(&data), ALL).map(|store| rows(&store)).map_err(|e| e.to_string());
    let again = Store::open(options(&data), ALL).map(|store| rows(&store)).map_err(|e| e.to_string());
    assert!(first.is_ok(), "{first:?}, then {again:?}");
}

/// a3 with tables that were emptied and not removed: refused at the first start, loses rows silently at the second.
#[test]
fn refused_damage_stays_refused_with_emptied_tables() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    harmed_original(&data);
    for entry in fs::read_dir(data.join("live")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let first = Store::open(options(&data), ALL).map(|store| rows(&store)).map_err(|e| e.to_string());
    let second = Store::open(options(&data), ALL).map(|store| rows(&store)).map_err(|e| e.to_string());
    assert!(first.is_err() && second.is_err(), "{first:?}, then {second:?}");
}

/// What no copier leaves is refused in a copy, too.
#[test]
fn damage_in_a_copy_is_no_gap() {
    for place in [512 + 70, 1024 + 70, 1024 + 600] {
        let (disk, id) = log_of_two();
        assert!(recovery::recover(&disk, id, 0, Trust::Copy, &mut |_, _| Ok(())).is_ok());
        disk.flip(&segment_name(1), place, 3);
        let refused = recovery::recover(&disk, id, 0, Trust::Copy, &mut |_, _| Ok(())).err();
        assert!(matches!(refused, Some(OpenError::Damaged { .. })), "byte {place}: {refused:?}");
    }
}

/// A watermark of another moment does not come back once a copy has been opened, whatever the power loss keeps.
#[test]
fn a_copied_watermark_is_gone_for_good() {
    for seed in 0..60 {
        let (disk, id) = log_of_two();
        let watermark = disk.open(WATERMARK_FILE).unwrap();
        watermark.write_at(0, &format::encode_watermark(99, id)).unwrap();
        watermark.sync_data().unwrap();
        disk.sync_directory().unwrap();
        let found = recovery::recover(&disk, id, 0, Trust::Copy, &mut |_, _| Ok(())).unwrap();
        let copy = Arc::new(disk.clone());
        LogWriter::start(copy, id, 64 << 10, found.position, found.carried, Trust::Copy).unwrap();
        let after = disk.crash(&mut fastrand::Rng::with_seed(seed));
        recovery::recover(&after, id, 0, Trust::Original, &mut |_, _| Ok(())).unwrap();
    }
}
