//! What a run leaves: its result, its logs, its samples.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, HeaderValue};
use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_runtime::Stream;
use serde_json::{Value, json};

use super::answer::{Answer, answered};
use super::output;
use super::request::{ask, failed, refusal_of};
use super::routes::{RUN_LOGS, RUN_RESULT, RUN_UTILIZATION};
use crate::containers::follow::{Follower, Piece, follow};
use crate::containers::logs::{self, Entry, Found, Wanted};
use crate::containers::model::Run;
use crate::containers::{find, results, utilization};
use crate::context::Context;
use crate::model::RunKey;
use crate::refusal::Refusal;
use crate::states::RunState;

/// Says where lines come from.
const LOG_SOURCE: HeaderName = HeaderName::from_static("x-log-source");

pub(super) async fn get_result(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_result(&context, request).await)
}

async fn try_get_result(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_RESULT).await?.run_key()?;
    let run = run_of(context, run_key)?;
    if !run.state.is_terminal() {
        return Err(Refusal::NotTerminal);
    }
    let (result, words) = results::get(&context.store.read(), run_key).map_err(|failure| failed(&failure))?;
    Ok(Answer::json(200, &output::result(run_key.1, &run, &result, &words)))
}

/// The run of a request's path.
fn run_of(context: &Context, run_key: RunKey) -> Result<Run, Refusal> {
    find(&context.store.read(), run_key).map_err(|failure| failed(&failure))?.ok_or(Refusal::NotFound)
}

pub(super) async fn get_logs(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_logs(&context, request).await)
}

async fn try_get_logs(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &RUN_LOGS).await?;
    let stream = asked.one_of("stream", &["stdout", "stderr", "both"])?.unwrap_or("stdout");
    let streams = match stream {
        "both" => vec![Stream::Stdout, Stream::Stderr],
        "stderr" => vec![Stream::Stderr],
        _ => vec![Stream::Stdout],
    };
    let most = i64::try_from(logs::LINES_MAX).unwrap_or(i64::MAX);
    let tail = asked.integer("tail", 1, most)?.and_then(|tail| usize::try_from(tail).ok());
    let wanted = Wanted { streams, tail, since: asked.instant("since")? };
    let is_followed = asked.one_of("follow", &["true", "false"])? == Some("true");
    let run_key = asked.run_key()?;
    run_of(context, run_key)?;
    let (source, answer) = if is_followed {
        let (source, follower) = follow(context, run_key, wanted).await.map_err(refusal_of)?;
        (source, Answer::other(200, "text/event-stream", events(follower)))
    } else {
        let read = move |context: &Context| {
            let found = logs::read(context, run_key, &wanted)?;
            Ok((found.source, lines(run_key, stream, &found).to_string()))
        };
        let (source, text) = context.read_large(read).await.map_err(refusal_of)?;
        (source, Answer::text(200, text))
    };
    Ok(answer.with(LOG_SOURCE, HeaderValue::from_static(source.name())))
}

fn lines(run_key: RunKey, stream: &str, found: &Found) -> Value {
    let texts: Vec<&str> = found.entries.iter().map(|entry| entry.text.as_str()).collect();
    let entries: Vec<Value> = found.entries.iter().map(entry_json).collect();
    json!({
        "track_id": ulid(run_key.1.0), "stream": stream, "lines": texts, "entries": entries,
        "truncated": found.truncated,
    })
}

/// What somebody who follows is told, as server-sent events.
fn events(follower: Follower) -> Body {
    Body::from_stream(stream::unfold(follower, |mut follower| async move {
        let event = match follower.piece().await? {
            Piece::Lines(entries) => {
                let line = |entry: &Entry| format!("event: line\ndata: {}\n\n", entry_json(entry));
                entries.iter().map(line).collect::<String>()
            }
            Piece::Sign => ": still here\n\n".to_owned(),
            Piece::End(state) => {
                let state = state.map_or("deleted", RunState::name);
                format!("event: end\ndata: {}\n\n", json!({"state": state}))
            }
        };
        Some((Ok::<Bytes, std::convert::Infallible>(event.into()), follower))
    }))
}

/// A line, as answers tell it.
fn entry_json(entry: &Entry) -> Value {
    let stream = match entry.stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    json!({"ts": rfc3339(entry.at), "stream": stream, "line": entry.text})
}

pub(super) async fn get_utilization(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_utilization(&context, request).await)
}

async fn try_get_utilization(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_UTILIZATION).await?.run_key()?;
    run_of(context, run_key)?;
    let read = move |context: &Context| {
        let samples = utilization::samples(context, run_key)?;
        Ok(output::utilization(run_key.1, &samples).to_string())
    };
    Ok(Answer::text(200, context.read_large(read).await.map_err(refusal_of)?))
}
