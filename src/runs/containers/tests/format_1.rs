//! Rows as format 1 of the directory had them are brought to the present one, and what they say falls due comes due once.
//!
//! `format_1.rows` was written by the code of that time, a row a line: table, key, row behind its version byte. Tenant 1
//! has events of a run that was deleted (three of some five hundred), a run that has ended, one that waits and one that
//! is to start in half an hour, all of two days' retention; tenant 2 has another that is to start then, and a calendar
//! that has changed since.

use bincode::de::read::Reader as _;
use bincode::enc::write::Writer as _;
use quintet_storage::{Failure, Key, Row, Table};

use super::*;
use crate::model::FAMILY;

const ROWS: &str = include_str!("format_1.rows");

/// A key of any table.
#[derive(Debug)]
struct RawKey(Vec<u8>);

impl Key for RawKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(input: &mut &[u8]) -> Result<RawKey, Failure> {
        Ok(RawKey(std::mem::take(input).to_vec()))
    }
}

/// A row of any table, of version 1.
#[derive(Clone, Debug)]
struct RawRow(Vec<u8>);

impl bincode::Encode for RawRow {
    fn encode<E: bincode::enc::Encoder>(&self, encoder: &mut E) -> Result<(), bincode::error::EncodeError> {
        encoder.writer().write(&self.0)
    }
}

impl<C> bincode::Decode<C> for RawRow {
    fn decode<D: bincode::de::Decoder<Context = C>>(decoder: &mut D) -> Result<Self, bincode::error::DecodeError> {
        let (mut all, mut one) = (Vec::new(), [0]);
        while decoder.reader().read(&mut one).is_ok() {
            all.extend(one);
        }
        Ok(RawRow(all))
    }
}

impl Row for RawRow {}

fn bytes(hex: &str) -> Vec<u8> {
    data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap()
}

/// Writes stored rows back as they were.
fn put(bench: &Bench, lines: &[&'static str]) {
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let tag = u16::from_str_radix(fields[0], 16).unwrap();
        let (key, row) = (RawKey(bytes(fields[1])), RawRow(bytes(fields[2])));
        let table: Table<RawKey, RawRow> = Table::new(tag, FAMILY, "raw");
        bench.run(move |tx, _| Ok(tx.put(&table, &key, &row)?)).unwrap();
    }
}

fn migrated(bench: &Bench) -> u64 {
    crate::MIGRATIONS.iter().map(|migration| migration.run_on(&bench.store).unwrap()).sum()
}

/// The run of that name, with the events it has had.
fn named(bench: &Bench, name: &str) -> (RunKey, Vec<String>) {
    let read = bench.store.read();
    let found = read.scan(&RUNS, Scan::all()).unwrap().into_iter().find_map(|(run_key, row)| {
        let run = Run::from(row);
        (run.name.as_deref() == Some(name)).then_some(run_key)
    });
    let run_key = found.unwrap();
    let events = read.scan(&EVENTS, Scan::prefix(&run_key)).unwrap();
    (run_key, events.into_iter().map(|(_, event)| event.event).collect())
}

fn swept(bench: &Bench) {
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
}

#[test]
fn what_fell_due_in_format_1_falls_due_once() {
    let bench = bench();
    let (old, others): (Vec<&str>, Vec<&str>) = ROWS.lines().partition(|line| line.starts_with("040a"));
    put(&bench, &others);
    // Half of it is moved, then the appliance is killed; then the rest, then nothing is left.
    put(&bench, &old[..3]);
    assert_eq!(migrated(&bench), 3);
    put(&bench, &old[3..]);
    assert_eq!((migrated(&bench), migrated(&bench)), (5, 0));

    let (waits, later, moved) = (named(&bench, "waits").0, named(&bench, "later").0, named(&bench, "moved").0);
    let now = bench.now();
    let due = all_due(&bench);
    let (gone, ended) = match (due[0], due[1], due.last()) {
        ((_, Due::Hours(tenant_id)), (_, Due::Events(gone)), Some((_, Due::Old(ended)))) => {
            assert_eq!((tenant_id, gone.0, ended.0), (tenant(2), tenant(1), tenant(1)), "a tenant is no run");
            (gone, *ended)
        }
        other => panic!("{other:?}"),
    };
    let at = |seconds| now.plus_seconds(seconds);
    let expected = [
        (now, Due::Hours(tenant(2))),
        (now, Due::Events(gone)),
        (at(1800), Due::Eligible(later)),
        (at(1800), Due::Eligible(moved)),
        (at(3600), Due::TooLate(waits)),
        (at(5400), Due::TooLate(later)),
        (at(5400), Due::TooLate(moved)),
        (at(2 * 86_400), Due::Old(ended)),
    ];
    assert_eq!(due, expected);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());

    swept(&bench);
    let read = bench.store.read();
    assert!(read.scan(&EVENTS, Scan::prefix(&gone)).unwrap().is_empty(), "what was left over is gone");
    // Half past noon: six in the evening is in five and a half hours.
    assert_eq!(run_of(&bench, moved).eligible_start, at(19_800));
    bench.clock.advance(1800);
    swept(&bench);
    assert_eq!(dispatched(&bench, 9, &Ceilings::default()), [waits, later], "its time has come, and the other's not");
    for run_key in [waits, later] {
        bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
    }
    bench.clock.advance(5 * 3600 + 1800);
    swept(&bench);
    for (name, ways) in [
        ("waits", ["run.scheduled", "run.queued", "run.scheduled", "run.failed"].as_slice()),
        ("later", &["run.scheduled", "run.queued", "run.scheduled", "run.failed"]),
        ("moved", &["run.scheduled"]),
    ] {
        assert_eq!(named(&bench, name).1, ways, "{name}");
    }
    assert!(find(&bench.store.read(), ended).unwrap().is_some());
    bench.clock.advance(2 * 86_400);
    swept(&bench);
    assert!(find(&bench.store.read(), ended).unwrap().is_none(), "it was kept for two days");
    bench.clock.advance(4 * 86_400);
    swept(&bench);
    assert_eq!(all_due(&bench), []);
    assert!(bench.store.read().scan(&RUNS, Scan::all()).unwrap().is_empty());
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}
