//! The checks, one function each. A complaint begins with the path, so that it can be clicked.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, lines_with};

/// From the files of the tree to what is wrong with them.
pub type Check = fn(&[Source]) -> Vec<String>;

/// The manual's page that lists what is served.
pub const ROUTES_PAGE: &str = "assets/manual/routes.md";

/// The manual's page that says why each dependency is one.
const DEPENDENCIES_PAGE: &str = "assets/manual/dependencies.md";

const LINES_MAX: usize = 999;

/// Which packages of the house a package may import: those on lower floors. The root package imports all of them.
const FLOORS: &[(&str, &[&str])] = &[
    ("storage", &[]),
    ("runtime", &[]),
    ("src/drawing", &[]),
    ("src/platform", &["quintet-storage"]),
    ("src/localization", &["quintet-storage", "quintet-platform"]),
    ("src/runs", &["quintet-storage", "quintet-platform", "quintet-runtime"]),
    ("src/ledger", &["quintet-storage", "quintet-platform"]),
    ("src/messaging", &["quintet-storage", "quintet-platform"]),
    ("src/diagrams", &["quintet-storage", "quintet-platform", "quintet-drawing"]),
    ("tests/rows", &["quintet-storage"]),
    ("tests/support", &["quintet-storage", "quintet-platform"]),
];

/// What tests share; no product code can import it, for it is a development dependency alone.
const FOR_TESTS: [&str; 2] = ["quintet-rows", "quintet-support"];

/// What the ground floor does not know of.
const UPSTAIRS: [&str; 5] = ["axum", "http", "hyper", "hyper-util", "tower"];

/// The block of table tags that belongs to a package: its first tag; each block has 256.
pub const ROOM_TAGS: &[(&str, u16)] = &[
    ("storage", 0x0000),
    ("src/platform", 0x0100),
    ("src/ledger", 0x0200),
    ("src/localization", 0x0300),
    ("src/runs", 0x0400),
    ("src/messaging", 0x0500),
    ("src/diagrams", 0x0600),
];

/// Tags of tables that are gone, and what they were called: nobody gets them again, since old copies and backups have rows
/// under them.
pub const RETIRED_TAGS: &[(u16, &str)] = &[];

/// Words that product code may use in one place alone: a file, or a folder with a slash at its end.
const PLACES: &[(&str, &[&str])] = &[
    ("rocksdb::", &["storage/src/tables/rocks.rs"]),
    ("SystemTime::now", &["src/platform/clock.rs", "src/platform/clock/"]),
];

/// Words that product code does not use.
const UNFINISHED_CODE: [&str; 4] = [".unwrap()", "todo!", "unimplemented!", "dbg!"];

/// Words that no file contains. They are put together here, so that this one does not either.
const UNFINISHED_TEXT: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

pub fn long_files(files: &[Source]) -> Vec<String> {
    rust(files)
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| format!("{}: {lines} lines; split it, {LINES_MAX} are the most", file.path))
        .collect()
}

pub fn modules_without_doc(files: &[Source]) -> Vec<String> {
    rust(files)
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| format!("{}: does not begin with a `//!` line that says what it is for", file.path))
        .collect()
}

pub fn manifests_that_import_up(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (file, directory) in member_manifests(files) {
        let Some(allowed) = imports_allowed(directory) else {
            complaints.push(format!("{}: {directory} has no floor; give it one in tests/it/tidy/checks.rs", file.path));
            continue;
        };
        let manifest = parse(file);
        for name in FOR_TESTS.iter().filter(|_| !directory.starts_with("tests/")) {
            if manifest.get("dependencies").is_some_and(|table| table.get(name).is_some()) {
                complaints.push(format!("{}: {name} is for tests; make it a dev-dependency", file.path));
            }
        }
        let ground_floor = allowed.is_empty();
        for (name, _) in dependencies(file) {
            let ours =
                name.starts_with("quintet") && !FOR_TESTS.contains(&name.as_str()) && !allowed.contains(&name.as_str());
            if ours || (ground_floor && UPSTAIRS.contains(&name.as_str())) {
                complaints.push(format!("{}: imports point down only, and {name} does not lie below", file.path));
            }
        }
    }
    complaints
}

