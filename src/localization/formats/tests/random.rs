//! Files nobody would write: made at random, and real ones with random damage. Whatever is accepted comes back byte for
//! byte, and edited it says what it should.
//!
//! `QUINTET_FILES_SEED` runs one case again, `QUINTET_FILES_CASES` says how many are tried.

use fastrand::Rng;

use super::judge::{Judge, corpora};
use super::texts::{hostile_text, random_forms};
use super::{EN, cpu_seconds, soon};
use crate::formats::Kind::{Flat, Json, Properties};
use crate::formats::budget::Budget;
use crate::formats::read::scan;
use crate::formats::{Content, Document, Edit, Kind, read};
use crate::language::Category;

const CASES: u64 = 3_000;

/// Runs a case for each seed; says which one failed.
pub fn cases(case: impl Fn(&mut Rng)) {
    if let Ok(seed) = std::env::var("QUINTET_FILES_SEED") {
        return case(&mut Rng::with_seed(seed.parse().unwrap()));
    }
    let count = std::env::var("QUINTET_FILES_CASES").map_or(CASES, |count| count.parse().unwrap());
    let first = fastrand::u64(..);
    for seed in first..first.saturating_add(count) {
        let run = std::panic::AssertUnwindSafe(|| case(&mut Rng::with_seed(seed)));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("run it again with QUINTET_FILES_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn words(rng: &mut Rng) -> String {
    const WORDS: &[&str] =
        &["key", "a", "b c", "été", "one", "other", "x_one", "x_other", "no", "12", "-", "a.b", "", "漢"];
    WORDS[rng.usize(..WORDS.len())].to_owned()
}

fn blank(rng: &mut Rng) -> &'static str {
    ["", " ", "\n", "\r\n  ", "\t"][rng.usize(..5)]
}

fn json_string(rng: &mut Rng, text: &str) -> String {
    let mut out = String::new();
    crate::formats::json::write_string(&mut out, text, rng.bool(), rng.bool());
    out
}

fn json_value(rng: &mut Rng, depth: usize) -> String {
    match rng.u8(..if depth > 3 { 7 } else { 10 }) {
        0..=4 => {
            let text = hostile_text(rng);
            json_string(rng, &text)
        }
        5 => ["1", "-0.5e+3", "true", "null"][rng.usize(..4)].to_owned(),
        6 => format!("[{}]", blank(rng)),
        7 => {
            let elements: Vec<String> = (0..rng.usize(..4))
                .map(|_| format!("{}{}{}", blank(rng), json_value(rng, depth + 1), blank(rng)))
                .collect();
            format!("[{}]", elements.join(","))
        }
        _ => json_object(rng, depth + 1),
    }
}

fn json_object(rng: &mut Rng, depth: usize) -> String {
    let members: Vec<String> = (0..rng.usize(..6))
        .map(|_| {
            let name = words(rng);
            let name = json_string(rng, &name);
            let value = json_value(rng, depth);
            format!("{}{name}{}:{}{value}{}", blank(rng), blank(rng), blank(rng), blank(rng))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A file in ISO-8859-1 of which parts, or all once a value is gone, could be UTF-8 as well.
fn latin1_file(rng: &mut Rng) -> Vec<u8> {
    const KEYS: &[&[u8]] = &[b"\xc3\xa4", b"\xc3\xa4\\ \xc2\xb5", b"\\#\xe2\x82\xac\\\n  x", b"key", b"\xe4"];
    const VALUES: &[&[u8]] = &[b"\xe4", b"\xc3\xa4", b"a\xc3\xa4\\\n  \xc3\xa9", b"text", b""];
    let mut out = b"last=\xe4\n".to_vec();
    for (number, key) in KEYS.iter().enumerate() {
        if rng.bool() {
            continue;
        }
        let number = number.to_string();
        let separator: &[u8] = [b"=".as_slice(), b" ", b" : "][rng.usize(..3)];
        let parts: [&[u8]; 4] = [key, number.as_bytes(), separator, VALUES[rng.usize(..VALUES.len())]];
        let comment: &[u8] = [b"\n".as_slice(), b"\n# \xc3\xa4\n"][rng.usize(..2)];
        out.splice(..0, [parts.concat().as_slice(), comment].concat());
    }
    out
}

fn properties_file(rng: &mut Rng) -> String {
    const LINE_ENDS: [&str; 3] = ["\n", "\r\n", "\r"];
    let end = LINE_ENDS[rng.usize(..3)];
    let mut out = String::new();
    for number in 0..rng.usize(..8) {
        let separator = ["=", ":", " ", " = ", "\t: ", "", " \\\n  ", "=\\\n"][rng.usize(..8)];
        let mut value = String::new();
        if !separator.is_empty() {
            let text = hostile_text(rng);
            crate::formats::properties::write_value(
                &mut value,
                &text,
                super::super::model::Separator::Blank,
                rng.bool(),
            );
        }
        if value.len() > 8 && rng.bool() {
            // Any place between characters will do; behind a backslash the escape changes, which is fine.
            let at = (0..value.len()).rev().find(|at| *at <= 4 && value.is_char_boundary(*at)).unwrap();
            value.insert_str(at, &format!("\\{end}   "));
        }
        let comment = ["", "", "# c\\", "! \u{e9}", "   "][rng.usize(..5)];
        out.push_str(&format!("{comment}{end}k{number}{separator}{value}{end}"));
    }
    out
}

fn yaml_scalar(rng: &mut Rng, indent: usize, flow: bool) -> String {
    let text: String = match rng.u8(..3) {
        0 => "plain text".to_owned(),
        1 => format!("Wort {}", rng.u8(..)),
        _ => "zwei Wörter".to_owned(),
    };
    let pad = " ".repeat(indent + 1 + rng.usize(..3));
    if rng.u8(..24) == 0 {
        // Whatever that may be to a reader.
        return hostile_text(rng).replace('\n', &format!("\n{pad}"));
    }
    match rng.u8(..if flow { 5 } else { 10 }) {
        0 | 1 => text,
        2 => format!("'{text}'"),
        3 => format!("\"{text}\\n\\u00e9\""),
        4 => ["12", "yes", "~", "'12'", "\"\"", "! 'x'"][rng.usize(..6)].to_owned(),
        5 => format!("{text}\n{pad}more"),
        6 => format!("'{text}\n\n{pad}more' # comment"),
        7 | 8 => {
            let header = ["|", ">", "|-", ">-", "|+", ">+", "| # c", ">  # |", "|1", ">1-", "|1+"][rng.usize(..11)];
            let blank = ["", "\n", "\n\n", "  \n"][rng.usize(..4)];
            let begin = ["", "\n"][rng.usize(..2)];
            format!("{header}\n{begin}{pad}{text}\n{blank}{pad}{text}{}", ["", "\n", "\n\n"][rng.usize(..3)])
        }
        _ => String::new(),
    }
}

/// The entries of a block mapping, or of one in braces.
fn yaml_mapping(rng: &mut Rng, indent: usize, depth: usize, flow: bool) -> String {
    let plural = rng.u8(..3) == 0;
    let pad = " ".repeat(indent);
    let entries: Vec<String> = (0..rng.usize(1..5))
        .map(|number| {
            let mut key = format!("k{number}");
            if plural {
                key = ["other", "one", "few", "zero"][number].to_owned();
            }
            if rng.u8(..4) == 0 {
                key = format!("'{key}'");
            }
            let nested = depth < 3 && rng.u8(..3) == 0;
            let step = indent + 1 + rng.usize(..3);
            match (nested, flow) {
                (false, _) => format!("{key}: {}", yaml_scalar(rng, indent, flow)),
                (true, true) => format!("{key}: {{ {} }}", yaml_mapping(rng, indent, depth + 1, true)),
                (true, false) if rng.u8(..4) == 0 => {
                    format!("{key}: {{{}}}", yaml_mapping(rng, indent, depth + 1, true))
                }
                (true, false) if rng.u8(..3) == 0 => {
                    let inner = yaml_mapping(rng, step + 2, depth + 1, false);
                    let first = inner.trim_start_matches(' ').to_owned();
                    format!("{key}:\n{}- {first}\n{}- x", " ".repeat(step), " ".repeat(step))
                }
                (true, false) => format!("{key}: # c\n{}", yaml_mapping(rng, step, depth + 1, false)),
            }
        })
        .collect();
    if flow {
        entries.join(", ")
    } else {
        entries.iter().map(|entry| format!("{pad}{entry}")).collect::<Vec<_>>().join("\n")
    }
}

fn yaml_file(rng: &mut Rng) -> String {
    let mut out = format!("en:\n{}", yaml_mapping(rng, 2, 0, false));
    out.push_str(["", "\n", "\n\n", "\n# end", "\n...\n"][rng.usize(..5)]);
    // Blanks in the last line, more or less than the indentation of what stands above.
    out.push_str(&" ".repeat(if rng.bool() { 0 } else { rng.usize(..10) }));
    if rng.u8(..4) == 0 { out.replace('\n', "\r\n") } else { out }
}

fn random_file(rng: &mut Rng) -> (Kind<'static>, Vec<u8>) {
    match rng.u8(..6) {
        0 => (Json, json_object(rng, 1).into_bytes()),
        5 => (Properties, latin1_file(rng)),
        1 => (Properties, properties_file(rng).into_bytes()),
        2 => (Flat, yaml_file(rng).into_bytes()),
        _ => (EN, yaml_file(rng).into_bytes()),
    }
}

/// Edits everything at random, and sees that the file then says so.
fn edit_and_read_again(rng: &mut Rng, kind: Kind<'_>, document: &Document<'_>) {
    let shown = || String::from_utf8_lossy(document.bytes).into_owned();
    let mut wanted: Vec<Option<Content>> = Vec::new();
    for unit in document.units() {
        wanted.push(match unit.content() {
            _ if rng.u8(..3) == 0 => None,
            Content::Text(_) => Some(Content::Text(hostile_text(rng))),
            Content::Plural(_) => {
                let mut forms = random_forms(rng);
                // One form alone reads as a text in JSON, where two are the least.
                if kind == Json {
                    forms.insert(Category::One, hostile_text(rng));
                }
                Some(Content::Plural(forms))
            }
        });
    }
    let edits = wanted.iter().map(|wanted| match wanted {
        None => Edit::Keep,
        Some(Content::Text(text)) => Edit::Text(text),
        Some(Content::Plural(forms)) => Edit::Forms(forms),
    });
    let edits: Vec<Edit<'_>> = edits.collect();
    let written = document.export(None, &edits, soon());
    let written = written.unwrap_or_else(|refusal| panic!("{refusal}: {:?} {wanted:?}", shown()));
    let again = read(kind, &written, soon()).unwrap_or_else(|refusal| panic!("{refusal}: {:?}", shown()));
    assert_eq!(again.units().len(), document.units().len(), "{:?}", shown());
    for ((unit, old), wanted) in again.units().iter().zip(document.units()).zip(&wanted) {
        assert_eq!(unit.path(), old.path());
        assert_eq!(unit.content(), wanted.as_ref().unwrap_or(old.content()), "{:?}", shown());
    }
}

#[test]
fn random_files_say_what_they_were_told() {
    let accepted = std::cell::Cell::new(0_u64);
    let tried = std::cell::Cell::new(0_u64);
    cases(|rng| {
        let (kind, bytes) = random_file(rng);
        tried.set(tried.get() + 1);
        let Ok(document) = read(kind, &bytes, soon()) else { return };
        accepted.set(accepted.get() + 1);
        edit_and_read_again(rng, kind, &document);
    });
    assert!(accepted.get() * 3 > tried.get(), "{} of {} accepted", accepted.get(), tried.get());
}

/// Changes a few places of a file.
fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const PIECES: &[&[u8]] = &[
        b"\"",
        b"'",
        b"\\",
        b"\n",
        b"\r",
        b"\t",
        b" ",
        b"  ",
        b":",
        b": ",
        b"- ",
        b"? ",
        b"#",
        b" #",
        b"|",
        b">",
        b"|+\n",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"!",
        b"! ",
        b"&a ",
        b"*a",
        b"%",
        b"---\n",
        b"...\n",
        b"<<",
        b"\0",
        b"\xff",
        b"\xe9",
        b"\xc3\xa9",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\xef\xbb\xbf",
        b"\\u",
        b"\\ud800",
        b"\\u0041",
        b"\\\n",
        b"_one",
        b"_other",
        b"other: x\n",
        b"\"k_one\": \"x\", ",
        b"=",
        b"y",
        b"12",
    ];
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=bytes.len());
        let end = (at + rng.usize(..8)).min(bytes.len());
        let piece = match rng.u8(..4) {
            0 => Vec::new(),
            1 => vec![rng.u8(..)],
            2 => {
                let from = rng.usize(..=bytes.len());
                bytes[from..(from + rng.usize(..40)).min(bytes.len())].to_vec()
            }
            _ => PIECES[rng.usize(..PIECES.len())].to_vec(),
        };
        let end = if rng.bool() { at } else { end };
        bytes.splice(at..end, piece);
    }
}

#[test]
fn damaged_files_never_surprise() {
    cases(|rng| {
        let (kind, mut bytes) = random_file(rng);
        damage(rng, &mut bytes);
        let begun = cpu_seconds();
        if let Ok(document) = read(kind, &bytes, soon()) {
            let keep = vec![Edit::Keep; document.units().len()];
            assert_eq!(document.export(None, &keep, soon()).unwrap(), bytes);
            edit_and_read_again(rng, kind, &document);
        }
        assert!(cpu_seconds() - begun < 1.0, "slow: {:?}", String::from_utf8_lossy(&bytes));
    });
}

/// Random and damaged files that we accept must not say something else to other parsers, which may refuse them.
#[test]
fn random_files_read_alike() {
    let Some(corpora) = corpora() else { return };
    let judge = std::cell::RefCell::new(Judge::new(&corpora));
    cases(|rng| {
        let (kind, mut bytes) = random_file(rng);
        if rng.bool() {
            damage(rng, &mut bytes);
        }
        if let Ok(found) = scan(kind, &bytes, &mut Budget::until(soon())) {
            let values: Vec<(&str, &str)> =
                found.leaves.iter().map(|leaf| (leaf.path.as_str(), leaf.text.as_str())).collect();
            judge.borrow_mut().ask(kind, &bytes, &values, true);
        }
    });
    let verdict = judge.into_inner().verdict();
    println!("random files: {verdict:#}");
    assert_eq!(verdict["wrong"], 0, "{verdict:#}");
}
