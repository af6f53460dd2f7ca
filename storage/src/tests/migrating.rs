//! Migrations of the directory's format, as binaries of several versions make them: rows that move to another table, in
//! directories that are whole, killed between two steps, copied across them, backed up, rehearsed or salvaged.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::copying::{close, copy, options, soon};
use super::workload::{Cell, No};
use crate::backup;
use crate::copies::checkpoint;
use crate::copies::salvage::salvage;
use crate::copies::verify::{Tables, Verification};
use crate::directory::format::{Format, Formats, read_format, write_format};
use crate::error::{Abort, Failure, OpenError};
use crate::large;
use crate::open::migration::{Migrating, Migration, Migrations};
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::tables::family::Family;
use crate::tables::table::{Table, TableSpec};
use crate::time::{TimeSource, Timestamp};
use crate::view::read::{Read, Scan};

/// As version 1 had it: by number, then by kind.
const BY_NUMBER: Table<(u16, u8), Cell> = Table::new(0x0F41, Family::named("moving"), "test_by_number");
/// As version 2 has it: by kind first.
const BY_KIND: Table<(u8, u16), Cell> = Table::new(0x0F42, Family::named("moving"), "test_by_kind");
/// What version 3 adds: how many there are of a kind.
const COUNTS: Table<u8, Cell> = Table::new(0x0F43, Family::named("moving"), "test_counts");

const TABLES_1: &[&[TableSpec]] = &[&[BY_NUMBER.spec()], large::TABLES];
const TABLES_3: &[&[TableSpec]] = &[&[BY_NUMBER.spec(), BY_KIND.spec(), COUNTS.spec()], large::TABLES];

/// Enough for several transactions of a step.
const ROWS: u16 = 1_730;

const TO_2: Migration = Migration { from: 1, name: "by kind", run: by_kind };
const TO_3: Migration = Migration { from: 2, name: "counts", run: counts };

fn by_kind(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
    migrating.move_rows(&BY_NUMBER, |tx, (number, kind), row| tx.put(&BY_KIND, &(kind, number), &row))
}

fn counts(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
    migrating.write(|tx| {
        for kind in 0..3 {
            let count = tx.scan(&BY_KIND, Scan::prefix(&(kind,)))?.len();
            tx.put(&COUNTS, &kind, &Cell(count.to_le_bytes().to_vec()))?;
        }
        Ok(())
    })
}

fn version_1() -> Migrations {
    Migrations::new(&[], 1).unwrap()
}

fn version_3() -> Migrations {
    Migrations::new(&[&[TO_3], &[TO_2]], 3).unwrap()
}

fn row(number: u16) -> Cell {
    Cell(vec![number as u8; 1 + usize::from(number % 300)])
}

fn put_old(store: &Store, number: u16) {
    let put = store.write_blocking(soon(), move |tx, _| {
        Ok::<_, Abort<No>>(tx.put(&BY_NUMBER, &(number, (number % 3) as u8), &row(number))?)
    });
    put.unwrap();
}

/// A directory of version 1, stopped.
fn old_directory(place: &Path) {
    let store = Store::open_as(options(place), TABLES_1, &version_1()).unwrap();
    for first in (0..ROWS).step_by(100) {
        let put = store.write_blocking(soon(), move |tx, _| {
            for number in first..ROWS.min(first + 100) {
                tx.put(&BY_NUMBER, &(number, (number % 3) as u8), &row(number))?;
            }
            Ok::<_, Abort<No>>(())
        });
        put.unwrap();
    }
    close(store);
}

/// Everything is in its new form, once.
fn check_new(read: &impl Read, rows: u16) {
    assert_eq!(read.scan(&BY_NUMBER, Scan::all()).unwrap().len(), 0, "rows are left behind");
    let found = read.scan(&BY_KIND, Scan::all()).unwrap();
    assert_eq!(found.len(), usize::from(rows));
    for ((kind, number), cell) in found {
        assert_eq!((kind, cell), ((number % 3) as u8, row(number)));
    }
    let count = |kind| read.get(&COUNTS, &kind).unwrap().map(|cell| usize::from_le_bytes(cell.0.try_into().unwrap()));
    assert_eq!((0..3).filter_map(count).sum::<usize>(), usize::from(rows));
}

fn open_3(place: &Path) -> Result<Store, OpenError> {
    Store::open_as(options(place), TABLES_3, &version_3())
}

