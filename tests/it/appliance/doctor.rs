//! `quintet doctor`: what it finds on the real binary, running and stopped.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::appliance::{Setup, quintet, run, shared, stderr, stdout};

/// What it says of a stopped directory; `(exit code, findings)`.
fn doctor(data: &Path, environment: &[(&str, &str)]) -> (Option<i32>, Value) {
    let mut command = quintet();
    command.args(["doctor", "--json", "--data"]).arg(data).envs(environment.iter().copied());
    let output = command.output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output))))
}

/// The finding of one check with this state.
#[track_caller]
fn finding<'a>(told: &'a Value, check: &str, state: &str) -> &'a str {
    let items = told["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["check"] == check && item["state"] == state);
    found.unwrap_or_else(|| panic!("no {state} of {check}: {told:#}"))["says"].as_str().unwrap()
}

/// The cure of a finding: its first command or line of a configuration, as it is printed.
#[track_caller]
fn cure(told: &Value, check: &str, state: &str) -> String {
    let items = told["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["check"] == check && item["state"] == state);
    let cure = found.unwrap_or_else(|| panic!("no {state} of {check}: {told:#}"))["cure"].as_str().unwrap();
    cure.split('`').nth(1).unwrap_or_else(|| panic!("nothing exact: {cure}")).to_owned()
}

/// Whether a check has a finding with this state.
fn has(told: &Value, check: &str, state: &str) -> bool {
    told["items"].as_array().unwrap().iter().any(|item| item["check"] == check && item["state"] == state)
}

/// Does what a cure says; `typed` is what somebody types meanwhile.
fn heal(cure: &str, typed: &str) {
    let mut shell = std::process::Command::new("/bin/sh");
    let mut child = shell.args(["-ec", cure]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{cure}");
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A stopped data directory.
fn stopped() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    assert!(run(&["init", "--data", data.to_str().unwrap()]).status.success());
    (parent, data)
}

#[test]
fn a_running_appliance_is_looked_at() {
    let appliance = shared();
    let (code, told) = doctor(appliance.data(), &[]);
    assert_eq!(code, Some(0), "{told:#}");
    assert!(finding(&told, "appliance", "ok").contains(&appliance.pid().to_string()));
    for check in ["configuration", "data directory", "root key", "disk", "syncing", "copies"] {
        finding(&told, check, "ok");
    }
    assert_eq!(told["problems"], 0);
    let text = stdout(&appliance.cli(&["doctor"]));
    assert!(text.contains("ok       appliance ") && text.contains("0 problems, "), "{text}");
    assert!(
        !std::fs::read_dir(appliance.data())
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("doctor-") })
    );
}

#[test]
fn a_stopped_directory_and_its_backups_are_looked_at() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(0), "{told:#}");
    assert!(finding(&told, "data directory", "ok").contains("a start makes it"));
    assert!(!data.exists(), "looking makes nothing");
    let appliance = Setup::new().on(&data).start();
    appliance.tenant();
    assert!(finding(&doctor(&data, &[]).1, "backup", "warning").contains("None was ever made"));
    let backup = parent.path().join("backup");
    appliance.cli_json(&["backup", "create", backup.to_str().unwrap()]);
    assert!(finding(&doctor(&data, &[]).1, "backup", "ok").contains(backup.to_str().unwrap()));
    assert_eq!(appliance.stop(), Some(0));
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(0), "{told:#}");
    assert!(finding(&told, "appliance", "ok").contains("does not run"));
    finding(&told, "backup", "ok");
    std::fs::remove_dir_all(backup).unwrap();
    assert!(finding(&doctor(&data, &[]).1, "backup", "warning").contains("any more"));
}

