//! The output of a container on disk: of each stream the first 1 MiB and at least the last 9 MiB, as lines with their
//! times.
//!
//! A stream is a row of segment files, each named by the number of its first line. The first holds the first 1 MiB for
//! good; of the others, 1 MiB each, the oldest goes when there are more than ten. A segment is the time of its first
//! line (8 bytes) and then for each line: microseconds since the line before, length times two plus one if the line
//! goes on in the next, and the bytes; both numbers as LEB128, so that a flood of empty lines does not take much more
//! room than it is worth. A reader that meets the end of a segment within a line stops before it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::model::{LogLine, LogPage, Stream, StreamTotals};

/// What a segment holds at most, in bytes of lines.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Segments after the first: nine that are full, and the one that is written.
const TAIL_SEGMENTS: usize = 10;
/// The longest line; what is longer is split.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 10;
/// What a page holds at most, in bytes of text.
const PAGE_BYTES: usize = 4 << 20;

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

fn segment_path(directory: &Path, stream: Stream, first_line: u64) -> PathBuf {
    directory.join(format!("{}.{first_line:020}", stream.name()))
}

/// Takes in what a container writes to one stream.
pub(crate) struct StreamWriter {
    directory: PathBuf,
    stream: Stream,
    /// What came after the last line end.
    pending: Vec<u8>,
    totals: StreamTotals,
    segment: Option<Segment>,
    /// First lines of the segments after the first, oldest first, with the number of their lines.
    tail: VecDeque<(u64, u64)>,
}

struct Segment {
    file: File,
    first_line: u64,
    bytes: u64,
    last_micros: i64,
    buffer: Vec<u8>,
    /// Lines in the buffer.
    buffered: u64,
    /// What the file holds of whole lines.
    written: u64,
}

impl StreamWriter {
    pub fn new(directory: &Path, stream: Stream) -> StreamWriter {
        StreamWriter {
            directory: directory.to_owned(),
            stream,
            pending: Vec::new(),
            totals: StreamTotals::default(),
            segment: None,
            tail: VecDeque::new(),
        }
    }

    /// Takes bytes in. What makes whole lines is on disk when it returns.
    pub fn take(&mut self, mut bytes: &[u8], now_micros: i64) -> io::Result<()> {
        self.totals.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.pending.len() == LINE_BYTES_MAX && bytes.first() != Some(&b'\n') {
                self.line(true, now_micros)?;
            }
            // One more than the longest line, for its end.
            let room = LINE_BYTES_MAX - self.pending.len();
            let end = bytes.iter().take(room + 1).position(|byte| *byte == b'\n');
            match end {
                Some(end) => {
                    self.pending.extend_from_slice(bytes.get(..end).unwrap_or_default());
                    self.line(false, now_micros)?;
                    bytes = bytes.get(end + 1..).unwrap_or_default();
                }
                None => {
                    let part = bytes.get(..room.min(bytes.len())).unwrap_or_default();
                    self.pending.extend_from_slice(part);
                    bytes = bytes.get(part.len()..).unwrap_or_default();
                }
            }
        }
        self.flush()
    }

    /// Takes what is left as the last line, and returns what went through.
    pub fn finish(&mut self, now_micros: i64) -> io::Result<StreamTotals> {
        if !self.pending.is_empty() {
            self.line(false, now_micros)?;
        }
        self.flush()?;
        Ok(self.totals)
    }

    fn line(&mut self, continues: bool, now_micros: i64) -> io::Result<()> {
        let line = std::mem::take(&mut self.pending);
        let number = self.totals.lines;
        self.totals.lines += 1;
        let size = line.len() as u64 + 1;
        let full = self.segment.as_ref().is_some_and(|segment| segment.bytes + size > SEGMENT_BYTES);
        if full {
            self.flush()?;
            self.segment = None;
        }
        if self.segment.is_none() {
            self.begin_segment(number, now_micros)?;
        }
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let delta = u64::try_from(now_micros - segment.last_micros).unwrap_or(0);
        segment.last_micros = segment.last_micros.max(now_micros);
        segment.buffered += 1;
        put_number(&mut segment.buffer, delta);
        put_number(&mut segment.buffer, (line.len() as u64) << 1 | u64::from(continues));
        segment.buffer.extend_from_slice(&line);
        segment.bytes += size;
        if segment.first_line != 0
            && let Some((_, lines)) = self.tail.back_mut()
        {
            *lines += 1;
        }
        if segment.buffer.len() > 1 << 16 {
            self.flush()?;
        }
        // The room is used again.
        self.pending = line;
        self.pending.clear();
        Ok(())
    }

    fn begin_segment(&mut self, first_line: u64, now_micros: i64) -> io::Result<()> {
        let path = segment_path(&self.directory, self.stream, first_line);
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let buffer = now_micros.to_be_bytes().to_vec();
        self.segment =
            Some(Segment { file, first_line, bytes: 0, last_micros: now_micros, buffer, buffered: 0, written: 0 });
        if first_line != 0 {
            self.tail.push_back((first_line, 0));
        }
        while self.tail.len() > TAIL_SEGMENTS {
            if let Some((oldest, lines)) = self.tail.pop_front() {
                std::fs::remove_file(segment_path(&self.directory, self.stream, oldest))?;
                self.totals.dropped_lines += lines;
            }
        }
        Ok(())
    }

    /// Puts the lines that wait for it on disk. Where that fails they are lost: the segment ends with the last whole
    /// line before them, and what comes after begins another one.
    fn flush(&mut self) -> io::Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        if let Err(error) = segment.file.write_all(&segment.buffer) {
            let _ = segment.file.set_len(segment.written);
            self.totals.dropped_lines += segment.buffered;
            if segment.first_line != 0
                && let Some((_, lines)) = self.tail.back_mut()
            {
                *lines = lines.saturating_sub(segment.buffered);
            }
            self.segment = None;
            return Err(error);
        }
        segment.written += segment.buffer.len() as u64;
        segment.buffer.clear();
        segment.buffered = 0;
        Ok(())
    }

    /// What has gone through so far.
    pub fn totals(&self) -> StreamTotals {
        self.totals
    }
}

