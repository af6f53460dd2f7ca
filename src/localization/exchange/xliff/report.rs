//! What became of a document's units, a line for each in the document's order (localization, X5).
//!
//! Whoever reads the answer slowly must not keep much of it in memory: a line is a few bytes, many lines are kept in the
//! store, and each piece of the answer is made of some of them, with the paths of their keys, when it is taken.

use std::collections::HashMap;
use std::sync::Arc;

use quintet_platform::service::{Id, written};
use quintet_storage::{Failure, Read};

use super::document::{Document, Named};
use super::verdict::Verdict;
use crate::content::{FileId, StagedValue, category_at, get_catalogue, key_id, key_paths, place_of, read_part};
use crate::language::Category;
use crate::model::TenantId;
use crate::shelf::Shelf;

/// How many bytes of lines are read at a time: there may be that many keys to look up.
const BYTES_AT_A_TIME: usize = 3 << 10;
/// About how long a piece of the answer is, in bytes; its last line may go beyond.
const PIECE_BYTES: usize = 64 << 10;
/// How long the longest line is: its head, the length of an id, and the id.
const LINE_BYTES_MAX: usize = HEAD_BYTES + 2 + 4 * super::document::ID_CHARS_MAX;
/// The letter, the form, and the number of the key.
const HEAD_BYTES: usize = 6;
/// What stands for no form.
const NO_FORM: u8 = u8::MAX;
/// Up to how many bytes of lines are kept in memory, and how many are made at a time.
const HELD_BYTES_MAX: usize = 32 << 10;

/// How many units came to which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Those whose target is stored now.
    pub written: usize,
    /// Those that change nothing.
    pub unchanged: usize,
    /// Those that are left out.
    pub skipped: usize,
}

/// Makes the lines of a document, as they are kept, some at a time: all of them may be as long as the document.
pub struct LineMaker {
    document: Arc<Document>,
    /// What is remembered of each unit, in the document's order.
    letters: Vec<u8>,
    at: usize,
}

impl LineMaker {
    /// Of a document; `letters` are what is remembered of the units of keys, in the order of [`Document::by_key`].
    #[must_use]
    pub fn of(document: Arc<Document>, letters: &[u8]) -> (UnitCounts, LineMaker) {
        let mut by_place = vec![Verdict::KeyUnknown.letter(); document.units.len()];
        for (place, letter) in document.by_key().iter().zip(letters) {
            if let Some(slot) = by_place.get_mut(*place as usize) {
                *slot = *letter;
            }
        }
        let mut counts = UnitCounts::default();
        for letter in &by_place {
            match Verdict::of_letter(*letter).told().0 {
                "written" => counts.written += 1,
                "unchanged" => counts.unchanged += 1,
                _ => counts.skipped += 1,
            }
        }
        (counts, LineMaker { document, letters: by_place, at: 0 })
    }

    /// The next lines, about [`HELD_BYTES_MAX`] of them at most; `None` at the end.
    pub fn next_lines(&mut self) -> Option<Vec<u8>> {
        let mut lines = Vec::new();
        while let (Some(unit), Some(letter)) = (self.document.units.get(self.at), self.letters.get(self.at)) {
            if lines.len() + LINE_BYTES_MAX > HELD_BYTES_MAX {
                return Some(lines);
            }
            let (number, form, id) = match self.document.named(unit) {
                Named::Key(number, form) => (u32::try_from(number).unwrap_or(0), form, ""),
                Named::Other(id) => (0, None, id),
            };
            lines.extend_from_slice(&[*letter, form.map_or(NO_FORM, place_of)]);
            lines.extend_from_slice(&number.to_le_bytes());
            if number == 0 {
                lines.extend_from_slice(&u16::try_from(id.len()).unwrap_or(0).to_le_bytes());
                lines.extend_from_slice(id.as_bytes());
            }
            self.at += 1;
        }
        (!lines.is_empty()).then_some(lines)
    }
}

/// A line, as it is kept.
#[derive(Clone, Copy, Debug)]
struct Kept<'l> {
    verdict: Verdict,
    named: Named<'l>,
    /// How many bytes it takes.
    bytes: usize,
}

