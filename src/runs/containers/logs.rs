//! What a run has written: from its container while that is there, from its archive afterwards. Blocking.
//!
//! Both keep the first 1 MiB and the last 9 MiB of a stream; where lines are missing between, a marker stands for them.

use std::collections::VecDeque;

use quintet_runtime::{ContainerId, LogLine, Refusal as RunnerRefusal, Runner, RunnerError, Stream};
use quintet_storage::{Abort, Failure, Timestamp};

use super::archive::{Reader, is_kept};
use super::life;
use super::runner::refusal_of;
use crate::context::Context;
use crate::model::RunKey;
use crate::refusal::Refusal;

/// The most lines, and the most bytes of text, that one answer holds of a stream.
pub(crate) const LINES_MAX: usize = 50_000;
const BYTES_MAX: usize = 8 << 20;
/// Lines asked of the runner at a time.
const PAGE_LINES: u32 = 10_000;
/// Text of a stream that is read for one answer, in bytes: a container that writes faster than it is read has no end.
const READ_BYTES_MAX: usize = 24 << 20;

/// Where lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Live,
    Archive,
    None,
}

impl Source {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Source::Live => "live",
            Source::Archive => "archive",
            Source::None => "none",
        }
    }
}

/// A line of a stream, or what stands for lines that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) stream: Stream,
    pub(crate) text: String,
}

/// Which lines are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) streams: Vec<Stream>,
    pub(crate) tail: Option<usize>,
    pub(crate) since: Option<Timestamp>,
}

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) source: Source,
    pub(crate) entries: Vec<Entry>,
    /// Lines are missing, for whatever reason.
    pub(crate) truncated: bool,
    /// Of each stream wanted, the number of the line that comes next.
    pub(crate) next: Vec<(Stream, u64)>,
}

/// Where a run's lines and samples are.
pub(super) enum Kept {
    /// In the store.
    Archive(Reader),
    /// With its container.
    Container(ContainerId),
    /// Nowhere.
    Nowhere,
}

/// Where a run's lines and samples are, at one moment: the archive comes and the container goes in one transaction, so
/// that whoever looked for them one after the other might find neither.
pub(super) fn kept(context: &Context, run_key: RunKey) -> Result<Kept, Failure> {
    let read = context.store.read();
    if let Some(reader) = Reader::open(&read, run_key)? {
        return Ok(Kept::Archive(reader));
    }
    let container = life::container(&read, run_key.1)?;
    let id = container.and_then(|(_, number)| context.container_id(run_key.1, number));
    Ok(id.map_or(Kept::Nowhere, Kept::Container))
}

/// Reads what is wanted.
pub(crate) fn read(context: &Context, run_key: RunKey, wanted: &Wanted) -> Result<Found, Abort<Refusal>> {
    // The archive is there before the container goes: whoever misses it once finds it the second time.
    for _ in 0..2 {
        let id = match kept(context, run_key)? {
            Kept::Archive(reader) => return Ok(archived(reader, wanted)?),
            Kept::Container(id) => id,
            Kept::Nowhere => break,
        };
        let Some(runner) = &context.runner else { break };
        match live(runner, &id, wanted) {
            Ok(found) => return Ok(found),
            Err(RunnerError::Refused(RunnerRefusal::NoSuchContainer)) => {}
            Err(error) => return Err(refusal_of(&error).into()),
        }
    }
    let next = wanted.streams.iter().map(|stream| (*stream, 0)).collect();
    Ok(Found { source: Source::None, entries: Vec::new(), truncated: false, next })
}

fn live(runner: &Runner, id: &ContainerId, wanted: &Wanted) -> Result<Found, RunnerError> {
    let mut windows = Vec::new();
    for stream in &wanted.streams {
        let mut window = Window::new(*stream, wanted);
        let mut read_bytes = 0;
        loop {
            let page = runner.log(id, *stream, window.next, PAGE_LINES)?;
            read_bytes += page.lines.iter().map(|line| line.text.len() + 1).sum::<usize>();
            let is_end = page.complete || page.next_line == window.next || read_bytes > READ_BYTES_MAX;
            for line in page.lines {
                window.push(line);
            }
            window.next = window.next.max(page.next_line);
            if is_end {
                break;
            }
        }
        windows.push(window);
    }
    Ok(merged(Source::Live, windows, wanted))
}

fn archived(mut reader: Reader, wanted: &Wanted) -> Result<Found, Failure> {
    let mut windows: Vec<Window> = wanted.streams.iter().map(|stream| Window::new(*stream, wanted)).collect();
    while let Some((stream, line)) = reader.next()? {
        if let Some(window) = windows.iter_mut().find(|window| window.stream == stream) {
            window.push(line);
        }
    }
    Ok(merged(Source::Archive, windows, wanted))
}

/// The newest lines of a stream.
struct Window {
    stream: Stream,
    since: Option<Timestamp>,
    lines_max: usize,
    /// With the number of the line; a marker has that of the line behind it.
    entries: VecDeque<(u64, Entry)>,
    bytes: usize,
    /// The number of the first line that is wanted.
    first: Option<u64>,
    /// The number of the next line.
    next: u64,
    truncated: bool,
}

impl Window {
    fn new(stream: Stream, wanted: &Wanted) -> Window {
        let lines_max = wanted.tail.unwrap_or(LINES_MAX).min(LINES_MAX);
        let entries = VecDeque::new();
        Window { stream, since: wanted.since, lines_max, entries, bytes: 0, first: None, next: 0, truncated: false }
    }

