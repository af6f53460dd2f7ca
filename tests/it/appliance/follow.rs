//! Continuous backup with the real binary: machines that are lost under load, a disk that is away, instants, what is told.
//!
//! `QUINTET_LOSSES=N` loses more machines (`make losses-long`).

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use quintet_platform::clock::{Clock, rfc3339};
use quintet_storage::Timestamp;
use serde_json::Value;

use crate::support::appliance::{Appliance, Setup, quintet, rounds, run, stderr, stdout};
use crate::support::load::Books;

const CALLERS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(60);

/// `quintet backup follow`, at work; killed with this.
struct Follower(Child);

impl Follower {
    fn start(data: &Path, place: &Path, more: &[&str]) -> Follower {
        let mut command = quintet();
        command.args(["backup", "follow"]).arg(place).arg("--data").arg(data).args(more);
        Follower(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Until when everything is there that was acknowledged, as the directory itself says.
fn noted(place: &Path) -> Option<Timestamp> {
    let text = std::fs::read_to_string(place.join("FOLLOWED")).ok()?;
    let micros = text.lines().find_map(|line| line.strip_prefix("at_micros "))?.parse().unwrap();
    Some(Timestamp::from_micros(micros))
}

fn now() -> Timestamp {
    Clock::system().now()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_for_note(place: &Path, after: Timestamp) {
    wait_until("it follows", || noted(place).is_some_and(|at| at > after));
}

fn restore(place: &Path, to: &Path, more: &[&str]) -> Value {
    let (place, to) = (place.to_str().unwrap(), to.to_str().unwrap());
    let output = run(&[&["restore", place, "--data", to, "--json"], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// Machines are lost at random moments; what was made of the directory that followed goes on, and is lost in turn.
#[test]
fn a_lost_machine_costs_no_more_than_its_follower_says() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str, round: usize| -> PathBuf { parent.path().join(format!("{name}-{round}")) };
    let mut appliance = Setup::new().on(&at("data", 0)).start();
    let mut books = Books::open(&appliance).padded(2 << 10);
    let (rounds, mut worst) = (rounds("QUINTET_LOSSES", 3), Duration::ZERO);
    for round in 0..rounds {
        let (data, place, next) = (at("data", round), at("there", round), at("data", round + 1));
        let load = books.load(&appliance, CALLERS);
        let follower = Follower::start(&data, &place, &[]);
        wait_for_note(&place, Timestamp::EPOCH);
        load.wait_for(100 + fastrand::u64(..2_000));
        let (lost, lost_at) = (Instant::now(), now());
        drop(follower);
        appliance.kill();
        let postings = load.finish();
        let lag = lost_at.micros_since(noted(&place).unwrap()).max(0);
        let lag = Duration::from_micros(lag.unsigned_abs());
        worst = worst.max(lag);
        restore(&place, &next, &[]);
        appliance = Setup::new().on(&next).start();
        let found = books.audit(&appliance, &postings, lost.checked_sub(lag).unwrap(), &format!("loss {round}"));
        books.settle(postings, found);
        let proof = appliance.cli_json(&["ledger", "prove"]);
        assert_eq!(proof["findings"], serde_json::json!([]), "loss {round}");
        std::fs::remove_dir_all(&data).unwrap();
    }
    println!(
        "{rounds} machines lost, {} postings; what was lost with one had been answered {worst:?} before",
        books.len()
    );
    assert_eq!(appliance.stop(), Some(0));
}

fn followers(appliance: &Appliance) -> Value {
    appliance.cli_json(&["status"])["followers"].clone()
}

#[test]
fn it_is_told_how_far_it_is_and_a_restore_goes_back_to_an_instant() {
    let parent = tempfile::tempdir().unwrap();
    let (data, place) = (parent.path().join("data"), parent.path().join("there"));
    let appliance = Setup::new().on(&data).start();
    assert_eq!(followers(&appliance), Value::Null);
    let tenant = appliance.tenant();
    let follower = Follower::start(&data, &place, &["--keep-hours", "1"]);
    wait_until("the appliance hears of it", || followers(&appliance)[0]["lag_seconds"] == 0);
    assert_eq!(followers(&appliance)[0]["destination"], place.to_str().unwrap());
    let metrics = appliance.stranger("operations").get("/metrics").text;
    assert!(metrics.contains("quintet_backup_lag_seconds{destination="), "{metrics}");
    // The first instant of the window is one at which something was written.
    let slug = |number: u64| format!("{tenant}-{number}");
    let make = |name: &str| appliance.cli_json(&["tenant", "create", name]);
    make(&slug(1));
    wait_for_note(&place, now());
    let instant = rfc3339(now());
    std::thread::sleep(Duration::from_millis(5));
    make(&slug(2));
    wait_for_note(&place, now());
    // While it follows.
    let told = |name: &str, more: &[&str]| {
        let to = parent.path().join(name);
        restore(&place, &to, more);
        let made = Setup::new().on(&to).start();
        let tenants = made.cli_json(&["tenant", "list"]).to_string();
        assert_eq!(made.stop(), Some(0));
        (tenants.contains(&slug(1)), tenants.contains(&slug(2)))
    };
    assert_eq!(told("all", &[]), (true, true));
    assert_eq!(told("then", &["--at", &instant]), (true, false));
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(arguments);
        assert!(!output.status.success() && stderr(&output).contains(expected), "{}", stderr(&output));
    };
    let (from, to) = (place.to_str().unwrap(), parent.path().join("never"));
    let to = to.to_str().unwrap();
    refused(&["restore", from, "--data", to, "--at", "2020-01-01T00:00:00Z"], "name an instant from");
    refused(&["restore", from, "--data", to, "--at", "2120-01-01T00:00:00Z"], "name an instant from");
    refused(&["restore", from, "--data", to, "--at", "yesterday"], "an instant looks like");
    refused(&["restore", data.to_str().unwrap(), "--data", to, "--at", &instant], "in use");
    let made = parent.path().join("all");
    refused(&["restore", made.to_str().unwrap(), "--data", to, "--at", &instant], "is no continuous backup");
    refused(&["backup", "follow", from, "--data", data.to_str().unwrap()], "in use by another process");
    drop(follower);
    refused(&["backup", "follow", made.to_str().unwrap(), "--data", data.to_str().unwrap()], "absent or empty");
    // A restored one went on by itself: its history is another one.
    let twin = Setup::new().on(&made).start();
    twin.tenant();
    let follower = Follower::start(&made, &place, &[]);
    wait_for_note(&place, now());
    drop(follower);
    make(&slug(3));
    refused(
        &["backup", "follow", from, "--data", data.to_str().unwrap()],
        "holds what the data directory does not have",
    );
    assert!(!Path::new(to).exists());
}

/// Data of before a rotation are under the root key of then, which the appliance has forgotten by now.
#[test]
fn instants_before_a_rotation_of_the_root_key_can_be_gone_back_to() {
    let parent = tempfile::tempdir().unwrap();
    let (data, place) = (parent.path().join("data"), parent.path().join("there"));
    let appliance = Setup::new().on(&data).rehearsal().start();
    let follower = Follower::start(&data, &place, &[]);
    wait_for_note(&place, Timestamp::EPOCH);
    let tenant = appliance.tenant();
    let time = || text_of(&appliance.cli_json(&["clock", "show"]), "now");
    let before = time();
    appliance.cli_json(&["clock", "advance", "60"]);
    appliance.cli_json(&["root-key", "rotate"]);
    wait_until("every data key is under the new one", || state(&appliance) == "keeping_previous");
    appliance.cli_json(&["clock", "advance", "3600"]);
    wait_until("the previous key is forgotten", || state(&appliance) == "at_rest");
    wait_until("the follower has the new key alone", || {
        let read = |place: &Path| std::fs::read(place.join("root.key")).unwrap();
        read(&place) == read(&data)
    });
    wait_for_note(&place, now());
    for (name, more) in [("then", &["--at", before.as_str()][..]), ("all", &[])] {
        let to = parent.path().join(name);
        restore(&place, &to, more);
        let made = Setup::new().on(&to).rehearsal().start();
        assert!(made.cli_json(&["tenant", "list"]).to_string().contains(&tenant), "{name}");
        assert_eq!(made.stop(), Some(0));
    }
    // A directory that has a key is none to leave it out of.
    drop(follower);
    let output = run(&["backup", "follow", place.to_str().unwrap(), "--data", data.to_str().unwrap(), "--without-key"]);
    assert!(!output.status.success() && stderr(&output).contains("has a root key from before"), "{}", stderr(&output));
}

fn text_of(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

fn state(appliance: &Appliance) -> String {
    text_of(&appliance.cli_json(&["root-key", "show"]), "state")
}

/// What is away comes back: nothing else is waited for, and nothing is taken for an empty disk.
#[test]
fn a_disk_that_was_away_is_caught_up() {
    let parent = tempfile::tempdir().unwrap();
    let (data, disk) = (parent.path().join("data"), parent.path().join("disk"));
    let appliance = Setup::new().on(&data).start();
    std::fs::create_dir(&disk).unwrap();
    let place = disk.join("there");
    let follower = Follower::start(&data, &place, &[]);
    wait_for_note(&place, Timestamp::EPOCH);
    std::fs::rename(&disk, parent.path().join("away")).unwrap();
    let (gone_at, name) = (now(), appliance.tenant());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!disk.exists());
    std::fs::rename(parent.path().join("away"), &disk).unwrap();
    wait_for_note(&place, gone_at.plus_micros(300_000));
    restore(&place, &parent.path().join("all"), &[]);
    let made = Setup::new().on(&parent.path().join("all")).start();
    assert!(made.cli_json(&["tenant", "list"]).to_string().contains(&name));
    drop(follower);
}
