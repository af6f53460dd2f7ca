//! kill -9 of the real binary while it delivers: every event of an accepted run arrives, under one id, and each
//! subscription has one delivery of it.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::runs::Desk;
use crate::support::appliance::{Appliance, Setup, fresh_key, rounds};
use crate::support::receiver::Receiver;

const CALLERS: usize = 8;

fn start(data: &std::path::Path) -> Appliance {
    Setup::new().on(data).env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start()
}

/// Submits runs until it is killed; those that were accepted.
fn submit_until_killed(appliance: Appliance, key: &str, inline: &str, lifetime: Duration) -> BTreeSet<String> {
    let (accepted, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let body = json!({
        "image": "a", "webhook": {"url": inline, "events": ["run.failed"], "secret": "s"},
        "expires_at": "2020-01-01T00:00:00Z",
    });
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            let client = appliance.client("runs", key);
            let (accepted, is_over, body) = (&accepted, &is_over, &body);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let Some(answer) = client.try_post_under(&fresh_key(), "/api/v1/runs", body) else { return };
                    if answer.status == 202 {
                        accepted.lock().unwrap().insert(answer.json()["track_id"].as_str().unwrap().to_owned());
                    }
                }
            });
        }
        std::thread::sleep(lifetime);
        appliance.kill();
        is_over.store(true, Ordering::SeqCst);
    });
    accepted.into_inner().unwrap()
}

/// The rows are as they should be: each event has one for each subscription, and the indexes agree.
fn verify(data: &std::path::Path) {
    let verified = crate::support::appliance::run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", crate::support::appliance::stdout(&verified));
}

#[test]
fn every_event_arrives_under_one_id_whatever_is_killed() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let (directory, receiver) = (tempfile::tempdir().unwrap(), Receiver::start());
    let data = directory.path().join("data");
    let mut appliance = start(&data);
    let tenant_id = appliance.tenant();
    let key = appliance.key(&tenant_id, &[]).1;
    appliance.cli_json(&["tenant", "quota", &tenant_id, "--service", "runs", "--max-daily-runs", "1000000"]);
    let desk = Desk { client: appliance.client("runs", &key) };
    let made = desk.client.post("/api/v1/webhooks", &json!({"url": receiver.url(204, "all"), "events": ["run.*"]}));
    made.expect(201);
    let mut accepted = BTreeSet::new();
    for round in 0..rounds {
        let lifetime = Duration::from_millis(150 + 70 * (round as u64 % 7));
        accepted.extend(submit_until_killed(appliance, &key, &receiver.url(204, "inline"), lifetime));
        verify(&data);
        appliance = start(&data);
    }
    assert!(accepted.len() > 10 * rounds, "only {} runs in {rounds} rounds", accepted.len());
    let began = Instant::now();
    loop {
        let missing = missing(&receiver, &accepted);
        if missing.is_empty() {
            break;
        }
        let first = missing.first();
        assert!(began.elapsed() < Duration::from_secs(60), "{} have not arrived, such as {first:?}", missing.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
    println!("{rounds} kills, {} runs: every event arrived", accepted.len());
}

/// The events of accepted runs that have not arrived yet. Each that has is under one id, and in one delivery for each
/// subscription.
fn missing(receiver: &Receiver, accepted: &BTreeSet<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, wanted) in [("all", &["run.scheduled", "run.failed"][..]), ("inline", &["run.failed"][..])] {
        let mut seen: BTreeMap<(String, String), BTreeSet<(String, String)>> = BTreeMap::new();
        for arrived in receiver.at(name) {
            let run = arrived.body()["resource"]["id"].as_str().unwrap().to_owned();
            let event = (run, arrived.header("x-svc-event").to_owned());
            let ids = (arrived.header("x-svc-event-id").to_owned(), arrived.header("x-svc-delivery").to_owned());
            seen.entry(event).or_default().insert(ids);
        }
        for ((run, event), ids) in &seen {
            assert_eq!(ids.len(), 1, "{name}: {event} of {run} arrived under so many ids");
        }
        for run in accepted {
            let is_there = |event: &&&str| seen.contains_key(&(run.clone(), (**event).to_owned()));
            missing.extend(
                wanted.iter().filter(|event| !is_there(event)).map(|event| format!("{name}: {event} of {run}")),
            );
        }
    }
    missing
}
