//! `make advisories` with a made-up database: what is known of a dependency is written down, with the database's commit.
//! The real database is fetched by hand alone, so nothing here says that it can be.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::appliance::{say_skipped, stderr};

const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// A crate that every build has.
const OURS: &str = "serde";

fn top() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo"))
}

/// A git repository in the form of the database, with one advisory.
fn database(place: &Path, package: &str) {
    let crates = place.join("crates").join(package);
    std::fs::create_dir_all(&crates).unwrap();
    let front = format!(
        "[advisory]\nid = \"RUSTSEC-2099-0001\"\npackage = \"{package}\"\ndate = \"2099-01-01\"\n[versions]\npatched = []\n"
    );
    std::fs::write(crates.join("RUSTSEC-2099-0001.md"), format!("```toml\n{front}```\n\n# Made | up\n\nWords.\n"))
        .unwrap();
    git(place, &["init", "--quiet", "--initial-branch=main"]);
    git(place, &["add", "--all"]);
    git(place, &["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a"]);
}

fn git(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(place).args(arguments).output().expect("git is there");
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs the script against a database that stands in for the real one.
fn check(database: &Path, report: &Path) -> Output {
    Command::new(top().join("packaging/advisories.sh"))
        .arg(report)
        .env("ADVISORIES_CACHE", report.with_extension("cache"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", database.display()))
        .env("GIT_CONFIG_VALUE_0", DATABASE)
        .output()
        .unwrap()
}

/// It is installed by `make deny`, which comes before the tests; installing it here would take minutes.
fn has_cargo_deny() -> bool {
    let cache = std::env::var_os("BUILD_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/quintet")));
    let script = std::fs::read_to_string(top().join("packaging/cargo-deny.sh")).unwrap();
    let version = script.lines().find_map(|line| line.strip_prefix("version=")).expect("the version is pinned");
    let is_there = cache.is_some_and(|cache| cache.join(format!("tools/cargo-deny-{version}/bin/cargo-deny")).exists());
    if !is_there {
        say_skipped("cargo-deny is not installed");
    }
    is_there
}

#[test]
fn what_is_known_is_written_down() {
    if !has_cargo_deny() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (place, report) = (directory.path().join("db"), directory.path().join("report.md"));
    database(&place, OURS);
    let output = check(&place, &report);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = std::fs::read_to_string(&report).unwrap();
    let row =
        text.lines().find(|line| line.starts_with("| RUSTSEC-2099-0001 | vulnerability | serde 1.")).expect(&text);
    assert!(row.ends_with("| Made   up |"), "text from outside stays in its cell: {row}");
    assert!(text.contains("| outcome | 1 findings |"), "{text}");
    assert!(text.contains(&git(&place, &["rev-parse", "HEAD"])), "{text}");
    let day = text.lines().find_map(|line| line.strip_prefix("| checked on | ")).expect(&text);
    assert_eq!(day.trim_end_matches(" |").len(), "2026-01-01".len(), "{text}");
}

#[test]
fn what_is_not_known_and_what_cannot_be_asked_are_two_things() {
    let directory = tempfile::tempdir().unwrap();
    let (place, report) = (directory.path().join("db"), directory.path().join("report.md"));
    let output = check(&place, &report);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the database cannot be fetched"), "{}", stderr(&output));
    let attempt = "not checked: the database could not be reached";
    let is_dated = |text: &str| {
        let days = text.lines().filter_map(|line| line.strip_suffix(attempt)?.strip_suffix(": "));
        let days: Vec<String> = days.map(|day| day.replace(|c: char| c.is_ascii_digit(), "0")).collect();
        days == ["0000-00-00"]
    };
    let text = std::fs::read_to_string(&report).unwrap();
    assert!(text.starts_with("# Advisories\n\n") && is_dated(&text) && !text.contains("| checked on |"), "{text}");
    // From here on cargo-deny is asked.
    if !has_cargo_deny() {
        return;
    }
    database(&place, "a-crate-that-nobody-has");
    let output = check(&place, &report);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&report).unwrap();
    assert!(text.contains("| outcome | nothing is known of any of them |") && !text.contains("RUSTSEC-2099"), "{text}");
    assert!(!text.contains(attempt), "{text}");
    // What was known stays when it cannot be asked again, and the last attempt alone is told.
    std::fs::rename(&place, directory.path().join("away")).unwrap();
    for _ in 0..2 {
        assert_eq!(check(&place, &report).status.code(), Some(2));
        let later = std::fs::read_to_string(&report).unwrap();
        assert!(later.starts_with(&text) && is_dated(&later), "{later}");
    }
}
