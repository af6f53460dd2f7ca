//! YAML files that end in a block scalar, in every way: what libyaml reads there is what we read, and after an edit of that
//! value, or of the plural it is a form of, the file says what it should to both.

use std::cell::RefCell;

use super::judge::{Judge, corpora, is_long};
use super::soon;
use crate::formats::Kind::{Flat, Rails};
use crate::formats::budget::Budget;
use crate::formats::read::scan;
use crate::formats::{Code, Content, Document, Edit, Forms, Kind, read};
use crate::language::Category::{Few, Many, One, Other};

const HEADERS: [&str; 10] = ["|", "|-", "|+", ">", ">-", ">+", "|2", "|2-", ">2+", "|- # c"];
/// Lines of content, before their indentation.
const CONTENTS: [&[&str]; 9] =
    [&[], &["x"], &["x", "y"], &["x", "", "y"], &["x "], &["", "x"], &["x", " y"], &[" x"], &["x\u{feff}y"]];
/// What stands behind the last of them; blanks are beside the indentation of the content.
const ENDS: [&str; 12] = ["", "\n", "\n\n", "\n<", "\n=", "\n>", "\n>>", "\n\n<", "\n\n=", "\n\n>", "\n=\n>", "\n>\n="];
/// Lines that begin with a tab, perhaps behind blanks, behind the last of them or further down: content to some, nothing to
/// others.
const TABS: [&str; 18] = [
    "\n\t",
    "\n\t\n",
    "\n<\t\n",
    "\n=\t\n",
    "\n>\t\n",
    "\n \t",
    "\n\n\t\n",
    "\n>\n\t",
    "\n\t\n=x\n",
    "\n=\t\n=x\n",
    "\n\tz: y\n",
    "\n\t# c\n",
    "\n# c\n\t\n",
    "\n<# c\n\n<\t# d\n",
    "\n# c\n\n>\t\n  \n",
    "\n# c\n\n  # d\n=\t",
    "\n# c\t\n\n#\t",
    "\n\n# \t",
];
/// Where the scalar stands, and how far its content is indented.
const PLACES: [(&str, &str, usize); 6] = [
    ("a: ", "", 2),
    ("a:\n  - ", "", 4),
    ("a:\n- ", "", 2),
    ("a:\n    b: ", "", 6),
    ("en:\n  k:\n    other: ", "en", 6),
    ("en:\n  k:\n  - one: x\n    other: ", "en", 6),
];
/// One of so many files is tried each time: a prime, so that all that files are made of come together.
const SPREAD: usize = 7;
const LINE_BREAKS: [&str; 3] = ["\n", "\r\n", "\r"];

/// Every file with one of these ends, with its root key.
fn each(ends: &[&str], mut look: impl FnMut(Kind<'static>, String)) {
    for (place, root, indent) in PLACES {
        for header in HEADERS {
            for content in CONTENTS {
                for end in ends {
                    for line_break in LINE_BREAKS {
                        let kind = if root.is_empty() { Flat } else { Rails { root } };
                        let blanks = |count: usize| " ".repeat(count);
                        let lines: Vec<String> = content
                            .iter()
                            .map(
                                |line| {
                                    if line.is_empty() { String::new() } else { format!("{}{line}", blanks(indent)) }
                                },
                            )
                            .collect();
                        let end = end
                            .replace(">>", &blanks(indent + 3))
                            .replace('>', &blanks(indent + 1))
                            .replace('=', &blanks(indent))
                            .replace('<', &blanks(indent - 1));
                        let joint = if lines.is_empty() { "" } else { "\n" };
                        let file = format!("{place}{header}{joint}{}{end}", lines.join("\n"));
                        look(kind, file.replace('\n', line_break));
                    }
                }
            }
        }
    }
}

fn leaves(kind: Kind<'_>, bytes: &[u8]) -> Vec<(String, String)> {
    let found = scan(kind, bytes, &mut Budget::until(soon())).unwrap();
    found.leaves.into_iter().map(|leaf| (leaf.path, leaf.text)).collect()
}

/// What is made of the units of a file: all texts changed, plurals given more forms or fewer.
fn changed(document: &Document<'_>, forms: &Forms) -> Vec<Content> {
    let change = |content: &Content| match content {
        Content::Text(text) => Content::Text(format!("{text}neu\n")),
        Content::Plural(old) => {
            let kept = |(category, text): (_, &String)| (category, old.get(&category).unwrap_or(text).clone());
            Content::Plural(forms.iter().map(|(category, text)| kept((*category, text))).collect())
        }
    };
    document.units().iter().map(|unit| change(unit.content())).collect()
}

fn edit(content: &Content) -> Edit<'_> {
    match content {
        Content::Text(text) => Edit::Text(text),
        Content::Plural(forms) => Edit::Forms(forms),
    }
}

