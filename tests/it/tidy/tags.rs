//! Tags of tables are for ever: every one that was given is in `tags.txt` and stays there, so that nobody forgets to
//! retire one whose table goes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use quintet::app::TABLES;
use quintet_storage::Registry;

use super::checks::RETIRED_TAGS;

/// A tag in each line and what it was called; lines are added, and none is changed or taken out. A table that is renamed
/// gets another line, and the last one counts.
const GIVEN: &str = "tests/it/tidy/tags.txt";

/// A tag and the name of its table.
type Tag<'a> = (u16, &'a str);

fn line(tag: u16, name: &str) -> String {
    format!("{tag:#06x} {name}")
}

/// The tags in the lines of a list, and the lines that are none.
fn parse(list: &str) -> (Vec<Tag<'_>>, Vec<&str>) {
    let lines = || list.lines().filter(|line| !line.starts_with('#'));
    let tag = |written: &'_ str| u16::from_str_radix(written.strip_prefix("0x")?, 16).ok();
    let read = |line: &str| line.split_once(' ').is_some_and(|(written, _)| tag(written).is_some());
    let tags =
        lines().filter_map(|line| line.split_once(' ')).filter_map(|(written, name)| Some((tag(written)?, name)));
    (tags.collect(), lines().filter(|line| !read(line)).collect())
}

/// What is wrong with the list of tags that were given, beside the tables there are and those that are gone.
fn complaints(list: &str, live: &[Tag<'_>], retired: &[Tag<'_>]) -> Vec<String> {
    let (tags, strange) = parse(list);
    let given: BTreeMap<u16, &str> = tags.into_iter().collect();
    let named = |all: &[Tag<'_>], tag: u16| all.iter().any(|(other, _)| *other == tag);
    let mut complaints: Vec<String> = strange.iter().map(|line| format!("{GIVEN}: {line:?} is no tag")).collect();
    for (tag, name) in live.iter().chain(retired) {
        match given.get(tag) {
            None => complaints.push(format!("{GIVEN}: lacks the line\n    {}", line(*tag, name))),
            Some(other) if other != name => complaints.push(format!(
                "{GIVEN}: {tag:#06x} is {other} there, and the table is {name}: a tag is never given again; if the \
                 table was renamed, add the line\n    {}",
                line(*tag, name)
            )),
            Some(_) => {}
        }
    }
    for (tag, name) in given.iter().filter(|(tag, _)| !named(live, **tag) && !named(retired, **tag)) {
        complaints.push(format!(
            "{GIVEN}: no table has {} any more; it goes to RETIRED_TAGS in tests/it/tidy/checks.rs\n    ({tag:#06x}, {name:?}),",
            line(*tag, name)
        ));
    }
    for (tag, name) in retired.iter().filter(|(tag, _)| named(live, *tag)) {
        complaints.push(format!("RETIRED_TAGS: {} is a table", line(*tag, name)));
    }
    complaints
}

/// The lines that a list has lost: `history` is what `git log --patch` says of it.
fn lost(list: &str, history: &str) -> Vec<String> {
    let there: BTreeSet<&str> = list.lines().collect();
    let added: BTreeSet<&str> = history.lines().filter_map(|line| line.strip_prefix('+')).collect();
    let lost = added.into_iter().filter(|line| line.starts_with("0x") && !there.contains(line));
    lost.map(|line| format!("{GIVEN}: lines are added alone; put back\n    {line}")).collect()
}

/// All that the list has ever been; nothing where there is no git or no history.
fn history(top: &Path) -> String {
    let git = Command::new("git").current_dir(top).args(["log", "--patch", "--format=", "--", GIVEN]).output();
    git.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

#[test]
fn every_tag_that_was_given_is_known() {
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    let list = std::fs::read_to_string(Path::new(&top).join(GIVEN)).unwrap();
    let registry = Registry::new(TABLES).unwrap();
    let live: Vec<Tag<'_>> = registry.tables().map(|table| (table.tag, table.name)).collect();
    let mut complaints = complaints(&list, &live, RETIRED_TAGS);
    complaints.extend(lost(&list, &history(Path::new(&top))));
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn a_tag_that_is_forgotten_is_seen() {
    const LIST: &str = "# Tags\n0x0200 books\n0x0201 legs\n";
    let (books, legs, more) = ((0x0200, "books"), (0x0201, "legs"), (0x0202, "more"));
    assert_eq!(complaints(LIST, &[books, legs], &[]), Vec::<String>::new());
    assert_eq!(complaints(LIST, &[books], &[legs]), Vec::<String>::new());
    let renamed = format!("{LIST}0x0201 lines\n");
    assert_eq!(complaints(&renamed, &[books, (0x0201, "lines")], &[]), Vec::<String>::new());
    for (list, live, retired, complaint) in [
        (LIST, &[books, legs, more][..], &[][..], "lacks the line\n    0x0202 more"),
        (LIST, &[books], &[], "it goes to RETIRED_TAGS in tests/it/tidy/checks.rs\n    (0x0201, \"legs\"),"),
        (LIST, &[books, (0x0201, "others")], &[], "0x0201 is legs there, and the table is others"),
        (LIST, &[books, legs], &[more], "lacks the line\n    0x0202 more"),
        (LIST, &[books, legs], &[legs], "RETIRED_TAGS: 0x0201 legs is a table"),
        ("0x0200 books\n0201 legs\n", &[books], &[], "\"0201 legs\" is no tag"),
    ] {
        let complaints = complaints(list, live, retired);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains(complaint), "expected {complaint:?}, got {complaints:?}");
    }
    // With its line gone too, the list alone cannot know; what it once was does.
    let was = "+++ b/tags.txt\n@@ -0,0 +1,3 @@\n+# Tags\n+0x0200 books\n+0x0201 legs\n";
    assert_eq!(lost(LIST, was), Vec::<String>::new());
    assert_eq!(lost("0x0200 books\n", was), [format!("{GIVEN}: lines are added alone; put back\n    0x0201 legs")]);
    assert_eq!(lost("0x0200 books\n", "-0x0201 legs\n"), Vec::<String>::new());
}
