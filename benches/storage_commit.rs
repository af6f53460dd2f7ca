//! A durable double-entry posting (2 reads, 2 updates, 3 inserts) by many callers at once: our store beside RocksDB's
//! TransactionDB with `sync=true` and SQLite with `synchronous=FULL`, in one run on one disk.
//!
//! `cargo bench --bench storage_commit [-- SECONDS]`. Rows: spread over 10,000 accounts, and one account in every posting.
//! Rates are the best of three rounds taken in turn; CPU is that of the whole process for each transaction.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and reads the real time"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bincode::{Decode, Encode};
use quintet_storage::{Abort, Family, Read, Refusal, Row, Store, StoreOptions, Table, TimeSource, Timestamp, WriteTx};
use rocksdb::{Options, TransactionDB, TransactionDBOptions, TransactionOptions, WriteOptions};
use rusqlite::{Connection, TransactionBehavior, params};

const ACCOUNTS: u64 = 10_000;
const ROUNDS: usize = 3;

/// An account's counters, as a ledger keeps them.
#[derive(Clone, Debug, Default, Encode, Decode)]
struct Balance {
    debits: u128,
    credits: u128,
    entries: u64,
}
impl Row for Balance {}

/// One leg or the head of a posting.
#[derive(Clone, Debug, Encode, Decode)]
struct Entry {
    account: u64,
    amount: u128,
    text: [u8; 32],
}
impl Row for Entry {}

/// The column family of the rows measured.
const FAMILY: Family = Family::named("bench");
const BALANCES: Table<u64, Balance> = Table::new(0x0F01, FAMILY, "bench_balances").hot();
const ENTRIES: Table<(u64, u8), Entry> = Table::new(0x0F02, FAMILY, "bench_entries");

#[derive(Debug)]
struct Never;
impl Refusal for Never {}

/// One engine under test.
trait Engine: Sync {
    fn name(&self) -> &'static str;
    /// Runs `callers` at once until `stop`, each posting between the accounts `pick` gives; how many were committed.
    fn run(&self, callers: usize, stop: &AtomicBool, pick: &(dyn Fn(u64) -> (u64, u64) + Sync)) -> u64;
}

static NEXT: AtomicU64 = AtomicU64::new(1);

fn main() {
    let seconds = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(3);
    let directory = tempfile::tempdir_in(".").unwrap();
    let ours = Ours::open(&directory.path().join("ours"));
    let rocks = Rocks::open(&directory.path().join("rocksdb"));
    let sqlite = Sqlite::open(&directory.path().join("sqlite.db"));
    let engines: [&dyn Engine; 3] = [&ours, &rocks, &sqlite];
    println!("{seconds} s a round, best of {ROUNDS}; CPU of the whole process, callers included");
    println!("{:<8} {:>8} {:<14} {:>10} {:>8} {:>8}", "rows", "callers", "engine", "tx/s", "us CPU", "ratio");
    for hot in [false, true] {
        for callers in [64, 512] {
            compare(&engines, hot, callers, Duration::from_secs(seconds));
        }
    }
    ours.store.shutdown();
}

fn compare(engines: &[&dyn Engine], hot: bool, callers: usize, length: Duration) {
    let pick = move |n: u64| {
        let from = if hot { 0 } else { n.wrapping_mul(7919) % ACCOUNTS };
        let to = n.wrapping_mul(104_729) % (ACCOUNTS - 1) + 1;
        if from == to { (0, to) } else { (from, to) }
    };
    let mut best = vec![(0.0_f64, f64::MAX); engines.len()];
    for _ in 0..ROUNDS {
        for (engine, best) in engines.iter().zip(&mut best) {
            let stop = AtomicBool::new(false);
            let (began, cpu) = (Instant::now(), cpu_seconds());
            let committed = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(length);
                    stop.store(true, Ordering::Relaxed);
                });
                engine.run(callers, &stop, &pick) as f64
            });
            let rate = committed / began.elapsed().as_secs_f64();
            let cpu_micros = (cpu_seconds() - cpu) * 1e6 / committed;
            *best = (best.0.max(rate), best.1.min(cpu_micros));
        }
    }
    for (engine, (rate, cpu)) in engines.iter().zip(&best) {
        println!(
            "{:<8} {callers:>8} {:<14} {rate:>10.0} {cpu:>8.1} {:>8.2}",
            if hot { "hot" } else { "spread" },
            engine.name(),
            best[0].0 / rate,
        );
    }
}

