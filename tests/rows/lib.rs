//! Real rows for `tests/it/tidy/rows/`: what the stores of tests hold when they close, a few of each shape.
//!
//! Nothing happens unless `QUINTET_ROWS` names a directory; `make rows` does (CONTRIBUTING.md, "Stored bytes").
#![allow(clippy::unwrap_used, reason = "tests say what they mean by failing loudly")]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use quintet_storage::{Snapshot, TableSpec};

/// Names the directory in which rows are gathered.
pub const PLACE: &str = "QUINTET_ROWS";
/// Larger rows tell nothing more.
const ROW_BYTES_MAX: usize = 1_500;

/// The shapes that this process has gathered: tag, version, [`shape_of`].
static GATHERED: Mutex<BTreeSet<(u16, u8, String)>> = Mutex::new(BTreeSet::new());

/// Gathers rows of shapes that this process has not met yet.
pub fn gather(snapshot: &Snapshot, groups: &[&[TableSpec]]) {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let mut gathered = GATHERED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = String::new();
    for table in groups.iter().copied().flatten() {
        // A test that harms its rows, or keeps a snapshot for too long, leaves nothing to gather.
        let _ = snapshot.stored_rows(table, &mut |key, row| {
            let decoded = table.decode(key, row).ok().filter(|_| row.len() <= ROW_BYTES_MAX);
            let version = row.first().copied().unwrap_or_default();
            if decoded.is_some_and(|decoded| gathered.insert((table.tag, version, shape_of(&decoded.text)))) {
                lines.push_str(&format!("{} {}\n", hexadecimal(key), hexadecimal(row)));
            }
            true
        });
    }
    fs::create_dir_all(&place).unwrap();
    let file = place.join(format!("{}.rows", std::process::id()));
    OpenOptions::new().create(true).append(true).open(file).unwrap().write_all(lines.as_bytes()).unwrap();
}

/// Two lower-case digits a byte.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What rows have in common that differ in numbers, identifiers, texts and lengths alone: their text without those.
#[must_use]
pub fn shape_of(text: &str) -> String {
    let mut shape = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => 1 + closing_quote(rest.get(1..).unwrap_or_default()),
            _ if first.is_ascii_alphanumeric() => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        match first {
            '"' => shape.push('"'),
            _ if word.contains(|c: char| c.is_ascii_digit()) => shape.push('0'),
            _ => shape.push_str(word),
        }
        // The items of a list after its first say nothing new.
        while shape.ends_with("0, 0") || shape.ends_with("\", \"") {
            shape.truncate(shape.len() - 3);
        }
        rest = behind;
    }
    shape
}

/// How many bytes a string takes up to and with its closing quote.
fn closing_quote(inside: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    inside.len()
}