pub fn code_that_imports_up(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in rust(files) {
        let Some((directory, allowed)) = FLOORS.iter().find(|(directory, _)| lies_in(file, directory)) else {
            continue;
        };
        let own = format!("quintet-{}", directory.rsplit('/').next().unwrap_or(directory));
        let code = file.code();
        for name in FLOORS.iter().map(|(other, _)| format!("quintet-{}", other.rsplit('/').next().unwrap_or(other))) {
            let word = format!("{}::", name.replace('-', "_"));
            if name != own && !FOR_TESTS.contains(&name.as_str()) && !allowed.contains(&name.as_str()) {
                complaints.extend(at_lines(file, &code, &word, "imports point down only"));
            }
        }
    }
    complaints
}

pub fn versions_outside_the_root(files: &[Source]) -> Vec<String> {
    member_manifests(files)
        .flat_map(|(file, _)| dependencies(file).into_iter().map(move |dependency| (file, dependency)))
        .filter(|(_, (_, value))| value.get("workspace").and_then(toml::Value::as_bool) != Some(true))
        .map(|(file, (name, _))| format!("{}: {name}: write {name}.workspace = true", file.path))
        .collect()
}

pub fn packages_without_lints(files: &[Source]) -> Vec<String> {
    manifests(files)
        .filter(|file| {
            let lints = parse(file).get("lints").and_then(|lints| lints.get("workspace")).cloned();
            lints.and_then(|value| value.as_bool()) != Some(true)
        })
        .map(|file| format!("{}: lacks [lints] workspace = true", file.path))
        .collect()
}

pub fn words_left_behind(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for word in UNFINISHED_TEXT {
            complaints.extend(at_lines(file, &file.text, word, "do it, or say what is so and why"));
        }
    }
    for file in rust(files) {
        let code = file.product_code();
        for word in UNFINISHED_CODE {
            complaints.extend(at_lines(file, &code, word, "not outside tests"));
        }
    }
    complaints
}

pub fn tests_switched_off(files: &[Source]) -> Vec<String> {
    rust(files).flat_map(|file| at_lines(file, &file.code(), "#[ignore", "a test runs or goes")).collect()
}

pub fn words_out_of_place(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in rust(files) {
        let code = file.product_code();
        for (word, places) in PLACES {
            let at_home = places.iter().any(|place| file.path == *place || in_folder(file, place));
            if !at_home {
                complaints.extend(at_lines(file, &code, word, &format!("only in {}", places.join(", "))));
            }
        }
    }
    complaints
}

pub fn wrong_table_tags(files: &[Source]) -> Vec<String> {
    wrong_table_tags_beside(files, RETIRED_TAGS)
}

pub fn wrong_table_tags_beside(files: &[Source], retired: &[(u16, &str)]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut seen: BTreeMap<u16, &str> = BTreeMap::new();
    for file in rust(files) {
        let block = ROOM_TAGS.iter().find(|(directory, _)| lies_in(file, directory));
        for written in table_tags(file) {
            let Some(tag) = written.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
                complaints.push(format!("{}: write the tag {written} as 0x and four digits", file.path));
                continue;
            };
            if block.is_none_or(|(_, first)| tag & 0xff00 != *first) {
                complaints.push(format!("{}: tag {written} is not of this package's block", file.path));
            }
            if let Some((_, name)) = retired.iter().find(|(gone, _)| *gone == tag) {
                complaints.push(format!("{}: tag {written} was that of {name} and is never given again", file.path));
            }
            if let Some(other) = seen.insert(tag, &file.path) {
                complaints.push(format!("{}: tag {written} is taken, in {other}", file.path));
            }
        }
    }
    complaints
}

/// The tags of the tables that a file defines outside its tests, as they are written. What is made of nothing
/// (`Table::new()`) is no stored table but somebody's own type.
pub fn table_tags(file: &Source) -> Vec<String> {
    let code = if file.is_rust() { file.product_code() } else { String::new() };
    code.split("Table::new(")
        .skip(1)
        .map(|after| after.split([',', ')']).next().unwrap_or_default().trim().to_owned())
        .filter(|tag| !tag.is_empty())
        .collect()
}