fn put_number(buffer: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        buffer.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

fn get_number(reader: &mut impl Read) -> io::Result<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        let [byte] = byte;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Reads lines from a number on. `ended`: nothing will be added any more.
pub(crate) fn read_page(
    directory: &Path,
    stream: Stream,
    from_line: u64,
    lines_max: usize,
    ended: bool,
) -> io::Result<LogPage> {
    let mut page = LogPage { lines: Vec::new(), next_line: from_line, complete: false };
    let mut bytes = 0;
    loop {
        let segments = segments(directory, stream)?;
        // The segment that has the next line, or what comes first after a gap.
        let holding = segments.iter().rev().find(|first| **first <= page.next_line);
        let after = segments.iter().find(|first| **first > page.next_line);
        let mut read = 0;
        if let Some(first) = holding {
            match File::open(segment_path(directory, stream, *first)) {
                // It was the oldest, and is gone by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => read = read_segment(opened?, *first, &mut page, lines_max, &mut bytes)?,
            }
        }
        if page.lines.len() >= lines_max || bytes >= PAGE_BYTES {
            return Ok(page);
        }
        match after {
            // What lies between is not kept, or the segment was read to its end.
            Some(next) => page.next_line = *next,
            None => {
                page.complete = ended;
                let _ = read;
                return Ok(page);
            }
        }
    }
}

fn segments(directory: &Path, stream: Stream) -> io::Result<Vec<u64>> {
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let Some((kind, number)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        if kind == stream.name()
            && let Ok(number) = number.parse()
        {
            segments.push(number);
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

fn read_segment(
    file: File,
    first_line: u64,
    page: &mut LogPage,
    lines_max: usize,
    bytes: &mut usize,
) -> io::Result<usize> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut base = [0; 8];
    let mut read = 0;
    if !whole(reader.read_exact(&mut base))? {
        return Ok(read);
    }
    let mut at_micros = i64::from_be_bytes(base);
    let mut number = first_line;
    while page.lines.len() < lines_max && *bytes < PAGE_BYTES {
        let (delta, length) = match get_number(&mut reader).and_then(|delta| Ok((delta, get_number(&mut reader)?))) {
            Ok(numbers) => numbers,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        };
        let (length, continues) = (length >> 1, length & 1 == 1);
        if length > LINE_BYTES_MAX as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line longer than any"));
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or(LINE_BYTES_MAX)];
        if !whole(reader.read_exact(&mut text))? {
            break;
        }
        at_micros = at_micros.saturating_add(i64::try_from(delta).unwrap_or(0));
        if number >= page.next_line {
            let text = String::from_utf8_lossy(&text).into_owned();
            *bytes += text.len() + 64;
            page.lines.push(LogLine { number, at_micros, text, continues });
            page.next_line = number + 1;
            read += 1;
        }
        number += 1;
    }
    Ok(read)
}

/// The end of what is written so far is no error.
fn whole(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(directory: &Path) -> (Vec<LogLine>, LogPage) {
        let mut lines = Vec::new();
        let mut from = 0;
        loop {
            let page = read_page(directory, Stream::Stdout, from, 1000, true).unwrap();
            lines.extend(page.lines.iter().cloned());
            if page.complete {
                return (lines, page);
            }
            from = page.next_line;
        }
    }

    #[test]
    fn lines_come_back_as_they_were_written_however_they_were_cut() {
        let text = b"one\n\ntwo \xff\xfe\nthree\r\nlast without an end";
        for cut in 1..text.len() {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
            for part in text.chunks(cut) {
                writer.take(part, 1_000_000).unwrap();
            }
            let totals = writer.finish(2_000_000).unwrap();
            assert_eq!((totals.bytes, totals.lines, totals.dropped_lines), (text.len() as u64, 5, 0));
            let (lines, _) = all(directory.path());
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(texts, ["one", "", "two \u{fffd}\u{fffd}", "three\r", "last without an end"]);
            assert_eq!(lines.last().unwrap().at_micros, 2_000_000);
        }
    }

    #[test]
    fn a_line_without_an_end_is_split() {
        for (length, expected) in [
            (LINE_BYTES_MAX - 1, vec![LINE_BYTES_MAX - 1]),
            (LINE_BYTES_MAX + 1, vec![LINE_BYTES_MAX, 1]),
            (3 * LINE_BYTES_MAX + 5, vec![LINE_BYTES_MAX, LINE_BYTES_MAX, LINE_BYTES_MAX, 5]),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
            let mut text = vec![b'x'; length];
            text.push(b'\n');
            for part in text.chunks(5000) {
                writer.take(part, 0).unwrap();
            }
            writer.finish(0).unwrap();
            let (lines, _) = all(directory.path());
            assert_eq!(lines.iter().map(|line| line.text.len()).collect::<Vec<_>>(), expected);
            let goes_on: Vec<bool> = lines.iter().map(|line| line.continues).collect();
            assert_eq!(goes_on.iter().filter(|goes_on| **goes_on).count(), expected.len() - 1);
            assert!(!goes_on.last().unwrap());
        }
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        let written = 400_000_u64;
        let mut text = Vec::new();
        for number in 0..written {
            writeln!(text, "line {number:040}").unwrap();
        }
        for part in text.chunks(65_536) {
            writer.take(part, 7).unwrap();
        }
        let totals = writer.finish(7).unwrap();
        assert_eq!(totals.lines, written);
        let (lines, page) = all(directory.path());
        assert_eq!(lines.len() as u64 + totals.dropped_lines, written);
        assert!(totals.dropped_lines > 0);
        assert_eq!(page.next_line, written);
        assert_eq!((lines[0].number, lines.last().unwrap().number), (0, written - 1));
        assert!(lines.iter().all(|line| line.text == format!("line {:040}", line.number)));
        let gaps: Vec<_> = lines.windows(2).filter(|pair| pair[1].number != pair[0].number + 1).collect();
        assert_eq!(gaps.len(), 1, "one gap, in the middle");
        let head: usize =
            lines.iter().take_while(|line| line.number <= gaps[0][0].number).map(|l| l.text.len() + 1).sum();
        let tail: usize =
            lines.iter().skip_while(|line| line.number <= gaps[0][0].number).map(|l| l.text.len() + 1).sum();
        assert!((1_048_000..=1_048_576).contains(&head), "{head}");
        assert!((9 << 20..=10 << 20).contains(&tail), "{tail}");
        let kept: u64 =
            std::fs::read_dir(directory.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(kept < 12 << 20, "{kept}");
    }

    #[test]
    fn a_disk_that_is_full_costs_lines_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        writer.take(b"first\n", 1).unwrap();
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let whole = std::mem::replace(&mut writer.segment.as_mut().unwrap().file, full());
        assert!(writer.take(b"lost\nlost, too\n", 2).is_err());
        assert_eq!(
            whole.metadata().unwrap().len(),
            segment_path(directory.path(), Stream::Stdout, 0).metadata().unwrap().len()
        );
        writer.take(b"there again\n", 3).unwrap();
        // Once more, in a segment that is not the first.
        writer.segment.as_mut().unwrap().file = full();
        assert!(writer.take(&b"x\n".repeat(100_000), 4).is_err());
        writer.take(b"last\n", 5).unwrap();
        let totals = writer.finish(6).unwrap();
        let (lines, _) = all(directory.path());
        let kept: Vec<_> = lines.iter().map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(kept[..2], [(0, "first"), (3, "there again")]);
        assert_eq!(kept.last().unwrap(), &(totals.lines - 1, "last"));
        assert_eq!(totals.dropped_lines + kept.len() as u64, totals.lines);
    }

    #[test]
    fn a_page_that_is_asked_for_within_a_gap_begins_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        writer.take(&b"0123456789\n".repeat(2_000_000), 7).unwrap();
        let totals = writer.finish(7).unwrap();
        let gap = read_page(directory.path(), Stream::Stdout, 100_000, 3, true).unwrap();
        assert!(gap.lines[0].number > 100_000 && gap.lines[0].number < totals.lines);
        let beyond = read_page(directory.path(), Stream::Stdout, totals.lines + 5, 3, false).unwrap();
        assert_eq!((beyond.lines.len(), beyond.next_line, beyond.complete), (0, totals.lines + 5, false));
    }

    #[test]
    fn a_line_that_is_half_written_is_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        writer.take(b"whole\nanother\n", 7).unwrap();
        let path = segment_path(directory.path(), Stream::Stdout, 0);
        let length = path.metadata().unwrap().len();
        for cut in 1..=8 {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
            let page = read_page(directory.path(), Stream::Stdout, 0, 10, false).unwrap();
            assert_eq!(page.lines.len(), 1);
            assert_eq!(page.next_line, 1);
        }
    }
}
