//! The ledger over HTTP against the real binary, durable, the load generator on the same machine; beside it PostgreSQL
//! with a double-entry schema of its own, on the same machine in the same run.
//!
//! `cargo bench --bench ledger_posting [-- [SECONDS] [PART...]]`. Parts: `single` (spread and hot, with PostgreSQL),
//! `paced` (waiting at 70 % of the rate that can be kept up), `bulk`, `legs`, `as_of`; all of them without any. `spread`
//! is a part of `single`, for comparing two states of the code. Best of three rounds, taken in turn.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

mod load;
mod postgres;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use load::{Connection, Make, Round, Server, run};
use postgres::Postgres;

const CONNECTIONS: usize = 64;
const ACCOUNTS: usize = 10_000;
const ROUNDS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let seconds = arguments.iter().filter_map(|argument| argument.parse().ok()).next().unwrap_or(5);
    let parts: Vec<String> = arguments.into_iter().filter(|argument| argument.parse::<u64>().is_err()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(bench(Duration::from_secs(seconds), &parts));
}

async fn bench(length: Duration, parts: &[String]) {
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|one| one == part);
    println!("{ACCOUNTS} accounts, {} s a round, best of {ROUNDS}", length.as_secs());
    if wanted("single") {
        single(length).await;
    }
    if wanted("paced") {
        paced(length).await;
    }
    if parts.iter().any(|one| one == "spread") {
        spread(length).await;
    }
    if wanted("bulk") {
        bulk(length).await;
    }
    if wanted("legs") {
        legs(length).await;
    }
    if wanted("as_of") {
        as_of().await;
    }
}

async fn ledger(parent: &std::path::Path, accounts: usize) -> (Server, Connection, Arc<Vec<String>>) {
    let server = Server::start(parent);
    let mut setup = Connection::open(&server).await;
    let asset = setup.post("/v1/asset-types", &json!({"code": "EUR", "kind": "fiat", "scale": 2})).await;
    let accounts = setup.accounts(&asset["asset_type_id"], accounts).await;
    (server, setup, Arc::new(accounts))
}

fn entries(debit: &str, credit: &str) -> String {
    format!(
        r#""entries":[{{"account_id":"{debit}","direction":"debit","amount":"1.25"}},{{"account_id":"{credit}","direction":"credit","amount":"1.25"}}]"#
    )
}

/// Two different accounts; the first of all of them among each if `hot`.
fn pair(accounts: &[String], n: u64, hot: bool) -> (&str, &str) {
    let count = accounts.len() as u64;
    let from = if hot { 0 } else { n.wrapping_mul(7919) % count };
    let to = (from + 1 + n.wrapping_mul(104_729) % (count - 1)) % count;
    (&accounts[from as usize], &accounts[to as usize])
}