/// The versions that FORMAT and the rows have.
fn versions(place: &Path, store: &Store) -> (u32, u32) {
    let format = read_format(place).unwrap().unwrap();
    (format.version, store.read().rows_version(format.made).unwrap())
}

#[test]
fn an_older_format_migrates_behind_a_checkpoint_and_once() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    old_directory(&place);
    let before = checkpoint::list(&place).unwrap();

    let store = open_3(&place).unwrap();
    check_new(&store.read(), ROWS);
    assert_eq!(versions(&place, &store), (3, 3));
    assert_eq!((store.format().version, store.format().made), (3, 1));
    let made: Vec<_> = checkpoint::list(&place).unwrap().into_iter().filter(|one| !before.contains(one)).collect();
    let (_, oldest) = made.last().unwrap();
    let view = crate::view::overlay::Overlay::open(oldest).unwrap().into_snapshot();
    assert_eq!(view.scan(&BY_NUMBER, Scan::all()).unwrap().len(), usize::from(ROWS), "the state before it");
    let lsn = store.read().lsn();
    close(store);

    let store = open_3(&place).unwrap();
    assert_eq!(store.read().lsn(), lsn, "a second start finds nothing to do");
    check_new(&store.read(), ROWS);
    close(store);
}

#[test]
fn a_directory_that_is_made_has_the_newest_format_and_nothing_to_migrate() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    let store = open_3(&place).unwrap();
    assert_eq!((versions(&place, &store), store.format().made, store.read().lsn()), ((3, 3), 3, 0));
    close(store);
    // Its FORMAT lost, a salvage takes it for one of the first version: the steps leave alone what is new.
    let store = open_3(&place).unwrap();
    let put = |tx: &mut crate::write::tx::WriteTx<'_>, _| Ok::<_, Abort<No>>(tx.put(&BY_KIND, &(1, 1), &row(1))?);
    store.write_blocking(soon(), put).unwrap();
    close(store);
    fs::remove_file(place.join("FORMAT")).unwrap();
    let saved = directory.path().join("saved");
    assert_eq!(salvage(&place, &saved, &[], TABLES_3, &mut |_, _| {}).unwrap().lost, []);
    // What salvages is newer than what is opened here.
    let format = read_format(&saved).unwrap().unwrap();
    write_format(&saved, &Format { version: 3, ..format }).unwrap();
    let store = open_3(&saved).unwrap();
    check_new(&store.read(), 1);
    close(store);
}

/// Steps that end after so many transactions, as a kill ends them.
mod killed {
    use super::*;

    pub(super) static LEFT: AtomicU64 = AtomicU64::new(0);
    pub(super) const TO_2: Migration = Migration { from: 1, name: "by kind", run: by_kind };
    pub(super) const TO_3: Migration = Migration { from: 2, name: "counts", run: counts };

    fn by_kind(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
        // It dies at one row of a hundred; the transaction of that row comes to nothing, those before it stay.
        migrating.move_rows(&BY_NUMBER, |tx, (number, kind), row| {
            if number % 100 == 0 {
                live()?;
            }
            tx.put(&BY_KIND, &(kind, number), &row)
        })?;
        live()
    }

    fn counts(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
        live()?;
        super::counts(migrating)?;
        live()
    }

    fn live() -> Result<(), Failure> {
        let left = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| Failure::Io("the power went".to_owned()))
    }
}

#[test]
fn a_migration_that_is_cut_short_anywhere_goes_on_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("old");
    old_directory(&old);
    let dying = Migrations::new(&[&[killed::TO_2, killed::TO_3]], 3).unwrap();
    let mut cut_short = 0;
    for lives in (0..).step_by(3) {
        let place = directory.path().join(format!("after {lives}"));
        copy(&old, &place);
        killed::LEFT.store(lives, Ordering::SeqCst);
        match Store::open_as(options(&place), TABLES_3, &dying) {
            Err(OpenError::Io { doing, reason }) => {
                assert!(doing.contains("migration") && reason.contains("the power went"), "{doing}: {reason}");
                cut_short += 1;
            }
            Err(error) => panic!("{error}"),
            Ok(store) => {
                check_new(&store.read(), ROWS);
                close(store);
                break;
            }
        }
        assert_eq!(read_format(&place).unwrap().unwrap().version, 3, "no older binary opens it from now on");
        let refused = Store::open_as(options(&place), TABLES_1, &version_1()).err();
        assert!(matches!(refused, Some(OpenError::NewerFormat { found: 3, known: 1 })), "{refused:?}");

        // Salvaged as it is, and a plain copy of it: both go on as the directory itself does.
        let (saved, copied) = (place.with_extension("saved"), place.with_extension("copied"));
        assert_eq!(salvage(&place, &saved, &[], TABLES_3, &mut |_, _| {}).unwrap().lost, []);
        copy(&place, &copied);
        for place in [&place, &saved, &copied] {
            let store = open_3(place).unwrap();
            check_new(&store.read(), ROWS);
            assert_eq!(versions(place, &store), (3, 3));
            close(store);
            fs::remove_dir_all(place).unwrap();
        }
    }
    assert!(cut_short > 5, "{cut_short}");
}