    fn push(&mut self, line: LogLine) {
        let (number, missing) = (line.number, line.number.saturating_sub(self.next));
        let at = Timestamp::from_micros(line.at_micros);
        self.next = number + 1;
        if self.since.is_some_and(|since| at < since) {
            return;
        }
        self.first.get_or_insert(number);
        if missing > 0 {
            self.truncated = true;
            self.keep(number, Entry { at, stream: self.stream, text: marker(missing) });
        }
        self.keep(number, Entry { at, stream: self.stream, text: line.text });
    }

    fn keep(&mut self, number: u64, entry: Entry) {
        self.bytes += entry.text.len();
        self.entries.push_back((number, entry));
        while self.entries.len() > self.lines_max || (self.bytes > BYTES_MAX && self.entries.len() > 1) {
            if let Some((_, dropped)) = self.entries.pop_front() {
                self.bytes -= dropped.text.len();
                self.truncated = true;
            }
        }
    }

    /// What is kept; `is_marked`: what stands for lines that had to go comes first.
    fn into_entries(self, is_marked: bool) -> Vec<Entry> {
        let before = match (self.entries.front(), self.first) {
            (Some((number, _)), Some(first)) => number.saturating_sub(first),
            _ => 0,
        };
        let at = self.entries.front().map(|(_, entry)| entry.at);
        let mark = at.filter(|_| is_marked && before > 0);
        let mark = mark.map(|at| Entry { at, stream: self.stream, text: marker(before) });
        mark.into_iter().chain(self.entries.into_iter().map(|(_, entry)| entry)).collect()
    }
}

/// What stands for lines that are not there.
pub(super) fn marker(missing: u64) -> String {
    format!("[... {missing} lines left out ...]")
}

/// Both streams in the order in which they were written, as far as that is known.
fn merged(source: Source, windows: Vec<Window>, wanted: &Wanted) -> Found {
    let next = windows.iter().map(|window| (window.stream, window.next)).collect();
    let mut truncated = windows.iter().any(|window| window.truncated);
    let is_marked = wanted.tail.is_none();
    let mut entries: Vec<Entry> = windows.into_iter().flat_map(|window| window.into_entries(is_marked)).collect();
    // Stable: lines of one stream stay in their order.
    entries.sort_by_key(|entry| entry.at);
    if let Some(tail) = wanted.tail
        && entries.len() > tail
    {
        entries.drain(..entries.len() - tail);
        truncated = true;
    }
    Found { source, entries, truncated, next }
}

/// Nothing yet, for somebody who follows from the beginning a run whose lines still come from its container.
pub(super) fn nothing_yet(context: &Context, run_key: RunKey, wanted: &Wanted) -> Result<Option<Found>, Failure> {
    let read = context.store.read();
    if wanted.tail.is_some() || is_kept(&read, run_key)? {
        return Ok(None);
    }
    let source = if life::container(&read, run_key.1)?.is_some() { Source::Live } else { Source::None };
    let next = wanted.streams.iter().map(|stream| (*stream, 0)).collect();
    Ok(Some(Found { source, entries: Vec::new(), truncated: false, next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, at_micros: i64, text: &str) -> LogLine {
        LogLine { number, at_micros, text: text.into(), continues: false }
    }

    fn texts(found: &Found) -> Vec<&str> {
        found.entries.iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn two_streams_come_in_the_order_of_time_and_gaps_are_marked() {
        let wanted = Wanted { streams: vec![Stream::Stdout, Stream::Stderr], tail: None, since: None };
        let mut out = Window::new(Stream::Stdout, &wanted);
        let mut err = Window::new(Stream::Stderr, &wanted);
        for (number, at) in [(0, 1), (1, 5), (7, 9)] {
            out.push(line(number, at, &format!("out {number}")));
        }
        err.push(line(0, 5, "err 0"));
        let found = merged(Source::Live, vec![out, err], &wanted);
        assert_eq!(texts(&found), ["out 0", "out 1", "err 0", "[... 5 lines left out ...]", "out 7"]);
        assert!(found.truncated);
        assert_eq!(found.next, [(Stream::Stdout, 8), (Stream::Stderr, 1)]);
    }

    #[test]
    fn a_tail_and_an_instant_bound_what_is_kept() {
        let since = Some(Timestamp::from_micros(3));
        let wanted = Wanted { streams: vec![Stream::Stdout], tail: Some(2), since };
        let mut window = Window::new(Stream::Stdout, &wanted);
        for number in 0..6 {
            window.push(line(number, i64::try_from(number).unwrap(), &number.to_string()));
        }
        assert_eq!(texts(&merged(Source::Archive, vec![window], &wanted)), ["4", "5"]);
        let wanted = Wanted { tail: None, ..wanted };
        let mut window = Window::new(Stream::Stdout, &wanted);
        for number in 0..5 {
            window.push(line(number, i64::try_from(number).unwrap(), &number.to_string()));
        }
        let found = merged(Source::Archive, vec![window], &wanted);
        assert_eq!((texts(&found), found.truncated), (vec!["3", "4"], false));
    }

    #[test]
    fn an_answer_is_bounded_in_bytes() {
        let wanted = Wanted { streams: vec![Stream::Stdout], tail: None, since: None };
        let mut window = Window::new(Stream::Stdout, &wanted);
        for number in 0..200 {
            window.push(line(number, 0, &"x".repeat(64 << 10)));
        }
        assert!(window.bytes <= BYTES_MAX && window.truncated);
        let found = merged(Source::Live, vec![window], &wanted);
        let left_out = 201 - found.entries.len();
        assert_eq!(found.entries[0].text, marker(left_out as u64));
    }
}