/// The line that some bytes begin with, if all of it is there.
fn line_of(bytes: &[u8]) -> Option<Kept<'_>> {
    let ([letter, form], rest) = bytes.split_first_chunk::<2>()?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    let verdict = Verdict::of_letter(*letter);
    match u32::from_le_bytes(*number) {
        0 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            let id = rest.get(..usize::from(u16::from_le_bytes(*length)))?;
            let named = Named::Other(std::str::from_utf8(id).unwrap_or_default());
            Some(Kept { verdict, named, bytes: HEAD_BYTES + 2 + id.len() })
        }
        number => {
            let form: Option<Category> = (*form != NO_FORM).then(|| category_at(*form));
            Some(Kept { verdict, named: Named::Key(u64::from(number), form), bytes: HEAD_BYTES })
        }
    }
}

/// A line, as it is told.
#[derive(serde::Serialize)]
struct Told<'l> {
    unit: &'l str,
    key_id: Option<Id>,
    path: Option<&'l str>,
    result: &'static str,
    code: Option<&'static str>,
}

/// Where the lines are.
pub enum Lines {
    /// Here: there are few.
    Held(Vec<u8>),
    /// In the store, until this is dropped.
    Stored(StagedValue),
}

impl Lines {
    fn len(&self) -> u64 {
        match self {
            Lines::Held(bytes) => bytes.len() as u64,
            Lines::Stored(value) => value.value().size_bytes,
        }
    }

    fn read(&self, read: &impl Read, offset: u64, length: usize) -> Result<Vec<u8>, Failure> {
        match self {
            Lines::Held(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                Ok(bytes.get(from..from.saturating_add(length)).unwrap_or_default().to_vec())
            }
            Lines::Stored(value) => read_part(read, value.value(), offset, u32::try_from(length).unwrap_or(0)),
        }
    }
}

/// A report on its way out, behind whatever it begins with.
pub struct Report {
    tenant_id: TenantId,
    file_id: FileId,
    key_prefix: u64,
    lines: Lines,
    at: u64,
    is_over: bool,
}

impl Report {
    /// Nothing is told yet.
    #[must_use]
    pub fn of(tenant_id: TenantId, file: (FileId, u64), lines: Lines) -> Report {
        Report { tenant_id, file_id: file.0, key_prefix: file.1, lines, at: 0, is_over: false }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The store's.
    pub fn next(&mut self, read: &impl Read, shelf: &Shelf) -> Result<Option<String>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let left = usize::try_from(self.lines.len() - self.at).unwrap_or(usize::MAX);
        let bytes = self.lines.read(read, self.at, left.min(BYTES_AT_A_TIME))?;
        let paths = self.paths(read, shelf, &bytes)?;
        let mut piece = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some(line) = line_of(rest).filter(|_| piece.len() < PIECE_BYTES) {
            if self.at > 0 {
                piece.push(b',');
            }
            piece.extend(self.told(&line, &paths)?);
            self.at += line.bytes as u64;
            rest = rest.get(line.bytes..).unwrap_or_default();
        }
        self.is_over = self.at >= self.lines.len();
        if self.is_over {
            piece.extend_from_slice(b"]}");
        } else if piece.is_empty() {
            return Err(Failure::Damaged("a report has a line that is none".to_owned()));
        }
        Ok(Some(String::from_utf8_lossy(&piece).into_owned()))
    }

    /// The paths of the keys of some lines. A document may name one key over and over: its path is told of every form once.
    fn paths(&self, read: &impl Read, shelf: &Shelf, bytes: &[u8]) -> Result<HashMap<u64, String>, Failure> {
        let mut numbers = Vec::new();
        let mut rest = bytes;
        while let Some(line) = line_of(rest) {
            if let (Named::Key(number, _), true) = (&line.named, has_path(line.verdict)) {
                numbers.push(*number);
            }
            rest = rest.get(line.bytes..).unwrap_or_default();
        }
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(HashMap::new());
        }
        let catalogue = get_catalogue(read, self.tenant_id, self.file_id)?;
        key_paths(read, shelf, &catalogue, &numbers)
    }

    fn told(&self, line: &Kept<'_>, paths: &HashMap<u64, String>) -> Result<Vec<u8>, Failure> {
        let (result, code) = line.verdict.told();
        let (key_id, path) = match line.named {
            Named::Key(number, _) if line.verdict != Verdict::KeyUnknown => (
                Some(Id(key_id(self.key_prefix, number).0)),
                paths.get(&number).filter(|_| has_path(line.verdict)).map(String::as_str),
            ),
            _ => (None, None),
        };
        written(&Told { unit: &line.named.id(self.key_prefix), key_id, path, result, code })
    }
}

/// Whether the path of its key is told with a line.
fn has_path(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::KeyUnknown | Verdict::UnitRepeated)
}

const _: () = assert!(LINE_BYTES_MAX <= BYTES_AT_A_TIME, "the longest line is read at once");
