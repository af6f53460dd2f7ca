//! Slots: who gets one, in which order, and many at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{House, Tenant, script, script_with, wait_until};
use crate::containers::TestRunner;
use crate::loop_disk::LoopDisk;

/// Every run of a tenant.
fn all(tenant: &Tenant) -> Vec<Value> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = tenant.client.get(&format!("/api/v1/runs?limit=200{cursor}")).expect(200);
        found.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

#[test]
fn with_one_slot_runs_go_one_after_another_in_order() {
    let Some(house) = House::start(&[("CEILINGS__MAX_CONCURRENT_RUNS", "1")]) else { return };
    let tenant = house.tenant();
    let first = tenant.submit(&script("sleep 1"));
    tenant.until(&first, "running");
    let others: Vec<String> = (0..4).map(|_| tenant.submit(&script("true"))).collect();
    for (index, id) in others.iter().enumerate() {
        let run = tenant.get(id);
        let info = &run["scheduling_info"];
        assert_eq!((&run["state"], &info["blocked_by"]), (&json!("scheduled"), &json!("concurrency")), "{run}");
        assert_eq!(info["queue_position"], index + 1);
    }
    // One that has no slot yet can be deleted, and one that waits too long fails.
    let path = format!("/api/v1/runs/{}", others[3]);
    assert_eq!(tenant.client.send("DELETE", &path, &[], b"").status, 200);
    let soon = jiff_in(Duration::from_millis(300));
    let late = tenant.submit(&script_with("true", json!({"expires_at": soon})));
    assert_eq!(tenant.wait(&late)["reason"], "expired");
    let mut finished = tenant.wait(&first)["finished_at"].as_str().unwrap().to_owned();
    for id in &others[..3] {
        let run = tenant.wait(id);
        let started = run["started_at"].as_str().unwrap();
        assert!(started >= finished.as_str(), "{started} before {finished}");
        finished = run["finished_at"].as_str().unwrap().to_owned();
    }
    house.assert_clean();
}

/// An instant a little ahead.
pub fn jiff_in(ahead: Duration) -> String {
    let micros = i64::try_from((quintet_platform_now() + ahead).as_micros()).unwrap();
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let output = std::process::Command::new("date").args(["-u", "-d", &format!("@{seconds}"), "+%FT%T"]).output();
    format!("{}.{rest:06}Z", String::from_utf8(output.unwrap().stdout).unwrap().trim())
}

#[expect(clippy::disallowed_methods, reason = "a test asks for the time of day")]
fn quintet_platform_now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

#[test]
fn a_run_for_later_starts_then_and_its_slot_is_kept() {
    let Some(house) = House::start(&[("CEILINGS__MAX_CONCURRENT_RUNS", "1")]) else { return };
    let tenant = house.tenant();
    let deferred =
        tenant.submit(&script_with("true", json!({"scheduled_start": jiff_in(Duration::from_millis(1500))})));
    let ordinary = tenant.submit(&script("true"));
    let info = tenant.get(&deferred)["scheduling_info"].clone();
    assert_eq!((&info["blocked_by"], &info["estimated_start"]), (&json!("start_time"), &info["eligible_start"]));
    let info = tenant.get(&ordinary)["scheduling_info"].clone();
    assert_eq!(info["blocked_by"], "reservations", "the only slot is the deferred run's");
    let (first, second) = (tenant.wait(&deferred), tenant.wait(&ordinary));
    assert!(first["started_at"].as_str() >= first["scheduling_info"]["eligible_start"].as_str());
    assert!(second["started_at"].as_str() >= first["finished_at"].as_str());
}

