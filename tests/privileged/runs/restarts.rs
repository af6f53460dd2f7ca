//! What is killed comes back, and every run ends in a state that is true. Each container writes a line when it starts:
//! nothing starts twice.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::{House, Tenant, script, shared, wait_until};

/// How often a run's container was started.
fn starts(tenant: &Tenant, id: &str) -> usize {
    tenant.lines(id).iter().filter(|line| *line == "started").count()
}

fn kill(pid: i32) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_killed_server_finds_everything_as_it_is() {
    let Some(mut house) = House::start(&[("CEILINGS__MAX_CONCURRENT_RUNS", "4"), ("WORKERS", "5")]) else { return };
    let tenant = house.tenant();
    let running = tenant.submit(&script("echo started; sleep 15; echo '\"through\"'"));
    let paused = tenant.submit(&script("echo started; i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done"));
    let ending = tenant.submit(&script("echo started; sleep 0.7; exit 5"));
    let stopping = tenant.submit(&script("echo started; trap 'sleep 1; exit 0' TERM; while :; do sleep 0.05; done"));
    for id in [&running, &paused, &stopping] {
        tenant.until(id, "running");
    }
    for id in [&running, &paused, &ending, &stopping] {
        wait_until("it has started", || starts(&tenant, id) == 1);
    }
    let waiting: Vec<String> = (0..3).map(|_| tenant.submit(&script("echo started"))).collect();
    assert_eq!(tenant.control(&paused, "pause").status, 204);
    assert_eq!(tenant.control(&stopping, "stop").status, 204);
    let before = tenant.lines(&paused);
    house.kill_server();
    std::thread::sleep(Duration::from_millis(1500));
    house.serve();
    let tenant = house.again(&tenant);
    let run = tenant.wait(&ending);
    assert_eq!((&run["state"], &run["exit_code"]), (&json!("failed"), &json!(5)), "it ended while nobody was there");
    assert_eq!(tenant.wait(&stopping)["state"], "exited");
    assert_eq!(tenant.get(&running)["state"], "running");
    assert_eq!(tenant.get(&paused)["state"], "paused");
    assert_eq!(tenant.lines(&paused), before);
    assert_eq!(tenant.control(&paused, "resume").status, 204);
    wait_until("it goes on", || tenant.lines(&paused).len() > before.len());
    assert_eq!(tenant.lines(&paused)[before.len()], before.len().to_string());
    let run = tenant.wait(&running);
    assert_eq!(run["state"], "exited", "{run}");
    assert_eq!(tenant.result(&running)["output"], "through");
    for id in &waiting {
        assert_eq!(tenant.wait(id)["state"], "exited");
    }
    assert_eq!(tenant.control(&paused, "kill").status, 204);
    assert_eq!(tenant.wait(&paused)["state"], "killed");
    for id in waiting.iter().chain([&running, &paused, &ending, &stopping]) {
        assert_eq!(starts(&tenant, id), 1, "{}", tenant.get(id));
    }
    house.assert_clean();
}

#[test]
fn a_server_killed_again_and_again_starts_nothing_twice() {
    let rounds = crate::support::appliance::rounds("RUNS_KILLS", 4);
    let Some(mut house) = House::start(&[("WORKERS", "6")]) else { return };
    let mut tenant = house.tenant();
    let mut ids: Vec<String> = Vec::new();
    for round in 0..rounds {
        ids.extend((0..15).map(|_| tenant.submit(&script("echo started; sleep 0.05; echo done"))));
        std::thread::sleep(Duration::from_millis(40 + 90 * u64::try_from(round % 5).unwrap()));
        house.kill_server();
        house.serve();
        tenant = house.again(&tenant);
    }
    for id in &ids {
        let run = tenant.wait(id);
        assert_eq!(run["state"], "exited", "{run}");
        wait_until("its lines are there", || starts(&tenant, id) > 0);
        assert_eq!(tenant.lines(id), ["started", "done"], "{run}");
    }
    house.assert_clean();
}

#[test]
fn a_lost_supervisor_is_told_of() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("echo started; sleep 60"));
    wait_until("it has started", || starts(&tenant, &id) == 1);
    let statuses = house.runner.runner.list().unwrap();
    let container = statuses.iter().find(|status| status.id.as_str().starts_with(&id)).unwrap().id.clone();
    kill(house.runner.supervisor(&container));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("worker_lost")), "{run}");
    assert_eq!(run["exit_code"], Value::Null);
    house.runner.assert_gone(&container);
}

