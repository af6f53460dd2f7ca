//! Continuous backups on RocksDB and the real disk: machines that are lost, followers that stop, logs that go other ways,
//! instants gone back to.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::copying::{ALL, close, options, soon};
use super::workload::{COLD, Cell, No};
use crate::copies::backup::{self, CopyError};
use crate::copies::follow::{Follower, Shipped, is_followed};
use crate::error::{Abort, OpenError};
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::time::{TimeSource, Timestamp};
use crate::view::read::{Read, Scan};

/// A clock that is set.
#[derive(Default)]
struct Hand(AtomicI64);
impl TimeSource for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

fn open_at(path: &Path, clock: &Arc<Hand>) -> Store {
    let time: Arc<dyn TimeSource> = Arc::clone(clock) as _;
    Store::open(StoreOptions { time, ..options(path) }, ALL).unwrap()
}

fn open(path: &Path) -> Store {
    open_at(path, &Arc::default())
}

/// Row N holds N; the rows from one number to another are written.
fn write(store: &Store, numbers: std::ops::RangeInclusive<u64>, bytes: usize) {
    for number in numbers {
        let cell = Cell([&number.to_le_bytes()[..], &vec![number as u8; bytes]].concat());
        let key = ((number >> 16) as u8, number as u16);
        store.write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &key, &cell)?)).unwrap();
    }
}

/// How many rows there are; none may be missing among them.
fn count(store: &Store) -> u64 {
    let rows = store.read().scan(&COLD, Scan::all()).unwrap();
    let numbers: BTreeMap<u64, ()> =
        rows.iter().map(|(_, cell)| (u64::from_le_bytes(cell.0[..8].try_into().unwrap()), ())).collect();
    assert!(numbers.keys().copied().eq(1..=numbers.len() as u64), "a row is missing among {}", numbers.len());
    numbers.len() as u64
}

fn follower(data: &Path, place: &Path) -> Follower {
    Follower::open(data, place).unwrap()
}

/// Ships until everything is there; a checkpoint first, where that is needed.
fn catch_up(follower: &mut Follower) -> Shipped {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let shipped = follower.ship().unwrap();
        if shipped.is_caught_up {
            return shipped;
        }
        if shipped.needs_checkpoint {
            let taken = follower.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap();
            if taken.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        assert!(Instant::now() < end, "{shipped:?}");
    }
}

/// The rows of what a restore makes of a directory; it is checked too.
fn restored(place: &Path, until: Option<Timestamp>) -> Result<u64, CopyError> {
    let directory = tempfile::tempdir().unwrap();
    let restoring = backup::begin_restore(place, &directory.path().join("r"), until, &mut |_, _, _| {})?;
    restoring.keep()?;
    let store = open(&directory.path().join("r"));
    let rows = count(&store);
    close(store);
    assert_eq!(super::copying::verify(&directory.path().join("r")).findings, []);
    assert!(!is_followed(&directory.path().join("r")));
    Ok(rows)
}

#[test]
fn what_is_shipped_is_there_when_the_machine_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let store = open(&data);
    let (acknowledged, going) = (AtomicU64::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while going.load(Ordering::SeqCst) {
                let number = acknowledged.load(Ordering::SeqCst) + 1;
                write(&store, number..=number, 3_000);
                acknowledged.store(number, Ordering::SeqCst);
            }
        });
        let mut own = follower(&data, &place);
        for round in 0..8 {
            // What was acknowledged before a look that comes to its end is there.
            let before = acknowledged.load(Ordering::SeqCst);
            catch_up(&mut own);
            // Sometimes another one goes on, or a checkpoint is taken.
            match round % 3 {
                1 => {
                    drop(own);
                    own = follower(&data, &place);
                }
                2 => drop(own.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap()),
                _ => {}
            }
            let rows = restored(&place, None).unwrap();
            assert!(rows >= before, "round {round}: {before} were acknowledged, {rows} are there");
            std::thread::sleep(Duration::from_millis(300));
        }
        going.store(false, Ordering::SeqCst);
        let rows = acknowledged.load(Ordering::SeqCst);
        catch_up(&mut own);
        assert!(restored(&place, None).unwrap() >= rows);
    });
    close(store);
}

