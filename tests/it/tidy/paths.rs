//! Words that lead somewhere: each path that a page or a comment names in code, and each link from one page to another,
//! is there.

use std::path::Path;

use super::source::{Piece, Source, pieces};

/// The folders whose paths are looked for; what begins otherwise may be a path on somebody's machine.
const FOLDERS: [&str; 8] = ["src/", "tests/", "storage/", "runtime/", "packaging/", "benches/", "assets/", "systemd/"];

/// The pages that are read in the tree; those in the manual are read elsewhere, too.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "benches/README.md"];
const MANUAL: &str = "assets/manual/";

/// The paths and links of the files that lead nowhere, where `is_there` says what is there.
pub fn leading_nowhere(files: &[Source], is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let is_page =
            PAGES.contains(&file.path.as_str()) || (file.path.starts_with(MANUAL) && file.path.ends_with(".md"));
        if is_page {
            complaints.extend(broken_paths(file, 1, &file.text, is_there));
            complaints.extend(broken_links(file, is_there));
        } else if file.is_rust() {
            let mut line = 1;
            for piece in pieces(&file.text) {
                let (Piece::Code(text) | Piece::Literal(text) | Piece::Comment(text)) = piece;
                if matches!(piece, Piece::Comment(_)) {
                    complaints.extend(broken_paths(file, line, text, is_there));
                }
                line += text.matches('\n').count();
            }
        }
    }
    complaints
}

fn broken_paths(file: &Source, first_line: usize, text: &str, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for path in paths(line) {
            // A module may be named as in code, without its ending.
            if !is_there(path) && !is_there(&format!("{path}.rs")) {
                complaints.push(format!("{}:{}: {path} is not there", file.path, first_line + index));
            }
        }
    }
    complaints
}

/// The paths in a line: whatever begins with a folder behind a backtick; elsewhere what is called as files are, since
/// words may have strokes between them, too.
fn paths(line: &str) -> Vec<&str> {
    let begins = FOLDERS.iter().flat_map(|folder| line.match_indices(folder));
    let paths = begins.filter_map(|(at, _)| {
        let before = line[..at].chars().next_back();
        let path = path_of(&line[at..]);
        let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
        (before == Some('`') || is_file && !before.is_some_and(is_of_path)).then_some(path)
    });
    paths.collect()
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

/// The path that a text begins with. What stands for several (a star, a name in angle brackets) is the folder they lie in.
fn path_of(span: &str) -> &str {
    let end = span.find(|c| !is_of_path(c)).unwrap_or(span.len());
    let (path, rest) = span.split_at(end);
    match rest.chars().next() {
        Some('*' | '<' | '{' | '$' | '…') => path.rsplit_once('/').map_or(path, |(folder, _)| folder),
        _ => path.trim_end_matches(['/', '.']),
    }
}

fn broken_links(file: &Source, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let targets = line.split("](").skip(1).filter_map(|after| after.split(')').next());
        for target in targets.filter(|target| !target.contains(':') && !target.starts_with(['#', '/'])) {
            let path = beside(&file.path, target.split('#').next().unwrap_or_default());
            if !path.as_deref().is_some_and(is_there) {
                complaints.push(format!("{}:{}: {target} leads nowhere", file.path, index + 1));
            }
        }
    }
    complaints
}

/// Where a link in a page leads, from the top of the tree; nowhere, if that is above it.
fn beside(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[test]
fn paths_and_links_lead_somewhere() {
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    let complaints = leading_nowhere(&super::tree(), &|path| Path::new(&top).join(path).exists());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn what_leads_nowhere_is_seen() {
    let told = |path: &str, text: &str| {
        let there = ["src", "src/a.rs", "src/a", "tests/it/b.rs", "assets/manual/c.md", "README.md"];
        leading_nowhere(&[Source::new(path, text)], &|path| there.contains(&path)).join("\n")
    };
    for (path, text) in [
        ("README.md", "`src/a.rs`, `src/a/`, `src/a.rs:7`, `src/*.rs`, `tests/it/b::name`, [c](assets/manual/c.md#d)"),
        ("assets/manual/c.md", "[c](c.md) [d](../../README.md#e) [f](https://example.com/x) [g](#h) `lost/x`"),
        ("src/a.rs", "// `src/a.rs` \n/// `src/{a,b}.rs`\nfn a() { \"`src/lost.rs`\" }"),
        (
            "README.md",
            "in tests/it/b.rs. Assets/liabilities, src/or not, https://example.com/src/lost.rs, a/src/lost.rs",
        ),
        ("src/a/words.txt", "`src/lost.rs`"),
    ] {
        assert_eq!(told(path, text), "", "{text}");
    }
    for (path, text, complaint) in [
        ("README.md", "\nof `src/lost.rs`", "README.md:2: src/lost.rs is not there"),
        ("CONTRIBUTING.md", "`tests/it/lost::name`", "tests/it/lost is not there"),
        ("README.md", "```sh not-run: tests/it/lost.rs, which", "README.md:1: tests/it/lost.rs is not there"),
        ("README.md", "see [c](c.md)", "README.md:1: c.md leads nowhere"),
        ("assets/manual/c.md", "[b](tour.md)", "assets/manual/c.md:1: tour.md leads nowhere"),
        ("assets/manual/c.md", "[b](../../../x)", "leads nowhere"),
        ("assets/manual/c.md", "`src/lost/*.rs`", "src/lost is not there"),
        ("src/a.rs", "fn a() {}\n\n/// As `src/lost.rs` does.\nfn b() {}", "src/a.rs:3: src/lost.rs is not there"),
        ("src/a.rs", "/* \"\n `src/lost.rs` */", "src/a.rs:2: src/lost.rs is not there"),
    ] {
        assert!(told(path, text).contains(complaint), "expected {complaint:?}, got {:?}", told(path, text));
    }
}
