//! Following a run: what it writes, piece by piece, until it has ended.
//!
//! The next piece is looked for when the caller has taken the one before: a slow caller costs a page of lines, no more.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use quintet_platform::service::Fault;
use quintet_runtime::{Bookmark, LogLine, RunnerError, Stream};
use quintet_storage::Abort;

use super::archive::Reader;
use super::changes::find;
use super::life;
use super::lines::{Entry, Lines, Position, Wanted};
use super::logs::{self, Source};
use super::runner::on_runner;
use crate::context::{Context, Watch};
use crate::followers;
use crate::model::RunKey;
use crate::refusal::Refusal;
use crate::states::RunState;

/// The most lines of one stream in one piece.
const PAGE_LINES: u32 = 2_000;
/// What a piece should have of a stream, in bytes of text: after a page of long lines, fewer are asked for.
const PAGE_BYTES: usize = 256 << 10;
/// Lines asked for before it is known how long they are: of the longest, so many are a MiB.
const FIRST_LINES: u32 = 16;
/// Between two looks at a container that writes nothing.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// Between two looks at one that writes what is not wanted.
const SKIP_TIME: Duration = Duration::from_millis(10);
/// A sign of life this often keeps the connection.
const SIGN_TIME: Duration = Duration::from_secs(10);

/// What somebody who follows is told.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Lines, each with the position behind it.
    Lines(Vec<(Position, Entry)>),
    /// Nothing, for a while.
    Sign,
    /// It is over; in which state, if the run is still there.
    End(Option<RunState>),
}

/// Where a stream goes on.
struct Place {
    stream: Stream,
    next_line: u64,
    bookmark: Option<Bookmark>,
}

/// Somebody who follows.
pub(crate) struct Follower {
    context: Context,
    run_key: RunKey,
    wanted: Wanted,
    next: Vec<Place>,
    lines_wanted: u32,
    watch: Watch,
    archive: Option<Lines>,
    told: Instant,
    /// What was found and is not told yet.
    found: VecDeque<Entry>,
    /// What comes behind all that was told.
    position: Position,
    has_ended: bool,
    place: followers::Place,
}

/// Begins to follow a run, with what is wanted of what it wrote already; says where that comes from.
pub(crate) async fn follow(
    context: &Context,
    run_key: RunKey,
    wanted: Wanted,
) -> Result<(Source, Follower), Abort<Refusal>> {
    let place = context.followers.enter(run_key.0).ok_or(Refusal::Fault(Fault::Busy))?;
    let begins = logs::beginning_at_once(context, run_key, &wanted)?;
    if matches!(begins, Some((Source::Live, _))) && !context.is_engine_up() {
        // What does not answer cannot be followed.
        let (own, wanted) = (context.clone(), wanted.clone());
        let read = move || logs::read(&own, run_key, &wanted).map(drop);
        context.readers.take(run_key.0.0, read).await.map_err(Refusal::Fault)??;
    }
    let (source, position) = match begins {
        Some(begins) => begins,
        None => {
            let (own, wanted) = (context.clone(), wanted.clone());
            let read = move || logs::beginning(&own, run_key, &wanted);
            context.readers.take(run_key.0.0, read).await.map_err(Refusal::Fault)??
        }
    };
    let next = |stream: &Stream| Place { stream: *stream, next_line: position.of(*stream), bookmark: None };
    let follower = Follower {
        watch: context.watch(),
        context: context.clone(),
        run_key,
        next: wanted.streams.iter().map(next).collect(),
        wanted,
        lines_wanted: FIRST_LINES,
        archive: None,
        told: Instant::now(),
        found: VecDeque::new(),
        position,
        has_ended: false,
        place,
    };
    Ok((source, follower))
}

impl Follower {
    /// The next piece; none after the end, when the appliance stops, or when others need the place.
    pub(crate) async fn piece(&mut self) -> Option<Piece> {
        loop {
            if self.place.is_given_up() {
                return None;
            }
            if !self.found.is_empty() {
                return Some(self.lines());
            }
            if self.has_ended || self.context.stopping.is_stopping() {
                return None;
            }
            self.watch.mark();
            let is_news = self.look().await?;
            if !self.found.is_empty() {
                continue;
            }
            if self.has_ended {
                return Some(self.end());
            }
            if self.told.elapsed() > SIGN_TIME {
                self.told = Instant::now();
                return Some(Piece::Sign);
            }
            self.watch.paced_change(if is_news { SKIP_TIME } else { LOOK_TIME }).await;
        }
    }

