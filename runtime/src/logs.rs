//! The output of a container on disk: of each stream the first 1 MiB and at least the last 9 MiB, as lines with their
//! times.
//!
//! A stream is a row of segment files, each named by the number of its first line. The first holds the first 1 MiB for
//! good; of the others, 1 MiB each, the oldest goes when there are more than ten. A segment is the time of its first
//! line (8 bytes) and then for each line: microseconds since the line before, length times two plus one if the line
//! goes on in the next, and the bytes; both numbers as LEB128, so that a flood of empty lines does not take much more
//! room than it is worth. A reader that meets the end of a segment within a line stops before it.
//!
//! A reader who goes on has a bookmark, so that a page costs what it holds; a line is found by its number, its time or
//! its distance from the end with a look at no more segments than lie behind it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::model::{Bookmark, LogLine, LogPage, LogSpan, Stream, StreamTotals};

/// What a segment holds at most, in bytes of lines.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Segments after the first: nine that are full, and the one that is written.
const TAIL_SEGMENTS: usize = 10;
/// The longest line; what is longer is split.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 10;
/// What a page holds at most, in bytes of text.
const PAGE_BYTES: usize = 4 << 20;
/// How often the segments are listed for one page: there are twelve at most, and some may go before they are read.
const LOOKS_MAX: usize = 32;

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
    segment: Option<OpenSegment>,
    /// When the last line was read; the clock may be set back.
    last_micros: i64,
    /// First lines of the segments after the first, oldest first, with the number of their lines.
    tail: VecDeque<(u64, u64)>,
}