fn postings(accounts: &Arc<Vec<String>>, hot: bool) -> Make {
    let accounts = Arc::clone(accounts);
    Arc::new(move |n| {
        let (from, to) = pair(&accounts, n, hot);
        format!(r#"{{"description":"bench","pending":false,{}}}"#, entries(to, from))
    })
}

fn heading(first: &str) {
    println!(
        "\n{first:<26} {:>12} {:>14} {:>9} {:>9} {:>9}",
        "transactions/s", "server CPU us", "p50 ms", "p99 ms", "max ms"
    );
}

fn row(name: &str, round: &Round) {
    let Round { rate, cpu_micros, .. } = round;
    let (half, most, all) = (round.millis(50.0), round.millis(99.0), round.millis(100.0));
    println!("{name:<26} {rate:>12.0} {cpu_micros:>14.1} {half:>9.2} {most:>9.2} {all:>9.2}");
}

async fn single(length: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let (server, _, accounts) = ledger(directory.path(), ACCOUNTS).await;
    let neighbour = Postgres::start(directory.path(), ACCOUNTS, CONNECTIONS);
    heading("single, 64 connections");
    let mut rates = Vec::new();
    let mut postings_made = 0.0;
    for hot in [false, true] {
        let name = if hot { "hot" } else { "spread" };
        let (mut best, mut theirs): (Option<Round>, Option<(f64, f64, f64)>) = (None, None);
        for _ in 0..ROUNDS {
            let make = postings(&accounts, hot);
            let round = run(&server, CONNECTIONS, length, "/v1/transactions", 1, None, make).await;
            postings_made += round.latencies_micros.len() as f64;
            best = Some(round.best(best));
            match neighbour.as_ref().map(|neighbour| neighbour.measure(hot, ACCOUNTS, length)) {
                Ok(Ok(measured)) if theirs.is_none_or(|best| measured.0 > best.0) => theirs = Some(measured),
                Ok(Err(reason)) => println!("PostgreSQL: {reason}"),
                _ => {}
            }
        }
        let best = best.unwrap();
        row(name, &best);
        if let Some((rate, cpu, p99)) = theirs {
            let ratio = best.rate / rate;
            let name = format!("{name}, PostgreSQL");
            println!("{name:<26} {rate:>12.0} {cpu:>14.1} {:>9} {p99:>9.2} {:>9}  ours is {ratio:.1} times", "", "");
        }
        rates.push(best.rate);
    }
    if let Err(reason) = &neighbour {
        println!("without PostgreSQL: {reason}");
    }
    println!("hot to spread: {:.2}", rates[1] / rates[0]);
    // What the same connections get where nothing is looked up, read from the body or written: the bound of the machine.
    row(
        "GET /healthz alone",
        &run(&server, CONNECTIONS, length, "/healthz", 1, None, Arc::new(|_| String::new())).await,
    );
    let bytes = server.stop() as f64 / postings_made;
    println!(
        "{bytes:.0} bytes on disk for each of {postings_made} postings, all included, flushed and partly compacted"
    );
    if let Ok(Ok(bytes)) = neighbour.as_ref().map(Postgres::bytes_each) {
        println!("{bytes} bytes in PostgreSQL, its log apart");
    }
}

/// How long somebody waits at 70 % of the peak: the rate that is kept for ten rounds, compaction included, not the one of
/// a short burst; each on a server of its own, so that neither works off what the other left.
async fn paced(length: Duration) {
    heading("single, 64 connections");
    let mut peak = 0.0;
    for pace in [None, Some(0.5), Some(0.7)] {
        let directory = tempfile::tempdir().unwrap();
        let (server, _, accounts) = ledger(directory.path(), ACCOUNTS).await;
        let make = postings(&accounts, false);
        let rate = pace.map(|share| share * peak);
        let round = run(&server, CONNECTIONS, length * 10, "/v1/transactions", 1, rate, make).await;
        match pace {
            None => {
                peak = round.rate;
                row("kept up", &round);
            }
            Some(share) => {
                row(&format!("at {:.0} % of it", share * 100.0), &round);
                let [half, most] = [50.0, 99.0].map(|percentile| round.answer_millis(percentile));
                println!("  from sending, not from when it was due: p50 {half:.2} ms, p99 {most:.2} ms");
            }
        }
    }
}

/// Spread postings without the neighbour, for comparing two states of the code.
async fn spread(length: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let (server, _, accounts) = ledger(directory.path(), ACCOUNTS).await;
    heading("single, 64 connections");
    for _ in 0..ROUNDS {
        let make = postings(&accounts, false);
        row("spread", &run(&server, CONNECTIONS, length, "/v1/transactions", 1, None, make).await);
    }
}

fn bulk_of(accounts: &Arc<Vec<String>>, count: usize, atomic: bool) -> Make {
    let accounts = Arc::clone(accounts);
    Arc::new(move |n| {
        let item = |k: usize| {
            let (from, to) = pair(&accounts, n * count as u64 + k as u64, false);
            format!("{{{}}}", entries(to, from))
        };
        let items: Vec<String> = (0..count).map(item).collect();
        format!(r#"{{"atomic":{atomic},"transactions":[{}]}}"#, items.join(","))
    })
}

async fn bulk(length: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let (server, _, accounts) = ledger(directory.path(), ACCOUNTS).await;
    heading("bulk calls of 1,000");
    for (name, atomic, connections) in
        [("all or none, 4", true, 4), ("each for itself, 4", false, 4), ("each for itself, 16", false, 16)]
    {
        let mut best: Option<Round> = None;
        for _ in 0..ROUNDS {
            let make = bulk_of(&accounts, 1000, atomic);
            let round = run(&server, connections, length, "/v1/transactions/bulk", 1000, None, make).await;
            best = Some(round.best(best));
        }
        row(name, &best.unwrap());
    }
}

async fn legs(length: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let (server, _, accounts) = ledger(directory.path(), ACCOUNTS).await;
    heading("a hundred entries each");
    let make: Make = Arc::new(move |n| {
        let count = accounts.len() as u64;
        let entry = |k: u64| {
            let account = &accounts[(n.wrapping_mul(7919).wrapping_add(k * 97) % count) as usize];
            let side = if k.is_multiple_of(2) { "debit" } else { "credit" };
            format!(r#"{{"account_id":"{account}","direction":"{side}","amount":"1.25"}}"#)
        };
        let entries: Vec<String> = (0..100).map(entry).collect();
        format!(r#"{{"entries":[{}]}}"#, entries.join(","))
    });
    let mut best: Option<Round> = None;
    for _ in 0..ROUNDS {
        best = Some(run(&server, 16, length, "/v1/transactions", 1, None, Arc::clone(&make)).await.best(best));
    }
    row("16 connections", &best.unwrap());
}

/// Balance as of an instant and a page of the statement on accounts with 10,000 and with 1,000,000 entries; all of them
/// prompt, or all of them backdated into one day. The server's CPU for each request is the steadier figure where the
/// machine has other things to do.
async fn as_of() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _, accounts) = ledger(directory.path(), 8).await;
    let mut filled = Vec::new();
    for backdated in [false, true] {
        for postings in [10_000_u64, 1_000_000] {
            let pair = &accounts[filled.len() * 2..filled.len() * 2 + 2];
            let began = std::time::Instant::now();
            fill(&server, &pair[0], &pair[1], postings, backdated).await;
            let rate = postings as f64 / began.elapsed().as_secs_f64();
            println!("filled with {postings} postings, backdated: {backdated}, {rate:.0}/s");
            filled.push((pair[0].clone(), postings, backdated));
        }
    }
    // What compaction has left to do must not be in the way.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let mut connection = Connection::open(&server).await;
    println!(
        "\n{:<40} {:>10} {:>14} {:>9} {:>9} {:>11} {:>11}",
        "reading", "entries", "server CPU us", "p50 ms", "p99 ms", "CPU ratio", "p99 ratio"
    );
    let paths = [
        ("effective", "balance-as-of?basis=effective&at="),
        ("recorded", "balance-as-of?basis=recorded&at="),
        ("statement page", "entries?state=committed&limit=50"),
    ];
    for (what, path) in paths {
        let mut small = (1.0, 1.0);
        for (account, postings, backdated) in &filled {
            let (cpu, half, most) = read(&server, &mut connection, account, path).await;
            if *postings == 10_000 {
                small = (cpu, most);
            }
            let name = format!("{what}, {}", if *backdated { "backdated into one day" } else { "prompt" });
            let (cpu_ratio, ratio) = (cpu / small.0, most / small.1);
            println!("{name:<40} {postings:>10} {cpu:>14.1} {half:>9.3} {most:>9.3} {cpu_ratio:>11.2} {ratio:>11.2}");
        }
    }
}

/// Reads many times: the server's CPU for each in microseconds, and percentiles in milliseconds.
async fn read(server: &Server, connection: &mut Connection, account: &str, path: &str) -> (f64, f64, f64) {
    const PROBES: u64 = 10_000;
    let mut latencies: Vec<f64> = Vec::new();
    let mut cpu_before = 0.0;
    for probe in 0..PROBES + 500 {
        if probe == 500 {
            cpu_before = server.cpu_seconds();
            latencies.clear();
        }
        let at = if path.ends_with('=') { instant(probe * 43_200_017 % DAY) } else { String::new() };
        let (_, took) = connection.get(&format!("/v1/accounts/{account}/{path}{at}")).await;
        latencies.push(took.as_secs_f64() * 1000.0);
    }
    let cpu = (server.cpu_seconds() - cpu_before) * 1e6 / PROBES as f64;
    latencies.sort_unstable_by(f64::total_cmp);
    (cpu, latencies[latencies.len() / 2], latencies[latencies.len() * 99 / 100])
}

const DAY: u64 = 86_400_000_000;

/// An instant of the day into which postings are backdated, by its microseconds.
fn instant(micros: u64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    format!("2024-02-29T{:02}:{:02}:{:02}.{fraction:06}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Posts so many between two accounts, by four connections.
async fn fill(server: &Server, debit: &str, credit: &str, postings: u64, backdated: bool) {
    let next = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let entries = entries(debit, credit);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (mut connection, next, entries) = (Connection::open(server).await, Arc::clone(&next), entries.clone());
        let pair = debit.to_owned();
        callers.spawn(async move {
            loop {
                let call = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if call >= postings / 1000 {
                    break;
                }
                let item = |k: u64| match backdated {
                    true => {
                        let at = instant((call * 1000 + k).wrapping_mul(6_364_136_223_846_793_005) % DAY);
                        format!(r#"{{"effective_at":"{at}",{entries}}}"#)
                    }
                    false => format!("{{{entries}}}"),
                };
                let items: Vec<String> = (0..1000).map(item).collect();
                let body = format!(r#"{{"transactions":[{}]}}"#, items.join(","));
                connection.send("/v1/transactions/bulk", &format!("fill-{pair}-{call}"), &body).await;
                let (status, answer) = connection.receive().await;
                assert_eq!(status, 200, "{answer}");
            }
        });
    }
    callers.join_all().await;
}
