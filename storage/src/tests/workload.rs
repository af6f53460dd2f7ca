//! Random transactions over two small tables, with a BTreeMap that says what every read must answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bincode::{Decode, Encode};

use crate::error::{Abort, Failure, Refusal};
use crate::tables::codec::Row;
use crate::tables::family::Family;
use crate::tables::table::{Table, TableSpec};
use crate::time::Timestamp;
use crate::view::read::{Read, Scan};
use crate::write::tx::WriteTx;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Cell(pub(super) Vec<u8>);
impl Row for Cell {}

pub(super) const HOT: Table<(u8, u16), Cell> = Table::new(0x0F01, Family::named("test"), "test_hot").hot();
pub(super) const COLD: Table<(u8, u16), Cell> = Table::new(0x0F02, Family::APPLIANCE, "test_cold");
pub(super) const TABLES: &[TableSpec] = &[HOT.spec(), COLD.spec()];

pub(super) type CellKey = (u8, u16);
/// The whole content: by table (0 hot, 1 cold) and key.
pub(super) type Content = BTreeMap<(u8, CellKey), Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct No;
impl Refusal for No {}

pub(super) fn table(which: u8) -> &'static Table<CellKey, Cell> {
    const TABLE: [Table<CellKey, Cell>; 2] = [HOT, COLD];
    &TABLE[usize::from(which)]
}

/// How a random transaction means to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    Refuse,
    Panic,
}

/// Runs one random transaction on `content`, checking every read, and leaves its effect there if it commits.
pub(super) fn transact(
    tx: &mut WriteTx<'_>,
    random: &mut fastrand::Rng,
    content: &Arc<Mutex<Content>>,
    end: End,
) -> Result<(), Abort<No>> {
    let mut mine = content.lock().unwrap().clone();
    for _ in 0..random.usize(1..8) {
        step(tx, random, &mut mine)?;
    }
    if random.u8(..4) == 0 {
        let before = mine.clone();
        let keep = random.bool();
        let part: Result<(), Abort<No>> = tx.savepoint(|tx| {
            for _ in 0..random.usize(1..6) {
                step(tx, random, &mut mine)?;
            }
            if keep { Ok(()) } else { Err(No.into()) }
        });
        assert_eq!(part.is_ok(), keep);
        if !keep {
            mine = before;
        }
        step(tx, random, &mut mine)?;
    }
    check_all(tx, &mine)?;
    match end {
        End::Commit => {
            *content.lock().unwrap() = mine;
            Ok(())
        }
        End::Refuse => Err(No.into()),
        // Without the panic hook, which would fill the output.
        End::Panic => std::panic::resume_unwind(Box::new("planted")),
    }
}

fn random_key(random: &mut fastrand::Rng) -> CellKey {
    (random.u8(..3), random.u16(..12))
}

fn step(tx: &mut WriteTx<'_>, random: &mut fastrand::Rng, mine: &mut Content) -> Result<(), Failure> {
    let which = random.u8(..2);
    let key = random_key(random);
    match random.u8(..10) {
        0..5 => {
            let length = random.usize(..700);
            let value: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            tx.put(table(which), &key, &Cell(value.clone()))?;
            mine.insert((which, key), value);
        }
        5..7 => {
            tx.delete(table(which), &key);
            mine.remove(&(which, key));
        }
        7 => {
            let found = tx.get(table(which), &key)?.map(|cell| cell.0);
            assert_eq!(found.as_ref(), mine.get(&(which, key)), "get {which} {key:?}");
            assert_eq!(tx.contains(table(which), &key)?, found.is_some());
        }
        _ => check_scan(tx, random, which, mine)?,
    }
    Ok(())
}

/// A random scan against the same range of the map.
pub(super) fn check_scan(
    read: &impl Read,
    random: &mut fastrand::Rng,
    which: u8,
    content: &Content,
) -> Result<(), Failure> {
    let (first, border, after) = (random.u8(..3), random_key(random), random_key(random));
    let (use_prefix, use_after, use_from, descending) = (random.bool(), random.bool(), random.bool(), random.bool());
    let limit = random.usize(..8);
    let mut scan = if use_prefix { Scan::prefix(&(first,)) } else { Scan::all() }.limit(limit);
    if use_from {
        scan = scan.from(&border);
    } else {
        scan = scan.until(&border);
    }
    if use_after {
        scan = scan.after(&after);
    }
    if descending {
        scan = scan.newest_first();
    }
    let mut expected: Vec<(CellKey, Vec<u8>)> = content
        .iter()
        .filter(|((table, _), _)| *table == which)
        .map(|((_, key), value)| (*key, value.clone()))
        .filter(|(key, _)| !use_prefix || key.0 == first)
        .filter(|(key, _)| if use_from { *key >= border } else { *key < border })
        .filter(|(key, _)| !use_after || if descending { *key < after } else { *key > after })
        .collect();
    if descending {
        expected.reverse();
    }
    expected.truncate(limit);
    let found: Vec<_> = read.scan(table(which), scan)?.into_iter().map(|(key, cell)| (key, cell.0)).collect();
    assert_eq!(found, expected, "scan of table {which}");
    Ok(())
}

/// Everything there is, compared.
pub(super) fn check_all(read: &impl Read, content: &Content) -> Result<(), Failure> {
    for which in 0..2 {
        let found: BTreeMap<_, _> =
            read.scan(table(which), Scan::all())?.into_iter().map(|(key, cell)| ((which, key), cell.0)).collect();
        let expected: Content =
            content.iter().filter(|((t, _), _)| *t == which).map(|(k, v)| (*k, v.clone())).collect();
        assert_eq!(found, expected, "table {which}");
    }
    Ok(())
}

/// The instant of the n-th step: time that mostly moves, sometimes stands, sometimes jumps back.
pub(super) fn wobbling_time(random: &mut fastrand::Rng, step: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + step * 10 - random.i64(0..50))
}
