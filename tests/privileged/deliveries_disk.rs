//! The disk runs full under deliveries and is emptied again: what has arrived is not sent once more because it could not be
//! written down, nothing is lost, and it all goes on when there is room.
//!
//! `QUINTET_DISK_CYCLES=N` makes more cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::loop_disk::{Ballast, LoopDisk};
use crate::support::appliance::{Appliance, Client, Setup, fresh_key, rounds};
use crate::support::receiver::Receiver;

const DISK_MB: u64 = 512;
const RESERVE_MB: u64 = 64;
const CALLERS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

fn state(appliance: &Appliance) -> String {
    appliance.cli_json(&["status"])["storage"]["state"].as_str().unwrap().to_owned()
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Submits runs until it is over; those that were accepted.
fn submit(client: &Client, is_over: &AtomicBool, accepted: &Mutex<BTreeSet<String>>) {
    let body = json!({"image": "a", "expires_at": "2020-01-01T00:00:00Z"});
    while !is_over.load(Ordering::SeqCst) {
        let answer = client.post_under(&fresh_key(), "/api/v1/runs", &body);
        if answer.status == 202 {
            accepted.lock().unwrap().insert(answer.json()["track_id"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(answer.status, 503, "{answer:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// How often each delivery arrived, and which runs have been heard of to their end.
fn arrived(receiver: &Receiver) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut times, mut ended) = (BTreeMap::new(), BTreeSet::new());
    for one in receiver.at("disk") {
        *times.entry(one.header("x-svc-delivery").to_owned()).or_default() += 1;
        if one.header("x-svc-event") == "run.failed" {
            ended.insert(one.body()["resource"]["id"].as_str().unwrap().to_owned());
        }
    }
    (times, ended)
}

#[test]
fn deliveries_wait_while_the_disk_is_full_and_go_on() {
    let cycles = rounds("QUINTET_DISK_CYCLES", 2);
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let setup = Setup::new().on(&disk.path().join("data")).log_in(disk.beside());
    let setup = setup.env("QUINTET_STORAGE__DISK_RESERVE_MB", &RESERVE_MB.to_string());
    let appliance = setup.env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.1/32").start();
    let tenant = appliance.tenant();
    appliance.cli_json(&["tenant", "quota", &tenant, "--service", "runs", "--max-daily-runs", "1000000"]);
    let client = appliance.client("runs", &appliance.key(&tenant, &[]).1);
    let (receiver, ballast) = (Receiver::start(), Ballast::new(&disk));
    let hook = json!({"url": receiver.url(204, "disk"), "events": ["run.*"]});
    client.post("/api/v1/webhooks", &hook).expect(201);
    let (accepted, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| submit(&client, &is_over, &accepted));
        }
        for cycle in 0..cycles {
            let before = receiver.at("disk").len();
            receiver.wait("disk", before + 50);
            wait_for("the disk is full", || {
                // To the reserve, or, every other time, to a quarter of it.
                ballast.leave((RESERVE_MB / [1, 4][cycle % 2] - 4) << 20);
                state(&appliance) == "full"
            });
            std::thread::sleep(Duration::from_secs(1));
            let still = receiver.at("disk").len();
            std::thread::sleep(Duration::from_secs(2));
            assert_eq!(receiver.at("disk").len(), still, "nothing is sent that cannot be written down");
            ballast.release();
            receiver.wait("disk", still + 50);
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let accepted = accepted.into_inner().unwrap();
    wait_for("everything has arrived", || accepted.is_subset(&arrived(&receiver).1));
    let found = |state: &str| client.get(&format!("/api/v1/webhooks/deliveries?state_filter={state}")).expect(200);
    let is_waiting = |state: &&str| !found(state)["items"].as_array().unwrap().is_empty();
    wait_for("nothing waits", || !["pending", "delivering"].iter().any(is_waiting));
    let (times, _) = arrived(&receiver);
    let again: Vec<&String> = times.iter().filter(|(_, times)| **times > 1).map(|(id, _)| id).collect();
    assert!(again.is_empty(), "sent more than once: {again:?}");
    assert_eq!(times.len(), 2 * accepted.len(), "two events of each run that was accepted, and of none that was not");
    assert_eq!(appliance.stop(), Some(0));
    let data = disk.path().join("data");
    let verified = crate::support::appliance::run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", crate::support::appliance::stdout(&verified));
    println!("{cycles} times full: {} deliveries, each arrived once", times.len());
}
