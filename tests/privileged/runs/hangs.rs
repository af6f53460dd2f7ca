//! A runner that hangs, and starts that the machine makes fail.

use rustix::process::{Pid, Signal};
use serde_json::json;

use super::{House, script, wait_until};
use crate::support::appliance::rounds;

#[test]
fn a_runner_that_hangs_is_down_and_nobody_waits_for_it() {
    let Some(house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let running = tenant.submit(&script("echo started; sleep 1000"));
    wait_until("it has started", || tenant.lines(&running) == ["started"]);
    tenant.until(&running, "running");
    let pid = std::fs::read_to_string(house.runner.directory.join("pid")).unwrap();
    let send = |signal| rustix::process::kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal).unwrap();
    send(Signal::STOP);
    // Before it is known, and after.
    for _ in 0..2 {
        for action in ["pause", "stop", "kill"] {
            let refused = tenant.control(&running, action);
            assert_eq!(refused.expect(503)["code"], "engine_unavailable");
            assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
        }
        for leaving in ["logs", "utilization"] {
            let refused = tenant.client.get(&format!("/api/v1/runs/{running}/{leaving}"));
            assert_eq!(refused.expect(503)["code"], "engine_unavailable");
        }
        wait_until("the engine is down", || house.engine() == "down");
    }
    let refused = tenant.client.get(&format!("/api/v1/runs/{running}/logs?follow=true"));
    assert_eq!(
        refused.expect(503)["code"],
        "engine_unavailable",
        "once it is known, nobody follows what does not answer"
    );
    let waiting = tenant.submit(&script("echo started"));
    wait_until("it waits", || tenant.get(&waiting)["scheduling_info"]["blocked_by"] == "engine");
    let images = crate::support::appliance::quintet()
        .args(["image", "list", "--socket"])
        .arg(house.runner.runner.socket())
        .output()
        .unwrap();
    assert_eq!(images.status.code(), Some(1));
    send(Signal::CONT);
    wait_until("the engine is up", || house.engine() == "up");
    assert_eq!(tenant.wait(&waiting)["state"], "exited");
    assert_eq!(tenant.get(&running)["state"], "running");
    assert_eq!(tenant.control(&running, "kill").status, 204);
    assert_eq!(tenant.wait(&running)["state"], "killed");
    house.assert_clean();
}

#[test]
fn a_run_whose_container_cannot_be_made_waits_again() {
    let Some(house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let scratch = house.runner.state().join("scratch");
    std::fs::remove_dir_all(&scratch).unwrap();
    std::fs::write(&scratch, "").unwrap();
    let id = tenant.submit(&script("echo started"));
    wait_until("it was tried", || house.appliance().log().contains("a container could not be made"));
    std::fs::remove_file(&scratch).unwrap();
    std::fs::create_dir(&scratch).unwrap();
    let run = tenant.wait(&id);
    assert_eq!(run["state"], "exited", "{run}");
    assert_eq!(tenant.lines(&id), ["started"]);
    house.assert_clean();
}

/// The lines and samples of a run are there as soon as it has ended, wherever they are at that moment.
#[test]
fn what_has_just_ended_has_its_lines() {
    let Some(house) = super::shared() else { return };
    for _ in 0..rounds("QUINTET_RUN_ENDS", 6) {
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let tenant = house.tenant();
                    let id = tenant.submit(&script("echo out; echo err >&2; sleep 0.05; echo end"));
                    let followed = format!("/api/v1/runs/{id}/logs?stream=both&follow=true");
                    let told = std::thread::scope(|inner| {
                        let told = inner.spawn(|| tenant.client.get(&followed));
                        tenant.wait(&id);
                        for _ in 0..20 {
                            assert_eq!(tenant.lines(&id), ["out", "end"]);
                            let used = tenant.client.get(&format!("/api/v1/runs/{id}/utilization")).expect(200);
                            assert_ne!(used["samples"], json!([]), "{used}");
                        }
                        told.join().unwrap()
                    });
                    let told = told.text;
                    for line in ["\"out\"", "\"err\"", "\"end\""] {
                        assert_eq!(told.matches(line).count(), 1, "{line} in {told}");
                    }
                });
            }
        });
    }
}

/// A run that waits has ended well, however often all that could start it is killed.
#[test]
fn a_waiting_run_outlives_the_runner_and_the_server() {
    let Some(mut house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let (key, mut ids) = (tenant, Vec::new());
    for _ in 0..rounds("QUINTET_HOUSE_ENDS", 2) {
        let tenant = house.again(&key);
        let before = tenant.submit(&script("echo started"));
        tenant.wait(&before);
        house.runner.kill_runner();
        wait_until("the engine is down", || house.engine() == "down");
        ids.extend((0..3).map(|_| tenant.submit(&script("echo started"))));
        house.kill_server();
        house.runner.start_runner().unwrap();
        house.serve();
        let tenant = house.again(&key);
        for id in &ids {
            let run = tenant.wait(id);
            assert_eq!(run["state"], "exited", "{run}");
            assert_eq!(tenant.lines(id), ["started"]);
        }
        ids.clear();
    }
    house.assert_clean();
}
