//! What is kept of a run's container: samples and lines, as one compressed text.
//!
//! Zlib over lines of JSON: first an array of samples, then blocks of lines of log, standard output before standard
//! error, each in its own order. A block is two lines of JSON: which lines it has, and the lines; so that whoever looks
//! for the last ones among millions reads no others. Older archives have an object a line of log instead. Written and
//! read as a stream, so that neither takes more memory than a block.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use quintet_runtime::{LogLine, LogSpan, Sample, Stream};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read as _, Snapshot, Timestamp, WriteTx, large};
use serde::{Deserialize, Serialize};

use super::changes::find;
use super::sealing;
use super::tables::{ARCHIVES, ArchiveRow, CONTAINERS};
use crate::model::RunKey;

/// What a block holds at most: so many lines, or bytes of text and the line that exceeds them.
const BLOCK_LINES: u64 = 4096;
const BLOCK_BYTES: usize = 256 << 10;

/// What follows in the text of an archive: a block's head, or a line as older archives have it.
#[derive(Serialize, Deserialize)]
struct Head {
    stream: Stream,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block: Option<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<LogLine>,
}

/// Lines that follow one another, without a gap.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Block {
    first: u64,
    count: u64,
    first_micros: i64,
    last_micros: i64,
}

/// The same lines: of each its time, counted from the one before, and its text; and which of them go on in the next.
#[derive(Default, Serialize, Deserialize)]
struct Body {
    deltas: Vec<i64>,
    texts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    continued: Vec<u64>,
}

impl Block {
    fn of(line: &LogLine) -> Block {
        Block { first: line.number, count: 1, first_micros: line.at_micros, last_micros: line.at_micros }
    }

    /// The number of the line behind its last.
    fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }

    fn lines(self, body: Body) -> impl Iterator<Item = LogLine> {
        let mut at_micros = self.first_micros;
        let mut continued = body.continued.into_iter().peekable();
        body.deltas.into_iter().zip(body.texts).zip(self.first..).map(move |((delta, text), number)| {
            at_micros = at_micros.saturating_add(delta);
            LogLine { number, at_micros, text, continues: continued.next_if_eq(&number).is_some() }
        })
    }
}

/// What is kept of a container's logs and samples, compressed.
#[derive(Clone, Debug)]
pub(super) enum Archive {
    /// A small one.
    Small(Vec<u8>),
    /// A large one, which the row adopts.
    Large(large::LargeValue),
    /// There is none: what had it is gone.
    Lost,
}

