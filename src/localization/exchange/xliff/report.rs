//! What became of a document's units, a line for each in the document's order (localization, X5).
//!
//! Whoever reads the answer slowly must not keep much of it in memory: a line is a few bytes, many lines are kept in the
//! store, and each piece of the answer is made of some of them, with the paths of their keys, when it is taken.

use std::collections::HashMap;
use std::sync::Arc;

use quintet_platform::service::{Id, written};
use quintet_storage::large::{StagedValue, is_whole};
use quintet_storage::{Abort, Failure, Read};

use super::document::{Document, Named};
use super::verdict::Verdict;
use crate::content::{CatalogueRow, FileId, category_at, get_catalogue, key_id, key_paths, place_of, read_part};
use crate::language::Category;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;

/// Of how many lines the keys are looked up at a time: a piece may be full after a few.
const LINES_AT_A_TIME: usize = 64;
/// About how long a piece of the answer is, in bytes; its last line may go beyond.
const PIECE_BYTES: usize = 64 << 10;
/// How long the longest line is: its head, the length of an id, and the id.
const LINE_BYTES_MAX: usize = HEAD_BYTES + 2 + 4 * super::document::ID_CHARS_MAX;
/// The letter, the form, and the number of the key.
const HEAD_BYTES: usize = 6;
/// What stands for no form.
const NO_FORM: u8 = u8::MAX;
/// Up to how many bytes of lines are kept in memory, and how many are made and read at a time: to read some of them a whole
/// chunk of the store is opened.
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

/// A report on its way out, behind whatever it begins with.
pub struct Report {
    tenant_id: TenantId,
    file_id: FileId,
    key_prefix: u64,
    /// Lines, of which the first have been told.
    held: Vec<u8>,
    /// How many bytes of these.
    told: usize,
    /// Where those behind them are, if there are any.
    stored: Option<StagedValue>,
    /// How many bytes of that have been read.
    read: u64,
    is_begun: bool,
    is_over: bool,
}

impl Report {
    /// Nothing is told yet.
    #[must_use]
    pub fn of(tenant_id: TenantId, file: (FileId, u64), lines: Lines) -> Report {
        let (held, stored) = match lines {
            Lines::Held(bytes) => (bytes, None),
            Lines::Stored(value) => (Vec::new(), Some(value)),
        };
        let (file_id, key_prefix) = file;
        Report { tenant_id, file_id, key_prefix, held, told: 0, stored, read: 0, is_begun: false, is_over: false }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`Refusal::UploadExpired`] if it is read for longer than it is kept; the store's.
    pub fn next(&mut self, read: &impl Read, shelf: &Shelf) -> Result<Option<String>, Abort<Refusal>> {
        if self.is_over {
            return Ok(None);
        }
        let mut catalogue = None;
        let mut piece = Vec::new();
        while piece.len() < PIECE_BYTES {
            self.read_on(read)?;
            let lines = lines_of(self.held.get(self.told..).unwrap_or_default());
            if lines.is_empty() {
                break;
            }
            let paths = self.paths(read, shelf, &mut catalogue, &lines)?;
            let mut told = self.told;
            for line in lines {
                if piece.len() >= PIECE_BYTES {
                    break;
                }
                if std::mem::replace(&mut self.is_begun, true) {
                    piece.push(b',');
                }
                piece.extend(told_line(self.key_prefix, &line, &paths)?);
                told += line.bytes;
            }
            self.told = told;
        }
        self.is_over = self.told >= self.held.len() && self.left() == 0;
        if self.is_over {
            piece.extend_from_slice(b"]}");
        } else if piece.is_empty() {
            return Err(Failure::Damaged("a report has a line that is none".to_owned()).into());
        }
        Ok(Some(String::from_utf8_lossy(&piece).into_owned()))
    }

    /// How many bytes of stored lines have not been read.
    fn left(&self) -> u64 {
        self.stored.as_ref().map_or(0, |stored| stored.value().size_bytes.saturating_sub(self.read))
    }

    /// Reads more lines, unless a whole one is held.
    fn read_on(&mut self, read: &impl Read) -> Result<(), Abort<Refusal>> {
        let left = self.left();
        let Some(stored) = self.stored.as_ref().filter(|_| left > 0) else { return Ok(()) };
        if self.held.len() - self.told >= LINE_BYTES_MAX {
            return Ok(());
        }
        if !is_whole(read, stored.value())? {
            return Err(Refusal::UploadExpired.into());
        }
        let length = u32::try_from(left.min(HELD_BYTES_MAX as u64)).map_err(|_| Failure::TooLarge)?;
        let more = read_part(read, stored.value(), self.read, length)?;
        self.read += u64::from(length);
        self.held.drain(..self.told);
        self.told = 0;
        self.held.extend(more);
        Ok(())
    }

    /// The paths of the keys of some lines. A document may name one key over and over: its path is told of every form once.
    fn paths(
        &self,
        read: &impl Read,
        shelf: &Shelf,
        catalogue: &mut Option<CatalogueRow>,
        lines: &[Kept<'_>],
    ) -> Result<HashMap<u64, String>, Failure> {
        let number = |line: &Kept<'_>| match line.named {
            Named::Key(number, _) if has_path(line.verdict) => Some(number),
            _ => None,
        };
        let mut numbers: Vec<u64> = lines.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(HashMap::new());
        }
        let catalogue = match catalogue {
            Some(known) => known,
            none => none.insert(get_catalogue(read, self.tenant_id, self.file_id)?),
        };
        key_paths(read, shelf, catalogue, &numbers)
    }
}

