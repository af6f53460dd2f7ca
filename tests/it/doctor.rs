//! `quintet doctor`: what it finds on the real binary, running and stopped.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::appliance::{Setup, quintet, run, shared, stderr, stdout};

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