/// Keeps the archive of an ended run; its container itself can go then. None: there never was one.
pub(super) fn keep(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    archive: Option<&Archive>,
) -> Result<(), Failure> {
    tx.delete(&CONTAINERS, &run_key.1);
    // A run that was deleted meanwhile leaves nothing; a large value that nobody adopts is collected.
    let is_wanted =
        find(tx, run_key)?.is_some_and(|run| run.state.is_terminal()) && !tx.contains(&ARCHIVES, &run_key)?;
    let Some(archive) = archive.filter(|_| is_wanted) else { return Ok(()) };
    let row = match archive {
        Archive::Lost => ArchiveRow::Lost,
        Archive::Large(value) => match large::adopt(tx, now, value) {
            Ok(()) => ArchiveRow::Large(value.clone()),
            Err(Abort::Refused(_)) => ArchiveRow::Lost,
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        Archive::Small(bytes) => {
            sealing::seal(tx, &ARCHIVES, run_key, bytes)?.map_or(ArchiveRow::Lost, ArchiveRow::Here)
        }
    };
    tx.put(&ARCHIVES, &run_key, &row)
}

/// Lets go of what is kept of a run.
pub(super) fn release(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    if let Some(ArchiveRow::Large(value)) = tx.get(&ARCHIVES, &run_key)? {
        large::release(tx, now, &value)?;
    }
    tx.delete(&ARCHIVES, &run_key);
    Ok(())
}

/// Whether something is kept of a run.
pub(super) fn is_kept(read: &Snapshot, run_key: RunKey) -> Result<bool, Failure> {
    read.contains(&ARCHIVES, &run_key)
}

/// Whether what is kept of a run is as it was kept.
pub(super) fn is_sound(read: &Snapshot, run_key: RunKey) -> Result<bool, Failure> {
    match read.get(&ARCHIVES, &run_key)? {
        Some(ArchiveRow::Large(value)) => large::is_sound(read, &value),
        _ => Ok(true),
    }
}

/// Writes an archive.
pub(super) struct Writer {
    text: ZlibEncoder<Vec<u8>>,
    /// The block that grows, with its bytes of text.
    open: Option<(Stream, Block, Body, usize)>,
}

impl Writer {
    pub(super) fn new(samples: &[Sample]) -> io::Result<Writer> {
        let mut writer = Writer { text: ZlibEncoder::new(Vec::new(), Compression::fast()), open: None };
        writer.put(&samples)?;
        Ok(writer)
    }

    fn put(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.text, value)?;
        self.text.write_all(b"\n")
    }

    pub(super) fn line(&mut self, stream: Stream, line: &LogLine) -> io::Result<()> {
        let goes_on = self.open.as_ref().is_some_and(|(known, block, _, bytes)| {
            (*known, block.end()) == (stream, line.number) && block.count < BLOCK_LINES && *bytes < BLOCK_BYTES
        });
        if !goes_on {
            self.close_block()?;
        }
        let empty = || (stream, Block { count: 0, ..Block::of(line) }, Body::default(), 0);
        let (_, block, body, bytes) = self.open.get_or_insert_with(empty);
        body.deltas.push(line.at_micros.saturating_sub(block.last_micros));
        body.texts.push(line.text.clone());
        if line.continues {
            body.continued.push(line.number);
        }
        (block.count, block.last_micros) = (block.count + 1, line.at_micros);
        *bytes += line.text.len();
        Ok(())
    }

    fn close_block(&mut self) -> io::Result<()> {
        let Some((stream, block, body, _)) = self.open.take() else { return Ok(()) };
        self.put(&Head { stream, block: Some(block), line: None })?;
        self.put(&body)
    }

    /// How many bytes wait to be taken.
    pub(super) fn ready_bytes(&self) -> usize {
        self.text.get_ref().len()
    }

    /// Takes what is ready.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.text.get_mut())
    }

    /// What is left.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.close_block()?;
        self.text.finish()
    }
}

/// Where the bytes of an archive are.
#[derive(Clone)]
enum Source {
    Small(Arc<[u8]>),
    Large(Snapshot, large::LargeValue),
}

/// Reads an archive.
pub(super) struct Reader {
    source: Source,
    text: BufReader<ZlibDecoder<Box<dyn io::Read + Send>>>,
    /// The samples, as they were written.
    samples: String,
    /// What is left of the block that is read.
    lines: VecDeque<LogLine>,
}

impl Reader {
    /// The archive of a run; none if nothing is kept.
    pub(super) fn open(read: &Snapshot, run_key: RunKey) -> Result<Option<Reader>, Failure> {
        let source = match read.get(&ARCHIVES, &run_key)? {
            None | Some(ArchiveRow::Lost) => return Ok(None),
            Some(ArchiveRow::Here(sealed)) => match sealing::open(read, &ARCHIVES, run_key, &sealed)? {
                Some(bytes) => Source::Small(bytes.to_vec().into()),
                None => return Ok(None),
            },
            Some(ArchiveRow::Large(value)) => Source::Large(read.clone(), value),
        };
        Reader::of(source).map(Some)
    }

    fn of(source: Source) -> Result<Reader, Failure> {
        let bytes: Box<dyn io::Read + Send> = match source.clone() {
            Source::Small(bytes) => Box::new(io::Cursor::new(bytes)),
            Source::Large(read, value) => Box::new(Chunks::of(read, value)),
        };
        let mut text = BufReader::with_capacity(1 << 16, ZlibDecoder::new(bytes));
        let mut samples = String::new();
        text.read_line(&mut samples).map_err(|error| damaged(&error))?;
        Ok(Reader { source, text, samples, lines: VecDeque::new() })
    }

    /// The same archive, from its beginning.
    pub(super) fn again(&self) -> Result<Reader, Failure> {
        Reader::of(self.source.clone())
    }

    /// What the container used.
    pub(super) fn samples(&self) -> Result<Vec<Sample>, Failure> {
        serde_json::from_str(&self.samples).map_err(|error| damaged(&error.into()))
    }