#[test]
fn every_end_is_read_and_written_as_libyaml_reads_it() {
    let judge = corpora().map(|corpora| RefCell::new(Judge::new(&corpora)));
    let ask = |kind, bytes: &[u8]| {
        let values = leaves(kind, bytes);
        let values: Vec<(&str, &str)> = values.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        if let Some(judge) = &judge {
            judge.borrow_mut().ask(kind, bytes, &values, false);
        }
    };
    let form = |text: &str| text.to_owned();
    let targets = [
        Forms::from([(Other, form("o"))]),
        Forms::from([(One, form("1")), (Few, form("f")), (Many, form("m")), (Other, form("o"))]),
    ];
    let (mut files, mut tried, mut accepted) = (0, 0, 0);
    each(&ENDS, |kind, file| {
        files += 1;
        // A spread of some thousand; a long run tries all.
        if !is_long() && files % SPREAD != 0 {
            return;
        }
        tried += 1;
        let Ok(document) = read(kind, file.as_bytes(), soon()) else { return };
        accepted += 1;
        ask(kind, file.as_bytes());
        for target in &targets {
            let contents = changed(&document, target);
            let written = document.export(None, &contents.iter().map(edit).collect::<Vec<_>>(), soon());
            let written = written.unwrap_or_else(|refusal| panic!("{refusal}: {file:?} {contents:?}"));
            let again = read(kind, &written, soon()).unwrap();
            let found: Vec<&Content> = again.units().iter().map(super::super::Unit::content).collect();
            assert_eq!(found, contents.iter().collect::<Vec<_>>(), "{file:?}");
            ask(kind, &written);
        }
    });
    assert!(accepted * 10 > tried * 8, "{accepted} of {tried} accepted");
    let Some(judge) = judge else { return };
    let verdict = judge.into_inner().verdict();
    println!("ends: {verdict:#}");
    assert_eq!(verdict["wrong"], 0, "{verdict:#}");
}

#[test]
fn a_tab_below_a_block_scalar_is_refused_where_libyaml_refuses_it() {
    let mut judge = corpora().map(|corpora| Judge::new(&corpora));
    let (mut files, mut tried, mut refused) = (0, 0, 0);
    each(&TABS, |kind, file| {
        files += 1;
        if !is_long() && files % SPREAD != 0 {
            return;
        }
        let behind = match kind {
            // A locale is alone in its file.
            Rails { .. } => "  z: x\n",
            _ => "z: x\n",
        };
        for file in [format!("{file}{behind}"), file] {
            tried += 1;
            let (values, is_refused) = match read(kind, file.as_bytes(), soon()) {
                Ok(_) => (leaves(kind, file.as_bytes()), false),
                Err(refusal) => {
                    assert_eq!(refusal.code, Code::Malformed, "{file:?}");
                    (Vec::new(), true)
                }
            };
            refused += usize::from(is_refused);
            let values: Vec<(&str, &str)> = values.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            if let Some(judge) = &mut judge {
                match is_refused {
                    true => judge.ask_refused(kind, file.as_bytes()),
                    false => judge.ask(kind, file.as_bytes(), &values, false),
                }
            }
        }
    });
    println!("tabs: {tried} tried, {refused} refused");
    assert!(refused > tried / 8 && refused < tried, "{refused} of {tried} refused");
    let Some(judge) = judge else { return };
    let verdict = judge.verdict();
    assert_eq!(verdict["wrong"], 0, "{verdict:#}");
}