#[test]
fn two_hundred_at_once_and_a_full_machine_queues() {
    // Each is promised 42 MiB, which this machine need not have: they write next to nothing.
    let Some(disk) = LoopDisk::make(12 << 10) else { return };
    let Some(runner) = TestRunner::make_on(&disk) else { return };
    let house = House::on(runner, &[("WORKERS", "201"), ("SCRATCH_MB", "16")], None, false);
    let tenants: Vec<Tenant> = (0..21).map(|_| house.tenant()).collect();
    // Twenty tenants fill the machine, ten runs each, and one that holds none has the last; its second finds it full.
    let ids: Vec<(usize, String)> =
        (0..200).map(|index| (index / 10, tenants[index / 10].submit(&script("echo up; sleep 600")))).collect();
    for (tenant, id) in &ids {
        tenants[*tenant].until(id, "running");
    }
    let running = house.runner.runner.list().unwrap();
    assert_eq!(running.len(), 200, "all of them at once");
    let last = tenants[20].submit(&script("sleep 600"));
    tenants[20].until(&last, "running");
    let waiting = tenants[20].submit(&script("true"));
    std::thread::sleep(Duration::from_millis(300));
    let run = tenants[20].get(&waiting);
    assert_eq!((&run["state"], &run["scheduling_info"]["blocked_by"]), (&json!("scheduled"), &json!("workers")));
    let health = house.appliance().stranger("runs").get("/health").expect(200);
    assert_eq!(health["workers"], json!({"total": 201, "busy": 201}));
    for (tenant, id) in &ids {
        assert_eq!(tenants[*tenant].control(id, "kill").status, 204);
    }
    for (tenant, id) in &ids {
        assert_eq!(tenants[*tenant].wait(id)["state"], "killed");
    }
    assert_eq!(tenants[20].wait(&waiting)["state"], "exited");
    assert_eq!(tenants[20].control(&last, "kill").status, 204);
    tenants[20].wait(&last);
    house.assert_clean();
    for tenant in &tenants[..20] {
        assert!(all(tenant).iter().all(|run| run["state"] == "killed"));
    }
}

#[test]
fn long_runs_of_one_tenant_do_not_shut_the_others_out() {
    let Some(house) = House::start(&[("WORKERS", "10")]) else { return };
    let (greedy, other) = (house.tenant(), house.tenant());
    // As many as its quota and the machine allow, and nobody else wants any.
    let long: Vec<String> = (0..10).map(|_| greedy.submit(&script("sleep 3600"))).collect();
    for id in &long[..9] {
        greedy.until(id, "running");
    }
    let run = greedy.get(&long[9]);
    assert_eq!((&run["state"], &run["scheduling_info"]["blocked_by"]), (&json!("scheduled"), &json!("workers")));
    for _ in 0..2 {
        assert_eq!(other.wait(&other.submit(&script("true")))["state"], "exited");
    }
    assert_eq!(greedy.get(&long[9])["state"], "scheduled", "the last is kept");
    let path = format!("/api/v1/runs/{}", long[9]);
    assert_eq!(greedy.client.send("DELETE", &path, &[], b"").status, 200);
    for id in &long[..9] {
        assert_eq!(greedy.control(id, "kill").status, 204);
    }
    for id in &long[..9] {
        assert_eq!(greedy.wait(id)["state"], "killed");
    }
    house.assert_clean();
}

#[test]
fn a_queue_is_drained_at_the_machines_limit() {
    let count = crate::support::appliance::rounds("RUNS_DRAINED", 40);
    let Some(house) = House::start(&[("WORKERS", "8")]) else { return };
    let tenants: Vec<Tenant> = (0..count.div_ceil(500)).map(|_| house.tenant()).collect();
    let warm = tenants[0].submit(&script("true"));
    tenants[0].wait(&warm);
    let mut submits = Vec::new();
    let began = Instant::now();
    let ids: Vec<(usize, String)> = (0..count)
        .map(|index| {
            let tenant = index % tenants.len();
            let asked = Instant::now();
            let id =
                tenants[tenant].submit(&json!({"image": "busybox:test", "command": ["true"], "memory_limit_mb": 64}));
            submits.push(asked.elapsed());
            (tenant, id)
        })
        .collect();
    let submitted = began.elapsed();
    let mut to_running = Vec::new();
    for (tenant, id) in &ids {
        wait_until("it has ended", || tenants[*tenant].wait(id)["state"] == "exited");
        let run = tenants[*tenant].get(id);
        to_running.push(micros(&run["started_at"]) - micros(&run["queued_at"]));
    }
    submits.sort();
    to_running.sort_unstable();
    println!(
        "{count} runs: submitted in {submitted:?} (p50 {:?}, p99 {:?}), drained in {:?}, queued to running {} us median",
        submits[count / 2],
        submits[count * 99 / 100],
        began.elapsed(),
        to_running[count / 2],
    );
    house.assert_clean();
}

/// Microseconds of the day of an instant.
fn micros(instant: &Value) -> i64 {
    let text = instant.as_str().unwrap();
    let part = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1_000_000 + part(20..26)
}
