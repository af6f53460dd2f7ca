//! What a run wrote: the last of it for the page, the rest of it for a script that follows, all of it as a file.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::Method;
use http::header::CONTENT_TYPE;
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::query::encode_segment;
use quintet_storage::Timestamp;
use serde_json::json;

use super::rows::{ROWS_MAX, Row, last, pieces};
use super::states::has_ended;
use super::wire::{LogEntry, Logs, Run};
use crate::console::address::{query, with_query};
use crate::console::door::Console;
use crate::console::download::attached;
use crate::console::notice::Notice;
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;

/// Lines that a search goes through.
const SEARCHED: &str = "20000";
/// Lines that a script is told of at once: as many as it keeps.
const FOLLOWED: &str = "10000";
/// How long a file waits for a run that writes nothing.
const QUIET: Duration = Duration::from_secs(2);

/// The part of a log that a page has.
#[derive(Default)]
pub struct Shown {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Whether there are others.
    pub is_cut: bool,
    /// Behind what a script goes on.
    pub next: String,
    /// Why there is nothing.
    pub refused: Option<Refused>,
}

/// Reads that part.
pub async fn read(asking: &Asking, run: &str, sought: Option<&str>) -> Result<Shown, Notice> {
    let lines = ROWS_MAX.to_string();
    let tail = if sought.is_some() { SEARCHED } else { lines.as_str() };
    let address = with_query(&path(run), [("stream", "both"), ("tail", tail)]);
    let found: Logs = match asking.ask(Room::Runs, Method::GET, &address, With::default()).await? {
        Ok(found) => found,
        Err(refused) => return Ok(Shown { refused: Some(refused), ..Shown::default() }),
    };
    let (rows, is_cut) = last(found.entries, sought);
    Ok(Shown { rows, is_cut: is_cut || found.truncated, next: found.next_since, refused: None })
}

fn path(run: &str) -> String {
    format!("/api/v1/runs/{}/logs", encode_segment(run))
}

/// What was written since: for the script.
pub async fn tail(member: Member, Path(run): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let from = query(raw.as_deref())?.take("from").ok_or(Notice::Malformed)?;
    // Asked first: what it writes before it has ended is then among the lines.
    let found: Run = member.asking.get(Room::Runs, &format!("/api/v1/runs/{}", encode_segment(&run))).await?;
    let said = [("stream", "both"), ("tail", FOLLOWED), ("since", from.as_str())];
    let logs: Logs = member.asking.get(Room::Runs, &with_query(&path(&run), said)).await?;
    let line = |row: Row| json!({"ts": row.ts, "time": row.time, "error": row.is_error, "pieces": pieces(&row.text)});
    let told = json!({
        "lines": logs.entries.into_iter().map(|entry| line(Row::of(entry))).collect::<Vec<_>>(),
        "next": logs.next_since, "cut": logs.truncated, "state": found.state, "ended": has_ended(&found.state),
    });
    Ok(([(CONTENT_TYPE, "application/json")], told.to_string()).into_response())
}

/// All that it wrote up to now, as a file.
pub async fn download(
    State(console): State<Console>,
    member: Member,
    Path(run): Path<String>,
) -> Result<Response, Notice> {
    let address = with_query(&path(&run), [("stream", "both"), ("follow", "true")]);
    let followed = member.asking.response(Room::Runs, Method::GET, &address, With::default()).await?;
    match followed.status().as_u16() {
        200 => {}
        400..=499 => return Err(Notice::NotFound),
        _ => return Err(Notice::Unavailable),
    }
    let following =
        Following { events: followed.into_body().into_data_stream(), kept: Vec::new(), until: console.app.clock.now() };
    let body = Body::from_stream(stream::unfold(Some(following), write));
    Ok(attached(body, "text/plain; charset=utf-8", &format!("run-{run}.txt")))
}

/// A log that is read as it comes.
struct Following {
    events: BodyDataStream,
    /// What came of an event that is not whole.
    kept: Vec<u8>,
    /// What is written later is not in the file.
    until: Timestamp,
}

type Written = Option<(Result<Bytes, std::io::Error>, Option<Following>)>;

async fn write(following: Option<Following>) -> Written {
    let mut following = following?;
    // A run that is quiet has written all that it had.
    let part = tokio::time::timeout(QUIET, following.events.next()).await.ok()??;
    let part = match part {
        Ok(part) => part,
        Err(error) => return Some((Err(std::io::Error::other(error)), None)),
    };
    following.kept.extend_from_slice(&part);
    let (text, has_ended) = taken(&mut following.kept, following.until);
    Some((Ok(text.into()), (!has_ended).then_some(following)))
}

/// The lines of the whole events that came, and whether the file ends there.
fn taken(kept: &mut Vec<u8>, until: Timestamp) -> (String, bool) {
    const END: &[u8] = b"\n\n";
    let Some(place) = kept.windows(END.len()).rposition(|bytes| bytes == END) else { return (String::new(), false) };
    let rest = kept.split_off(place + END.len());
    let whole = std::mem::replace(kept, rest);
    let mut text = String::new();
    for event in String::from_utf8_lossy(&whole).split("\n\n") {
        if event.contains("event: end\n") {
            return (text, true);
        }
        let Some((_, data)) = event.split_once("\ndata: ") else { continue };
        let Ok(entry) = serde_json::from_str::<LogEntry>(data) else { continue };
        if parse_rfc3339(&entry.ts).is_ok_and(|at| at > until) {
            return (text, true);
        }
        text.push_str(&format!("{} {} {}\n", entry.ts, entry.stream, entry.line));
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_lines_of_whole_events() {
        let until = parse_rfc3339("2026-01-31T09:00:00Z").unwrap();
        let line = |at: &str, text: &str| {
            format!("id: p1-0\nevent: line\ndata: {{\"ts\":\"{at}\",\"stream\":\"stdout\",\"line\":\"{text}\"}}\n\n")
        };
        let (early, late) = ("2026-01-31T08:59:59Z", "2026-01-31T09:00:01Z");
        let mut kept = format!("{}: still here\n\n{}", line(early, "one"), &line(early, "two")[..20]).into_bytes();
        assert_eq!(taken(&mut kept, until), ("2026-01-31T08:59:59Z stdout one\n".to_owned(), false));
        assert_eq!(kept.len(), 20);
        kept.extend_from_slice(&line(early, "two").as_bytes()[20..]);
        kept.extend_from_slice(line(late, "three").as_bytes());
        assert_eq!(taken(&mut kept, until), ("2026-01-31T08:59:59Z stdout two\n".to_owned(), true));
        let mut kept = b"event: end\ndata: {\"state\":\"exited\"}\n\n".to_vec();
        assert_eq!(taken(&mut kept, until), (String::new(), true));
        assert_eq!(taken(&mut Vec::new(), until), (String::new(), false));
    }
}
