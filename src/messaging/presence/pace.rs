//! How quickly streams are woken: a thousand of them, of a thousand agents, and a thousand sends a second.
//!
//! What is asserted leaves room for machines that have other things to do; `--nocapture` shows the figures, that of memory
//! being right where no other test runs beside this one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use crate::identity::Scope;
use crate::testing::Bench;

const STREAMS: usize = 1_000;
const SENDS: u32 = 3_000;
const SENDERS: u32 = 8;
const BETWEEN: Duration = Duration::from_millis(1);

fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

async fn opened(bench: &Bench, key: &str, agent: &str) -> axum::body::BodyDataStream {
    let request = http::Request::get("/v1/stream")
        .header("authorization", format!("Bearer {key}"))
        .header("x-agentbus-agent", agent)
        .header("x-agentbus-wake-capable", "1");
    let response = bench.answer(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 200);
    response.into_body().into_data_stream()
}

/// Every so many sends are one sender's, each at its time.
fn send(bench: &Bench, names: &[String], began: Instant, sender: u32) -> Vec<(usize, Instant)> {
    let mut sent = Vec::new();
    for number in (sender..SENDS).step_by(SENDERS as usize) {
        std::thread::sleep((BETWEEN * number).saturating_sub(began.elapsed()));
        let agent = fastrand::usize(0..STREAMS);
        sent.push((agent, Instant::now()));
        bench.post(&format!("s{sender}"), &[&names[agent]], "x", |_| {});
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_are_woken_in_no_time() {
    let mut bench = Bench::new();
    bench.set(|workspace| workspace.limits = vec![(crate::limits::ACTIVE_AGENTS.code, None)]);
    let names: Vec<String> = (0..STREAMS).map(|number| format!("a{number}")).collect();
    let senders = (0..SENDERS).map(|sender| format!("s{sender}"));
    names.iter().cloned().chain(senders).for_each(|name| {
        bench.agent(&name);
    });
    let key = bench.key(Scope::Full, &[]);
    let before = resident_bytes();
    let (woken, mut told) = mpsc::unbounded_channel::<(usize, Instant)>();
    let mut streams = Vec::new();
    for name in &names {
        streams.push(opened(&bench, &key, name).await);
    }
    let held: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(agent, mut stream)| {
            let woken = woken.clone();
            tokio::spawn(async move {
                while let Some(Ok(piece)) = stream.next().await {
                    if piece.starts_with(b"id: ") && woken.send((agent, Instant::now())).is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let each = resident_bytes().saturating_sub(before) / STREAMS;
    let bench = Arc::new(bench);
    let (began, names) = (Instant::now(), Arc::new(names));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (bench, names) = (Arc::clone(&bench), Arc::clone(&names));
            std::thread::spawn(move || send(&bench, &names, began, sender))
        })
        .collect();
    let mut sent: Vec<Vec<Instant>> = vec![Vec::new(); STREAMS];
    for sender in senders {
        let all = tokio::task::block_in_place(|| sender.join()).unwrap();
        all.into_iter().for_each(|(agent, at)| sent[agent].push(at));
    }
    sent.iter_mut().for_each(|sent| sent.sort_unstable());
    let took = began.elapsed();
    tokio::time::sleep(Duration::from_millis(300)).await;
    held.iter().for_each(tokio::task::JoinHandle::abort);
    let mut late: Vec<Duration> = Vec::new();
    let mut events = vec![0; STREAMS];
    while let Ok((agent, at)) = told.try_recv() {
        // One that tells of several is as late as the first of them.
        let begun: Option<&Instant> = sent[agent].get(events[agent]);
        late.extend(begun.map(|begun| at.saturating_duration_since(*begun)));
        events[agent] += 1;
    }
    late.sort_unstable();
    let at = |share: usize| late[late.len() * share / 1_000];
    println!(
        "{STREAMS} streams, {each} bytes each; {SENDS} sends in {took:?}, {} events: p50 {:?}, p99 {:?}, p99.9 {:?}",
        late.len(),
        at(500),
        at(990),
        at(999)
    );
    let with_mail = sent.iter().filter(|sent| !sent.is_empty()).count();
    assert!(events.iter().filter(|events| **events > 0).count() >= with_mail - with_mail / 50, "streams sleep on");
    assert!(at(990) < Duration::from_secs(2), "{:?}", at(990));
}