    /// The next line of a stream that has this number or a greater one. Lines of the other stream are passed over.
    pub(super) fn next_of(&mut self, stream: Stream, from_line: u64) -> Result<Option<LogLine>, Failure> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                if line.number >= from_line {
                    return Ok(Some(line));
                }
                continue;
            }
            let Some(head) = self.head()? else { return Ok(None) };
            let is_wanted = |block: &Block| head.stream == stream && block.end() > from_line;
            match (head.block, head.line) {
                (Some(block), _) if is_wanted(&block) => self.read_body(block)?,
                (Some(_), _) => self.pass_body()?,
                (None, line) => self.lines.extend(line.filter(|line| is_wanted(&Block::of(line)))),
            }
        }
    }

    fn head(&mut self) -> Result<Option<Head>, Failure> {
        let mut text = String::new();
        let read = self.text.read_line(&mut text).map_err(|error| damaged(&error))?;
        if read == 0 {
            return Ok(None);
        }
        serde_json::from_str(&text).map(Some).map_err(|error| damaged(&error.into()))
    }

    fn read_body(&mut self, block: Block) -> Result<(), Failure> {
        let mut text = String::new();
        self.text.read_line(&mut text).map_err(|error| damaged(&error))?;
        let body = serde_json::from_str(&text).map_err(|error| damaged(&error.into()))?;
        self.lines = block.lines(body).collect();
        Ok(())
    }

    fn pass_body(&mut self) -> Result<(), Failure> {
        self.text.skip_until(b'\n').map_err(|error| damaged(&error))?;
        Ok(())
    }

    /// Finds what is kept of a stream from a number on, no earlier than an instant, and of that the last `tail` lines.
    pub(super) fn find_span(
        mut self,
        stream: Stream,
        from_line: u64,
        since_micros: i64,
        tail: u64,
    ) -> Result<LogSpan, Failure> {
        let mut span = LogSpan { from_line, end_line: from_line, lines: 0, is_cut: false };
        // The blocks that hold them, by their first line that is wanted.
        let mut blocks: VecDeque<(u64, u64)> = VecDeque::new();
        while let Some(head) = self.head()? {
            let has_body = head.block.is_some();
            let block = head.block.or_else(|| head.line.as_ref().map(Block::of));
            let block = block.filter(|block| head.stream == stream && block.end() > from_line);
            let is_within = block.is_some_and(|block| block.first_micros < since_micros);
            match block {
                Some(block) if has_body && is_within => self.read_body(block)?,
                _ if has_body => self.pass_body()?,
                _ => self.lines.extend(head.line.filter(|_| is_within)),
            }
            let Some(block) = block else { continue };
            for line in self.lines.drain(..).filter(|line| line.at_micros < since_micros) {
                span.from_line = span.from_line.max(line.number + 1);
            }
            span.end_line = block.end();
            let wanted = span.from_line.max(block.first);
            let count = block.end().saturating_sub(wanted);
            if count > 0 {
                blocks.push_back((wanted, count));
                span.lines += count;
            }
            while let Some((_, oldest)) = blocks.front().copied().filter(|(_, count)| span.lines - count >= tail) {
                blocks.pop_front();
                (span.lines, span.is_cut) = (span.lines - oldest, true);
            }
        }
        let (first, _) = blocks.front().copied().unwrap_or((span.from_line, 0));
        let over = span.lines.saturating_sub(tail);
        if span.is_cut || over > 0 {
            (span.from_line, span.lines, span.is_cut) = (first + over, span.lines - over, true);
        }
        Ok(span)
    }
}

fn damaged(error: &io::Error) -> Failure {
    Failure::Damaged(format!("the archive of a run: {error}"))
}

/// A large value as a stream.
struct Chunks {
    read: Snapshot,
    value: large::LargeValue,
    next: u32,
    bytes: Vec<u8>,
    place: usize,
}

impl Chunks {
    fn of(read: Snapshot, value: large::LargeValue) -> Chunks {
        Chunks { read, value, next: 0, bytes: Vec::new(), place: 0 }
    }
}