#[test]
fn problems_are_found_and_make_exit_code_1() {
    let (_parent, data) = stopped();
    let taken = shared().address("ledger");
    let (code, told) = doctor(&data, &[("QUINTET_LISTEN__LEDGER", taken)]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "ports", "problem").contains(taken));
    let (code, told) = doctor(&data, &[("QUINTET_STORAGE__CACHE_MB", "lots")]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "configuration", "problem").contains("storage.cache_mb"));
    let (code, told) = doctor(&data, &[("QUINTET_STORAGE__DISK_RESERVE_MB", "1000000000")]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "disk", "problem").contains("writes are refused"));

    std::fs::set_permissions(data.join("root.key"), PermissionsExt::from_mode(0o644)).unwrap();
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(0), "{told:#}");
    assert!(finding(&told, "root key", "warning").contains("Other users may read"));
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o770)).unwrap();
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "data directory", "problem").contains("Other users may write"));
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).unwrap();

    std::fs::rename(data.join("root.key"), data.join("key")).unwrap();
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "root key", "problem").contains("is missing"));
    std::fs::rename(data.join("key"), data.join("root.key")).unwrap();

    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(data.join("FORMAT"), Some(65_534), None).unwrap();
        assert!(
            finding(&doctor(&data, &[]).1, "data directory", "problem").contains("another user than the directory")
        );
        std::os::unix::fs::chown(data.join("FORMAT"), Some(0), None).unwrap();
    }
    std::fs::write(data.join("live/CURRENT"), "nonsense").unwrap();
    let (code, told) = doctor(&data, &[]);
    assert_eq!(code, Some(1));
    assert!(finding(&told, "appliance", "problem").contains("cannot be read"), "{told:#}");
}

#[test]
fn an_appliance_that_hangs_does_not_hang_the_doctor() {
    let appliance = Setup::new().start();
    appliance.signal("STOP");
    let begun = Instant::now();
    let output = appliance.cli(&["doctor"]);
    appliance.signal("CONT");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("problem  appliance "), "{}", stdout(&output));
    assert!(stdout(&output).contains("does not answer"), "{}", stdout(&output));
}