/// The lines that some bytes begin with, some of them at most.
fn lines_of(bytes: &[u8]) -> Vec<Kept<'_>> {
    let mut rest = bytes;
    let next = || {
        let line = line_of(rest)?;
        rest = rest.get(line.bytes..).unwrap_or_default();
        Some(line)
    };
    std::iter::from_fn(next).take(LINES_AT_A_TIME).collect()
}

fn told_line(key_prefix: u64, line: &Kept<'_>, paths: &HashMap<u64, String>) -> Result<Vec<u8>, Failure> {
    let (result, code) = line.verdict.told();
    let (key_id, path) = match line.named {
        Named::Key(number, _) if line.verdict != Verdict::KeyUnknown => (
            Some(Id(key_id(key_prefix, number).0)),
            paths.get(&number).filter(|_| has_path(line.verdict)).map(String::as_str),
        ),
        _ => (None, None),
    };
    written(&Told { unit: &line.named.id(key_prefix), key_id, path, result, code })
}

/// Whether the path of its key is told with a line.
fn has_path(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::KeyUnknown | Verdict::UnitRepeated)
}

const _: () = assert!(LINE_BYTES_MAX <= HELD_BYTES_MAX, "the longest line is read at once");

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use quintet_storage::large::{CHUNK_BYTES, collect};
    use quintet_storage::seal::{DataKey, KeyOwner};
    use quintet_storage::{Key, Row, Scan, Snapshot, Table, Uuid};

    use super::*;
    use crate::testing::{Bench, TENANT, bench};

    /// A state that counts the rows as long as a chunk that are read.
    struct Counting {
        read: Snapshot,
        gets: Cell<usize>,
    }

    impl Read for Counting {
        fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
            self.gets.set(self.gets.get() + 1);
            self.read.get(table, key)
        }

        fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
            self.read.contains(table, key)
        }

        fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
            self.read.scan(table, scan)
        }

        fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
            self.read.data_key(owner)
        }
    }

    /// How a stranger is kept.
    fn stranger(id: &str) -> Vec<u8> {
        let length = u16::try_from(id.len()).unwrap().to_le_bytes();
        [&[Verdict::KeyUnknown.letter(), NO_FORM, 0, 0, 0, 0], &length[..], id.as_bytes()].concat()
    }

    fn stored(bench: &Bench, lines: &[u8]) -> StagedValue {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut upload =
                quintet_storage::large::Upload::begin(&bench.store, 600, Duration::from_secs(10)).await.unwrap();
            upload.push(lines).await.unwrap();
            upload.stage().await.unwrap()
        })
    }

    #[test]
    fn every_line_is_told_once_and_no_chunk_is_opened_for_a_few() {
        let bench = bench();
        let ids: Vec<String> =
            (0..2_500).map(|number| format!("{number}{}", "é".repeat(if number % 7 == 0 { 0 } else { 96 }))).collect();
        let lines: Vec<u8> = ids.iter().flat_map(|id| stranger(id)).collect();
        let chunks = lines.len().div_ceil(CHUNK_BYTES);
        assert_eq!(chunks, 2);
        for lines in [Lines::Held(lines.clone()), Lines::Stored(stored(&bench, &lines))] {
            let mut report = Report::of(TENANT, (FileId(Uuid::nil()), 0), lines);
            let read = Counting { read: bench.store.read(), gets: Cell::new(0) };
            let (mut told, mut pieces) = ("[".to_owned(), 0);
            while let Some(piece) = report.next(&read, &Shelf::new(0)).unwrap() {
                assert!(piece.len() < PIECE_BYTES + 1_000);
                told.push_str(&piece);
                pieces += 1;
            }
            assert!(pieces > 5, "{pieces}");
            assert!(read.gets.get() <= chunks * CHUNK_BYTES / HELD_BYTES_MAX * 2, "{}", read.gets.get());
            let told: Vec<serde_json::Value> = serde_json::from_str(told.strip_suffix('}').unwrap()).unwrap();
            assert!(told.iter().map(|line| line["unit"].as_str().unwrap()).eq(ids.iter().map(String::as_str)));
        }
    }

    /// Nobody is told that something is damaged who has only waited too long.
    #[test]
    fn a_report_that_is_read_for_too_long_has_expired() {
        let bench = bench();
        let lines = stranger(&"x".repeat(100)).repeat(4_000);
        let mut report = Report::of(TENANT, (FileId(Uuid::nil()), 0), Lines::Stored(stored(&bench, &lines)));
        assert!(report.next(&bench.store.read(), &Shelf::new(0)).unwrap().is_some());
        for rows_max in [1, 1, 100] {
            let over = move |now: quintet_storage::Timestamp| now.plus_seconds(601);
            assert!(bench.run(move |tx, now| Ok(collect(tx, over(now), rows_max)?)).unwrap() > 0);
            let next = loop {
                match report.next(&bench.store.read(), &Shelf::new(0)) {
                    Ok(Some(_)) => {}
                    other => break other,
                }
            };
            assert_eq!(next, Err(Abort::Refused(Refusal::UploadExpired)));
        }
    }
}
