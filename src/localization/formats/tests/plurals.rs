//! Plurals of rails files in every place where they can stand, given the categories of every target: what was written
//! is exactly those members, and all around them is what it was.
//!
//! Seeds and numbers of cases as in `random`.

use std::cell::{Cell, RefCell};

use fastrand::Rng;

use super::judge::{Judge, corpora};
use super::random::cases;
use super::texts::hostile_text;
use super::{EN, Table, export, soon};
use crate::formats::budget::Budget;
use crate::formats::read::scan;
use crate::formats::{Content, Document, Edit, Forms, read};
use crate::language::Category;

/// How many targets each file is given.
const TARGETS: usize = 4;

fn one_of<'o>(rng: &mut Rng, options: &[&'o str]) -> &'o str {
    options[rng.usize(..options.len())]
}

/// A value at a column of a block mapping; with a comment behind it or not.
fn block_value(rng: &mut Rng, column: usize) -> String {
    let pad = " ".repeat(column + 1 + rng.usize(..3));
    let comment = one_of(rng, &["", "", "", " # c", "  # c: 'd"]);
    match rng.u8(..9) {
        0..=2 => format!("word {}{comment}", rng.u8(..)),
        3 => format!("'single'{comment}"),
        4 => format!("\"d\\u00e9\"{comment}"),
        5 => format!("! 'x'{comment}"),
        6 => format!("more\n{pad}lines{comment}"),
        7 => format!("'more\n\n{pad}lines'{comment}"),
        _ => {
            let header = one_of(rng, &["|", ">", "|-", ">-", "|+", ">+", "| # c"]);
            let begin = one_of(rng, &["", "", "\n"]);
            let end = one_of(rng, &["", "", "\n", "\n\n", "\n   ", "\n                 ", "\n                 \n"]);
            match rng.u8(..8) {
                0 => format!("{header}{end}"),
                _ => format!("{header}\n{begin}{pad}block\n{pad}more{end}"),
            }
        }
    }
}

fn flow_value(rng: &mut Rng) -> String {
    match rng.u8(..5) {
        0 => "'single'".to_owned(),
        1 => "\"double\"".to_owned(),
        2 => "! 'x'".to_owned(),
        3 => "more\n         words".to_owned(),
        _ => format!("word {}", rng.u8(..)),
    }
}

/// Categories in any order, `other` among them, as keys.
fn keys(rng: &mut Rng) -> Vec<String> {
    let mut categories: Vec<Category> =
        Category::ALL.into_iter().filter(|category| *category == Category::Other || rng.bool()).collect();
    if rng.u8(..3) == 0 {
        rng.shuffle(&mut categories);
    }
    let mut key = |category: Category| {
        let name = category.name();
        let written = match rng.u8(..8) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            _ => name.to_owned(),
        };
        if rng.u8(..16) == 0 { format!("! {written}") } else { written }
    };
    categories.into_iter().map(&mut key).collect()
}

/// The members from their column on, without the blanks before the first one.
fn block_members(rng: &mut Rng, column: usize) -> String {
    let mut out = String::new();
    for (number, key) in keys(rng).into_iter().enumerate() {
        if number > 0 {
            out.push('\n');
            match rng.u8(..8) {
                0 => out.push_str(&format!("{}# between\n", " ".repeat(column))),
                1 => out.push_str(&format!("{}# between\n\n", " ".repeat(rng.usize(..12)))),
                2 => out.push_str(one_of(rng, &["\n", "\n\n", "   \n"])),
                _ => {}
            }
            out.push_str(&" ".repeat(column));
        }
        out.push_str(&format!("{key}:{}{}", one_of(rng, &[" ", " ", "  "]), block_value(rng, column)));
    }
    out
}

fn flow_members(rng: &mut Rng) -> String {
    let begin = one_of(rng, &["", " ", "\n       ", " # c\n       "]);
    let end = one_of(rng, &["", " ", "\n       ", ",", " # c\n       "]);
    let members: Vec<String> = keys(rng).into_iter().map(|key| format!("{key}: {}", flow_value(rng))).collect();
    let comma = one_of(rng, &[", ", " , ", ",\n       ", ", # c\n       ", " # c\n       , "]);
    format!("{{{begin}{}{end}}}", members.join(comma))
}

/// What stands behind `  s:`, with a plural or two in it.
fn place(rng: &mut Rng) -> String {
    let nested = |rng: &mut Rng, prefix: &str| format!("\n{prefix}{}", block_members(rng, prefix.len()));
    match rng.u8(..14) {
        0 => nested(rng, "    "),
        1 => nested(rng, "         "),
        2 => nested(rng, "    - "),
        3 => nested(rng, "  - "),
        4 => nested(rng, "  -   "),
        5 => nested(rng, "    - - "),
        6 => nested(rng, "  - -  - "),
        7 => format!("{}{}\n  - x", nested(rng, "  - "), nested(rng, "  - ")),
        8 => format!("\n    - # c\n      {}", block_members(rng, 6)),
        9 => format!("\n    - k:\n       {}\n      l: x", block_members(rng, 7)),
        10 => format!(" {}", flow_members(rng)),
        11 => format!(" [{}, x, {}]", flow_members(rng), flow_members(rng)),
        12 => format!("\n    - {}", flow_members(rng)),
        _ => format!("\n    - - {}\n      - {}", flow_members(rng), block_members(rng, 8)),
    }
}