#[test]
fn the_cures_that_are_printed_heal() {
    let (_parent, data) = stopped();
    let secret = data.join("ai.key");
    let config = data.join("quintet.toml");
    std::fs::write(&config, "[decision]\napi_key = \"the secret itself\"\n").unwrap();
    set_mode(&config, 0o600);
    let environment =
        [("QUINTET_AI__URL", "https://ai.example.com/v1"), ("QUINTET_AI__API_KEY", "file:ai.key")].to_vec();
    let look = || {
        let mut command = quintet();
        command.args(["doctor", "--json", "--data"]).arg(&data).arg("--config").arg(&config);
        let output = command.envs(environment.clone()).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    // What is broken, where it shows, and what somebody types while it is mended.
    type Break<'a> = Box<dyn Fn() + 'a>;
    let mut cases: Vec<(&str, &str, &str, Break<'_>)> = vec![
        ("secret files", "problem", "hunter2", Box::new(|| ())),
        ("secret files", "warning", "", Box::new(|| set_mode(&secret, 0o644))),
        ("secret files", "warning", "", Box::new(|| set_mode(&config, 0o664))),
        ("data directory", "problem", "", Box::new(|| set_mode(&data, 0o777))),
        ("root key", "warning", "", Box::new(|| set_mode(&data.join("root.key"), 0o640))),
    ];
    if rustix::process::geteuid().is_root() {
        let give_away = || std::os::unix::fs::chown(data.join("FORMAT"), Some(65_534), None).unwrap();
        cases.push(("data directory", "problem", "", Box::new(give_away)));
    }
    for (check, state, typed, spoil) in cases {
        spoil();
        let told = look();
        let cure = cure(&told, check, state);
        heal(&cure, typed);
        let healed = look();
        assert!(!has(&healed, check, state) && has(&healed, check, "ok"), "{check}: {cure}: {healed:#}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "hunter2");
    assert_eq!(look()["problems"], 0);
}

#[test]
fn a_backup_is_cured_by_the_command_it_names() {
    let parent = tempfile::tempdir().unwrap();
    let appliance = Setup::new().start();
    appliance.tenant();
    let warnings = || appliance.cli_json(&["status"])["warnings"].to_string();
    assert!(warnings().contains("No backup was ever made"), "{}", warnings());
    let told = doctor(appliance.data(), &[]).1;
    let destination = parent.path().join("backup");
    let cure = cure(&told, "backup", "warning").replace("DEST", destination.to_str().unwrap());
    let words: Vec<&str> = cure.split(' ').skip(1).collect();
    assert!(appliance.cli(&words).status.success(), "{cure}");
    assert!(has(&doctor(appliance.data(), &[]).1, "backup", "ok"));
    assert!(!warnings().contains("backup"), "{}", warnings());
}

#[test]
fn listeners_and_proxies_that_are_open_are_told() {
    let (_parent, data) = stopped();
    let open = [("QUINTET_LISTEN__RUNS", "0.0.0.0:0")];
    let (code, told) = doctor(&data, &open);
    assert_eq!(code, Some(0), "{told:#}");
    assert!(finding(&told, "encryption", "warning").contains("runs (0.0.0.0:0)"));
    let behind = [open[0], ("QUINTET_HTTP__TRUSTED_PROXIES", "192.0.2.1")];
    assert!(has(&doctor(&data, &behind).1, "encryption", "ok"));
    let everybody = [("QUINTET_HTTP__TRUSTED_PROXIES", "0.0.0.0/0")];
    assert!(finding(&doctor(&data, &everybody).1, "proxies", "warning").contains("everybody"));
}

#[test]
fn a_runner_that_is_not_there_is_told() {
    let (_parent, data) = stopped();
    let socket = data.join("runner.sock");
    let environment = [("QUINTET_RUNS__RUNNER_SOCKET", socket.to_str().unwrap())];
    let (code, told) = doctor(&data, &environment);
    assert_eq!(code, Some(0), "{told:#}");
    let is_root = rustix::process::geteuid().is_root();
    assert!(has(&told, "runner", if is_root { "ok" } else { "warning" }), "{told:#}");
    // One that went away left its socket.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(finding(&doctor(&data, &environment).1, "runner", "warning").contains("Nobody listens at"));
    // And nothing is missed where there are to be no containers.
    let (_, told) = doctor(&data, &[]);
    assert!(finding(&told, "runner", "ok").contains("There is to be none"));
    for check in ["cgroups", "overlayfs", "user namespaces", "container ids", "seccomp"] {
        finding(&told, check, "ok");
    }
}

#[test]
fn a_rehearsal_is_told_as_one() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    assert!(run(&["init", "--rehearsal-clock", "--data", data.to_str().unwrap()]).status.success());
    assert!(finding(&doctor(&data, &[]).1, "rehearsal", "ok").contains("moves only when told"));
}

#[test]
fn what_another_user_cannot_see_is_said_and_not_guessed() {
    if !rustix::process::geteuid().is_root() {
        crate::support::appliance::say_skipped("only root can act as another user");
        return;
    }
    let appliance = Setup::new().start();
    // Where everybody may start it: the directory of the build is root's alone.
    let open = tempfile::tempdir().unwrap();
    set_mode(open.path(), 0o755);
    let program = open.path().join("quintet");
    let built = quintet().get_program().to_owned();
    if std::fs::hard_link(&built, &program).is_err() {
        std::fs::copy(&built, &program).unwrap();
    }
    set_mode(appliance.data().parent().unwrap(), 0o755);
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    command.args(["doctor", "--json", "--data"]).arg(appliance.data()).current_dir("/");
    command.env("QUINTET_RUNS__RUNNER_SOCKET", "off");
    let output = command.output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let items = told["items"].as_array().unwrap();
    let said = |check: &str| {
        let of_check = items.iter().filter(|item| item["check"] == check);
        of_check.map(|item| item["says"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert!(said("appliance").contains("this user may not talk to it"), "{told:#}");
    assert!(said("data directory").contains("not to this one (65534)"), "{told:#}");
    assert!(said("root key").contains("ermission denied"), "{told:#}");
    assert!(said("overlayfs").contains("Only root can try it"), "{told:#}");
    assert!(!said("backup").contains("None was ever made"), "{told:#}");
}
