//! What a package installs: the units, judged by systemd's own tools, and the files in their places.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::appliance::{say_skipped, stderr, stdout};

/// The highest exposure that the server's unit may have, in tenths, as `systemd-analyze security` counts.
const EXPOSURE_MAX: &str = "15";

fn top() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo"))
}

/// systemd's judge, where the machine has it.
fn systemd_analyze(arguments: &[&str], file: &Path) -> Option<Output> {
    let output = Command::new("systemd-analyze").args(arguments).arg(file).env("SYSTEMD_COLORS", "0").output().ok();
    if output.is_none() {
        say_skipped("systemd-analyze (Debian's systemd) is not installed");
    }
    output
}

fn unit(name: &str) -> String {
    std::fs::read_to_string(top().join("systemd").join(name)).unwrap()
}

#[test]
fn units_have_no_mistake() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["quintet-containers.service", "quintet-follow.service", "quintet-runner.service", "quintet.service"];
    for name in names {
        let text = unit(name).replace("/usr/bin/quintet", env!("CARGO_BIN_EXE_quintet"));
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    for name in names {
        let path = directory.path().join(name);
        let Some(output) = systemd_analyze(&["verify", "--man=no"], &path) else { return };
        // Units of the machine itself may have mistakes that are not ours.
        let complaints = stderr(&output);
        let ours: Vec<&str> = complaints.lines().filter(|line| line.contains("quintet")).collect();
        assert_eq!(ours, Vec::<&str>::new());
    }
    let path = directory.path().join("quintet.service");
    std::fs::write(&path, unit("quintet.service").replace("Restart=on-failure", "Restart=sometimes")).unwrap();
    let Some(output) = systemd_analyze(&["verify", "--man=no"], &path) else { return };
    assert!(stderr(&output).contains("quintet.service"), "a mistake is seen: {}", stderr(&output));
}

#[test]
fn the_server_is_hardly_exposed() {
    let arguments = ["security", "--offline=yes", "--no-pager", "--threshold", EXPOSURE_MAX];
    let Some(output) = systemd_analyze(&arguments, &top().join("systemd/quintet.service")) else { return };
    assert!(output.status.success(), "{}", stdout(&output));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("quintet.service");
    let weaker = unit("quintet.service").replace("PrivateUsers=yes\n", "").replace("RestrictNamespaces=yes\n", "");
    std::fs::write(&path, weaker).unwrap();
    let Some(output) = systemd_analyze(&arguments, &path) else { return };
    assert!(!output.status.success(), "a weaker unit is seen: {}", stdout(&output));
}

/// The system calls of a unit's `SystemCallFilter=` lines that begin with `~`, their sets taken apart.
fn denied(unit: &str) -> Option<BTreeSet<String>> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=~"));
    let mut waiting: Vec<String> = lines.flat_map(str::split_whitespace).map(str::to_owned).collect();
    let mut found = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if !name.starts_with('@') {
            found.insert(name);
            continue;
        }
        let output = systemd_analyze(&["--no-pager", "syscall-filter"], Path::new(&name))?;
        let text = stdout(&output);
        let words = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        waiting.extend(words.map(str::to_owned));
    }
    Some(found)
}

/// A filter is inherited: what the runner's unit takes away is gone in every container.
#[test]
fn the_runners_filter_leaves_containers_what_is_theirs() {
    let Some(denied) = denied(&unit("quintet-runner.service")) else { return };
    assert!(denied.contains("reboot") && denied.contains("clock_settime"), "{denied:?}");
    let profile = std::fs::read_to_string(top().join("assets/seccomp/x86_64.txt")).unwrap();
    let allowed: Vec<&str> = profile
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert!(allowed.len() > 200, "{}", allowed.len());
    let lost: Vec<&&str> = allowed.iter().filter(|name| denied.contains(**name)).collect();
    assert!(lost.is_empty(), "containers would lose {lost:?}");
    // These would follow the containers as well.
    let filters = [
        "MemoryDenyWriteExecute=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
        "RestrictNamespaces=yes",
        "ProtectClock=yes",
    ];
    for directive in filters {
        assert!(!unit("quintet-runner.service").lines().any(|line| line == directive), "{directive}");
    }
}

fn install(root: &Path, prefix: &str) {
    let script = top().join("packaging/install.sh");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_quintet")).arg(root).arg(prefix).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

fn files_below(directory: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => files_below(&entry, root, found),
            false => found.push(entry.strip_prefix(root).unwrap().display().to_string()),
        }
    }
}

#[test]
fn everything_is_installed_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    install(root, "/usr/local");
    let mut files = Vec::new();
    files_below(root, root, &mut files);
    let pages = |file: &&String| file.contains("/man/man1/quintet");
    assert!(files.iter().filter(pages).count() > 40, "{files:?}");
    files.retain(|file| !pages(&file));
    files.sort();
    assert_eq!(
        files,
        [
            "etc/quintet/quintet.toml",
            "usr/local/bin/quintet",
            "usr/local/lib/systemd/system/quintet-containers.service",
            "usr/local/lib/systemd/system/quintet-follow.service",
            "usr/local/lib/systemd/system/quintet-runner.service",
            "usr/local/lib/systemd/system/quintet.service",
            "usr/local/lib/sysusers.d/quintet.conf",
            "usr/local/lib/tmpfiles.d/quintet.conf",
            "usr/local/share/bash-completion/completions/quintet",
            "usr/local/share/doc/quintet/README.md",
            "usr/local/share/doc/quintet/changelog.Debian.gz",
            "usr/local/share/doc/quintet/copyright",
            "usr/local/share/fish/vendor_completions.d/quintet.fish",
            "usr/local/share/man/man5/quintet.toml.5.gz",
            "usr/local/share/zsh/site-functions/_quintet",
        ]
    );
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    for name in ["quintet", "quintet-runner", "quintet-containers", "quintet-follow"] {
        let unit = read(&format!("usr/local/lib/systemd/system/{name}.service"));
        assert!(unit.contains("\nExecStart=/usr/local/bin/quintet ") && !unit.contains("/usr/bin/"), "{unit}");
    }
    // What the operator wrote stays.
    std::fs::write(root.join("etc/quintet/quintet.toml"), "[ledger]\nedge_burst = 21\n").unwrap();
    install(root, "/usr/local");
    assert_eq!(read("etc/quintet/quintet.toml"), "[ledger]\nedge_burst = 21\n");
}

/// Each asset of the Debian package is a file that is installed, and each installed file is an asset.
#[test]
fn the_package_has_all_that_is_installed() {
    let directory = tempfile::tempdir().unwrap();
    install(directory.path(), "/usr");
    let mut installed = Vec::new();
    files_below(directory.path(), directory.path(), &mut installed);
    let manifest = std::fs::read_to_string(top().join("Cargo.toml")).unwrap();
    let assets = manifest.lines().filter_map(|line| line.trim().strip_prefix("[\"target/release/debian/"));
    let directories: BTreeSet<&str> = assets.map(|line| line.split("*\"").next().unwrap()).collect();
    let parents: BTreeSet<String> =
        installed.iter().map(|file| format!("{}/", Path::new(file).parent().unwrap().display())).collect();
    assert_eq!(directories, parents.iter().map(String::as_str).collect());
}

#[test]
fn maintainer_scripts_are_shell() {
    for name in ["postinst", "prerm", "postrm"] {
        let path = top().join("packaging/debian").join(name);
        let output = Command::new("/bin/sh").arg("-n").arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
}