#[test]
fn starts_of_the_appliance_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let mut own = None;
    for round in 0..4_u64 {
        let store = open(&data);
        if round == 2 {
            own = None;
        }
        let own = own.get_or_insert_with(|| follower(&data, &place));
        write(&store, round * 100 + 1..=round * 100 + 50, 700);
        catch_up(own);
        write(&store, round * 100 + 51..=round * 100 + 100, 700);
        close(store);
        assert!(own.ship().unwrap().is_caught_up);
        assert_eq!(restored(&place, None).unwrap(), round * 100 + 100);
    }
}

#[test]
fn whoever_was_away_for_long_catches_up() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let clock = Arc::new(Hand(AtomicI64::new(1_000_000)));
    let store = open_at(&data, &clock);
    write(&store, 1..=300, 900);
    let mut own = follower(&data, &place);
    catch_up(&mut own);
    drop(own);
    clock.0.store(2_000_000, Ordering::SeqCst);
    // Past the window: segments have gone.
    write(&store, 301..=1500, 900);
    std::thread::sleep(Duration::from_millis(5_500));
    write(&store, 1501..=1700, 900);
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(!data.join("wal/0000000000000002.log").exists(), "the log has been cut");
    let mut own = follower(&data, &place);
    assert!(own.ship().unwrap().needs_checkpoint);
    assert_eq!(restored(&place, None).unwrap(), 300, "until then it is what it was");
    let taken = own.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap().unwrap();
    assert!(taken.bytes > 0);
    assert_eq!(restored(&place, None).unwrap(), taken.lsn, "the checkpoint without the log");
    catch_up(&mut own);
    assert_eq!(restored(&place, None).unwrap(), 1_700);
    write(&store, 1701..=1710, 900);
    catch_up(&mut own);
    assert_eq!(restored(&place, None).unwrap(), 1_710);
    // What is there of before can be gone back to. How long nothing followed then is known to nobody.
    assert_eq!(restored(&place, Some(Timestamp::from_micros(1_000_000))).unwrap(), 300);
    for unknown in [999_999, 1_000_001, 1_999_999] {
        let refused = restored(&place, Some(Timestamp::from_micros(unknown)));
        assert!(matches!(refused, Err(CopyError::OutOfWindow { .. })), "{unknown}: {refused:?}");
    }
    close(store);
}

#[test]
fn what_was_torn_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let store = open(&data);
    write(&store, 1..=40, 900);
    catch_up(&mut follower(&data, &place));
    let segment = place.join("wal/0000000000000001.log");
    let whole = fs::read(&segment).unwrap();
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..30 {
        let mut torn = whole.clone();
        match round % 3 {
            // The last bytes were not written, others were, or what lies behind is of nobody.
            0 => torn[random.usize(512..end)..].fill(0),
            1 => {
                // Within a frame: what stands between two is looked at by nobody.
                let places: Vec<usize> = (end - 2_000..end).filter(|place| whole[*place] != 0).collect();
                torn[places[random.usize(..places.len())]] ^= 0x55;
            }
            _ => torn[end.next_multiple_of(512)..][..600].fill(7),
        }
        fs::write(&segment, &torn).unwrap();
        let mut own = follower(&data, &place);
        catch_up(&mut own);
        assert!(fs::read(&segment).unwrap() == whole, "round {round}");
    }
    assert_eq!(restored(&place, None).unwrap(), 40);
    close(store);
}