    /// Looks for lines; says whether there were any, wanted or not. None if nothing can be told any more.
    async fn look(&mut self) -> Option<bool> {
        if self.archive.is_some() {
            return self.read_on().await;
        }
        let read = self.context.store.read();
        let is_over = find(&read, self.run_key).ok()?.is_none_or(|run| run.state.is_terminal());
        let container = life::container(&read, self.run_key.1).ok()?;
        let id = container.and_then(|(_, number)| self.context.container_id(self.run_key.1, number));
        let Some((runner, id)) = self.context.runner.clone().zip(id) else {
            return if is_over { self.open_archive().await } else { Some(false) };
        };
        let mut entries = Vec::new();
        let (mut is_complete, mut is_gone) = (true, false);
        let most = self.lines_wanted;
        for place in &mut self.next {
            let (id, stream, from) = (id.clone(), place.stream, (place.next_line, place.bookmark));
            match on_runner(&runner, move |runner| runner.log_on(&id, stream, from, most)).await {
                Ok(page) => {
                    is_complete &= page.complete;
                    for line in page.lines {
                        place.take(line, &mut entries);
                    }
                    (place.next_line, place.bookmark) = (place.next_line.max(page.next_line), page.bookmark);
                }
                // It is gone, archived perhaps, or not there yet.
                Err(RunnerError::Refused(_)) if is_over => {
                    is_gone = true;
                    break;
                }
                Err(_) => is_complete = false,
            }
        }
        // What was found of one stream before that is told first.
        if is_gone && entries.is_empty() {
            return self.open_archive().await;
        }
        self.has_ended = is_over && is_complete && entries.is_empty();
        entries.sort_by_key(|entry| entry.at);
        self.lines_wanted = lines_of_a_piece(&entries).unwrap_or(most);
        Some(self.take(entries))
    }

    async fn open_archive(&mut self) -> Option<bool> {
        let (read, run_key) = (self.context.store.read(), self.run_key);
        let places: Vec<_> = self.next.iter().map(|place| (place.stream, place.next_line)).collect();
        let open = move || {
            let reader = Reader::open(&read, run_key)?;
            reader.map(|reader| Lines::of_archive(&reader, places.into_iter())).transpose()
        };
        match tokio::task::spawn_blocking(open).await {
            Ok(Ok(Some(lines))) => {
                self.archive = Some(lines);
                self.read_on().await
            }
            _ => {
                self.has_ended = true;
                Some(false)
            }
        }
    }

    /// Looks for the next lines of the archive.
    async fn read_on(&mut self) -> Option<bool> {
        let mut lines = self.archive.take()?;
        let read = tokio::task::spawn_blocking(move || {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            let mut is_end = false;
            while entries.len() < PAGE_LINES as usize && bytes < PAGE_BYTES {
                let Some((stream, line, expected)) = lines.next().ok()? else {
                    is_end = true;
                    break;
                };
                bytes += line.text.len();
                let (mark, entry) = Entry::of(stream, line, expected);
                entries.extend(mark.into_iter().chain([entry]));
            }
            Some((lines, entries, is_end))
        });
        let (lines, entries, is_end) = read.await.ok()??;
        self.archive = Some(lines);
        self.has_ended = is_end && entries.is_empty();
        Some(self.take(entries))
    }

    /// Keeps what is wanted of what was found; says whether anything was found.
    fn take(&mut self, entries: Vec<Entry>) -> bool {
        let is_news = !entries.is_empty();
        let since = self.wanted.instant();
        self.found.extend(entries.into_iter().filter(|entry| since.is_none_or(|since| entry.at >= since)));
        is_news
    }

    /// The next of what was found: so little that it is written out in no time.
    fn lines(&mut self) -> Piece {
        self.told = Instant::now();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE_BYTES && lines.len() < PAGE_LINES as usize {
            let Some(entry) = self.found.pop_front() else { break };
            bytes += entry.text.len();
            self.position = self.position.with(entry.stream, entry.next_line);
            lines.push((self.position, entry));
        }
        Piece::Lines(lines)
    }

    fn end(&self) -> Piece {
        let run = find(&self.context.store.read(), self.run_key).ok().flatten();
        Piece::End(run.map(|run| run.state))
    }
}

/// How many lines such as these make a piece; none if there are none to tell by.
fn lines_of_a_piece(entries: &[Entry]) -> Option<u32> {
    let bytes: usize = entries.iter().map(|entry| entry.text.len() + 1).sum();
    let lines = (entries.len() * PAGE_BYTES).checked_div(bytes)?;
    Some(u32::try_from(lines).unwrap_or(PAGE_LINES).clamp(1, PAGE_LINES))
}

impl Place {
    fn take(&mut self, line: LogLine, entries: &mut Vec<Entry>) {
        let (mark, entry) = Entry::of(self.stream, line, self.next_line);
        self.next_line = entry.next_line;
        entries.extend(mark.into_iter().chain([entry]));
    }
}