pub fn unexplained_dependencies(files: &[Source]) -> Vec<String> {
    let Some(root) = manifests(files).find(|file| file.path == "Cargo.toml") else { return Vec::new() };
    let Some(page) = files.iter().find(|file| file.path == DEPENDENCIES_PAGE) else {
        return vec![format!("{DEPENDENCIES_PAGE}: is missing")];
    };
    let used: BTreeSet<String> = parse(root)
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies")?.as_table().cloned())
        .map(|table| table.keys().filter(|name| !name.starts_with("quintet-")).cloned().collect())
        .unwrap_or_default();
    let explained: BTreeSet<String> = first_cells(section(&page.text, "What is used")).collect();
    let wanted: BTreeSet<String> = manifests(files).flat_map(dependencies).map(|(name, _)| name).collect();
    let idle = used.difference(&wanted).map(|name| format!("Cargo.toml: no package uses {name}"));
    let unexplained =
        used.difference(&explained).map(|name| format!("{DEPENDENCIES_PAGE}: gives no reason for {name}"));
    let unused =
        explained.difference(&used).map(|name| format!("{DEPENDENCIES_PAGE}: {name} is no dependency any more"));
    idle.chain(unexplained).chain(unused).collect()
}

/// Compares a table of methods, paths and permissions with the routes that are served, in the same order of columns.
pub fn undocumented_routes(table: &str, served: &[[String; 3]]) -> Vec<String> {
    let documented: BTreeSet<[String; 3]> = table.lines().filter_map(documented_route).collect();
    let served: BTreeSet<[String; 3]> = served.iter().cloned().collect();
    let show = |[method, path, permission]: &[String; 3]| format!("{method} {path} ({permission})");
    let missing = served.difference(&documented).map(|route| format!("{ROUTES_PAGE}: lacks {}", show(route)));
    let wrong = documented.difference(&served).map(|route| format!("{ROUTES_PAGE}: {} is not served so", show(route)));
    missing.chain(wrong).collect()
}

/// `| GET, HEAD | `/path` | permission | … |`; a HEAD beside a GET goes without saying.
fn documented_route(line: &str) -> Option<[String; 3]> {
    let (method, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
    let (path, rest) = rest.split_once("` |")?;
    let permission = rest.split('|').next()?.trim().trim_matches('`');
    Some([method.trim_end_matches(", HEAD"), path, permission].map(str::to_owned))
}

/// The part of a Markdown text below a heading of the second level, up to the next one.
pub fn section<'a>(markdown: &'a str, heading: &str) -> &'a str {
    let opening = format!("## {heading}\n");
    let Some((_, after)) = markdown.split_once(&opening) else { return "" };
    after.split("\n## ").next().unwrap_or_default()
}

/// The code in the first cell of each table row whose second cell says something.
fn first_cells(markdown: &str) -> impl Iterator<Item = String> {
    markdown.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        let said = rest.split('|').next().is_some_and(|cell| !cell.trim().is_empty());
        said.then(|| name.to_owned())
    })
}

fn rust(files: &[Source]) -> impl Iterator<Item = &Source> {
    files.iter().filter(|file| file.is_rust())
}

pub fn manifests(files: &[Source]) -> impl Iterator<Item = &Source> {
    files.iter().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
}

/// The manifests of all packages but the root, with their directories.
fn member_manifests(files: &[Source]) -> impl Iterator<Item = (&Source, &str)> {
    files.iter().filter_map(|file| Some((file, file.path.strip_suffix("/Cargo.toml")?)))
}

pub fn parse(manifest: &Source) -> toml::Table {
    manifest.text.parse().unwrap_or_else(|error| panic!("{}: {error}", manifest.path))
}

/// All dependencies of a package, whatever they are for.
pub fn dependencies(manifest: &Source) -> Vec<(String, toml::Value)> {
    let table = parse(manifest);
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| table.get(*kind)?.as_table().cloned())
        .flatten()
        .collect()
}

fn imports_allowed(directory: &str) -> Option<&'static [&'static str]> {
    FLOORS.iter().find(|(name, _)| *name == directory).map(|(_, allowed)| *allowed)
}

fn lies_in(file: &Source, directory: &str) -> bool {
    file.path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn in_folder(file: &Source, place: &str) -> bool {
    place.ends_with('/') && file.path.starts_with(place)
}

fn at_lines(file: &Source, text: &str, word: &str, why: &str) -> Vec<String> {
    lines_with(text, word).into_iter().map(|line| format!("{}:{line}: {word}: {why}", file.path)).collect()
}
