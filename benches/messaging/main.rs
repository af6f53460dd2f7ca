//! Messaging over HTTP against the real binary, durable, the load generator on the same machine; beside it PostgreSQL with
//! inboxes of its own schema and Redis Streams, on the same machine in the same run.
//!
//! `cargo bench --bench messaging [-- [SECONDS] [PART...]]`. Parts: `sends` (spread over all inboxes and into one, with the
//! rivals), `rooms` (a room of 100 beside one recipient), `wake` (from the 202 to the event at its reader), `streams` (the
//! memory of one that is idle), `calls` (inbound calls beside plain sends), `inbox` (a page before and after a million
//! deliveries, and the start after a kill), `mcp` (a call of a tool beside the request of its route), `signed`, `sealed` and
//! `verdicts` (what trust costs); all of them without any. Best of three rounds, taken in turn.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

#[path = "../appliance/mod.rs"]
mod appliance;
mod load;
#[path = "../appliance/postgres.rs"]
mod postgres;
#[path = "../appliance/processes.rs"]
mod processes;
mod rivals;
mod trust;

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use appliance::Appliance;
use data_encoding::BASE64;
use load::{Connection, Make, Request, Round, Workspace, millis};
use quintet_platform::clock::Clock;
use quintet_platform::deliveries::hmac_sha256;
use rivals::{Inboxes, Measured, Streams};

const CONNECTIONS: usize = 64;
const AGENTS: usize = 1_000;
const TEXT_BYTES: usize = 500;
const ROUNDS: usize = 3;
/// Members of the room.
const ROOM: usize = 100;
/// Open streams, and sends a second, where wakes are measured.
const STREAMS: usize = 1_000;
const WAKES_PER_SECOND: f64 = 1_000.0;
/// So many deliveries into one inbox.
const MANY: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let seconds = arguments.iter().filter_map(|argument| argument.parse().ok()).next().unwrap_or(5);
    let parts: Vec<String> = arguments.into_iter().filter(|argument| argument.parse::<u64>().is_err()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(bench(Duration::from_secs(seconds), &parts));
}

async fn bench(length: Duration, parts: &[String]) {
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|one| one == part);
    let directory = tempfile::tempdir().unwrap();
    println!("{AGENTS} agents, {TEXT_BYTES} bytes of text, {} s a round, best of {ROUNDS}", length.as_secs());
    if wanted("sends") {
        sends(directory.path(), length).await;
    }
    if wanted("rooms") {
        rooms(directory.path(), length).await;
    }
    if wanted("wake") {
        wake(directory.path(), length).await;
    }
    if wanted("streams") {
        streams(directory.path()).await;
    }
    if wanted("calls") {
        calls(directory.path(), length).await;
    }
    if wanted("inbox") {
        inbox(directory.path()).await;
    }
    if wanted("mcp") {
        mcp(directory.path(), length).await;
    }
    if wanted("signed") {
        trust::signed(directory.path(), length).await;
    }
    if wanted("sealed") {
        trust::sealed(directory.path()).await;
    }
    if wanted("verdicts") {
        trust::verdicts(directory.path()).await;
    }
}

fn name(number: u64) -> String {
    format!("agent-{}", number % AGENTS as u64)
}

/// An appliance with a workspace of so many agents.
async fn prepared(parent: &std::path::Path) -> (Appliance, Workspace) {
    let appliance = Appliance::start(parent, &[]);
    let workspace = Workspace::new(&appliance, "bench");
    workspace.register((0..AGENTS as u64).map(name)).await;
    (appliance, workspace)
}

