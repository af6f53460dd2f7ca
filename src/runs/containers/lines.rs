//! The lines of a run, one after the other: from its container or its archive, of one stream or of both. Blocking.
//!
//! Both streams come in the order of time, standard output first where they were written at once. Each has numbers of its
//! own, so that a *position* (the next line of either) says where to go on, whatever is written meanwhile, and also once
//! the lines come from the archive.

use std::fmt;

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_runtime::{Bookmark, ContainerId, LogLine, LogSpan, Refusal as RunnerRefusal, Runner, RunnerError, Stream};
use quintet_storage::{Abort, Failure, Timestamp};

use super::archive::Reader;
use super::runner::refusal_of;
use crate::refusal::Refusal;

/// Lines asked of the runner at a time.
const PAGE_LINES: u32 = 50_000;
/// The most digits of a number in a position: what has no more fits any count.
const DIGITS_MAX: usize = 18;

/// A line of a stream, or what stands for lines that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) stream: Stream,
    pub(crate) text: String,
    /// The number of the line behind it.
    pub(crate) next_line: u64,
}

impl Entry {
    /// A line; before it, if lines between it and the expected one are missing, what stands for those.
    pub(super) fn of(stream: Stream, line: LogLine, expected: u64) -> (Option<Entry>, Entry) {
        let at = Timestamp::from_micros(line.at_micros);
        let missing = line.number.saturating_sub(expected);
        let text = format!("[... {missing} lines left out ...]");
        let mark = (missing > 0).then_some(Entry { at, stream, text, next_line: line.number });
        (mark, Entry { at, stream, text: line.text, next_line: line.number.saturating_add(1) })
    }
}

/// The next line of either stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    stdout: u64,
    stderr: u64,
}

impl Position {
    /// Reads what was given as a position.
    pub(crate) fn parse(text: &str) -> Option<Position> {
        let (stdout, stderr) = text.strip_prefix('p')?.split_once('-')?;
        let number = |text: &str| {
            let is_number = text.len() <= DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        Some(Position { stdout: number(stdout)?, stderr: number(stderr)? })
    }

    /// The next line of a stream.
    pub(crate) fn of(self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }

    /// The same where this is a stream's next line.
    pub(crate) fn with(self, stream: Stream, line: u64) -> Position {
        match stream {
            Stream::Stdout => Position { stdout: line, ..self },
            Stream::Stderr => Position { stderr: line, ..self },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}-{}", self.stdout, self.stderr)
    }
}

/// From where on lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Those written then or later.
    Instant(Timestamp),
    /// Those behind what was told.
    Position(Position),
}

impl Since {
    /// Reads what was given as either.
    pub(crate) fn parse(text: &str) -> Option<Since> {
        let instant = || parse_rfc3339(text).ok().map(Since::Instant);
        Position::parse(text).map(Since::Position).or_else(instant)
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::Instant(instant) => f.write_str(&rfc3339(*instant)),
            Since::Position(position) => position.fmt(f),
        }
    }
}

/// Which lines are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) streams: Vec<Stream>,
    /// Only the last so many.
    pub(crate) tail: Option<u64>,
    pub(crate) since: Option<Since>,
}

impl Wanted {
    /// Where they begin, as far as that is said.
    pub(crate) fn position(&self) -> Position {
        match self.since {
            Some(Since::Position(position)) => position,
            _ => Position::default(),
        }
    }

    /// When the first of them may have been written.
    pub(crate) fn instant(&self) -> Option<Timestamp> {
        match self.since {
            Some(Since::Instant(instant)) => Some(instant),
            _ => None,
        }
    }
}

/// Why lines cannot be read.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The container is not there any more; its archive is.
    Gone,
    /// Something else.
    Other(Abort<Refusal>),
}

impl From<RunnerError> for Trouble {
    fn from(error: RunnerError) -> Trouble {
        match error {
            RunnerError::Refused(RunnerRefusal::NoSuchContainer) => Trouble::Gone,
            error => Trouble::Other(refusal_of(&error).into()),
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Other(failure.into())
    }
}

/// Where lines come from.
pub(super) enum Origin {
    Container(Runner, ContainerId),
    Archive(Box<Reader>),
}

/// Which lines of an origin are wanted.
pub(super) struct Range {
    spans: Vec<(Stream, LogSpan)>,
    /// So many of the first are not, for only the last ones are.
    skip: u64,
}

impl Range {
    /// Looks where the lines are that are wanted, as things stand now: what is written later has no part in it.
    pub(super) fn find(origin: &Origin, wanted: &Wanted) -> Result<Range, Trouble> {
        let (position, since) = (wanted.position(), wanted.instant().map(Timestamp::as_micros));
        let mut spans = Vec::new();
        for stream in &wanted.streams {
            let from = position.of(*stream);
            let is_all = wanted.tail.is_none() && since.is_none();
            let span = match origin {
                Origin::Container(runner, id) if is_all => {
                    // What is asked is where it ends.
                    let last = runner.log_span(id, *stream, from, None, Some(1))?;
                    LogSpan { from_line: from, is_cut: false, ..last }
                }
                Origin::Container(runner, id) => runner.log_span(id, *stream, from, since, wanted.tail)?,
                Origin::Archive(_) if is_all => {
                    LogSpan { from_line: from, end_line: u64::MAX, lines: 0, is_cut: false }
                }
                Origin::Archive(reader) => {
                    let (since, tail) = (since.unwrap_or(i64::MIN), wanted.tail.unwrap_or(u64::MAX));
                    reader.again()?.find_span(*stream, from, since, tail)?
                }
            };
            spans.push((*stream, span));
        }
        let lines = spans.iter().fold(0_u64, |sum, (_, span)| sum.saturating_add(span.lines));
        let skip = wanted.tail.map_or(0, |tail| lines.saturating_sub(tail));
        Ok(Range { spans, skip })
    }