/// User and system time of this process so far (proc(5), stat; ticks are 10 ms on Linux).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) as f64 / 100.0
}

struct RealTime;
impl TimeSource for RealTime {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
    }
}

struct Ours {
    store: Store,
    runtime: tokio::runtime::Runtime,
}

impl Ours {
    fn open(path: &Path) -> Ours {
        let options = StoreOptions { disk_reserve_bytes: 0, ..StoreOptions::new(path, Arc::new(RealTime)) };
        let store = Store::open(options, &[&[BALANCES.spec(), ENTRIES.spec()]]).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Ours { store, runtime }
    }
}

fn post(tx: &mut WriteTx<'_>, n: u64, from: u64, to: u64) -> Result<(), Abort<Never>> {
    for (leg, account) in [(1, from), (2, to)] {
        let mut balance = tx.get(&BALANCES, &account)?.unwrap_or_default();
        balance.entries += 1;
        if leg == 1 {
            balance.credits += 125
        } else {
            balance.debits += 125
        }
        tx.put(&BALANCES, &account, &balance)?;
        tx.put(&ENTRIES, &(n, leg), &Entry { account, amount: 125, text: [7; 32] })?;
    }
    tx.put(&ENTRIES, &(n, 0), &Entry { account: 0, amount: 0, text: [7; 32] })?;
    Ok(())
}

impl Engine for Ours {
    fn name(&self) -> &'static str {
        "quintet"
    }

    fn run(&self, callers: usize, stop: &AtomicBool, pick: &(dyn Fn(u64) -> (u64, u64) + Sync)) -> u64 {
        let caller = async || {
            let mut committed = 0;
            while !stop.load(Ordering::Relaxed) {
                let n = NEXT.fetch_add(1, Ordering::Relaxed);
                let (from, to) = pick(n);
                let deadline = Instant::now() + Duration::from_secs(60);
                self.store.write(deadline, move |tx, _| post(tx, n, from, to)).await.unwrap();
                committed += 1;
            }
            committed
        };
        // Two runtime threads drive all callers, as the appliance's do.
        std::thread::scope(|scope| {
            let halves: Vec<_> = [callers / 2, callers - callers / 2]
                .into_iter()
                .map(|count| {
                    let handle = self.runtime.handle().clone();
                    scope.spawn(move || {
                        handle.block_on(async {
                            let all = futures_util::future::join_all((0..count).map(|_| caller())).await;
                            all.into_iter().sum::<u64>()
                        })
                    })
                })
                .collect();
            halves.into_iter().map(|half| half.join().unwrap()).sum()
        })
    }
}

/// Callers as threads, for engines that block.
fn threads(callers: usize, stop: &AtomicBool, one: &(dyn Fn() + Sync)) -> u64 {
    std::thread::scope(|scope| {
        let caller = || {
            let mut committed = 0;
            while !stop.load(Ordering::Relaxed) {
                one();
                committed += 1;
            }
            committed
        };
        let all: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
        all.into_iter().map(|caller| caller.join().unwrap()).sum()
    })
}

fn bytes<T: Encode>(value: &T) -> Vec<u8> {
    bincode::encode_to_vec(value, bincode::config::standard()).unwrap()
}

struct Rocks {
    db: TransactionDB,
}