impl io::Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.place == self.bytes.len() {
            match large::read_chunk(&self.read, &self.value, self.next) {
                Ok(None) => return Ok(0),
                Ok(Some(chunk)) => (self.bytes, self.place) = (chunk.to_vec(), 0),
                Err(Abort::Refused(Erased)) => return Ok(0),
                Err(Abort::Failed(failure)) => return Err(io::Error::other(failure.to_string())),
            }
            self.next += 1;
        }
        let rest = self.bytes.get(self.place..).unwrap_or_default();
        let count = rest.len().min(into.len());
        for (to, from) in into.iter_mut().zip(rest) {
            *to = *from;
        }
        self.place += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let sample = Sample {
            at_micros: 5,
            paused: true,
            cpu_percent: 12.5,
            memory_bytes: 1,
            memory_limit_bytes: 2,
            pids: 3,
            io_read_bytes: 4,
            io_write_bytes: 5,
        };
        let line = |number: u64, text: &str| LogLine { number, at_micros: 7, text: text.into(), continues: false };
        let mut writer = Writer::new(&[sample]).unwrap();
        let texts = [(0, "a \u{fffd} \"quoted\""), (1, ""), (5, "behind a gap")];
        for (number, text) in texts {
            writer.line(Stream::Stdout, &line(number, text)).unwrap();
        }
        let mut bytes = writer.take();
        let long = LogLine { continues: true, ..line(9, "begun") };
        writer.line(Stream::Stderr, &long).unwrap();
        writer.line(Stream::Stderr, &line(10, "ended")).unwrap();
        bytes.extend(writer.finish().unwrap());
        let mut reader = Reader::of(Source::Small(bytes.into())).unwrap();
        assert_eq!(reader.samples().unwrap(), [sample]);
        for (number, text) in texts {
            assert_eq!(reader.next_of(Stream::Stdout, 0).unwrap(), Some(line(number, text)));
        }
        assert_eq!(reader.next_of(Stream::Stdout, 0).unwrap(), None);
        let mut reader = reader.again().unwrap();
        assert_eq!(reader.next_of(Stream::Stderr, 9).unwrap(), Some(long));
        assert_eq!(reader.next_of(Stream::Stderr, 9).unwrap(), Some(line(10, "ended")));
        assert_eq!(reader.next_of(Stream::Stderr, 9).unwrap(), None);
    }

    /// An archive as it was written before there were blocks.
    fn older(lines: &[(Stream, LogLine)]) -> Reader {
        let mut writer = Writer::new(&[]).unwrap();
        for (stream, line) in lines {
            writer.put(&Head { stream: *stream, block: None, line: Some(line.clone()) }).unwrap();
        }
        Reader::of(Source::Small(writer.finish().unwrap().into())).unwrap()
    }

    fn newer(lines: &[(Stream, LogLine)]) -> Reader {
        let mut writer = Writer::new(&[]).unwrap();
        for (stream, line) in lines {
            writer.line(*stream, line).unwrap();
        }
        Reader::of(Source::Small(writer.finish().unwrap().into())).unwrap()
    }

    #[test]
    fn lines_are_found_by_number_time_and_distance_from_the_end() {
        // 0 to 9 and 20 to 29, two a microsecond.
        let numbers: Vec<u64> = (0..10).chain(20..30).collect();
        let line = |number: &u64| {
            let at_micros = i64::try_from(*number / 2).unwrap();
            LogLine { number: *number, at_micros, text: number.to_string(), continues: false }
        };
        let mut all: Vec<(Stream, LogLine)> = numbers.iter().map(|number| (Stream::Stdout, line(number))).collect();
        all.push((Stream::Stderr, line(&70)));
        for reader in [older(&all), newer(&all)] {
            for (from, since, tail, expected) in [
                (0, i64::MIN, u64::MAX, (0, 20, false)),
                (5, i64::MIN, u64::MAX, (5, 15, false)),
                (15, i64::MIN, u64::MAX, (15, 10, false)),
                (0, 3, u64::MAX, (6, 14, false)),
                (0, 7, u64::MAX, (10, 10, false)),
                (0, 99, u64::MAX, (30, 0, false)),
                (0, i64::MIN, 1, (29, 1, true)),
                (0, i64::MIN, 10, (20, 10, true)),
                (0, i64::MIN, 12, (8, 12, true)),
                (0, i64::MIN, 20, (0, 20, false)),
                (0, 14, 1, (29, 1, true)),
                (0, 14, 2, (28, 2, false)),
            ] {
                let span = reader.again().unwrap().find_span(Stream::Stdout, from, since, tail).unwrap();
                let (first, lines, is_cut) = expected;
                let expected = LogSpan { from_line: first, end_line: 30, lines, is_cut };
                assert_eq!(span, expected, "from {from} since {since} tail {tail}");
            }
            let mut reader = reader.again().unwrap();
            assert_eq!(reader.next_of(Stream::Stdout, 12).unwrap(), Some(line(&20)));
        }
    }
}
