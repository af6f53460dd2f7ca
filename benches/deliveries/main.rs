//! Deliveries: how many a second, beside BullMQ and PgQueuer; how soon the first byte is at its receiver; what an endpoint
//! adds to the submission of a run; how soon a server with 100,000 waiting rows is back after kill -9.
//!
//! `cargo bench --bench deliveries [-- ROUNDS] [rates] [latency] [submissions] [restart]` prints the best of ROUNDS, taken
//! in turn; `make bench-deliveries` installs what it needs. Everything is on one machine, and all deliver the same body, signed with HMAC-SHA256, to the same sink.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

#[path = "../appliance/mod.rs"]
mod appliance;
mod client;
#[path = "../appliance/postgres.rs"]
mod postgres;
#[path = "../appliance/processes.rs"]
mod processes;
mod rivals;
mod sink;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use appliance::Appliance;
use client::Tenant;
use processes::cpu_seconds;
use rivals::Rival;
use sink::Sink;

/// Endpoints of a tenant, at as many addresses; each is delivered four at once, which is the rule.
const ENDPOINTS: usize = 16;
const AT_ONCE: usize = 64;
/// Deliveries of a round.
const DELIVERIES: usize = 16_000;
/// Submissions whose CPU is measured together, and how many such pairs there are of a round; those that are measured with
/// their deliveries.
const SUBMISSIONS: usize = 1_000;
const PAIRS: usize = 10;
const WHOLE: usize = 3_000;
/// How many are delivered a second while it is measured how soon, and for how long.
const PACE: f64 = 500.0;
const PACED: usize = 5_000;
/// Rows that wait at the kill.
const WAITING: usize = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(3);
    let parts: Vec<&str> = arguments.iter().map(String::as_str).filter(|part| part.parse::<usize>().is_err()).collect();
    let is_asked = |part: &str| parts.is_empty() || parts.contains(&part);
    let sink = Sink::start();
    let mut appliance = Appliance::start(&std::env::temp_dir(), &environment());
    for (part, measure) in [("rates", rates as Part), ("latency", latency), ("submissions", submissions)] {
        if is_asked(part) {
            measure(&appliance, &sink, rounds);
        }
    }
    if is_asked("restart") {
        restart(&mut appliance, &sink);
    }
}

/// Something that is measured, the best of so many rounds.
type Part = fn(&Appliance, &Sink, usize);

fn environment() -> [(&'static str, &'static str); 2] {
    [("QUINTET_RUNS__RUNNER_SOCKET", "off"), ("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")]
}

/// What rivals are made of; it is fetched where it is missing.
fn packages() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks/fetch.sh");
    let output = Command::new(script).arg("rivals").stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the rivals cannot be had");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// A tenant with so many endpoints at the sink, each at an address of its own.
fn told(appliance: &Appliance, sink: &Sink, name: &str, endpoints: usize) -> Tenant {
    let tenant = Tenant::new(appliance, name);
    for endpoint in 1..=endpoints {
        tenant.endpoint(&format!("http://127.0.0.{endpoint}:{}/hook", sink.port));
    }
    tenant
}

/// A delivery as the appliance makes it, without its head.
fn body(tenant: &Tenant, sink: &Sink) -> Vec<u8> {
    sink.begin(true);
    sink.keep();
    tenant.submit(1);
    sink.wait(1);
    let (_, request) = sink.take().swap_remove(0);
    let head = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    request[head + 4..].to_vec()
}

/// Deliveries a second, and CPU of each in microseconds.
type Rate = (f64, f64);

/// As much as is there is delivered at once: everything waits before the first of it is answered.
fn our_rate(appliance: &Appliance, sink: &Sink, tenant: &Tenant) -> Rate {
    sink.begin(false);
    tenant.submit(DELIVERIES / ENDPOINTS);
    let before = cpu_seconds(appliance.id());
    sink.open();
    sink.wait(DELIVERIES);
    let cpu = cpu_seconds(appliance.id()) - before;
    assert_eq!(sink.at_once(), AT_ONCE);
    (sink.rate(), cpu * 1e6 / DELIVERIES as f64)
}

