//! The rules of the house, kept by tests: what may import what, how long a file may be, which words stay in one place.
//!
//! Each check is a function from the files of the tree to the list of its complaints, and each has a row below that
//! shows it a fault and expects it to complain.

mod checks;
mod circles;
mod functions;
mod modules;
mod paths;
pub mod provoked;
mod rows;
mod source;
mod tags;
mod top;

use std::path::Path;

use checks::{Check, ROOM_TAGS};
use functions::Row;
use source::{Source, read_tree, tree_of};

fn tree() -> Vec<Source> {
    // Asked when the test runs: a target directory may be shared by several clones.
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    let files = read_tree(Path::new(&top));
    assert!(files.len() > 100, "only {} files found: the checks look in the wrong place", files.len());
    files
}

fn holds(check: Check) {
    let complaints = check(&tree());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn files_are_short() {
    holds(checks::long_files);
}

#[test]
fn modules_say_what_they_are() {
    holds(checks::modules_without_doc);
}

#[test]
fn imports_point_down() {
    holds(checks::manifests_that_import_up);
    holds(checks::code_that_imports_up);
}

/// Circles that are still to be opened, exactly: what is opened or made smaller is changed here; nothing is put in.
#[rustfmt::skip]
const KNOWN_CIRCLES: &[&str] = &[
];

#[test]
fn imports_go_round_in_no_circle() {
    let complaints = circles::all_but(&tree(), KNOWN_CIRCLES);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn functions_fit_a_screen() {
    let complaints = functions::lengths_that_differ(&tree(), functions::RATCHET);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn versions_stand_in_one_place() {
    holds(checks::versions_outside_the_root);
}

#[test]
fn every_package_is_linted() {
    holds(checks::packages_without_lints);
}

#[test]
fn nothing_is_left_behind() {
    holds(checks::words_left_behind);
    holds(checks::tests_switched_off);
}

#[test]
fn some_words_stay_in_one_place() {
    holds(checks::words_out_of_place);
}

#[test]
fn table_tags_are_unique_and_in_their_block() {
    holds(checks::wrong_table_tags);
    let tags = tree().iter().map(|file| checks::table_tags(file).len()).sum::<usize>();
    assert!(tags >= 5, "only {tags} tables found: the check looks for the wrong thing");
    assert!(!ROOM_TAGS.is_empty());
}

#[test]
fn a_retired_tag_that_is_used_again_is_seen() {
    let files = [Source::new("src/ledger/tables.rs", "Table::new(0x0207, F, \"a\"); Table::new(0x0208, F, \"b\");")];
    let complaints = checks::wrong_table_tags_beside(&files, &[(0x0206, "ledger_older"), (0x0208, "ledger_old")]);
    assert_eq!(complaints, ["src/ledger/tables.rs: tag 0x0208 was that of ledger_old and is never given again"]);
}

#[test]
fn dependencies_are_accounted_for() {
    holds(checks::unexplained_dependencies);
}

#[test]
fn documented_routes_are_the_served_ones() {
    let ledger = quintet_ledger::served().map(|route| [route.method.as_str(), route.path, route.permission]);
    let localization =
        quintet_localization::served().map(|route| [route.method.as_str(), route.path, route.permission]);
    let runs = quintet_runs::served().map(|route| [route.method.as_str(), route.path, route.permission]);
    let messaging = quintet_messaging::served().map(|route| [route.method.as_str(), route.path, route.permission]);
    let diagrams = quintet_diagrams::served().map(|route| [route.method.as_str(), route.path, route.permission]);
    let page = tree().into_iter().find(|file| file.path == checks::ROUTES_PAGE).expect("the page exists");
    for (heading, served) in [
        ("Ledger", ledger.collect::<Vec<_>>()),
        ("Localization", localization.collect()),
        ("Runs", runs.collect()),
        ("Messaging", messaging.collect()),
        ("Diagrams", diagrams.collect()),
    ] {
        let served: Vec<_> = served.into_iter().map(|route| route.map(str::to_owned)).collect();
        let complaints = checks::undocumented_routes(checks::section(&page.text, heading), &served);
        assert!(complaints.is_empty(), "{heading}\n{}\n", complaints.join("\n"));
    }
}

#[test]
fn routes_that_differ_are_seen() {
    let table = "| GET | `/a` | reader |\n| GET, HEAD | `/b` | |\n";
    let served = [["GET", "/a", "reader"], ["GET", "/b", ""]].map(|route| route.map(str::to_owned));
    assert_eq!(checks::undocumented_routes(table, &served), Vec::<String>::new());
    for (table, complaint) in [
        ("| GET | `/a` | reader |", "GET /b"),
        ("| GET | `/a` | writer |\n| GET | `/b` | |", "GET /a"),
        ("| GET | `/a` | reader |\n| GET | `/b` | |\n| PUT | `/c` | |", "PUT /c"),
        ("| POST | `/a` | reader |\n| GET | `/b` | |", "POST /a"),
    ] {
        let complaints = checks::undocumented_routes(table, &served).join("\n");
        assert!(complaints.contains(complaint), "expected a complaint with {complaint:?}, got {complaints:?}");
    }
}

/// Files that break a rule, and a part of the complaint that must follow.
type Fault = (Check, &'static [(&'static str, &'static str)], &'static str);

const LINTED: &str = "[lints]\nworkspace = true\n";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    (checks::modules_without_doc, &[("src/a.rs", "use b;\n//! Late.")], "src/a.rs"),
    (checks::modules_without_doc, &[("src/a.rs", "")], "src/a.rs"),
    (checks::manifests_that_import_up, &[("storage/Cargo.toml", "[dependencies]\nquintet-platform.workspace = true")], "quintet-platform"),
    (checks::manifests_that_import_up, &[("runtime/Cargo.toml", "[dependencies]\nquintet-storage.workspace = true")], "quintet-storage"),
    (checks::manifests_that_import_up, &[("storage/Cargo.toml", "[dev-dependencies]\naxum.workspace = true")], "axum"),
    (checks::manifests_that_import_up, &[("src/platform/Cargo.toml", "[dependencies]\nquintet-ledger.workspace = true")], "quintet-ledger"),
    (checks::manifests_that_import_up, &[("src/ledger/Cargo.toml", "[dependencies]\nquintet-runtime.workspace = true")], "quintet-runtime"),
    (checks::manifests_that_import_up, &[("src/ledger/Cargo.toml", "[dev-dependencies]\nquintet-messaging = { path = \"x\" }")], "quintet-messaging"),
    (checks::manifests_that_import_up, &[("src/newcomer/Cargo.toml", "[dependencies]")], "src/newcomer"),
    (checks::code_that_imports_up, &[("src/platform/a.rs", "use quintet_ledger::model;")], "quintet_ledger"),
    (checks::code_that_imports_up, &[("src/ledger/a.rs", "fn a() { quintet_runtime::b() }")], "quintet_runtime"),
    (checks::versions_outside_the_root, &[("src/ledger/Cargo.toml", "[dependencies]\nserde = \"1\"")], "serde"),
    (checks::versions_outside_the_root, &[("storage/Cargo.toml", "[build-dependencies]\ncc = { version = \"1\" }")], "cc"),
    (checks::packages_without_lints, &[("storage/Cargo.toml", "[package]\nname = \"quintet-storage\"")], "storage/Cargo.toml"),
    (checks::words_left_behind, &[("src/a.rs", "fn a() { b().unwrap() }")], "unwrap"),
    (checks::words_left_behind, &[("src/a.rs", "mod tests;"), ("src/a/tests.rs", "fn a() { b().unwrap() }")], "src/a/tests.rs:1"),
    (checks::words_left_behind, &[("storage/src/lib.rs", "mod benches;"), ("storage/src/benches/mod.rs", "fn a() { b().unwrap() }")], "storage/src/benches/mod.rs:1"),
    (checks::words_left_behind, &[("src/a.rs", "#[cfg(test)]\nmod t {}\nfn a() { dbg!(1) }")], "src/a.rs:3"),
    (checks::words_left_behind, &[("storage/src/a.rs", concat!("fn a() { to", "do!() }"))], concat!("to", "do!")),
    (checks::words_left_behind, &[("storage/src/a.rs", concat!("fn a() { unimple", "mented!() }"))], concat!("unimple", "mented!")),
    (checks::words_left_behind, &[("README.md", concat!("later: TO", "DO"))], "README.md:1"),
    (checks::words_left_behind, &[("src/a/tests.rs", concat!("// FIX", "ME"))], "src/a/tests.rs:1"),
    (checks::tests_switched_off, &[("src/a/tests.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}")], "src/a/tests.rs:2"),
    (checks::words_out_of_place, &[("storage/src/log/a.rs", "fn a(db: rocksdb::DB) {}")], "rocksdb::"),
    (checks::words_out_of_place, &[("src/ledger/a.rs", "fn a() { SystemTime::now() }")], "SystemTime::now"),
    (checks::wrong_table_tags, &[("src/ledger/tables.rs", "const A: T = Table::new(0x0300, F, \"a\");")], "0x0300"),
    (checks::wrong_table_tags, &[("src/ledger/tables.rs", "const A: T = Table::new(TAG, F, \"a\");")], "TAG"),
    (checks::wrong_table_tags, &[("src/app.rs", "const A: T = Table::new(0x0100, F, \"a\");")], "src/app.rs"),
    (checks::wrong_table_tags, &[("src/ledger/a.rs", "Table::new(0x0201,"), ("src/ledger/b.rs", "Table::new(\n0x0201,")], "src/ledger/b.rs"),
    (circles::circles, &[("Cargo.toml", "[package]\nname = \"a\""), ("src/lib.rs", "mod b;\nuse b::B;"), ("src/b.rs", "use crate::A;")], "src/lib.rs:2: b::B"),
    (circles::circles, &[("a/Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\nb = 1"), ("b/Cargo.toml", "[package]\nname = \"b\"\n[dev-dependencies]\na = 1")], "a b need one another"),
    (checks::unexplained_dependencies, &[("Cargo.toml", "[workspace.dependencies]\nserde = \"1\""), ("assets/manual/dependencies.md", "## What is used\n")], "serde"),
    (checks::unexplained_dependencies, &[("Cargo.toml", "[workspace.dependencies]\nserde = \"1\""), ("assets/manual/dependencies.md", "## What is used\n| `serde` | x |\n")], "no package uses serde"),
    (checks::unexplained_dependencies, &[("Cargo.toml", "[workspace.dependencies]"), ("assets/manual/dependencies.md", "## What is used\n| `serde` | x |\n## B")], "serde"),
    (checks::unexplained_dependencies, &[("Cargo.toml", "[workspace.dependencies]\nserde = \"1\""), ("assets/manual/dependencies.md", "## What is used\n| `serde` | |\n## B")], "serde"),
];

#[test]
fn each_check_sees_its_fault() {
    for (check, files, complaint) in FAULTS {
        let files = tree_of(files.iter().map(|(path, text)| Source::new(path, text)).collect());
        let complaints = check(&files).join("\n");
        assert!(complaints.contains(complaint), "expected a complaint with {complaint:?}, got {complaints:?}");
    }
    let long = [Source::new("src/a.rs", &"\n".repeat(1000))];
    assert_eq!(checks::long_files(&long).len(), 1, "a file of 1,000 lines is too long");
}

/// Every check that needs the files alone.
const ALL: &[Check] = &[
    checks::long_files,
    checks::modules_without_doc,
    checks::manifests_that_import_up,
    checks::code_that_imports_up,
    checks::versions_outside_the_root,
    checks::packages_without_lints,
    checks::words_left_behind,
    checks::tests_switched_off,
    checks::words_out_of_place,
    checks::wrong_table_tags,
    checks::unexplained_dependencies,
    circles::circles,
];

#[test]
fn what_is_allowed_passes() {
    let files = tree_of(vec![
        Source::new(
            "src/a.rs",
            "//! A.\n/// Never `todo!`, `x.unwrap()`, rocksdb:: or SystemTime::now().\n#[cfg(test)] mod tests;",
        ),
        Source::new("src/a/tests.rs", "//! A.\nfn a() { b().unwrap(); SystemTime::now(); Table::new(1, F, \"a\"); }"),
        Source::new("src/ledger/tables.rs", "//! A.\nTable::new(0x0200, F, \"a\"); Table::new(0x02ff, F, \"b\");"),
        Source::new("src/ledger/Cargo.toml", &format!("[dependencies]\nquintet-storage.workspace = true\n{LINTED}")),
        Source::new("src/platform/clock.rs", "//! A.\nfn a() { SystemTime::now() }"),
        Source::new("storage/src/tables/rocks.rs", "//! A.\nfn a(db: rocksdb::DB) {}"),
        Source::new(
            "Cargo.toml",
            &format!("[workspace.dependencies]\nserde = \"1\"\n[dependencies]\nserde.workspace = true\n{LINTED}"),
        ),
        Source::new("assets/manual/dependencies.md", "## What is used\n| `serde` | reads |\n## B\n| `other` | x |"),
    ]);
    for check in ALL {
        assert_eq!(check(&files), Vec::<String>::new());
    }
}

/// A package of its own from the code of its files; those that are not told are empty.
fn package(files: &[(&str, &str)]) -> Vec<Source> {
    let manifest = Source::new("Cargo.toml", "[package]\nname = \"quintet\"");
    tree_of(files.iter().map(|(path, text)| Source::new(path, text)).chain([manifest]).collect())
}

#[test]
fn circles_are_seen_however_they_are_written() {
    let lib = ("src/lib.rs", "mod a; mod b; pub mod c;");
    let back = ("src/b.rs", "use crate::a::A;");
    for (files, circle) in [
        (vec![lib, ("src/a.rs", "use crate::b::B;"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "use super::b::B;"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "use crate::{b::{self, B}, c};"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "use crate::b as other; fn a() { other::B }"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "use crate::b::*;"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "fn a() { <u8 as crate::b::B>::b() }"), back], "src/a.rs src/b.rs"),
        (vec![lib, ("src/a.rs", "mod inner { use super::super::b::B; }"), back], "src/a.rs src/b.rs"),
        (
            vec![
                lib,
                ("src/a.rs", "use crate::c::B;"),
                ("src/c.rs", "pub(crate) use crate::b::*;"),
                ("src/b.rs", "use crate::a::A; pub struct B;"),
            ],
            "src/a.rs src/b.rs",
        ),
        (
            vec![
                lib,
                ("src/a.rs", "use crate::b::B;"),
                ("src/b.rs", "use crate::c::C;"),
                ("src/c.rs", "use crate::a::A;"),
            ],
            "src/a.rs src/b.rs src/c.rs",
        ),
        (vec![("src/lib.rs", "mod a; use a::A;"), ("src/a.rs", "use crate::B;")], "src/a.rs src/lib.rs"),
        (vec![("src/lib.rs", "mod a; fn f() { a::A }"), ("src/a.rs", "use super::B;")], "src/a.rs src/lib.rs"),
        (
            vec![
                ("src/lib.rs", "mod a; pub use a::b::B as C;"),
                ("src/a/mod.rs", "pub mod b; use crate::C;"),
                ("src/a/b.rs", "use super::A; struct B;"),
            ],
            "src/a/b.rs src/a/mod.rs",
        ),
        (
            vec![
                ("src/lib.rs", "mod a; mod b;"),
                ("src/a/mod.rs", "pub mod out; pub mod back;"),
                ("src/a/out.rs", "use crate::b::B;"),
                ("src/a/back.rs", "pub struct A;"),
                ("src/b.rs", "use crate::a::back::A;"),
            ],
            "src/a src/b.rs",
        ),
    ] {
        let found: Vec<String> = circles::all(&package(&files)).iter().map(circles::Circle::name).collect();
        assert_eq!(found, [circle], "{files:?}");
    }
}

#[test]
fn what_goes_one_way_is_no_circle() {
    for files in [
        vec![
            ("src/lib.rs", "mod a; mod b; pub use a::A;"),
            ("src/a.rs", "use crate::b::B; pub struct A;"),
            ("src/b.rs", ""),
        ],
        vec![
            ("src/lib.rs", "mod a; mod b; pub use uuid::Uuid;"),
            ("src/a.rs", "use crate::Uuid;"),
            ("src/b.rs", "use crate::a;"),
        ],
        vec![
            ("src/lib.rs", "mod a; mod b; pub struct B;"),
            ("src/a.rs", "use super::{b::C, B};"),
            ("src/b.rs", "use crate::B;"),
        ],
        vec![
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "// crate::a\n#[cfg(test)] mod t { use crate::a; }"),
        ],
        vec![
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use other::crate_a::A; fn b() { A::a::<u8>() }"),
        ],
    ] {
        assert_eq!(circles::circles(&package(&files)), Vec::<String>::new(), "{files:?}");
    }
}

#[test]
fn known_circles_are_exact() {
    let circle =
        package(&[("src/lib.rs", "mod a; mod b;"), ("src/a.rs", "use crate::b::B;"), ("src/b.rs", "use crate::a::A;")]);
    assert_eq!(circles::all_but(&circle, &["src/a.rs src/b.rs"]), Vec::<String>::new());
    assert_eq!(circles::all_but(&circle, &[]).len(), 1);
    let opened = circles::all_but(&circle, &["src/a.rs src/b.rs", "src/a.rs src/c.rs"]);
    assert!(opened.join("\n").contains("src/c.rs"), "{opened:?}");
}

/// A file with a function of so many lines, and what is not counted beside it.
fn with_a_long_function(path: &str, lines: usize) -> Source {
    let body = "    a();\n".repeat(lines);
    Source::new(
        path,
        &format!(
            "fn long(a: [u8; 2]) -> u8\nwhere A: B {{\n{body}}}\nfn short() {{ \"{{\" }}\ntrait T {{ fn none(&self); }}\n\
             #[cfg(test)]\nmod tests {{\nfn a() {{\n{body}{body}}}\n}}\n"
        ),
    )
}

#[test]
fn lengths_of_functions_only_fall() {
    let told = |lines, ratchet: &[Row<'_>]| {
        functions::lengths_that_differ(&[with_a_long_function("src/a.rs", lines)], ratchet).join("\n")
    };
    let row = |lines| [("src/a.rs", "long", lines)];
    assert_eq!(told(60, &[]), "");
    assert_eq!(told(61, &row(61)), "");
    for (lines, ratchet, complaint) in [
        (61, &[][..], "src/a.rs:1: long has 61 lines, and 60 are the most"),
        (61, &[], "    (\"src/a.rs\", \"long\", 61),"),
        (62, &row(61), "src/a.rs:1: long has 62 lines, and may have 61"),
        (61, &row(62), "says 62. It is now\n    (\"src/a.rs\", \"long\", 61),"),
        (60, &row(61), "take its row out\n    (\"src/a.rs\", \"long\", 61),"),
        (61, &[("src/b.rs", "long", 61)], "src/a.rs:1: long has 61 lines, and 60 are the most"),
        (61, &[("src/b.rs", "long", 61)], "take its row out\n    (\"src/b.rs\", \"long\", 61),"),
        (61, &[("src/a.rs", "long", 61), ("src/a.rs", "long", 61)], "take its row out"),
    ] {
        let complaints = told(lines, ratchet);
        assert!(complaints.contains(complaint), "expected a complaint with {complaint:?}, got {complaints:?}");
    }
}

#[test]
fn a_long_function_does_not_hide_another() {
    let files = [with_a_long_function("src/a.rs", 108), with_a_long_function("src/b.rs", 107)];
    let complaints = functions::lengths_that_differ(&files, &[("src/a.rs", "long", 108), ("src/b.rs", "long", 70)]);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("src/b.rs:1: long has 107 lines, and may have 70."), "{complaints:?}");
    let mut twice = with_a_long_function("src/a.rs", 62);
    twice.text += &with_a_long_function("src/a.rs", 61).text;
    let complaints = functions::lengths_that_differ(&[twice], &[("src/a.rs", "long", 61), ("src/a.rs", "long", 62)]);
    assert_eq!(complaints, Vec::<String>::new());
}
