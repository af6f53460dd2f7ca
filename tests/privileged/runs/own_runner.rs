//! A server that root starts without a runner starts its own; the demo shows a container.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{TERMINAL, wait_until};
use crate::support::appliance::{Setup, say_skipped};

/// What a shell says to a line.
fn shell(line: &str) -> String {
    let said = std::process::Command::new("/bin/sh").args(["-c", line]).output().unwrap();
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn root_needs_no_runner_for_the_demo_and_containers_outlive_the_server() {
    if !rustix::process::geteuid().is_root() {
        return say_skipped("only root may run containers");
    }
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let (place, socket) = (parent.path().join("own"), parent.path().join("own.sock"));
    let setup = || {
        Setup::new()
            .on(&data)
            .demo()
            .env("QUINTET_RUNS__RUNNER_DIR", place.to_str().unwrap())
            .env("QUINTET_RUNS__RUNNER_SOCKET", socket.to_str().unwrap())
    };
    let state =
        || -> Option<Value> { serde_json::from_str(&std::fs::read_to_string(data.join("demo.json")).ok()?).ok() };
    let mut appliance = setup().start();
    let has_run = || state().is_some_and(|state| state["runs"]["track_id"].as_str().is_some_and(|id| !id.is_empty()));
    wait_until("the demo has run a container", || has_run() || appliance.log().contains("cannot run containers"));
    if !has_run() {
        return say_skipped("this machine runs no containers");
    }
    let told = state().unwrap();
    let (id, key) = (told["runs"]["track_id"].as_str().unwrap(), told["keys"]["runs"].as_str().unwrap());
    let client = appliance.client("runs", key);
    let run = client.get(&format!("/api/v1/runs/{id}")).expect(200);
    assert_eq!(run["state"], "exited", "{run}");
    let logs = client.get(&format!("/api/v1/runs/{id}/logs")).expect(200);
    assert!(logs["lines"][0].as_str().unwrap().starts_with("quintet "), "{logs}");
    wait_until("the table is shown", || appliance.log().contains("# run a container"));

    // Of its template one workflow has ended, and another one waits for what the table says.
    wait_until("a workflow waits", || state().is_some_and(|state| state["workflows"]["waiting"] != ""));
    let workflows = state().unwrap()["workflows"].clone();
    let path = |name: &str| format!("/api/v1/workflows/{}", workflows[name].as_str().unwrap());
    assert_eq!(client.get(&path("finished")).expect(200)["state"], "succeeded");
    wait_until("the table is shown", || appliance.log().contains("Ctrl-C stops"));
    let log = appliance.log();
    let line = |about: &str| log.lines().skip_while(|line| !line.starts_with(about)).nth(1).unwrap().to_owned();
    let said = shell(&format!("{} && {}", line("# draw it"), line("# agree")));
    assert!(said.starts_with("<?xml") && said.contains("waiting_approval") && said.contains("\"ok\""), "{said}");
    let ended = client.get(&format!("{}?wait=60", path("waiting"))).expect(200);
    assert_eq!(ended["state"], "succeeded", "{ended}");

    // A container goes on while server and runner are gone, and is found again.
    let body = serde_json::json!({"image": "quintet-demo", "command": ["runner", "--help"], "memory_limit_mb": 128});
    let again = client.post("/api/v1/runs", &body).expect(202)["track_id"].as_str().unwrap().to_owned();
    appliance.signal("KILL");
    appliance.wait();
    wait_until("the runner goes with its server", || std::os::unix::net::UnixStream::connect(&socket).is_err());
    drop(appliance);
    let appliance = setup().start();
    let client = appliance.client("runs", key);
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let run = client.get(&format!("/api/v1/runs/{again}?wait=10")).expect(200);
        if TERMINAL.contains(&run["state"].as_str().unwrap()) {
            assert_eq!(run["state"], "exited", "{run}");
            break;
        }
        assert!(Instant::now() < until, "{run}");
    }
    assert_eq!(appliance.stop(), Some(0));
    // What the runner had made for its containers goes with it, down to the empty directories above them.
    let instance = std::fs::read_to_string(place.join("identity")).unwrap();
    let left = || {
        let roots = std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().path());
        let roots = roots.chain(["/sys/fs/cgroup".into()]);
        roots.map(|root| root.join("quintet").join(&instance)).filter(|group| group.exists()).count()
    };
    wait_until("no control group is left", || left() == 0);
}