fn their_rate(rival: &Rival, sink: &Sink, body: &Path) -> Rate {
    sink.begin(true);
    let url = format!("http://127.0.0.1:{}/hook", sink.port);
    let mut worker = rival.worker(&url, DELIVERIES, AT_ONCE, body);
    let before = rival.cpu_seconds(&worker);
    worker.begin();
    sink.wait(DELIVERIES);
    let cpu = rival.cpu_seconds(&worker) - before;
    (sink.rate(), cpu * 1e6 / DELIVERIES as f64)
}

fn rates(appliance: &Appliance, sink: &Sink, rounds: usize) {
    let tenant = told(appliance, sink, "rates", ENDPOINTS);
    let one = told(appliance, sink, "body", 1);
    let packages = packages();
    let file = tempfile::NamedTempFile::new().unwrap();
    let body = body(&one, sink);
    std::fs::write(file.path(), &body).unwrap();
    let mut ours = Vec::new();
    let mut theirs: Vec<(&'static str, Vec<Rate>)> = Vec::new();
    for _ in 0..rounds {
        ours.push(our_rate(appliance, sink, &tenant));
        for (place, start) in [Rival::bullmq, Rival::pgqueuer].into_iter().enumerate() {
            let rival = start(&packages);
            let rate = their_rate(&rival, sink, file.path());
            match theirs.get_mut(place) {
                Some((_, all)) => all.push(rate),
                None => theirs.push((rival.name, vec![rate])),
            }
        }
    }
    let best = |all: &[Rate]| all.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let (rate, cpu) = best(&ours);
    println!("{DELIVERIES} deliveries of {} bytes, {AT_ONCE} at once, best of {rounds} rounds", body.len());
    println!("| what | deliveries/s | CPU, µs each | ours is |\n|---|---|---|---|");
    println!("| quintet | {rate:.0} | {cpu:.0} | |");
    for (name, all) in theirs {
        let (their_rate, their_cpu) = best(&all);
        println!("| {name} | {their_rate:.0} | {their_cpu:.0} | {:.1} times as many |", rate / their_rate);
    }
}

/// What is waited for between the commit of an event and the first byte at its receiver. Nobody outside knows the instant of
/// the commit: it lies between that of the event and the answer to whoever submitted the run.
fn latency(appliance: &Appliance, sink: &Sink, rounds: usize) {
    let tenants = ["one", "two", "three", "four"].map(|name| told(appliance, sink, name, 1));
    let mut best: Option<([f64; 4], f64)> = None;
    for _ in 0..rounds {
        sink.begin(true);
        sink.keep();
        let before = cpu_seconds(appliance.id());
        let answered: HashMap<String, i64> = std::thread::scope(|scope| {
            let parts = tenants.len();
            let paced = |tenant| move || Tenant::submit_paced(tenant, PACED / parts, Some(PACE / parts as f64));
            let callers: Vec<_> = tenants.iter().map(|tenant| scope.spawn(paced(tenant))).collect();
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
        });
        sink.wait(PACED);
        let cpu = (cpu_seconds(appliance.id()) - before) * 1e6 / PACED as f64;
        let (mut from_event, mut from_answer): (Vec<i64>, Vec<i64>) = sink
            .take()
            .iter()
            .map(|(at, request)| {
                let (run, occurred_at) = event(request);
                (at - occurred_at, at - answered[&run])
            })
            .unzip();
        from_event.sort_unstable();
        from_answer.sort_unstable();
        let of = |waits: &[i64], permille: usize| waits[(waits.len() - 1) * permille / 1000] as f64 / 1000.0;
        let found = [of(&from_event, 500), of(&from_event, 990), of(&from_answer, 500), of(&from_answer, 990)];
        if best.is_none_or(|(best, _)| found[1] < best[1]) {
            best = Some((found, cpu));
        }
    }
    let ([half, most, half_after, most_after], cpu) = best.unwrap();
    println!(
        "\n{PACED} runs of four tenants at {PACE} a second, each with one delivery; until its first byte is there, ms"
    );
    println!("| from the event, before its commit: p50 | p99 | from the answer, after it: p50 | p99 | CPU, µs |");
    println!("|---|---|---|---|---|");
    println!("| {half:.1} | {most:.1} | {half_after:.1} | {most_after:.1} | {cpu:.0} |");
}

/// The run that a delivery tells of, and when it happened, in microseconds since 1970.
fn event(request: &[u8]) -> (String, i64) {
    let head = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let body: Value = serde_json::from_slice(&request[head + 4..]).unwrap();
    let occurred_at = quintet_platform::clock::parse_rfc3339(body["occurred_at"].as_str().unwrap()).unwrap();
    (body["resource"]["id"].as_str().unwrap().to_owned(), occurred_at.as_micros())
}

/// What the submission of a run takes where nobody is told, and where an endpoint is: pairs, one right behind the other, for
/// a shared machine is now faster and now slower.
fn submissions(appliance: &Appliance, sink: &Sink, rounds: usize) {
    let alone = Tenant::new(appliance, "alone");
    let told = told(appliance, sink, "told", 1);
    let cpu_of = |tenant: &Tenant| {
        let before = cpu_nanos(appliance.id());
        tenant.submit(SUBMISSIONS);
        (cpu_nanos(appliance.id()) - before) / 1e3 / SUBMISSIONS as f64
    };
    // What is delivered is no part of the submission: nobody is answered before it is over.
    sink.begin(false);
    let mut pairs: Vec<(f64, f64)> = (0..PAIRS * rounds).map(|_| (cpu_of(&alone), cpu_of(&told))).collect();
    pairs.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    let ratio = |part: f64| pairs.get((pairs.len() as f64 * part) as usize).map_or(0.0, |pair| pair.1 / pair.0);
    let least = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(f64::INFINITY, f64::min);
    let (without, with) = (least(|pair| pair.0), least(|pair| pair.1));
    println!("\nthe server's CPU of a submission, µs: {} pairs of {SUBMISSIONS} submissions", pairs.len());
    println!(
        "| without an endpoint, least | with one, least | ratio, median of the pairs' | quarter below | quarter above |"
    );
    println!("|---|---|---|---|---|");
    println!("| {without:.1} | {with:.1} | {:.2} | {:.2} | {:.2} |", ratio(0.5), ratio(0.25), ratio(0.75));
    sink.open();
    sink.wait(PAIRS * rounds * SUBMISSIONS);
    let mut whole = f64::INFINITY;
    for _ in 0..rounds {
        sink.begin(true);
        let before = cpu_nanos(appliance.id());
        told.submit(WHOLE);
        sink.wait(WHOLE);
        whole = whole.min((cpu_nanos(appliance.id()) - before) / 1e3 / WHOLE as f64);
    }
    println!("with the delivery: {whole:.0}");
}

/// What a process has used so far, in nanoseconds.
fn cpu_nanos(id: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let used = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<f64>().ok()
    });
    used.sum()
}

/// Kills it with so many rows waiting.
fn restart(appliance: &mut Appliance, sink: &Sink) {
    let tenant = told(appliance, sink, "restart", ENDPOINTS);
    sink.begin(false);
    tenant.submit(WAITING / ENDPOINTS);
    let killed = appliance.restart(&environment());
    let tenant = tenant.moved(appliance);
    tenant.submit(1);
    let ready = killed.elapsed();
    sink.begin(true);
    let begun = Instant::now();
    while sink.count() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let first = begun.elapsed();
    let memory = appliance.resident_mib();
    sink.wait(WAITING);
    println!("\n{WAITING} deliveries wait at kill -9");
    println!(
        "| from the kill to the first run that is accepted, ms | the first delivery after that, ms | memory then, MiB | all delivered after, s |"
    );
    println!("|---|---|---|---|");
    let all = begun.elapsed().as_secs_f64();
    println!("| {} | {} | {memory} | {all:.0} |", ready.as_millis(), first.as_millis());
}