#[test]
fn every_kept_instant_can_be_gone_back_to_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let clock = Arc::new(Hand(AtomicI64::new(1_000_000)));
    let store = open_at(&data, &clock);
    let mut own = follower(&data, &place);
    for second in 1..=60_u64 {
        clock.0.store(second as i64 * 1_000_000, Ordering::SeqCst);
        write(&store, second * 10 - 9..=second * 10, 900);
        catch_up(&mut own);
        if second % 15 == 0 {
            store.hold_checkpoint(0).unwrap();
            own.checkpoints().take(clock.now(), &mut |_| {}).unwrap().unwrap();
        }
    }
    own.note(600, Timestamp::from_micros(61_000_000)).unwrap();
    let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
    for second in [15, 16, 29, 30, 44, 59, 60, 61] {
        let rows = restored(&place, Some(at(second))).unwrap();
        assert_eq!(rows, second.min(60) as u64 * 10, "at {second}");
    }
    assert_eq!(restored(&place, Some(Timestamp::from_micros(29_999_999))).unwrap(), 290);
    for outside in [62, 0] {
        match restored(&place, Some(at(outside))) {
            Err(CopyError::OutOfWindow { first: Some(first), last }) => assert!(first < at(15) && last == at(61)),
            other => panic!("{other:?}"),
        }
    }
    // What is older than a checkpoint that is old enough goes.
    own.checkpoints().prune(at(61), at(31)).unwrap();
    assert!(matches!(restored(&place, Some(at(29))), Err(CopyError::OutOfWindow { .. })));
    assert_eq!(restored(&place, Some(at(31))).unwrap(), 310);
    assert_eq!(restored(&place, None).unwrap(), 600);
    let before = fs::read_dir(place.join("wal")).unwrap().count();
    own.checkpoints().prune(at(61), at(60)).unwrap();
    assert!(fs::read_dir(place.join("wal")).unwrap().count() < before, "the log below went, too");
    assert_eq!(restored(&place, None).unwrap(), 600);
    close(store);
}

#[test]
fn a_checkpoint_that_is_there_is_linked_and_not_copied() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let store = open(&data);
    write(&store, 1..=900, 900);
    store.hold_checkpoint(0).unwrap();
    let own = follower(&data, &place);
    let first = own.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap().unwrap();
    write(&store, 901..=910, 900);
    store.hold_checkpoint(0).unwrap();
    let mut told = 0;
    let next = own.checkpoints().take(Timestamp::EPOCH, &mut |bytes| told += bytes).unwrap().unwrap();
    assert!(next.lsn > first.lsn && told == next.bytes);
    let tables = fs::read_dir(place.join(format!("checkpoints/{:016x}", next.lsn))).unwrap();
    let is_linked = tables.map(|file| file.unwrap().metadata().unwrap().nlink()).any(|links| links == 2);
    assert!(is_linked, "what both have lies there once");
    assert_eq!(own.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap().unwrap().bytes, 0);
    close(store);
}