#[test]
fn a_copy_whose_format_file_is_of_another_moment_than_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("old");
    old_directory(&old);
    let new = directory.path().join("new");
    copy(&old, &new);
    close(open_3(&new).unwrap());

    // The copier took the rows before the migration, and FORMAT after it.
    let late = directory.path().join("late");
    copy(&old, &late);
    fs::copy(new.join("FORMAT"), late.join("FORMAT")).unwrap();
    let store = open_3(&late).unwrap();
    check_new(&store.read(), ROWS);
    assert_eq!(versions(&late, &store), (3, 3));
    close(store);

    // The other way round: nothing is migrated twice, and a binary of the older version still refuses.
    let early = directory.path().join("early");
    copy(&new, &early);
    fs::copy(old.join("FORMAT"), early.join("FORMAT")).unwrap();
    let refused = Store::open_as(options(&early), TABLES_3, &version_1()).err();
    assert!(matches!(refused, Some(OpenError::NewerFormat { found: 3, known: 1 })), "{refused:?}");
    let store = open_3(&early).unwrap();
    check_new(&store.read(), ROWS);
    assert_eq!(versions(&early, &store), (3, 3));
    close(store);
}

/// Moves some rows, is copied, and goes on.
fn by_kind_with_a_copier(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
    migrating.write(|tx| {
        for ((number, kind), row) in tx.scan(&BY_NUMBER, Scan::all().limit(700))? {
            tx.put(&BY_KIND, &(kind, number), &row)?;
            tx.delete(&BY_NUMBER, &(number, kind));
        }
        Ok(())
    })?;
    let data = migrating.store().directory();
    copy(data, &data.with_extension("copied"));
    by_kind(migrating)
}

#[test]
fn a_plain_copy_that_is_taken_in_the_midst_of_a_migration() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    old_directory(&place);
    let copied_in_2 = Migration { run: by_kind_with_a_copier, ..TO_2 };
    close(Store::open_as(options(&place), TABLES_3, &Migrations::new(&[&[copied_in_2, TO_3]], 3).unwrap()).unwrap());
    let store = open_3(&place.with_extension("copied")).unwrap();
    check_new(&store.read(), ROWS);
    assert_eq!(versions(store.directory(), &store), (3, 3));
    close(store);
}

#[test]
fn a_backup_of_an_older_format_is_restored_into_the_present_one() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    old_directory(&place);
    let store = Store::open_as(options(&place), TABLES_1, &version_1()).unwrap();
    let held = store.hold_checkpoint(60).unwrap();
    let backup_place = directory.path().join("backup");
    backup::create_backup(&place, &held, &backup_place, &[], &mut |_, _, _| {}).unwrap();
    close(store);

    let restored = directory.path().join("restored");
    let restoring = backup::begin_restore(&backup_place, &restored, None, &mut |_, _, _| {}).unwrap();
    close(open_3(restoring.place()).unwrap());
    restoring.keep().unwrap();
    let store = open_3(&restored).unwrap();
    check_new(&store.read(), ROWS);
    // What was written after the migration is there as well, wherever the store starts from.
    store.write_blocking(soon(), |tx, _| Ok::<_, Abort<No>>(tx.put(&BY_KIND, &(9, 9), &row(9))?)).unwrap();
    close(store);
    fs::remove_dir_all(restored.join("live")).unwrap();
    let store = open_3(&restored).unwrap();
    assert!(store.read().contains(&BY_KIND, &(9, 9)).unwrap());
    assert_eq!(versions(&restored, &store), (3, 3));
    close(store);
}

