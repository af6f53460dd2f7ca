//! Column families come from the tables a store is opened with and from what the directory has had so far.

use std::path::Path;

use super::copying::{close, options, soon};
use super::workload::{Cell, No};
use crate::copies::salvage::salvage;
use crate::copies::verify::{Tables, Verification};
use crate::error::Abort;
use crate::open::store::Store;
use crate::tables::family::Family;
use crate::tables::table::{Table, TableSpec};
use crate::view::read::{Read, Scan};
use crate::{backup, large};

const STAYING: Table<u16, Cell> = Table::new(0x0F31, Family::named("staying"), "test_staying");
const GOING: Table<u16, Cell> = Table::new(0x0F32, Family::named("going"), "test_going");
const COMING: Table<u16, Cell> = Table::new(0x0F33, Family::named("coming"), "test_coming");

/// What an earlier version of a binary had, and a later one.
const BEFORE: &[&[TableSpec]] = &[&[STAYING.spec(), GOING.spec()], large::TABLES];
const AFTER: &[&[TableSpec]] = &[&[STAYING.spec(), COMING.spec()], large::TABLES];

fn put(store: &Store, table: &'static Table<u16, Cell>, key: u16) {
    store.write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(table, &key, &Cell(vec![7; 90]))?)).unwrap();
}

fn count(read: &impl Read, table: &Table<u16, Cell>) -> usize {
    read.scan(table, Scan::all()).unwrap().len()
}

/// A directory of the earlier version, stopped; with rows in the family that the later one does not know, or without.
fn older(place: &Path, with_rows: bool) {
    let store = Store::open(options(place), BEFORE).unwrap();
    put(&store, &STAYING, 1);
    if with_rows {
        put(&store, &GOING, 1);
    }
    store.hold_checkpoint(60).unwrap();
    put(&store, &STAYING, 2);
    close(store);
}

fn findings(place: &Path, tables: &[&[TableSpec]]) -> Vec<String> {
    let mut silent = |_: &str, _: u64| {};
    let mut verification = Verification::begin(place, false, tables).unwrap();
    verification.check_log(&mut silent);
    verification.check_checkpoints(&mut silent);
    let seen = verification.check_tables(&Tables::Own, &mut silent);
    if let Some(snapshot) = seen {
        assert_eq!((count(&snapshot, &STAYING), count(&snapshot, &COMING)), (2, 0));
    }
    verification.finish().findings.into_iter().map(|finding| finding.reason).collect()
}

#[test]
fn a_directory_opens_with_a_family_that_is_new_and_one_that_nobody_knows() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    older(&place, false);
    assert_eq!(findings(&place, AFTER), Vec::<String>::new(), "read-only, the new family not made yet");

    let store = Store::open(options(&place), AFTER).unwrap();
    put(&store, &COMING, 1);
    let view = store.long_view().unwrap();
    assert_eq!((count(view.snapshot(), &STAYING), count(view.snapshot(), &COMING)), (2, 1), "from a checkpoint");
    drop(view);
    let held = store.hold_checkpoint(60).unwrap();
    let backup_place = directory.path().join("backup");
    backup::create_backup(&place, &held, &backup_place, &[], &mut |_, _, _| {}).unwrap();
    close(store);

    let restored = directory.path().join("restored");
    backup::begin_restore(&backup_place, &restored, None, &mut |_, _, _| {}).unwrap().keep().unwrap();
    for place in [&place, &restored] {
        let store = Store::open(options(place), AFTER).unwrap();
        assert_eq!((count(&store.read(), &STAYING), count(&store.read(), &COMING)), (2, 1));
        close(store);
    }
    // And back to the earlier version, whose family was carried along.
    let store = Store::open(options(&place), BEFORE).unwrap();
    put(&store, &GOING, 1);
    assert_eq!((count(&store.read(), &STAYING), count(&store.read(), &GOING)), (2, 1));
    close(store);
}

#[test]
fn rows_that_no_room_knows_are_found_and_salvaged_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    older(&place, true);
    assert_eq!(findings(&place, BEFORE), Vec::<String>::new());
    assert_eq!(findings(&place, AFTER), ["a row of an unknown table in family going"]);

    let saved = directory.path().join("saved");
    let salvaged = salvage(&place, &saved, &[], AFTER, &mut |_, _| {}).unwrap();
    assert_eq!((salvaged.rows, salvaged.lost), (3, Vec::new()));
    let store = Store::open(options(&saved), BEFORE).unwrap();
    assert_eq!((count(&store.read(), &STAYING), count(&store.read(), &GOING)), (2, 1));
    close(store);
}

#[test]
fn large_values_lie_in_a_family_of_their_own_whatever_the_rooms_declare() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data");
    Store::open(options(&place), &[]).unwrap().shutdown();
    let live = crate::view::overlay::Overlay::open(&place.join("live")).unwrap();
    assert_eq!(Vec::from_iter(live.families()), [Family::LARGE, Family::APPLIANCE]);
}