#[test]
fn what_cannot_follow_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { directory.path().join(name) };
    let (data, place) = (at("data"), at("there"));
    let store = open(&data);
    write(&store, 1..=20, 100);
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full/letter"), "dear").unwrap();
    let opened = |data: &Path, place: &Path| Follower::open(data, place).map(drop).unwrap_err();
    assert!(matches!(opened(&data, &at("full")), CopyError::NotEmpty(_)));
    assert_eq!(fs::read_dir(at("full")).unwrap().count(), 1);
    assert!(matches!(opened(&data, &at("not/mounted")), CopyError::Io { .. }));
    assert!(!at("not").exists());
    assert!(matches!(opened(&at("full"), &place), CopyError::Source(OpenError::NotADataDirectory(_))));
    let mut own = follower(&data, &place);
    assert!(matches!(opened(&data, &place), CopyError::Source(OpenError::InUse(_))));
    catch_up(&mut own);
    drop(own);
    // Somebody else's.
    close(open(&at("other")));
    assert!(matches!(opened(&at("other"), &place), CopyError::Foreign { .. }));
    // A restored one that went on by itself, and the one that it was made of.
    let restoring = backup::begin_restore(&place, &at("restored"), None, &mut |_, _, _| {}).unwrap();
    restoring.keep().unwrap();
    let twin = open(&at("restored"));
    write(&twin, 21..=30, 100);
    catch_up(&mut follower(&at("restored"), &place));
    write(&store, 21..=40, 100);
    let diverged = follower(&data, &place).ship();
    assert!(matches!(diverged, Err(CopyError::Diverged(_))), "{diverged:?}");
    assert_eq!(restored(&place, None).unwrap(), 30);
    assert!(matches!(restored(&data, Some(Timestamp::EPOCH)), Err(CopyError::NoWindow(_))));
    let mut own = follower(&at("restored"), &place);
    own.copy_extra(Timestamp::EPOCH, &[(at("full/letter"), "root.key".to_owned())]).unwrap();
    assert_eq!(fs::read(place.join("root.key")).unwrap(), b"dear");
    drop(own);
    close(twin);
    close(store);
    // One that was started itself.
    close(open(&place));
    assert!(matches!(opened(&at("restored"), &place), CopyError::Foreign { .. }));
    assert!(!at("data/FOLLOWED").exists());
}

/// A store with a checkpoint, and a directory that has caught up with it.
fn followed() -> (tempfile::TempDir, Store, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let store = open(&parent.path().join("data"));
    write(&store, 1..=40, 1_000);
    store.hold_checkpoint(0).unwrap();
    let place = parent.path().join("place");
    catch_up(&mut follower(&parent.path().join("data"), &place));
    (parent, store, place)
}

#[test]
fn nobody_else_writes_into_what_follows() {
    let (parent, store, place) = followed();
    let data = parent.path().join("data");
    // What stands in the way of a note is no place to write to.
    let victim = parent.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    for kind in ["link", "open"] {
        let planted = place.join("FOLLOWED.tmp");
        match kind {
            "link" => std::os::unix::fs::symlink(&victim, &planted).unwrap(),
            _ => fs::hard_link(&victim, &planted).unwrap(),
        }
        catch_up(&mut follower(&data, &place));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs", "{kind}");
        assert!(fs::symlink_metadata(place.join("FOLLOWED")).unwrap().is_file());
    }
    // Nor is a directory taken in which others write.
    let mode = |mode: u32| fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o777);
    assert!(matches!(Follower::open(&data, &place), Err(CopyError::Foreign { .. })));
    mode(0o700);
    // Two work on it at no time: neither a follower and another, nor a follower and an appliance.
    let going = follower(&data, &place);
    assert!(matches!(Follower::open(&data, &place), Err(CopyError::Source(OpenError::InUse(_)))));
    assert!(matches!(Store::open(options(&place), ALL), Err(OpenError::InUse(_))));
    drop(going);
    close(store);
}

#[test]
fn what_a_first_start_has_left_is_nothing() {
    let (parent, store, place) = followed();
    let other = parent.path().join("other");
    fs::create_dir(&other).unwrap();
    for name in ["FOLLOWING", "FOLLOWED.tmp"] {
        fs::write(other.join(name), "").unwrap();
    }
    catch_up(&mut follower(&parent.path().join("data"), &other));
    assert_eq!(restored(&other, None).unwrap(), 40);
    // And what is left of a checkpoint that had no room goes with the next look.
    let left = place.join("checkpoints/00000000000000000007.making");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("000012.sst"), "half").unwrap();
    follower(&parent.path().join("data"), &place).checkpoints().prune(Timestamp::EPOCH, Timestamp::EPOCH).unwrap();
    assert!(!left.exists());
    close(store);
}

