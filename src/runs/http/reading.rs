//! What a run leaves: its result, its logs, its samples.

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use quintet_platform::ids::ulid;
use quintet_runtime::{RunnerError, Stream};
use serde_json::{Value, json};

use super::answer::{Answer, answered};
use super::request::{ask, failed};
use super::routes::{RUN_LOGS, RUN_RESULT, RUN_UTILIZATION};
use super::{follow, output, run_of};
use crate::archive::Reader;
use crate::changes::Place;
use crate::context::Context;
use crate::engine::{on_runner, refusal_of};
use crate::life;
use crate::logs::{self, Found, Wanted};
use crate::refusal::Refusal;

/// Says where lines come from.
const LOG_SOURCE: HeaderName = HeaderName::from_static("x-log-source");

pub(super) async fn get_result(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_result(&context, request).await)
}

async fn try_get_result(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let place = ask(context, request, &RUN_RESULT).await?.place()?;
    let row = run_of(context, place)?;
    if !row.state.is_terminal() {
        return Err(Refusal::NotTerminal);
    }
    let (result, words) = life::result(&context.store.read(), place).map_err(|failure| failed(&failure))?;
    Ok(Answer::json(200, &output::result(place.1, &row, &result, &words)))
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
    let place = asked.place()?;
    run_of(context, place)?;
    let permit = if is_followed {
        let permits = std::sync::Arc::clone(&context.followers);
        Some(permits.try_acquire_owned().map_err(|_| Refusal::Busy)?)
    } else {
        None
    };
    let from_the_start = if is_followed {
        logs::nothing_yet(context, place, &wanted).map_err(|failure| failed(&failure))?
    } else {
        None
    };
    let found = if let Some(found) = from_the_start {
        found
    } else {
        let _turn = context.readers.acquire().await.map_err(|_| Refusal::Busy)?;
        let (context, wanted) = (context.clone(), wanted.clone());
        let read = tokio::task::spawn_blocking(move || logs::read(&context, place, &wanted)).await;
        read.map_err(|_| Refusal::InternalError)??
    };
    let source = HeaderValue::from_static(found.source.name());
    let answer = match permit {
        Some(permit) => Answer::other(200, "text/event-stream", follow::follow(context, place, wanted, found, permit)),
        None => Answer::json(200, &lines(place, stream, &found)),
    };
    Ok(answer.with(LOG_SOURCE, source))
}

fn lines(place: Place, stream: &str, found: &Found) -> Value {
    let texts: Vec<&str> = found.entries.iter().map(|entry| entry.text.as_str()).collect();
    let entries: Vec<Value> = found.entries.iter().map(follow::entry_json).collect();
    json!({
        "track_id": ulid(place.1.0), "stream": stream, "lines": texts, "entries": entries,
        "truncated": found.truncated,
    })
}

pub(super) async fn get_utilization(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_utilization(&context, request).await)
}

async fn try_get_utilization(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let place = ask(context, request, &RUN_UTILIZATION).await?.place()?;
    run_of(context, place)?;
    let failed = |failure| failed(&failure);
    // As with logs: the archive is there before the container goes.
    for _ in 0..2 {
        let read = context.store.read();
        let archive = tokio::task::spawn_blocking(move || Reader::open(&read, place)).await;
        if let Some(reader) = archive.map_err(|_| Refusal::InternalError)?.map_err(failed)? {
            return Ok(Answer::json(200, &output::utilization(place.1, &reader.samples())));
        }
        let container = logs::container(context, place).map_err(failed)?;
        let (Some(runner), Some(id)) = (&context.runner, container) else { break };
        match on_runner(runner, move |runner| runner.samples(&id, 0)).await {
            Ok(samples) => return Ok(Answer::json(200, &output::utilization(place.1, &samples))),
            Err(RunnerError::Refused(quintet_runtime::Refusal::NoSuchContainer)) => {}
            Err(error) => return Err(refusal_of(&error)),
        }
    }
    Ok(Answer::json(200, &output::utilization(place.1, &[])))
}
