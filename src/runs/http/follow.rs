//! Following a run: what it writes as server-sent events, until it has ended.
//!
//! The next events are made when the caller has taken the ones before: a slow caller costs a page of lines, no more.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use quintet_platform::clock::rfc3339;
use quintet_runtime::{LogPage, RunnerError, Stream};
use quintet_storage::{Read as _, Timestamp};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch;

use crate::archive::Reader;
use crate::changes::{Place, find};
use crate::context::Context;
use crate::engine::on_runner;
use crate::logs::{self, Entry, Found, Wanted};
use crate::tables::CONTAINERS;

/// Lines of one stream in one piece.
const PAGE_LINES: u32 = 2_000;
/// Between two looks at a container that writes nothing.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// A comment this often keeps the connection alive.
const SIGN_TIME: Duration = Duration::from_secs(10);

/// Somebody who follows.
struct Follower {
    context: Context,
    place: Place,
    wanted: Wanted,
    next: Vec<(Stream, u64)>,
    changes: watch::Receiver<bool>,
    archive: Option<Reader>,
    told: Instant,
    first: Option<Vec<Entry>>,
    has_ended: bool,
    _permit: OwnedSemaphorePermit,
}

/// The body that tells what was found already, then what comes.
pub(super) fn follow(
    context: &Context,
    place: Place,
    wanted: Wanted,
    found: Found,
    permit: OwnedSemaphorePermit,
) -> Body {
    let follower = Follower {
        changes: context.changes.subscribe(),
        context: context.clone(),
        place,
        wanted,
        next: found.next,
        archive: None,
        told: Instant::now(),
        first: Some(found.entries),
        has_ended: false,
        _permit: permit,
    };
    Body::from_stream(stream::unfold(follower, |mut follower| async move {
        let piece = follower.piece().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(piece), follower))
    }))
}

impl Follower {
    /// The next piece; none at the end, or when the appliance stops.
    async fn piece(&mut self) -> Option<Bytes> {
        if let Some(entries) = self.first.take().filter(|entries| !entries.is_empty()) {
            return Some(self.lines(&entries));
        }
        loop {
            if self.has_ended || self.context.is_stopping() {
                return None;
            }
            let _ = self.changes.borrow_and_update();
            match self.look().await {
                Some(entries) if !entries.is_empty() => return Some(self.lines(&entries)),
                Some(_) if self.has_ended => return Some(self.end()),
                Some(_) => {}
                None => return None,
            }
            if self.told.elapsed() > SIGN_TIME {
                self.told = Instant::now();
                return Some(Bytes::from_static(b": still here\n\n"));
            }
            let _ = tokio::time::timeout(LOOK_TIME, self.changes.changed()).await;
        }
    }

    /// What is new; none if it cannot be told any more.
    async fn look(&mut self) -> Option<Vec<Entry>> {
        if self.archive.is_some() {
            return self.read_on().await;
        }
        let read = self.context.store.read();
        let is_over = find(&read, self.place).ok()?.is_none_or(|row| row.state.is_terminal());
        let container = read.get(&CONTAINERS, &self.place.1).ok()?;
        let id = container.and_then(|row| self.context.container_id(self.place.1, row.number));
        let Some((runner, id)) = self.context.runner.clone().zip(id) else {
            if is_over {
                return self.open_archive().await;
            }
            return Some(Vec::new());
        };
        let mut entries = Vec::new();
        let mut is_complete = true;
        for (stream, next) in &mut self.next {
            let (id, from, stream_wanted) = (id.clone(), *next, *stream);
            match on_runner(&runner, move |runner| runner.log(&id, stream_wanted, from, PAGE_LINES)).await {
                Ok(page) => {
                    is_complete &= page.complete;
                    take_page(page, *stream, next, &mut entries);
                }
                // It is gone, archived perhaps, or not there yet.
                Err(RunnerError::Refused(_)) if is_over => return self.open_archive().await,
                Err(_) => is_complete = false,
            }
        }
        self.has_ended = is_over && is_complete && entries.is_empty();
        entries.sort_by_key(|entry| entry.at);
        Some(self.since(entries))
    }

    async fn open_archive(&mut self) -> Option<Vec<Entry>> {
        let (read, place) = (self.context.store.read(), self.place);
        match tokio::task::spawn_blocking(move || Reader::open(&read, place)).await {
            Ok(Ok(Some(reader))) => {
                self.archive = Some(reader);
                self.read_on().await
            }
            _ => {
                self.has_ended = true;
                Some(Vec::new())
            }
        }
    }

    /// The next lines of the archive that have not been told.
    async fn read_on(&mut self) -> Option<Vec<Entry>> {
        let mut reader = self.archive.take()?;
        let mut next = self.next.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut entries = Vec::new();
            let mut is_end = false;
            while entries.len() < PAGE_LINES as usize {
                let Some((stream, line)) = reader.next().ok()? else {
                    is_end = true;
                    break;
                };
                let Some((_, next)) = next.iter_mut().find(|(wanted, _)| *wanted == stream) else { continue };
                if line.number >= *next {
                    let page = LogPage { next_line: line.number + 1, lines: vec![line], complete: false };
                    take_page(page, stream, next, &mut entries);
                }
            }
            Some((reader, next, entries, is_end))
        });
        let (reader, next, entries, is_end) = read.await.ok()??;
        (self.archive, self.next) = (Some(reader), next);
        self.has_ended = is_end && entries.is_empty();
        Some(self.since(entries))
    }

    fn since(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.retain(|entry| self.wanted.since.is_none_or(|since| entry.at >= since));
        entries
    }

    fn lines(&mut self, entries: &[Entry]) -> Bytes {
        self.told = Instant::now();
        let event = |entry: &Entry| format!("event: line\ndata: {}\n\n", entry_json(entry));
        Bytes::from(entries.iter().map(event).collect::<String>())
    }

    fn end(&self) -> Bytes {
        let row = find(&self.context.store.read(), self.place).ok().flatten();
        let state = row.map_or("deleted", |row| row.state.name());
        Bytes::from(format!("event: end\ndata: {}\n\n", json!({"state": state})))
    }
}

fn take_page(page: LogPage, stream: Stream, next: &mut u64, entries: &mut Vec<Entry>) {
    for line in page.lines {
        let at = Timestamp::from_micros(line.at_micros);
        if line.number > *next {
            entries.push(Entry { at, stream, text: logs::marker(line.number - *next) });
        }
        *next = line.number + 1;
        entries.push(Entry { at, stream, text: line.text });
    }
    *next = (*next).max(page.next_line);
}

/// A line, as answers tell it.
pub(super) fn entry_json(entry: &Entry) -> serde_json::Value {
    json!({"ts": rfc3339(entry.at), "stream": stream_name(entry.stream), "line": entry.text})
}

pub(super) const fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}