/// Sends of the usual text: from one agent to another, or to `to` whoever sends.
fn messages(to: Option<&str>) -> Make {
    let (to, text) = (to.map(str::to_owned), "x".repeat(TEXT_BYTES));
    Arc::new(move |number| {
        let to = to.clone().unwrap_or_else(|| name(number.wrapping_mul(7_919) + 1));
        let body = format!(r#"{{"to":["{to}"],"subject":"bench","text":"{text}"}}"#);
        let agent = name(number.wrapping_mul(104_729));
        Request { agent, path: "/v1/messages".to_owned(), body, head: String::new() }
    })
}

fn heading(first: &str) {
    println!("\n{first:<34} {:>10} {:>14} {:>9} {:>9} {:>9}", "sends/s", "server CPU us", "p50 ms", "p99 ms", "max ms");
}

fn row(name: &str, round: &Round) {
    let Round { rate, cpu_micros, .. } = round;
    let (half, most, all) = (round.millis(50.0), round.millis(99.0), round.millis(100.0));
    println!("{name:<34} {rate:>10.0} {cpu_micros:>14.1} {half:>9.2} {most:>9.2} {all:>9.2}");
}

fn rival(name: &str, (rate, cpu_micros): Measured, ours: f64) {
    println!("{name:<34} {rate:>10.0} {cpu_micros:>14.1} {:>29} ours is {:.2} times", "", ours / rate);
}

fn best(measured: Option<Measured>, other: Measured) -> Measured {
    measured.filter(|measured| measured.0 > other.0).unwrap_or(other)
}

async fn sends(parent: &std::path::Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let (inboxes, redis) = (Inboxes::start(AGENTS), Streams::start());
    let (mut spread, mut hot): (Option<Round>, Option<Round>) = (None, None);
    let (mut quiet, mut notifying, mut added): (Option<Measured>, Option<Measured>, Option<Measured>) =
        (None, None, None);
    for _ in 0..ROUNDS {
        spread = Some(workspace.run(appliance.id(), CONNECTIONS, length, messages(None)).await.best(spread));
        hot = Some(workspace.run(appliance.id(), CONNECTIONS, length, messages(Some("agent-0"))).await.best(hot));
        quiet = Some(best(quiet, inboxes.measure(CONNECTIONS, TEXT_BYTES, false, length)));
        notifying = Some(best(notifying, inboxes.measure(CONNECTIONS, TEXT_BYTES, true, length)));
        added = Some(best(added, redis.measure(CONNECTIONS, TEXT_BYTES, AGENTS, 100_000)));
    }
    let (spread, hot) = (spread.unwrap(), hot.unwrap());
    heading("durable sends, 64 connections");
    row("spread over all inboxes", &spread);
    row("into one inbox", &hot);
    rival("PostgreSQL", quiet.unwrap(), spread.rate);
    rival("PostgreSQL that notifies", notifying.unwrap(), spread.rate);
    rival("Redis Streams, appendfsync always", added.unwrap(), spread.rate);
    println!("hot to spread: {:.2}", hot.rate / spread.rate);
}

/// A call of a tool beside the request of its route: one that reads little, and a durable send. What counts is the server's
/// CPU, of which a call may take 1.5 times as much.
async fn mcp(parent: &std::path::Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let call = |tool: &'static str, arguments: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        )
    };
    let path = |path: &str| path.to_owned();
    let agent = |number: u64| name(number.wrapping_mul(104_729));
    let usage: Make = Arc::new(move |n| Request {
        agent: agent(n),
        path: path("/v1/usage"),
        body: String::new(),
        head: String::new(),
    });
    let bus_usage: Make = Arc::new(move |number| {
        let body = call("bus_usage", format!(r#"{{"agent":"{}"}}"#, agent(number)));
        Request { agent: String::new(), path: path("/mcp"), body, head: String::new() }
    });
    let text = "x".repeat(TEXT_BYTES);
    let bus_send: Make = Arc::new(move |number| {
        let (from, to) = (agent(number), name(number.wrapping_mul(7_919) + 1));
        let arguments = format!(
            r#"{{"agent":"{from}","to":"{to}","subject":"bench","text":"{text}","idempotency_key":"mcp-{number}"}}"#
        );
        Request { agent: String::new(), path: path("/mcp"), body: call("bus_send", arguments), head: String::new() }
    });
    for (what, route, tool) in [("usage", usage, bus_usage), ("send", messages(None), bus_send)] {
        let (mut direct, mut called): (Option<Round>, Option<Round>) = (None, None);
        for _ in 0..ROUNDS {
            let run = |make: &Make| workspace.run(appliance.id(), CONNECTIONS, length, Arc::clone(make));
            direct = Some(run(&route).await.best(direct));
            called = Some(run(&tool).await.best(called));
        }
        let (direct, called) = (direct.unwrap(), called.unwrap());
        heading(what);
        row("its route", &direct);
        row("the tool", &called);
        let (cpu, time) = (called.cpu_micros / direct.cpu_micros, direct.rate / called.rate);
        println!("the tool to its route: CPU {cpu:.2}, time {time:.2} (at most 1.5)");
    }
}

async fn rooms(parent: &std::path::Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let mut connection = Connection::open(&workspace).await;
    for number in 0..ROOM as u64 + 1 {
        connection.call(&name(number), "/v1/rooms/hundred/join", "", "{}").await;
    }
    let text = "x".repeat(TEXT_BYTES);
    let to_room: Make = Arc::new(move |_| {
        let body = format!(r#"{{"to":["room:hundred"],"subject":"bench","text":"{text}"}}"#);
        Request { agent: name(0), path: "/v1/messages".to_owned(), body, head: String::new() }
    });
    let (mut one, mut all): (Option<Round>, Option<Round>) = (None, None);
    for _ in 0..ROUNDS {
        one = Some(workspace.run(appliance.id(), CONNECTIONS, length, messages(None)).await.best(one));
        all = Some(workspace.run(appliance.id(), CONNECTIONS, length, Arc::clone(&to_room)).await.best(all));
    }
    let (one, all) = (one.unwrap(), all.unwrap());
    heading("a room of 100");
    row("to one recipient", &one);
    row("to the room", &all);
    println!("CPU of the room's to that of one: {:.1}", all.cpu_micros / one.cpu_micros);
}

/// Signed calls of inbound endpoints beside plain sends, of as many bytes, spread over as many agents.
async fn calls(parent: &std::path::Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let mut connection = Connection::open(&workspace).await;
    let mut endpoints = Vec::new();
    for number in 0..AGENTS as u64 {
        let path = format!("/v1/agents/{}/inbound", name(number));
        let made = connection.call(&name(number), &path, "", "{}").await;
        let (url, secret) = (made["url"].as_str().unwrap(), made["secret"].as_str().unwrap());
        let key = BASE64.decode(secret.trim_start_matches("whsec_").as_bytes()).unwrap();
        endpoints.push((url[url.find("/in/").unwrap()..].to_owned(), key));
    }
    let text = "x".repeat(TEXT_BYTES);
    let call: Make = Arc::new(move |number| {
        let (path, key) = &endpoints[(number as usize).wrapping_mul(7_919) % endpoints.len()];
        let (id, at) = (format!("call-{number}"), Clock::system().now().as_micros() / 1_000_000);
        let timestamp = at.to_string();
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", text.as_bytes()];
        let signature = BASE64.encode(&hmac_sha256(key, &signed));
        let head = format!("webhook-id: {id}\r\nwebhook-timestamp: {at}\r\nwebhook-signature: v1,{signature}\r\n");
        Request { agent: String::new(), path: path.clone(), body: text.clone(), head }
    });
    let (mut sent, mut called): (Option<Round>, Option<Round>) = (None, None);
    for _ in 0..ROUNDS {
        sent = Some(workspace.run(appliance.id(), CONNECTIONS, length, messages(None)).await.best(sent));
        called = Some(workspace.run(appliance.id(), CONNECTIONS, length, Arc::clone(&call)).await.best(called));
    }
    let (sent, called) = (sent.unwrap(), called.unwrap());
    heading("inbound calls, 64 connections");
    row("plain sends", &sent);
    row("signed calls", &called);
    println!("calls to sends: {:.2}", called.rate / sent.rate);
}

/// From the 202 to the event at its reader: agents with an open stream each, sends at a given rate.
async fn wake(parent: &std::path::Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let answered: Arc<Vec<Mutex<Vec<Instant>>>> = Arc::new((0..STREAMS).map(|_| Mutex::default()).collect());
    let arrived: Arc<Vec<Mutex<Vec<Instant>>>> = Arc::new((0..STREAMS).map(|_| Mutex::default()).collect());
    let mut readers = tokio::task::JoinSet::new();
    for number in 0..STREAMS {
        let mut stream = Connection::open(&workspace).await.stream(&name(number as u64), 0).await;
        let arrived = Arc::clone(&arrived);
        readers.spawn(async move {
            loop {
                let events = stream.next().await;
                let now = Instant::now();
                arrived[number].lock().unwrap().extend(std::iter::repeat_n(now, events));
            }
        });
    }
    let began = Instant::now();
    let mut senders = tokio::task::JoinSet::new();
    let callers = 16;
    for caller in 0..callers {
        let (mut connection, answered) = (Connection::open(&workspace).await, Arc::clone(&answered));
        senders.spawn(async move {
            let text = "x".repeat(TEXT_BYTES);
            let pause = Duration::from_secs_f64(f64::from(callers) / WAKES_PER_SECOND);
            let mut due = began + pause.mul_f64(f64::from(caller) / f64::from(callers));
            // Each caller has recipients of its own, so that what is answered first arrives first.
            let mut number = caller as usize;
            while began.elapsed() < length {
                tokio::time::sleep_until(due.into()).await;
                due += pause;
                let body = format!(r#"{{"to":["{}"],"subject":"bench","text":"{text}"}}"#, name(number as u64));
                connection.call(&name(number as u64 + 1), "/v1/messages", "", &body).await;
                answered[number].lock().unwrap().push(Instant::now());
                number = (number + callers as usize) % (STREAMS / callers as usize * callers as usize);
            }
        });
    }
    senders.join_all().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    readers.shutdown().await;
    let mut delays = Vec::new();
    for (answered, arrived) in answered.iter().zip(arrived.iter()) {
        let (answered, arrived) = (answered.lock().unwrap(), arrived.lock().unwrap());
        assert_eq!(answered.len(), arrived.len(), "every send wakes its recipient");
        let delay =
            |(sent, came): (&Instant, &Instant)| u64::try_from(came.saturating_duration_since(*sent).as_micros());
        delays.extend(answered.iter().zip(arrived.iter()).map(|pair| delay(pair).unwrap()));
    }
    delays.sort_unstable();
    println!(
        "\nwake: {STREAMS} streams, {WAKES_PER_SECOND} sends/s, {} events: from the 202 p50 {:.2}, p99 {:.2}, max {:.2} ms",
        delays.len(),
        millis(&delays, 50.0),
        millis(&delays, 99.0),
        millis(&delays, 100.0)
    );
    drop(appliance);
}

/// What an idle stream takes.
async fn streams(parent: &std::path::Path) {
    let (appliance, workspace) = prepared(parent).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = appliance.resident_kib();
    let mut open = Vec::new();
    for number in 0..STREAMS as u64 {
        open.push(Connection::open(&workspace).await.stream(&name(number), 0).await);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = appliance.resident_kib();
    println!("\nidle streams: {STREAMS}, {:.1} KiB each", (after - before) as f64 / STREAMS as f64);
}

/// A page of an inbox before and after many deliveries, and the start after a kill with all of them.
async fn inbox(parent: &std::path::Path) {
    let (mut appliance, workspace) = prepared(parent).await;
    let mut connection = Connection::open(&workspace).await;
    let few = |number: u64| messages(Some("agent-0"))(number);
    for number in 0..100 {
        let Request { agent, path, body, .. } = few(number);
        connection.call(&agent, &path, "", &body).await;
    }
    let first = page_millis(&mut connection, 0).await;
    let (began, mut made) = (Instant::now(), 100);
    while made < MANY {
        let length = Duration::from_secs(5);
        made +=
            workspace.run(appliance.id(), CONNECTIONS, length, messages(Some("agent-0"))).await.latencies_micros.len();
        println!("{made} deliveries after {} s", began.elapsed().as_secs());
    }
    // The first one has been idle for longer than the appliance keeps connections.
    let mut connection = Connection::open(&workspace).await;
    let early = page_millis(&mut connection, 0).await;
    let late = page_millis(&mut connection, made as u64 - 60).await;
    println!(
        "\npage of 50 of 100 deliveries: {first:.2} ms; of {made}: the first {early:.2}, the last {late:.2} ms (p50)"
    );
    let killed = appliance.restart(&[]);
    println!("ready {:.2} s after kill -9 with {made} messages", killed.elapsed().as_secs_f64());
    let mut connection = Connection::open(&workspace.moved(&appliance)).await;
    let answer = connection.call("agent-0", &format!("/v1/inbox?cursor={}&limit=200", made - 100), "", "").await;
    assert_eq!(answer["messages"].as_array().unwrap().len(), 100, "everything is there");
}

async fn page_millis(connection: &mut Connection, cursor: u64) -> f64 {
    let mut all = Vec::new();
    for _ in 0..200 {
        let sent = Instant::now();
        let answer = connection.call("agent-0", &format!("/v1/inbox?cursor={cursor}&limit=50"), "", "").await;
        all.push(u64::try_from(sent.elapsed().as_micros()).unwrap());
        assert_eq!(answer["messages"].as_array().unwrap().len(), 50);
    }
    all.sort_unstable();
    millis(&all, 50.0)
}
