//! kill -9 of the real binary under calls, and under what this appliance calls itself: what was answered is a message, once,
//! and whoever got no answer calls again and gets the first one's.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Endpoint, seconds};
use crate::support::appliance::{Appliance, Client, Setup, rounds, run, stdout};
use crate::support::messaging::Workspace;

const CALLERS: usize = 32;
const AGENTS: usize = 4;

fn start(data: &Path) -> Appliance {
    Setup::new().on(data).env("QUINTET_MESSAGING__PUBLIC_URL", "https://agents.invalid").start()
}

/// A call by its number: of which endpoint, its id, and what it says.
fn call(endpoints: &[Endpoint], number: u64) -> (&Endpoint, String, Vec<u8>) {
    let endpoint = &endpoints[number as usize % endpoints.len()];
    // Every tenth is too long for the row of its message.
    let rest = if number.is_multiple_of(10) { "x".repeat(9_000) } else { String::new() };
    (endpoint, format!("call-{number}"), format!("{number} {rest}").into_bytes())
}

/// Calls; the delivery, if there was an answer.
fn make(client: &Client, endpoints: &[Endpoint], number: u64, at: i64) -> Option<String> {
    let (endpoint, id, body) = call(endpoints, number);
    let fields = endpoint.standard(&id, at, &body);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = client.try_send("POST", &endpoint.path, &fields, &body).ok()?;
    assert!(matches!(answer.status, 202 | 503), "{answer:?}");
    (answer.status == 202).then(|| answer.json()["delivery_id"].as_str().unwrap().to_owned())
}

fn inbox(client: &Client) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let page = client.get(&format!("/v1/inbox?cursor={}&limit=200", all.len())).expect(200);
        let rows = page["messages"].as_array().unwrap().clone();
        if rows.is_empty() {
            return all;
        }
        all.extend(rows);
    }
}

fn verify(data: &Path) {
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}

#[test]
fn what_was_answered_is_a_message_once_whatever_is_killed() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = start(&data);
    let (endpoints, keys) = {
        let workspace = Workspace::open(&appliance);
        workspace.limit("external_in_per_day=unlimited");
        let agents: Vec<_> = (0..AGENTS).map(|number| workspace.agent(&format!("agent-{number}"))).collect();
        let endpoints: Vec<_> = agents.iter().map(|agent| Endpoint::make(&agent.client, &agent.name)).collect();
        (endpoints, agents.into_iter().map(|agent| agent.key).collect::<Vec<_>>())
    };
    let (next, answered) = (AtomicU64::new(1), Mutex::new(BTreeMap::new()));
    for round in 0..rounds {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..CALLERS {
                let client = appliance.stranger("messaging");
                let (endpoints, next, answered, is_over) = (&endpoints, &next, &answered, &is_over);
                scope.spawn(move || {
                    while !is_over.load(Ordering::SeqCst) {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        let made = make(&client, endpoints, number, seconds());
                        answered.lock().unwrap().insert(number, made);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(300 + 130 * (round as u64 % 7)));
            appliance.kill();
            is_over.store(true, Ordering::SeqCst);
        });
        appliance = start(&data);
    }
    let mut ids: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let stranger = appliance.stranger("messaging");
    for (number, made) in answered.into_inner().unwrap() {
        // Whoever got no answer calls again, later, and so does every fifth of the others.
        let id = match made {
            Some(made) if !number.is_multiple_of(5) => made,
            made => {
                let again = make(&stranger, &endpoints, number, seconds() + 2).expect("the second time it is answered");
                assert!(made.is_none_or(|made| made == again), "call {number} has two deliveries");
                again
            }
        };
        assert!(
            ids.entry(number as usize % AGENTS).or_default().insert(id),
            "call {number} has another one's delivery"
        );
    }
    for (place, key) in keys.iter().enumerate() {
        let rows = inbox(&appliance.client("messaging", key));
        let found: BTreeSet<String> = rows.iter().map(|row| row["delivery_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found.len(), rows.len());
        let expected = ids.remove(&place).unwrap_or_default();
        let (lost, strange) = (expected.difference(&found).count(), found.difference(&expected).count());
        assert_eq!((lost, strange), (0, 0), "agent-{place}: lost, and not answered");
    }
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
}

/// What this appliance tells itself is tried again after a kill, under the same id: once it has arrived it is a retry.
#[test]
fn what_is_told_within_arrives_once_whatever_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = start(&data);
    let (key, runs_key, webhook) = {
        let workspace = Workspace::open(&appliance);
        let ann = workspace.agent("ann");
        let endpoint = Endpoint::make(&ann.client, "ann");
        let runs_key = appliance.key(&workspace.tenant_id, &[]).1;
        (ann.key, runs_key, json!({"url": endpoint.url, "secret": endpoint.secret}))
    };
    let mut count = 0;
    for micros in [0, 1_000, 5_000, 20_000, 60_000] {
        let runs = appliance.client("runs", &runs_key);
        for _ in 0..8 {
            runs.post("/api/v1/timers", &json!({"fire_at": "2001-01-01T00:00:00.000Z", "webhook": webhook}))
                .expect(201);
            count += 1;
        }
        std::thread::sleep(Duration::from_micros(micros));
        appliance.kill();
        appliance = start(&data);
    }
    let client = appliance.client("messaging", &key);
    let begun = Instant::now();
    while inbox(&client).len() < count {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {count} arrived", inbox(&client).len());
        std::thread::sleep(Duration::from_millis(20));
    }
    let rows = inbox(&client);
    let event = |row: &Value| {
        let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
        client.get(&path).expect(200)["payload"]["event_id"].as_str().unwrap().to_owned()
    };
    let events: BTreeSet<String> = rows.iter().map(event).collect();
    assert_eq!((events.len(), rows.len()), (count, count), "each once");
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
}
