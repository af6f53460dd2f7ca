//! Watching: the stream that wakes, with and without a command, over a restart of the server and the end of a key.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{Pair, Place, Workspace, has};
use crate::support::appliance::{Setup, shared};

/// A watch in the background. It is ended when this is dropped.
struct Watch(Child);

impl Watch {
    fn start(place: &Place<'_>, arguments: &[&str]) -> Watch {
        let mut command = place.program("agentbus");
        command.arg("watch").args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        Watch(command.spawn().unwrap())
    }

    fn ended(&mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the watch goes on");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn lines(place: &Place<'_>, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.directory.join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_watch_is_woken_and_shows_that_it_is_there() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let name = other.agent();
    let watch =
        Watch::start(&other, &["--agent", &name, "--no-coalesce", "--exec", "echo {agent_seq} {subject} >> woken"]);
    until("the stream is open", || one.run(&["health", &name]).status.code() == Some(0));
    has(&one.succeed(&["health", &name]), &["live"]);
    for number in 1..=3 {
        one.succeed(&["send", &name, "-s", &format!("wake-{number}"), "-b", "x"]);
        until("the command has run", || lines(&other, "woken").len() == number);
    }
    assert_eq!(lines(&other, "woken"), ["1 wake-1", "2 wake-2", "3 wake-3"]);
    let sent = one.json(&["send", &name, "-s", "again", "-b", "x"]);
    assert_eq!(sent["reachability"]["no_wake_channel"].as_array().map(Vec::len), Some(0), "{sent}");
    drop(watch);
    until("the stream has gone", || one.run(&["health", &name]).status.code() == Some(1));
}

#[test]
fn one_message_is_enough_for_a_watch_that_wants_one() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    one.succeed(&["send", &other.agent(), "-s", "waiting already", "-b", "x"]);
    has(&other.succeed(&["watch", "--once", "--no-coalesce"]), &["waiting already"]);
}

#[test]
fn a_watch_outlives_the_server_and_ends_with_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let start = |port: &str| Setup::new().on(&data).env("QUINTET_LISTEN__MESSAGING", port).start();
    let appliance = start("127.0.0.1:0");
    let address = appliance.address("messaging").to_owned();
    let workspace = Workspace::new(&appliance);
    let pair = Pair::new(&appliance, &workspace);
    let (one, other) = (pair.one(), pair.other());
    let name = other.agent();
    let mut watch =
        Watch::start(&other, &["--agent", &name, "--no-coalesce", "--exec", "echo {agent_seq} {subject} >> woken"]);
    until("the stream is open", || one.run(&["health", &name]).status.code() == Some(0));
    one.succeed(&["send", &name, "-s", "before", "-b", "x"]);
    until("it was woken", || lines(&other, "woken").len() == 1);
    let begun = Instant::now();
    assert_eq!(appliance.stop(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "streams end at once");
    let appliance = start(&address);
    one.succeed(&["send", &name, "-s", "after", "-b", "x"]);
    until("it was woken again", || lines(&other, "woken").len() == 2);
    assert_eq!(lines(&other, "woken"), ["1 before", "2 after"]);
    let keys = appliance.cli_json(&["messaging", "key", "list", "--workspace", &workspace.slug]);
    for key in keys["items"].as_array().unwrap() {
        if key["agents"].as_array().unwrap().iter().any(|agent| agent == name.as_str()) {
            appliance.cli_json(&["messaging", "key", "revoke", key["key_id"].as_str().unwrap()]);
        }
    }
    assert_eq!(watch.ended(), Some(8));
}