    /// Whether there are lines before these.
    pub(super) fn is_cut(&self) -> bool {
        self.skip > 0 || self.spans.iter().any(|(_, span)| span.is_cut)
    }

    /// Its lines.
    pub(super) fn lines(&self, origin: &Origin) -> Result<Lines, Trouble> {
        let mut streams = Vec::new();
        for (stream, span) in &self.spans {
            let origin = match origin {
                Origin::Container(runner, id) => Source::container(runner.clone(), id.clone()),
                Origin::Archive(reader) => Source::Archive(reader.again()?),
            };
            let (stream, next_line, end_line) = (*stream, span.from_line, span.end_line);
            streams.push(OneStream { stream, source: origin, next_line, end_line, ahead: None });
        }
        let mut lines = Lines { streams };
        for _ in 0..self.skip {
            lines.next()?;
        }
        Ok(lines)
    }
}

/// Lines in order.
pub(super) struct Lines {
    streams: Vec<OneStream>,
}

impl Lines {
    /// All that an archive has behind a position.
    pub(super) fn of_archive(reader: &Reader, places: impl Iterator<Item = (Stream, u64)>) -> Result<Lines, Failure> {
        let open = |(stream, next_line)| {
            Ok(OneStream {
                stream,
                source: Source::Archive(reader.again()?),
                next_line,
                end_line: u64::MAX,
                ahead: None,
            })
        };
        Ok(Lines { streams: places.map(open).collect::<Result<_, Failure>>()? })
    }

    /// The next line, with its stream and the number of the line that was expected.
    pub(super) fn next(&mut self) -> Result<Option<(Stream, LogLine, u64)>, Trouble> {
        for stream in &mut self.streams {
            stream.look_ahead()?;
        }
        let first = self.streams.iter_mut().filter(|stream| stream.ahead.is_some());
        let first = first.min_by_key(|stream| stream.ahead.as_ref().map(|line| line.at_micros));
        Ok(first.and_then(|stream| {
            let line = stream.ahead.take()?;
            let expected = std::mem::replace(&mut stream.next_line, line.number.saturating_add(1));
            Some((stream.stream, line, expected))
        }))
    }

    /// Where each stream goes on.
    pub(super) fn places(&self) -> impl Iterator<Item = (Stream, u64)> {
        self.streams.iter().map(|stream| (stream.stream, stream.next_line))
    }
}

/// One of the streams.
struct OneStream {
    stream: Stream,
    source: Source,
    /// The number of the line that is expected.
    next_line: u64,
    /// That of the line behind the last one wanted.
    end_line: u64,
    /// The line that comes next.
    ahead: Option<LogLine>,
}

enum Source {
    Container { runner: Runner, id: ContainerId, page: std::vec::IntoIter<LogLine>, bookmark: Option<Bookmark> },
    Archive(Reader),
}

impl Source {
    fn container(runner: Runner, id: ContainerId) -> Source {
        Source::Container { runner, id, page: Vec::new().into_iter(), bookmark: None }
    }
}

impl OneStream {
    fn look_ahead(&mut self) -> Result<(), Trouble> {
        if self.ahead.is_some() || self.next_line >= self.end_line {
            return Ok(());
        }
        let line = match &mut self.source {
            Source::Archive(reader) => reader.next_of(self.stream, self.next_line)?,
            Source::Container { runner, id, page, bookmark } => {
                if page.len() == 0 {
                    let wanted = u32::try_from(self.end_line - self.next_line).unwrap_or(u32::MAX);
                    let place = (self.next_line, *bookmark);
                    let read = runner.log_on(id, self.stream, place, wanted.min(PAGE_LINES))?;
                    (*page, *bookmark) = (read.lines.into_iter(), read.bookmark);
                }
                page.next()
            }
        };
        self.ahead = line.filter(|line| line.number < self.end_line);
        if self.ahead.is_none() {
            self.end_line = self.next_line;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_told() {
        for position in [Position::default(), Position { stdout: 7, stderr: 999_999_999_999_999_999 }] {
            assert_eq!(Since::parse(&position.to_string()), Some(Since::Position(position)));
        }
        let instant = Since::parse("2026-01-31T09:00:00Z").unwrap();
        assert_eq!(Since::parse(&instant.to_string()), Some(instant));
        for text in
            ["", "p", "p1", "p1-", "p-1", "p1-2-3", "p+1-2", "p1-x", "1-2", "p1-1000000000000000000", "1", "p 1-2"]
        {
            assert_eq!(Since::parse(text), None, "{text}");
        }
    }

    #[test]
    fn missing_lines_are_marked_before_the_one_behind_them() {
        let line = LogLine { number: 7, at_micros: 5, text: "seven".into(), continues: false };
        let (mark, entry) = Entry::of(Stream::Stdout, line.clone(), 2);
        assert_eq!(mark.map(|mark| (mark.text, mark.next_line)), Some(("[... 5 lines left out ...]".to_owned(), 7)));
        assert_eq!((entry.text.as_str(), entry.next_line), ("seven", 8));
        assert_eq!(Entry::of(Stream::Stdout, line, 7).0, None);
    }
}
