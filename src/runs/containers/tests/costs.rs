//! What a look of the dispatcher, and the state of a run, cost while very many wait: rows read, counted, so that no
//! other work on the machine changes the answer. `RUNS_WAITING=100000` tells times as well.

use std::cell::Cell;
use std::time::Instant;

use quintet_storage::seal::{DataKey, KeyOwner};
use quintet_storage::{Failure, Key, Read, Row, Snapshot, Table};

use super::*;
use crate::containers::queue::scheduling;

/// A snapshot that counts the rows it gives.
struct Counting {
    read: Snapshot,
    rows: Cell<usize>,
}

impl Counting {
    fn of(bench: &Bench) -> Counting {
        Counting { read: bench.store.read(), rows: Cell::new(0) }
    }

    fn count(&self, rows: usize) {
        self.rows.set(self.rows.get() + rows);
    }
}

impl Read for Counting {
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        self.count(1);
        self.read.get(table, key)
    }

    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.count(1);
        self.read.contains(table, key)
    }

    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        let rows = self.read.scan(table, scan)?;
        self.count(rows.len() + 1);
        Ok(rows)
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        self.read.data_key(owner)
    }
}

/// What it reads and, for people, how long that takes.
fn cost<T>(bench: &Bench, what: &str, ask: impl FnOnce(&Counting) -> Result<T, Failure>) -> (T, usize) {
    let (read, begun) = (Counting::of(bench), Instant::now());
    let answer = ask(&read).unwrap();
    eprintln!("{what}: {} rows in {:?}", read.rows.get(), begun.elapsed());
    (answer, read.rows.get())
}

#[test]
fn a_look_does_not_walk_what_waits() {
    let waiting: usize = std::env::var("RUNS_WAITING").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 1)]);
    let asked = SetQuotas { numbers: vec![("max_daily_runs", 1_000_000)], ..Default::default() };
    bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant(1), asked)?)).unwrap();
    let mut last = None;
    for slice in 0..waiting.div_ceil(500) {
        let (limits, count) = (limits.clone(), 500.min(waiting - slice * 500));
        let run_id = bench.run(move |tx, now| {
            let later = Submit { scheduled_start: Some(now.plus_seconds(3000)), ..plain() };
            let mut last = None;
            for number in 0..count {
                let asked = if number % 10 == 0 { later.clone() } else { plain() };
                last = Some(submit(tx, now, tenant(1), &limits, asked)?.0);
            }
            Ok(last)
        });
        last = run_id.unwrap().map(|run_id| (tenant(1), run_id));
    }
    let last = last.unwrap();
    let open = ceilings(&[]);
    let look = |read: &Counting, workers| choose(read, bench.now(), machine(&open, workers), 64, &mut Turns::default());
    let (chosen, rows) = cost(&bench, "a look with one free slot", |read| look(read, 1));
    assert!(rows <= 10, "{rows} rows for {} slots", chosen.len());
    let (chosen, rows) = cost(&bench, "a look with sixty-four", |read| look(read, 1000));
    assert!(rows <= 140, "{rows} rows for {} slots", chosen.len());
    let (chosen, rows) = cost(&bench, "a look with none", |read| look(read, 0));
    assert!(chosen.is_empty() && rows <= 4, "{rows}");
    let last_row = run_of(&bench, last);
    let (told, rows) = cost(&bench, "where the last one stands", |read| {
        scheduling(read, bench.now(), last, &last_row, machine(&limits, 1))
    });
    assert!(rows <= 2 * queue::POSITION_MAX + 20, "{rows}");
    assert_eq!(told.position, Some(1 + (waiting - waiting / 10 - 1).min(queue::POSITION_MAX)));
    let begun = Instant::now();
    let bench = bench.restarted();
    eprintln!("open again after {:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    eprintln!("verified after {:?}", begun.elapsed());
}

/// All pages of a list, each with the rows it cost.
fn pages(bench: &Bench, tenant_id: TenantId, filter: &Filter, limit: usize) -> Vec<(usize, usize)> {
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let (page, rows) = cost(bench, "a page", |read| list(read, tenant_id, filter, after, limit));
        pages.push((page.runs.len(), rows));
        after = page.next;
        if after.is_none() {
            return pages;
        }
    }
}

#[test]
fn a_page_looks_at_so_much_and_is_so_large_and_no_more() {
    let bench = bench();
    let limits = ceilings(&[]);
    let none = Filter { state: Some(RunState::Exited), ..Filter::default() };
    let submit_many = |tenant_id: TenantId, asked: &Submit, count: usize, at_once: usize| {
        let daily = SetQuotas { numbers: vec![("max_daily_runs", 1_000_000)], ..SetQuotas::default() };
        bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant_id, daily)?)).unwrap();
        for _ in 0..count / at_once {
            let (asked, limits) = (asked.clone(), limits.clone());
            let verb = move |tx: &mut WriteTx<'_>, now| {
                (0..at_once).try_for_each(|_| submit(tx, now, tenant_id, &limits, asked.clone()).map(drop))
            };
            bench.run(verb).unwrap();
        }
    };
    // None of very many fits: rows are counted.
    submit_many(tenant(1), &plain(), 6_000, 500);
    let told = pages(&bench, tenant(1), &none, 50);
    assert!(told.len() == 2 && told.iter().all(|(found, rows)| *found == 0 && *rows < 5_200), "{told:?}");
    // Labels that make rows of 25 KiB: bytes are counted.
    let tags = (0..50).map(|number| format!("{}{number:02}", "\u{10ffff}".repeat(126))).collect();
    submit_many(tenant(2), &Submit { tags, ..plain() }, 400, 20);
    let told = pages(&bench, tenant(2), &none, 50);
    assert!(told.len() >= 3 && told.iter().all(|(_, rows)| *rows < 260), "{told:?}");
    // Commands of half a MiB: those that are shown are.
    let command = vec!["x".repeat(120 << 10); 4];
    submit_many(tenant(3), &Submit { command, ..plain() }, 12, 1);
    let told = pages(&bench, tenant(3), &Filter::default(), 200);
    assert!(told.iter().all(|(found, _)| *found <= 5), "{told:?}");
    assert_eq!(told.iter().map(|(found, _)| found).sum::<usize>(), 12, "and nothing is left out");
}
