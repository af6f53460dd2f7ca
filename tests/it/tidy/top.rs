//! What lies at the top of the tree: what belongs there, by name, and no stranger.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Each has its reason there: a folder of the house, or a file that a tool looks for in this place.
const ALLOWED: [&str; 22] = [
    ".cargo",
    ".ci",
    ".editorconfig",
    ".gitignore",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "assets",
    "benches",
    "build.rs",
    "clippy.toml",
    "deny.toml",
    "packaging",
    "runtime",
    "rustfmt.toml",
    "src",
    "storage",
    "systemd",
    "tests",
];

/// The names that do not belong there.
fn strangers(names: &BTreeSet<String>) -> Vec<&str> {
    names.iter().map(String::as_str).filter(|name| !ALLOWED.contains(name)).collect()
}

/// The first parts of the paths that git keeps; nothing where there is no git, or where it keeps nothing of this.
fn kept_by_git(top: &Path) -> Option<BTreeSet<String>> {
    let output = Command::new("git").current_dir(top).args(["ls-files", "-z"]).output().ok()?;
    let paths = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = paths.split('\0').filter_map(|path| path.split('/').next()).filter(|name| !name.is_empty());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    (output.status.success() && !names.is_empty()).then_some(names)
}

/// What lies there and would be kept: all but what `.gitignore` names.
fn kept_in_directory(top: &Path) -> BTreeSet<String> {
    let ignored = std::fs::read_to_string(top.join(".gitignore")).unwrap_or_default();
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != ".git" && !ignored.lines().any(|pattern| is_ignored(pattern, name))).collect()
}

/// Whether a line of `.gitignore` means this name at the top: a name, with at most one star.
fn is_ignored(pattern: &str, name: &str) -> bool {
    let pattern = pattern.trim_matches('/');
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, end)) => name.len() >= pattern.len() - 1 && name.starts_with(begin) && name.ends_with(end),
    }
}

#[test]
fn no_stranger_lies_at_the_top() {
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    let top = Path::new(&top);
    let names = kept_by_git(top).unwrap_or_else(|| kept_in_directory(top));
    assert!(names.contains("Cargo.toml"), "{names:?}");
    let strangers = strangers(&names);
    assert!(strangers.is_empty(), "put them where they belong, or name them in tests/it/tidy/top.rs: {strangers:?}");
}

#[test]
fn a_stranger_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    for name in ["Cargo.toml", "notes.txt", "a.whl", ".tmp-x", "target"] {
        std::fs::write(top.join(name), "").unwrap();
    }
    std::fs::write(top.join(".gitignore"), "/target/\n/.tmp*/\n*.whl\n").unwrap();
    assert_eq!(strangers(&kept_in_directory(top)), ["notes.txt"]);
    assert_eq!(kept_by_git(top), None);
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(top).args(arguments).output().expect("git is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "Cargo.toml"]);
    git(&["add", "--force", "a.whl"]);
    assert_eq!(strangers(&kept_by_git(top).unwrap()), ["a.whl"]);
}