impl Rocks {
    fn open(path: &Path) -> Rocks {
        let mut options = Options::default();
        options.create_if_missing(true);
        Rocks { db: TransactionDB::open(&options, &TransactionDBOptions::default(), path).unwrap() }
    }
}

impl Engine for Rocks {
    fn name(&self) -> &'static str {
        "TransactionDB"
    }

    fn run(&self, callers: usize, stop: &AtomicBool, pick: &(dyn Fn(u64) -> (u64, u64) + Sync)) -> u64 {
        let mut write = WriteOptions::default();
        write.set_sync(true);
        threads(callers, stop, &|| {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let (from, to) = pick(n);
            loop {
                let mut options = TransactionOptions::default();
                options.set_lock_timeout(60_000);
                let tx = self.db.transaction_opt(&write, &options);
                // Locks in the order of accounts, as anyone would who does not want deadlocks.
                let mut accounts = [(1_u8, from), (2, to)];
                accounts.sort_by_key(|(_, account)| *account);
                for (leg, account) in accounts {
                    let key = account.to_be_bytes();
                    let row = tx.get_for_update(key, true).unwrap();
                    let mut balance: Balance = row.map_or_else(Balance::default, |row| {
                        bincode::decode_from_slice(&row, bincode::config::standard()).unwrap().0
                    });
                    balance.entries += 1;
                    if leg == 1 {
                        balance.credits += 125
                    } else {
                        balance.debits += 125
                    }
                    tx.put(key, bytes(&balance)).unwrap();
                    let entry = Entry { account, amount: 125, text: [7; 32] };
                    tx.put([&n.to_be_bytes()[..], &[leg]].concat(), bytes(&entry)).unwrap();
                }
                let head = Entry { account: 0, amount: 0, text: [7; 32] };
                tx.put([&n.to_be_bytes()[..], &[0]].concat(), bytes(&head)).unwrap();
                if tx.commit().is_ok() {
                    break;
                }
            }
        })
    }
}

struct Sqlite {
    path: std::path::PathBuf,
}

impl Sqlite {
    fn open(path: &Path) -> Sqlite {
        let db = Sqlite { path: path.to_owned() };
        db.connect()
            .execute_batch("CREATE TABLE balances (account INTEGER PRIMARY KEY, debits, credits, entries);")
            .unwrap();
        db.connect()
            .execute_batch("CREATE TABLE entries (n, leg, account, amount, text, PRIMARY KEY (n, leg)) WITHOUT ROWID;")
            .unwrap();
        db
    }

    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.path).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").unwrap();
        connection
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite FULL"
    }

    fn run(&self, callers: usize, stop: &AtomicBool, pick: &(dyn Fn(u64) -> (u64, u64) + Sync)) -> u64 {
        // One connection behind a lock: writers would only wait for each other inside SQLite, and slower.
        let connection = std::sync::Mutex::new(self.connect());
        threads(callers, stop, &|| {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let (from, to) = pick(n);
            let mut connection = connection.lock().unwrap();
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
            let mut insert = tx.prepare_cached("INSERT INTO entries VALUES (?, ?, ?, ?, ?)").unwrap();
            let mut update = tx
                .prepare_cached(
                    "INSERT INTO balances VALUES (?1, ?2, ?3, 1) ON CONFLICT (account)
                     DO UPDATE SET debits = debits + ?2, credits = credits + ?3, entries = entries + 1
                     RETURNING debits, credits",
                )
                .unwrap();
            for (leg, account, debit, credit) in [(1, from, 0, 125), (2, to, 125, 0)] {
                let _: (i64, i64) = update
                    .query_row(params![account as i64, debit, credit], |row| Ok((row.get(0)?, row.get(1)?)))
                    .unwrap();
                insert.execute(params![n as i64, leg, account as i64, 125, [7_u8; 32]]).unwrap();
            }
            insert.execute(params![n as i64, 0, 0, 0, [7_u8; 32]]).unwrap();
            drop((insert, update));
            tx.commit().unwrap();
        })
    }
}
