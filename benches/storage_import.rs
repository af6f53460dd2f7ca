//! Whether anybody waits for large changes: 64 callers do small durable postings, alone and then beside an import of
//! 100,000 rows in steps and uploads of 50 MiB in chunks, with checkpoints made meanwhile.
//!
//! `cargo bench --bench storage_import` prints the callers' rate and latencies, each way of the three rounds' best.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and reads the real time"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bincode::{Decode, Encode};
use quintet_storage::large::{self, Upload};
use quintet_storage::staging::{Staged, stage};
use quintet_storage::{Abort, Family, Read, Refusal, Row, Store, StoreOptions, Table, TimeSource, Timestamp};

const CALLERS: u64 = 64;
const ROUNDS: usize = 3;
const IMPORTED_ROWS: u64 = 100_000;
const UPLOAD_BYTES: usize = 50 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, Encode, Decode)]
struct Counter {
    total: u128,
    entries: u64,
}
impl Row for Counter {}

#[derive(Clone, Debug, Encode, Decode)]
struct Text(String);
impl Row for Text {}

/// Of those who wait.
const POSTINGS: Family = Family::named("bench_postings");
/// Of the import.
const IMPORTS: Family = Family::named("bench_imports");
const COUNTERS: Table<u64, Counter> = Table::new(0x0F11, POSTINGS, "bench_counters").hot();
const ENTRIES: Table<u64, Text> = Table::new(0x0F12, POSTINGS, "bench_entries");
const KEYS: Table<(u64, u64), Text> = Table::new(0x0F13, IMPORTS, "bench_keys");
const VERSIONS: Table<u64, Counter> = Table::new(0x0F14, IMPORTS, "bench_versions");

#[derive(Debug)]
struct Never;
impl Refusal for Never {}

struct RealTime;
impl TimeSource for RealTime {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
    }
}

/// A string key of an import.
struct ImportedKey(u64, String);
impl Staged for ImportedKey {
    fn bytes(&self) -> usize {
        self.1.len() + 16
    }
}

fn main() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let options = StoreOptions {
        disk_reserve_bytes: 0,
        // Checkpoints every five seconds, so that the rounds meet some.
        copy_window: Duration::from_secs(20),
        ..StoreOptions::new(directory.path().join("data"), Arc::new(RealTime))
    };
    let tables = &[COUNTERS.spec(), ENTRIES.spec(), KEYS.spec(), VERSIONS.spec()];
    let store = Store::open(options, &[tables, large::TABLES]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("{CALLERS} callers; best of {ROUNDS} rounds");
    println!("{:<32} {:>10} {:>8} {:>8} {:>8} {:>8}", "beside", "postings/s", "p50 ms", "p99 ms", "p99.9", "max ms");
    let ways: [(&str, Way); 3] = [("nothing, for 5 s", nothing), ("imports", imports), ("uploads", uploads)];
    for (name, beside) in ways {
        let rounds: Vec<Round> =
            (0..ROUNDS as u64).map(|round| runtime.block_on(measure(&store, beside(store.clone(), round)))).collect();
        let best = rounds.iter().min_by_key(|round| round.micros(100.0)).unwrap();
        let millis = |percentile| best.micros(percentile) as f64 / 1000.0;
        println!(
            "{name:<32} {:>10.0} {:>8.2} {:>8.2} {:>8.2} {:>8.2}   {}",
            best.rate,
            millis(50.0),
            millis(99.0),
            millis(99.9),
            millis(100.0),
            best.done
        );
    }
    store.shutdown();
}

/// What is done beside the callers.
type Way = fn(Store, u64) -> Beside;
type Beside = std::pin::Pin<Box<dyn Future<Output = String> + Send>>;

fn nothing(_: Store, _: u64) -> Beside {
    Box::pin(async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        String::new()
    })
}

/// Four imports at once, each published by a last, small transaction.
fn imports(store: Store, round: u64) -> Beside {
    Box::pin(async move {
        let began = Instant::now();
        let all = (0..4).map(|lane| {
            let (store, version) = (store.clone(), round * 4 + lane);
            async move {
                let items = (0..IMPORTED_ROWS / 4).map(|n| ImportedKey(n, format!("text number {n} of an import")));
                let write = move |tx: &mut quintet_storage::WriteTx<'_>, _, items: &[ImportedKey]| {
                    for ImportedKey(n, text) in items {
                        tx.put(&KEYS, &(version, *n), &Text(text.clone()))?;
                    }
                    Ok::<_, Abort<Never>>(())
                };
                stage(&store, PATIENCE, items.collect(), write).await.unwrap();
                let publish = store.write(Instant::now() + PATIENCE, move |tx, _| {
                    Ok::<_, Abort<Never>>(tx.put(&VERSIONS, &version, &Counter::default())?)
                });
                publish.await.unwrap();
            }
        });
        futures_util::future::join_all(all).await;
        format!("{IMPORTED_ROWS} rows in {:.1} s", began.elapsed().as_secs_f64())
    })
}

fn uploads(store: Store, _: u64) -> Beside {
    Box::pin(async move {
        let began = Instant::now();
        let bytes = vec![7; 1 << 20];
        let all = (0..2).map(|_| async {
            let mut upload = Upload::begin(&store, 600, PATIENCE).await.unwrap();
            for _ in 0..UPLOAD_BYTES >> 20 {
                upload.push(&bytes).await.unwrap();
            }
            let value = upload.finish().await.unwrap();
            store.write(Instant::now() + PATIENCE, move |tx, now| large::adopt(tx, now, &value)).await.unwrap();
        });
        futures_util::future::join_all(all).await;
        format!("2 x 50 MiB in {:.1} s", began.elapsed().as_secs_f64())
    })
}

struct Round {
    rate: f64,
    latencies_micros: Vec<u64>,
    done: String,
}

impl Round {
    fn micros(&self, percentile: f64) -> u64 {
        let last = self.latencies_micros.len() - 1;
        self.latencies_micros[(last as f64 * percentile / 100.0) as usize]
    }
}

/// Small postings by all callers until what is done beside them has come to its end.
async fn measure(store: &Store, beside: Beside) -> Round {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let stop = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        callers.spawn(async move {
            let mut latencies = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let n = NEXT.fetch_add(1, Ordering::Relaxed);
                let sent = Instant::now();
                let posted = store.write(sent + PATIENCE, move |tx, _| {
                    let mut counter = tx.get(&COUNTERS, &(n % 1000))?.unwrap_or_default();
                    counter.entries += 1;
                    counter.total += 125;
                    tx.put(&COUNTERS, &(n % 1000), &counter)?;
                    Ok::<_, Abort<Never>>(tx.put(&ENTRIES, &n, &Text("a posting".to_owned()))?)
                });
                posted.await.unwrap();
                latencies.push(u64::try_from(sent.elapsed().as_micros()).unwrap());
            }
            latencies
        });
    }
    let done = tokio::spawn(beside).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let mut latencies_micros: Vec<u64> = callers.join_all().await.into_iter().flatten().collect();
    latencies_micros.sort_unstable();
    Round { rate: latencies_micros.len() as f64 / began.elapsed().as_secs_f64(), latencies_micros, done }
}
