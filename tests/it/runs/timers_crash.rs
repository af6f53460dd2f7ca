//! kill -9 of the real binary while timers and a schedule fire: each that was accepted fires, and each of its instants, under
//! one event id, in one delivery. And a disk that is full when it is time.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quintet_platform::clock::{Clock, parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::runs::Desk;
use crate::support::appliance::{Appliance, Setup, fresh_key, quintet, rounds};
use crate::support::receiver::Receiver;

const CALLERS: usize = 4;
/// In microseconds.
const MINUTE: i64 = 60_000_000;
/// How far ahead timers are set: some fire before the kill, some while it is off, some after.
const AHEAD_MILLIS: i64 = 600;

fn start(data: &std::path::Path) -> Appliance {
    Setup::new().on(data).env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start()
}

/// Sets timers until it is killed; those that were accepted.
fn set_until_killed(appliance: Appliance, key: &str, url: &str, lifetime: Duration) -> BTreeSet<String> {
    let (accepted, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let client = appliance.client("runs", key);
            let (accepted, is_over) = (&accepted, &is_over);
            scope.spawn(move || {
                let mut ahead = i64::try_from(caller).unwrap();
                while !is_over.load(Ordering::SeqCst) {
                    ahead = (ahead + 97) % AHEAD_MILLIS;
                    let fire_at = rfc3339(Clock::system().now().plus_micros(ahead * 1000));
                    let body = json!({"fire_at": fire_at, "webhook": {"url": url}});
                    let Some(answer) = client.try_post_under(&fresh_key(), "/api/v1/timers", &body) else { return };
                    if answer.status == 201 {
                        accepted.lock().unwrap().insert(answer.json()["timer_id"].as_str().unwrap().to_owned());
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

#[test]
fn every_timer_fires_under_one_event_whatever_is_killed() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let (directory, receiver) = (tempfile::tempdir().unwrap(), Receiver::start());
    let data = directory.path().join("data");
    let mut appliance = start(&data);
    let key = appliance.key(&appliance.tenant(), &[]).1;
    let url = receiver.url(204, "timers");
    let mut accepted = BTreeSet::new();
    for round in 0..rounds {
        let lifetime = Duration::from_millis(200 + 70 * (round as u64 % 7));
        accepted.extend(set_until_killed(appliance, &key, &url, lifetime));
        appliance = start(&data);
    }
    assert!(accepted.len() > 5 * rounds, "only {} timers in {rounds} rounds", accepted.len());
    let began = Instant::now();
    loop {
        let mut seen: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for arrived in receiver.at("timers") {
            let timer = arrived.body()["resource"]["id"].as_str().unwrap().to_owned();
            let ids = (arrived.header("x-svc-event-id").to_owned(), arrived.header("x-svc-delivery").to_owned());
            seen.entry(timer).or_default().insert(ids);
        }
        for (timer, ids) in &seen {
            assert_eq!(ids.len(), 1, "timer {timer} fired under so many ids");
        }
        let missing = accepted.iter().filter(|timer| !seen.contains_key(*timer)).count();
        if missing == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{missing} of {} have not fired", accepted.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    let desk = Desk { client: appliance.client("runs", &key) };
    let pending = desk.client.get("/api/v1/timers?state=pending").expect(200);
    assert_eq!(pending["items"], json!([]));
    assert_eq!(appliance.stop(), Some(0));
    let verified = crate::support::appliance::run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", crate::support::appliance::stdout(&verified));
    println!("{rounds} kills, {} timers: each fired under one event", accepted.len());
}

/// The clock is moved on while it is killed: every minute is told of, under one event, and none is missed.
#[test]
fn every_minute_of_a_schedule_is_told_of_once_whatever_is_killed() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let (directory, receiver) = (tempfile::tempdir().unwrap(), Receiver::start());
    let data = directory.path().join("data");
    let start = || Setup::new().on(&data).rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start();
    let mut appliance = start();
    let key = appliance.key(&appliance.tenant(), &[]).1;
    let body = json!({"cron": "* * * * *", "webhook": {"url": receiver.url(204, "minutes")}});
    let made = appliance.client("runs", &key).post("/api/v1/schedules", &body).expect(201);
    let path = format!("/api/v1/schedules/{}", made["schedule_id"].as_str().unwrap());
    for round in 0..rounds {
        let mut moving = quintet();
        moving.args(["clock", "advance", "36000", "--data"]).arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
        let mut moving = moving.spawn().unwrap();
        // In the middle of it: so many have arrived since the start.
        receiver.wait("minutes", receiver.at("minutes").len() + 3 + 10 * (round % 7));
        appliance.kill();
        moving.wait().unwrap();
        appliance = start();
    }
    // What is on its way still, and what came due meanwhile.
    appliance.cli_json(&["clock", "advance", "60"]);
    let shown = appliance.cli_json(&["clock", "show"]);
    let instant = |value: &Value| parse_rfc3339(value.as_str().unwrap()).unwrap().as_micros();
    let (from, to) = (instant(&made["created_at"]), instant(&shown["now"]));
    let minutes = (to.div_euclid(MINUTE) - from.div_euclid(MINUTE)) as usize;
    let mut seen: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for arrived in receiver.at("minutes") {
        let data = arrived.body()["data"].clone();
        assert_eq!(data["missed"], 0, "{data}");
        let ids = (arrived.header("x-svc-event-id").to_owned(), arrived.header("x-svc-delivery").to_owned());
        seen.entry(data["scheduled_at"].as_str().unwrap().to_owned()).or_default().insert(ids);
    }
    for (minute, ids) in &seen {
        assert_eq!(ids.len(), 1, "{minute} was told of under so many ids");
    }
    assert!(minutes > 3 * rounds, "{minutes} minutes");
    assert_eq!(seen.len(), minutes, "each minute was told of");
    let record = appliance.client("runs", &key).get(&path).expect(200);
    assert_eq!((&record["fire_count"], &record["missed_count"]), (&json!(minutes), &json!(0)));
    assert_eq!(appliance.stop(), Some(0));
    let verified = crate::support::appliance::run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", crate::support::appliance::stdout(&verified));
    println!("{rounds} kills, {minutes} minutes: each was told of under one event");
}

#[test]
fn what_comes_due_while_the_disk_is_down_to_its_reserve_fires_once_there_is_room() {
    let (directory, receiver) = (tempfile::tempdir().unwrap(), Receiver::start());
    let data = directory.path().join("data");
    let appliance = start(&data);
    let key = appliance.key(&appliance.tenant(), &[]).1;
    let fire_at = Clock::system().now().plus_micros(1_500_000);
    let body = json!({"fire_at": rfc3339(fire_at), "webhook": {"url": receiver.url(204, "full")}});
    let made = appliance.client("runs", &key).post("/api/v1/timers", &body).expect(201);
    let path = format!("/api/v1/timers/{}", made["timer_id"].as_str().unwrap());
    appliance.kill();
    let setup = Setup::new().on(&data).env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8");
    let full = setup.env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let client = full.client("runs", &key);
    while Clock::system().now() < fire_at.plus_micros(300_000) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.get(&path).expect(200)["state"], "pending");
    assert_eq!(receiver.at("full").len(), 0);
    assert_eq!(full.stop(), Some(0));
    let appliance = start(&data);
    let late = receiver.wait("full", 1)[0].body()["data"]["late_seconds"].as_f64().unwrap();
    assert!(late >= 0.3, "{late}");
    assert_eq!(appliance.client("runs", &key).get(&path).expect(200)["state"], "fired");
}