#[test]
fn runs_wait_for_a_runner_that_is_away() {
    let Some(mut house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let running = tenant.submit(&script("echo started; sleep 2; echo through"));
    wait_until("it has started", || starts(&tenant, &running) == 1);
    house.runner.kill_runner();
    wait_until("the engine is down", || house.engine() == "down");
    let waiting = tenant.submit(&script("echo started"));
    std::thread::sleep(Duration::from_millis(300));
    let run = tenant.get(&waiting);
    assert_eq!((&run["state"], &run["scheduling_info"]["blocked_by"]), (&json!("scheduled"), &json!("engine")));
    assert_eq!(tenant.control(&running, "kill").expect(503)["code"], "engine_unavailable");
    let logs = tenant.client.get(&format!("/api/v1/runs/{running}/logs"));
    assert_eq!(logs.expect(503)["code"], "engine_unavailable");
    assert_eq!(tenant.get(&running)["state"], "running", "supervisors go on");
    house.runner.start_runner().unwrap();
    assert_eq!(tenant.wait(&waiting)["state"], "exited");
    assert_eq!(tenant.wait(&running)["state"], "exited");
    assert_eq!((starts(&tenant, &running), starts(&tenant, &waiting)), (1, 1));
    wait_until("the engine is up", || house.engine() == "up");
    house.assert_clean();
}

#[test]
fn a_runner_that_is_killed_while_it_starts_containers_starts_none_twice() {
    let Some(mut house) = House::start(&[("WORKERS", "20")]) else { return };
    let tenant = house.tenant();
    let mut ids = Vec::new();
    for round in 0..3_u64 {
        ids.extend((0..10).map(|_| tenant.submit(&script("echo started"))));
        std::thread::sleep(Duration::from_millis(30 + 60 * round));
        house.runner.kill_runner();
        house.runner.start_runner().unwrap();
    }
    let mut lost = 0;
    for id in &ids {
        let run = tenant.wait(id);
        match run["state"].as_str().unwrap() {
            "exited" => assert_eq!(starts(&tenant, id), 1, "{run}"),
            // The runner was killed while this one was being made.
            _ => {
                assert!(["worker_lost", "start_failed"].contains(&run["reason"].as_str().unwrap()), "{run}");
                assert!(starts(&tenant, id) <= 1);
                lost += 1;
            }
        }
    }
    assert!(lost < ids.len() / 2, "{lost} of {} were lost", ids.len());
    house.assert_clean();
}

#[test]
fn a_runner_that_has_lost_its_directory_leaves_truth_behind() {
    let Some(mut house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("echo started; sleep 2"));
    wait_until("it has started", || starts(&tenant, &id) == 1);
    let containers = house.runner.runner.list().unwrap();
    let pids = house.runner.processes(&containers[0].id);
    house.kill_server();
    house.runner.kill_runner();
    for pid in pids {
        let _ = rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    std::thread::sleep(Duration::from_millis(500));
    std::fs::remove_dir_all(house.runner.state()).unwrap();
    house.runner.start_runner().unwrap();
    house.serve();
    let tenant = house.again(&tenant);
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("worker_lost")), "{run}");
    let logs = tenant.client.get(&format!("/api/v1/runs/{id}/logs"));
    assert_eq!((logs.header("x-log-source"), &logs.expect(200)["lines"]), ("none", &json!([])));
}

#[test]
fn a_container_that_no_run_knows_of_is_killed_and_removed() {
    let Some(mut house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let known = tenant.submit(&script("echo started; sleep 60"));
    wait_until("it has started", || starts(&tenant, &known) == 1);
    house.kill_server();
    let (data, backup) = (house.data.path().join("data"), house.data.path().join("backup"));
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copy(&data, &backup);
    house.serve();
    let tenant = house.again(&tenant);
    let unknown = tenant.submit(&script("echo started; sleep 60"));
    wait_until("it has started", || starts(&tenant, &unknown) == 1);
    house.kill_server();
    let containers = house.runner.runner.list().unwrap();
    assert_eq!(containers.len(), 2);
    let stray = containers.iter().find(|one| one.id.as_str().starts_with(&unknown)).unwrap().id.clone();
    let processes = house.runner.processes(&stray);
    assert!(!processes.is_empty());

    // The directory of before comes back; the runner's is as it was.
    std::fs::remove_dir_all(&data).unwrap();
    copy(&backup, &data);
    house.serve();
    let tenant = house.again(&tenant);
    wait_until("it is gone", || house.runner.runner.list().unwrap().len() == 1);
    house.runner.assert_gone(&stray);
    let alive = |pid: &i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    wait_until("its processes are gone", || !processes.iter().any(alive));
    assert_eq!(tenant.client.get(&format!("/api/v1/runs/{unknown}")).status, 404);
    assert_eq!(tenant.get(&known)["state"], "running", "the others go on");
    assert_eq!(tenant.control(&known, "kill").status, 204);
    assert_eq!(tenant.wait(&known)["state"], "killed");
    house.assert_clean();
}