#[test]
fn verify_reads_an_older_format_and_leaves_the_rooms_checks_to_the_time_after() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    old_directory(&place);
    let look = |place: &Path, formats| {
        let mut verification = Verification::begin_as(place, false, TABLES_3, formats)?;
        let mut silent = |_: &str, _: u64| {};
        verification.check_log(&mut silent);
        verification.check_checkpoints(&mut silent);
        let seen = verification.check_tables(&Tables::Own, &mut silent).is_some();
        Ok::<_, OpenError>((seen, verification.finish()))
    };
    let formats = version_3().formats();
    let (seen, verified) = look(&place, formats).unwrap();
    assert!(!seen && verified.findings.is_empty(), "{:?}", verified.findings);
    assert_eq!(verified.rows, u64::from(ROWS), "every row was read");
    assert!(verified.notes.iter().any(|note| note.contains("the rows have format 1")), "{:?}", verified.notes);

    close(open_3(&place).unwrap());
    let (seen, verified) = look(&place, formats).unwrap();
    assert!(seen && verified.findings.is_empty() && verified.notes.is_empty(), "{verified:?}");
    let older = look(&place, version_1().formats()).err();
    assert!(matches!(older, Some(OpenError::NewerFormat { found: 3, known: 1 })), "{older:?}");
    let later = look(&place, Formats { oldest: 8, newest: 9 }).err();
    assert!(matches!(later, Some(OpenError::OlderFormat { found: 3, oldest: 8 })), "{later:?}");
}

struct FarAhead;
impl TimeSource for FarAhead {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_900_000_000_000_000)
    }
}

#[test]
fn a_rehearsal_directory_keeps_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    let rehearsed = |time: Arc<dyn TimeSource>| StoreOptions { rehearsal: true, time, ..options(&place) };
    let time = options(&place).time;
    let store = Store::open_as(rehearsed(Arc::clone(&time)), TABLES_1, &version_1()).unwrap();
    put_old(&store, 7);
    let before = store.read().time();
    close(store);

    // The clock does not know yet what the rehearsal has come to.
    let store = Store::open_as(rehearsed(Arc::new(FarAhead)), TABLES_3, &version_3()).unwrap();
    check_new(&store.read(), 1);
    assert_eq!(store.read().time(), before, "a migration takes no time");
    assert!(store.format().rehearsal);
    store.write_blocking(soon(), |tx, _| Ok::<_, Abort<No>>(tx.put(&BY_KIND, &(9, 9), &row(9))?)).unwrap();
    assert_eq!(store.read().time(), FarAhead.now(), "afterwards the clock goes on");
    close(store);
    let refused = open_3(&place).err();
    assert!(matches!(refused, Some(OpenError::ClockMismatch { directory_is_rehearsal: true })), "{refused:?}");
}

#[test]
fn steps_that_do_not_lead_to_the_present_format_are_a_mistake() {
    let reason = |groups: &[&[Migration]], newest| match Migrations::new(groups, newest) {
        Err(OpenError::Registry(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert!(reason(&[&[TO_2, TO_3]], 4).contains("\"counts\" from format 2 is not the one from format 3"));
    assert!(reason(&[&[TO_2]], 3).contains("is not the one from format 2"), "a gap at the end");
    assert!(
        reason(&[&[TO_2], &[TO_3, TO_2]], 3).contains("is not the one from format 0"),
        "one version, two migrations"
    );
    let skips = Migration { from: 4, ..TO_3 };
    assert!(reason(&[&[TO_2, skips]], 5).contains("is not the one from format 3"), "a gap between");
    let formats = Migrations::new(&[&[TO_3]], 3).unwrap().formats();
    assert_eq!((formats.oldest, formats.newest), (2, 3));

    // A directory that is older than all steps, and one that is newer than what a binary without any knows.
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    old_directory(&place);
    let refused = Store::open_as(options(&place), TABLES_3, &Migrations::new(&[&[TO_3]], 3).unwrap()).err();
    assert!(matches!(refused, Some(OpenError::OlderFormat { found: 1, oldest: 2 })), "{refused:?}");
    close(open_3(&place).unwrap());
    let refused = Store::open_as(options(&place), TABLES_3, &version_1()).err().unwrap();
    assert_eq!(refused.to_string(), "the directory has format 3, this binary knows formats up to 1");
}