#[test]
fn what_decays_where_it_is_kept_is_copied_anew() {
    let (parent, store, place) = followed();
    let data = parent.path().join("data");
    let newest = |place: &Path| {
        let listed = fs::read_dir(place.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
        listed.max().unwrap()
    };
    let mut tables = fs::read_dir(newest(&place)).unwrap().map(|entry| entry.unwrap().path());
    let table = tables.find(|path| path.extension().is_some_and(|extension| extension == "sst")).unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    write(&store, 41..=60, 1_000);
    store.hold_checkpoint(0).unwrap();
    let mut follower = follower(&data, &place);
    catch_up(&mut follower);
    let taken = follower.checkpoints().take(Timestamp::EPOCH, &mut |_| {}).unwrap().unwrap();
    assert!(taken.bytes > 0);
    // The old one, which nothing can be made of any more, may go now.
    fs::remove_dir_all(table.parent().unwrap()).unwrap();
    assert_eq!(restored(&place, None).unwrap(), 60);
    drop(follower);
    close(store);
}

#[test]
fn a_log_that_does_not_say_how_far_it_is_is_no_log_that_stands_still() {
    let (parent, store, place) = followed();
    let data = parent.path().join("data");
    let mut follower = follower(&data, &place);
    catch_up(&mut follower);
    let (told, aside) = (data.join("wal/WATERMARK"), parent.path().join("aside"));
    fs::rename(&told, &aside).unwrap();
    write(&store, 41..=42, 100);
    assert!(follower.ship().is_err());
    fs::rename(&aside, &told).unwrap();
    catch_up(&mut follower);
    drop(follower);
    assert_eq!(restored(&place, None).unwrap(), 42);
    close(store);
}

#[test]
fn a_log_that_decays_where_it_is_kept_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("there"));
    let clock = Arc::new(Hand(AtomicI64::new(0)));
    let store = open_at(&data, &clock);
    let mut own = follower(&data, &place);
    for second in 1..=60_u64 {
        clock.0.store(second as i64 * 1_000_000, Ordering::SeqCst);
        write(&store, second..=second, 900);
        catch_up(&mut own);
    }
    own.note(60, Timestamp::from_micros(61_000_000)).unwrap();
    drop(own);
    let segment = place.join("wal/0000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let sector = end / 2 / 512 * 512;
    bytes[sector..sector + 512].fill(0);
    fs::write(&segment, bytes).unwrap();
    let refused = restored(&place, None);
    assert!(
        matches!(&refused, Err(CopyError::Damaged { reason, .. }) if reason.contains("60 were there")),
        "{refused:?}"
    );
    let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
    let Err(CopyError::OutOfWindow { last, .. }) = restored(&place, Some(at(50))) else { panic!("it is gone") };
    assert!(at(20) < last && last < at(40), "{last:?}");
    assert_eq!(restored(&place, Some(at(10))).unwrap(), 10, "what stands before it is there");
    // Whoever follows on writes it again.
    catch_up(&mut follower(&data, &place));
    assert_eq!(restored(&place, None).unwrap(), 60);
    assert_eq!(restored(&place, Some(at(50))).unwrap(), 50);
    close(store);
}

#[test]
fn keys_of_before_are_kept_as_long_as_the_instants() {
    let (parent, store, place) = followed();
    let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
    let key = parent.path().join("key");
    let mut own = follower(&parent.path().join("data"), &place);
    for (second, text) in [(1, "one"), (2, "one "), (3, "three")] {
        fs::write(&key, text).unwrap();
        own.copy_extra(at(second), &[(key.clone(), "root.key".to_owned())]).unwrap();
    }
    let said = |place: &Path| -> Vec<String> {
        let former = crate::copies::follow::former_files(place, "root.key");
        former.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    };
    assert_eq!(said(&place), ["one ", "one"]);
    own.checkpoints().prune(at(9), at(3)).unwrap();
    assert_eq!(said(&place), ["one "]);
    own.checkpoints().prune(at(9), at(4)).unwrap();
    assert_eq!(said(&place), [""; 0]);
    assert_eq!(fs::read_to_string(place.join("root.key")).unwrap(), "three");
    close(store);
}