struct OpenSegment {
    file: File,
    first_line: u64,
    bytes: u64,
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
            last_micros: i64::MIN,
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
        let before_micros = self.last_micros;
        let at_micros = now_micros.max(before_micros);
        self.last_micros = at_micros;
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
            self.begin_segment(number, at_micros)?;
        }
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let delta = if segment.buffered + segment.written == 0 { 0 } else { at_micros.abs_diff(before_micros) };
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

    fn begin_segment(&mut self, first_line: u64, at_micros: i64) -> io::Result<()> {
        let path = segment_path(&self.directory, self.stream, first_line);
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let buffer = at_micros.to_be_bytes().to_vec();
        self.segment = Some(OpenSegment { file, first_line, bytes: 0, buffer, buffered: 0, written: 0 });
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

/// A number, and how many bytes it took.
fn get_number(reader: &mut impl Read) -> io::Result<(u64, u64)> {
    let mut number = 0_u64;
    for (shift, bytes) in (0..64).step_by(7).zip(1..) {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        let [byte] = byte;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((number, bytes));
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Reads lines from a number on. `bookmark`: where the page before says that they begin. `ended`: nothing will be added
/// any more.
pub(crate) fn read_page(
    directory: &Path,
    stream: Stream,
    (from_line, bookmark): (u64, Option<Bookmark>),
    lines_max: usize,
    ended: bool,
) -> io::Result<LogPage> {
    let mut page = LogPage { lines: Vec::new(), next_line: from_line, complete: false, bookmark };
    let mut bytes = 0;
    for _ in 0..LOOKS_MAX {
        let segments = segments(directory, stream)?;
        // The segment that has the next line, or what comes first after a gap.
        let holding = segments.iter().rev().find(|first| **first <= page.next_line);
        let after = segments.iter().find(|first| **first > page.next_line);
        if let Some(first) = holding {
            match Segment::open(directory, stream, *first)? {
                // It was the oldest, and is gone by now.
                None => continue,
                Some(segment) => read_segment(segment, &mut page, lines_max, &mut bytes)?,
            }
        }
        if page.lines.len() >= lines_max || bytes >= PAGE_BYTES {
            return Ok(page);
        }
        match after {
            // What lies between is not kept, or the segment was read to its end.
            Some(next) => page.next_line = page.next_line.max(*next),
            None => {
                page.complete = ended;
                return Ok(page);
            }
        }
    }
    Ok(page)
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

/// A segment that is read, line by line.
struct Segment {
    reader: BufReader<File>,
    first_line: u64,
    /// Where the next line begins: its number, its place in the file, and the time of the one before.
    line: u64,
    offset: u64,
    at_micros: i64,
    /// The bytes of the line that was read last.
    text: Vec<u8>,
}

impl Segment {
    /// A segment from its first line on; none if it is gone.
    fn open(directory: &Path, stream: Stream, first_line: u64) -> io::Result<Option<Segment>> {
        let file = match File::open(segment_path(directory, stream, first_line)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut base = [0; 8];
        // One that was only just made is read from its end, where nothing is.
        let offset = if whole(reader.read_exact(&mut base))? { base.len() as u64 } else { 0 };
        let at_micros = i64::from_be_bytes(base);
        Ok(Some(Segment { reader, first_line, line: first_line, offset, at_micros, text: Vec::new() }))
    }

    /// Goes on where a bookmark lies, if it lies in this segment and not behind the line that is wanted.
    fn go_to(&mut self, bookmark: &Bookmark, wanted_line: u64) -> io::Result<()> {
        let ahead = bookmark.offset.checked_sub(self.offset).and_then(|ahead| i64::try_from(ahead).ok());
        let is_here = bookmark.segment == self.first_line && bookmark.line <= wanted_line;
        if let Some(ahead) = ahead.filter(|_| is_here && self.offset > 0) {
            self.reader.seek_relative(ahead)?;
            (self.line, self.offset, self.at_micros) = (bookmark.line, bookmark.offset, bookmark.at_micros);
        }
        Ok(())
    }

    fn bookmark(&self) -> Bookmark {
        Bookmark { segment: self.first_line, line: self.line, offset: self.offset, at_micros: self.at_micros }
    }

    /// Reads the next line into `text`, and says whether it goes on in the one after it; none at the end of what is
    /// written.
    fn next(&mut self) -> io::Result<Option<bool>> {
        if self.offset == 0 {
            return Ok(None);
        }
        let numbers = get_number(&mut self.reader).and_then(|delta| Ok((delta, get_number(&mut self.reader)?)));
        let ((delta, delta_bytes), (length, length_bytes)) = match numbers {
            Ok(numbers) => numbers,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        let (length, continues) = (length >> 1, length & 1 == 1);
        if length > LINE_BYTES_MAX as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line longer than any"));
        }
        self.text.resize(usize::try_from(length).unwrap_or(LINE_BYTES_MAX), 0);
        if !whole(self.reader.read_exact(&mut self.text))? {
            return Ok(None);
        }
        self.line += 1;
        self.offset += delta_bytes + length_bytes + length;
        self.at_micros = self.at_micros.saturating_add(i64::try_from(delta).unwrap_or(0));
        Ok(Some(continues))
    }
}

fn read_segment(mut segment: Segment, page: &mut LogPage, lines_max: usize, bytes: &mut usize) -> io::Result<()> {
    if let Some(bookmark) = &page.bookmark {
        segment.go_to(bookmark, page.next_line)?;
    }
    while page.lines.len() < lines_max && *bytes < PAGE_BYTES {
        let number = segment.line;
        let Some(continues) = segment.next()? else { break };
        if number >= page.next_line {
            let text = String::from_utf8_lossy(&segment.text).into_owned();
            *bytes += text.len() + 64;
            page.lines.push(LogLine { number, at_micros: segment.at_micros, text, continues });
            page.next_line = segment.line;
        }
    }
    page.bookmark = Some(segment.bookmark());
    Ok(())
}

/// Finds what is kept of a stream from a number on, no earlier than an instant, and of that the last `tail` lines.
pub(crate) fn find_span(
    directory: &Path,
    stream: Stream,
    from_line: u64,
    since_micros: i64,
    tail: u64,
) -> io::Result<LogSpan> {
    let mut span = LogSpan { from_line, end_line: from_line, lines: 0, is_cut: false };
    let mut is_newest = true;
    for first_line in segments(directory, stream)?.into_iter().rev() {
        // One that is gone was the oldest but the first.
        let Some(segment) = Segment::open(directory, stream, first_line)? else { continue };
        let begins_before = segment.offset > 0 && segment.at_micros < since_micros;
        let (wanted, end) = wanted_of(segment, from_line, since_micros)?;
        if std::mem::take(&mut is_newest) {
            (span.from_line, span.end_line) = (from_line.max(end), end);
        }
        let (lines, room) = (end.saturating_sub(wanted), tail - span.lines);
        if lines > room {
            span.from_line = if room > 0 { end - room } else { span.from_line };
            (span.lines, span.is_cut) = (tail, true);
            return Ok(span);
        }
        if lines > 0 {
            span.from_line = wanted;
        }
        span.lines += lines;
        if first_line <= from_line || begins_before {
            // What is not kept behind it is missing, if it is not said where that was written.
            span.from_line = wanted;
            return Ok(span);
        }
    }
    span.from_line = from_line;
    Ok(span)
}

/// The number of the first line of a segment that is wanted, or of the one behind its last; and that of the one behind
/// its last.
fn wanted_of(mut segment: Segment, from_line: u64, since_micros: i64) -> io::Result<(u64, u64)> {
    let mut wanted = from_line.max(segment.line);
    while segment.next()?.is_some() {
        if segment.at_micros < since_micros {
            wanted = wanted.max(segment.line);
        }
    }
    Ok((wanted, segment.line))
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
        let mut from = (0, None);
        loop {
            let page = read_page(directory, Stream::Stdout, from, 1000, true).unwrap();
            lines.extend(page.lines.iter().cloned());
            if page.complete {
                return (lines, page);
            }
            from = (page.next_line, page.bookmark);
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
        let gap = read_page(directory.path(), Stream::Stdout, (100_000, None), 3, true).unwrap();
        assert!(gap.lines[0].number > 100_000 && gap.lines[0].number < totals.lines);
        let beyond = read_page(directory.path(), Stream::Stdout, (totals.lines + 5, None), 3, false).unwrap();
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
            let page = read_page(directory.path(), Stream::Stdout, (0, None), 10, false).unwrap();
            assert_eq!(page.lines.len(), 1);
            assert_eq!(page.next_line, 1);
        }
    }

    /// Two segments and a gap: numbers and times of what is kept.
    fn with_a_gap(directory: &Path) -> Vec<(u64, i64)> {
        let mut writer = StreamWriter::new(directory, Stream::Stdout);
        for at_micros in 0..300 {
            writer.take(&b"0123456789\n".repeat(5000), at_micros).unwrap();
        }
        let totals = writer.finish(300).unwrap();
        let (lines, _) = all(directory);
        assert!(totals.dropped_lines > 0);
        lines.iter().map(|line| (line.number, line.at_micros)).collect()
    }

    #[test]
    fn lines_are_found_by_number_time_and_distance_from_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let kept = with_a_gap(directory.path());
        let end_line = kept.last().unwrap().0 + 1;
        let gap = kept.windows(2).find(|two| two[1].0 > two[0].0 + 1).unwrap();
        let (before_gap, behind_gap) = (gap[0], gap[1]);
        let newest = kept.iter().filter(|(number, _)| *number >= behind_gap.0).count() as u64;
        let found = |from, since, tail| find_span(directory.path(), Stream::Stdout, from, since, tail).unwrap();
        for (from, since, tail) in [
            (0, i64::MIN, u64::MAX),
            (0, i64::MIN, 1),
            (0, i64::MIN, 70_000),
            (0, i64::MIN, newest),
            (0, i64::MIN, newest + 1),
            (0, i64::MIN, kept.len() as u64),
            (before_gap.0, i64::MIN, u64::MAX),
            (before_gap.0 + 1, i64::MIN, u64::MAX),
            (end_line - 3, i64::MIN, 2),
            (end_line, i64::MIN, 2),
            (0, 7, u64::MAX),
            (0, before_gap.1 + 1, u64::MAX),
            (0, behind_gap.1 + 1, 9),
            (0, 299, u64::MAX),
            (0, 999, u64::MAX),
        ] {
            let span = found(from, since, tail);
            let wanted: Vec<u64> =
                kept.iter().filter(|(number, at)| *number >= from && *at >= since).map(|(number, _)| *number).collect();
            let lines = (wanted.len() as u64).min(tail);
            let case = format!("from {from} since {since} tail {tail}: {span:?}");
            assert_eq!((span.lines, span.end_line), (lines, end_line), "{case}");
            assert_eq!(span.is_cut, lines < wanted.len() as u64, "{case}");
            let page = read_page(directory.path(), Stream::Stdout, (span.from_line, None), 1, true).unwrap();
            let first = wanted.len().checked_sub(usize::try_from(lines).unwrap()).and_then(|place| wanted.get(place));
            assert_eq!(page.lines.first().map(|line| line.number), first.copied(), "{case}");
        }
        assert_eq!(found(0, before_gap.1 + 1, u64::MAX).from_line, before_gap.0 + 1, "what is missing is shown");
        assert_eq!(found(before_gap.0 + 5, i64::MIN, u64::MAX).from_line, before_gap.0 + 5);
        assert_eq!(found(end_line + 5, 0, 1), LogSpan { from_line: end_line + 5, end_line, lines: 0, is_cut: false });
    }

    #[test]
    fn a_page_costs_what_it_holds() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        writer.take(&b"\n".repeat(1 << 20), 7).unwrap();
        let totals = writer.finish(7).unwrap();
        let half = totals.lines / 2;
        let page = read_page(directory.path(), Stream::Stdout, (half, None), 1, true).unwrap();
        let mut segment = Segment::open(directory.path(), Stream::Stdout, 0).unwrap().unwrap();
        segment.go_to(&page.bookmark.unwrap(), page.next_line).unwrap();
        assert_eq!(segment.line, half + 1, "nothing before it is read again");
        // A bookmark of elsewhere, or of nowhere, is passed over or fails, and no more.
        let marks = [(1, 5, 50), (0, totals.lines, 50), (0, 0, 3), (0, 0, u64::MAX)];
        for (segment, line, offset) in marks {
            let mark = Bookmark { segment, line, offset, at_micros: 0 };
            let page = read_page(directory.path(), Stream::Stdout, (9, Some(mark)), 1, true).unwrap();
            assert_eq!(page.lines[0].number, 9, "{mark:?}");
        }
        let mark = Bookmark { segment: 0, line: 0, offset: i64::MAX as u64, at_micros: 0 };
        assert!(
            read_page(directory.path(), Stream::Stdout, (9, Some(mark)), 1, true)
                .is_ok_and(|page| page.lines.is_empty())
        );
    }

    #[test]
    fn times_do_not_go_back_with_the_clock() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = StreamWriter::new(directory.path(), Stream::Stdout);
        for (place, now) in [50, 40, 60, 10].into_iter().enumerate() {
            writer.take(&vec![b'0' + u8::try_from(place).unwrap(); 700_000], now).unwrap();
            writer.take(b"\n", now).unwrap();
        }
        writer.finish(20).unwrap();
        let (lines, _) = all(directory.path());
        assert!(lines.is_sorted_by_key(|line| line.at_micros));
        assert_eq!((lines[0].at_micros, lines.last().unwrap().at_micros), (50, 60));
    }
}