fn file(rng: &mut Rng) -> Vec<u8> {
    let mut out = format!("en:\n  b: before\n  s:{}", place(rng));
    out.push_str(one_of(rng, &["", "\n", "\n\n", "\n# end\n", "\n  v: behind\n", "\n\n  # c\n  v: behind", "\n...\n"]));
    if rng.u8(..4) == 0 {
        out.push_str(&" ".repeat(rng.usize(..16)));
    }
    let out = match rng.u8(..6) {
        0 => out.replace('\n', "\r\n"),
        1 => out.replace('\n', "\r"),
        _ => out,
    };
    let marked = rng.u8(..8) == 0;
    format!("{}{out}", if marked { "\u{feff}" } else { "" }).into_bytes()
}

/// The members of a target; those the file has say what they said, or all say something else.
fn target(rng: &mut Rng, old: &Forms) -> Forms {
    let keeps = rng.bool();
    let mut forms = Forms::new();
    for category in Category::ALL {
        if category != Category::Other && rng.bool() {
            continue;
        }
        let kept = old.get(&category).filter(|_| keeps || rng.u8(..4) == 0).cloned();
        forms.insert(category, kept.unwrap_or_else(|| hostile_text(rng)));
    }
    forms
}

/// Gives every plural of a file a target's members, and sees that the file then says so and nothing else.
fn translated(rng: &mut Rng, document: &Document<'_>) -> (Vec<u8>, Vec<Content>) {
    let wanted: Vec<Content> = document
        .units()
        .iter()
        .map(|unit| match unit.content() {
            Content::Text(text) => Content::Text(text.clone()),
            Content::Plural(old) => Content::Plural(target(rng, old)),
        })
        .collect();
    let edits: Vec<Edit<'_>> = wanted
        .iter()
        .map(|wanted| match wanted {
            Content::Text(text) => Edit::Text(text),
            Content::Plural(forms) => Edit::Forms(forms),
        })
        .collect();
    let written = document.export(None, &edits, soon());
    let written =
        written.unwrap_or_else(|refusal| panic!("{refusal}: {:?} {wanted:?}", String::from_utf8_lossy(document.bytes)));
    let again = read(EN, &written, soon()).unwrap();
    let found: Vec<_> = again.units().iter().map(|unit| (unit.path(), unit.content())).collect();
    let meant: Vec<_> = document.units().iter().map(super::super::Unit::path).zip(&wanted).collect();
    assert_eq!(found, meant, "{:?}", String::from_utf8_lossy(document.bytes));
    (written, wanted)
}

#[test]
fn every_target_can_be_written_everywhere() {
    let (tried, accepted) = (Cell::new(0_u64), Cell::new(0_u64));
    cases(|rng| {
        tried.set(tried.get() + 1);
        let bytes = file(rng);
        let Ok(document) = read(EN, &bytes, soon()) else { return };
        accepted.set(accepted.get() + 1);
        for _ in 0..TARGETS {
            translated(rng, &document);
        }
    });
    assert!(accepted.get() * 10 > tried.get() * 7, "{} of {} accepted", accepted.get(), tried.get());
}

#[test]
fn other_parsers_read_the_same() {
    let Some(corpora) = corpora() else { return };
    let judge = RefCell::new(Judge::new(&corpora));
    cases(|rng| {
        let bytes = file(rng);
        let Ok(document) = read(EN, &bytes, soon()) else { return };
        let (written, wanted) = translated(rng, &document);
        let meant = |path: &str| {
            document.units().iter().zip(&wanted).find_map(|(unit, wanted)| match wanted {
                Content::Text(text) => (path == unit.path()).then(|| text.clone()),
                Content::Plural(forms) => {
                    let category = path.strip_prefix(unit.path())?.strip_prefix('.').and_then(Category::from_name)?;
                    forms.get(&category).cloned()
                }
            })
        };
        let found = scan(EN, &written, &mut Budget::until(soon())).unwrap();
        let values: Vec<(String, String)> =
            found.leaves.iter().map(|leaf| (leaf.path.clone(), meant(&leaf.path).unwrap())).collect();
        let values: Vec<(&str, &str)> = values.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        judge.borrow_mut().ask(EN, &written, &values, false);
    });
    let verdict = judge.into_inner().verdict();
    println!("plurals: {verdict:#}");
    assert_eq!(verdict["wrong"], 0, "{verdict:#}");
}

/// What becomes of the first members when they go, to the byte.
#[test]
fn what_stands_behind_a_dash() {
    let other = Forms::from([(Category::Other, "o".to_owned())]);
    let cases = [
        ("- zero: none\n      one: x\n      other: w # c\n", "- other: o # c\n"),
        ("- zero: none\n      # z\n      one: x\n      # w\n      other: w\n", "- # z\n      # w\n      other: o\n"),
        ("- - zero: none\n        one: x\n        two: z\n        other: w\n      - v\n", "- - other: o\n      - v\n"),
        ("- zero: none # z\n\n      other: w\n      one: x\n    - v\n", "- other: o\n    - v\n"),
        ("- ! zero: none\n      ! one: x\n      ! other: w\n", "- ! other: o\n"),
        ("- other: |\n        w\n      ! one: x\n", "- other: \"o\"\n"),
        ("- { # c\n    one: x, other: w}\n", "- { # c\n    other: o}\n"),
    ];
    let mut table = Table::default();
    for (list, expected) in cases {
        let path = if list.starts_with("- -") { "s.0.0" } else { "s.0" };
        for line_break in ["\n", "\r\n", "\r"] {
            let [file, expected] =
                [list, expected].map(|list| format!("en:\n  s:\n    {list}  v: v\n").replace('\n', line_break));
            table.row(&file, export(EN, &file, None, &[(path, Edit::Forms(&other))]), expected.as_str());
        }
    }
    table.done();
}
