//! Bugs planted in the storage: each must be caught by its package's own tests, or those tests prove nothing.
//!
//! Every run checks that the places are still where the bugs go. `make planted-bugs` plants them one after another in
//! a copy of the package and runs its tests; `QUINTET_PLANTED=word` only those whose description has the word.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

mod bugs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bugs::{BUGS, Bug};

fn top() -> PathBuf {
    // Asked when the test runs: a target directory may be shared by several clones.
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo"))
}

#[test]
fn every_bug_has_its_place() {
    for bug in BUGS {
        let text = fs::read_to_string(top().join("storage/src").join(bug.file)).unwrap();
        assert_eq!(text.matches(bug.sound).count(), 1, "{}: the place in {} has changed", bug.what, bug.file);
        assert_ne!(bug.sound, bug.planted);
    }
}

#[test]
fn every_planted_bug_is_caught() {
    let Ok(wish) = std::env::var("QUINTET_PLANTED") else {
        println!("skipped: it takes many minutes; QUINTET_PLANTED=all (make planted-bugs) runs it");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let workspace = place.path().join("workspace");
    copy_package(&workspace);
    let sound = run_tests(&workspace);
    assert!(sound.is_none(), "without any bug: {sound:?}");
    let mut missed = Vec::new();
    for bug in BUGS.iter().filter(|bug| wish == "all" || bug.what.contains(&wish)) {
        let found = with_bug(&workspace, bug);
        println!("{:60} {}", bug.what, found.as_deref().unwrap_or("NOT CAUGHT"));
        if found.is_none() {
            missed.push(bug.what);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// A workspace that holds nothing but the storage package, with the versions of this one.
fn copy_package(workspace: &Path) {
    fs::create_dir(workspace).unwrap();
    let top = top();
    for name in ["storage", "Cargo.lock", ".cargo"] {
        let copied = Command::new("cp").arg("-r").arg(top.join(name)).arg(workspace).status().unwrap();
        assert!(copied.success());
    }
    let manifest = fs::read_to_string(top.join("Cargo.toml")).unwrap();
    let members = manifest.lines().find(|line| line.starts_with("members = ")).unwrap();
    let manifest = manifest.replace(members, "members = [\"storage\"]");
    let (workspace_part, _) = manifest.split_once("[package]").unwrap();
    let (_, profiles) = manifest.split_once("[profile.dev]").unwrap();
    fs::write(workspace.join("Cargo.toml"), format!("{workspace_part}\n[profile.dev]{profiles}")).unwrap();
}

/// Plants a bug, runs the tests, and takes it out again; what caught it.
fn with_bug(workspace: &Path, bug: &Bug) -> Option<String> {
    let file = workspace.join("storage/src").join(bug.file);
    let sound = fs::read_to_string(&file).unwrap();
    fs::write(&file, sound.replacen(bug.sound, bug.planted, 1)).unwrap();
    let found = run_tests(workspace);
    fs::write(&file, sound).unwrap();
    found
}

/// Runs the package's tests; the first that fails, if one does.
fn run_tests(workspace: &Path) -> Option<String> {
    let built =
        cargo(workspace, &["test", "--offline", "--quiet", "--package", "quintet-storage", "--lib", "--no-run"]);
    assert!(built.status.success(), "it does not compile: {}", String::from_utf8_lossy(&built.stderr));
    // A bug may well make a test wait for ever.
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "180", &program(), "test", "--offline", "--package", "quintet-storage", "--lib"]);
    let output = in_workspace(&mut command, workspace).output().unwrap();
    if output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    Some(failed.unwrap_or("a test that does not come to its end").to_owned())
}

fn program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn cargo(workspace: &Path, arguments: &[&str]) -> std::process::Output {
    in_workspace(Command::new(program()).args(arguments), workspace).output().unwrap()
}

/// With a target directory of its own, so that the other one stays as it is.
fn in_workspace<'a>(command: &'a mut Command, workspace: &Path) -> &'a mut Command {
    let cache = std::env::var("BUILD_CACHE").unwrap_or_else(|_| workspace.display().to_string());
    command
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", format!("{cache}/target-planted"))
        .env("CARGO_INCREMENTAL", "1")
        .env("QUINTET_CRASHES", "3000")
        .env_remove("QUINTET_PLANTED")
}
