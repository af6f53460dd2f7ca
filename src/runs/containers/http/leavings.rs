//! What a run leaves: its result, its logs, its samples.

use std::borrow::Cow;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, HeaderValue};
use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::{JsonError, Limits, parse};
use quintet_platform::service::{Answer, Fault, Parameter, Route, Shape, failed, json as success, media, refusal_of};
use quintet_runtime::{Sample, Stream};
use quintet_storage::Timestamp;
use serde_json::{Value, json};

use super::path::{RUN, run_key, run_of};
use crate::containers::follow::{Follower, Piece, follow};
use crate::containers::lines::{Entry, Position, Since, Wanted};
use crate::containers::logs::{self as kept, Found, TAIL_MAX};
use crate::containers::model::{LastWords, Reason, Run, RunResult};
use crate::containers::page::stream_name;
use crate::containers::{results, utilization as used};
use crate::dialect::{Answered, Call};
use crate::model::{RunId, RunKey};
use crate::refusal::Refusal;
use crate::states::RunState;
use crate::wire::{at, seconds};

/// Says where lines come from.
const LOG_SOURCE: HeaderName = HeaderName::from_static("x-log-source");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How deep what a run wrote may nest.
const OUTPUT_DEPTH_MAX: usize = 128;

const STREAM: Parameter =
    Parameter::new("stream", Shape::Word(&["stdout", "stderr", "both"], "stdout"), "Which stream.");
const TAIL: Parameter = Parameter::new(
    "tail",
    Shape::integer(1, TAIL_MAX as i64),
    "Only the last so many lines, as far as an answer holds them.",
);
const SINCE: Parameter = Parameter::new(
    "since",
    Shape::Pattern("^(p[0-9]{1,18}-[0-9]{1,18}|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].+)$"),
    "Only lines behind those of an answer, whose `next_since` this is; or an RFC 3339 instant: only lines written then or \
     later.",
);
/// What `since` must be.
const SINCE_EXPECTED: &str = "next_since of an answer, or an RFC 3339 instant such as 2026-01-31T09:00:00Z";
const FOLLOW: Parameter = Parameter::new(
    "follow",
    Shape::Word(&["true", "false"], "false"),
    "Server-sent events instead: a `line` for each line, whose id is a `since`, then an `end` once the run has ended. At \
     most 64 streams a tenant.",
);

pub(super) const RESULT: Route = Route::get("get_run_result", "/api/v1/runs/{track_id}/result")
    .permission("svc_run_read")
    .summary("How a run ended")
    .segments(&[RUN])
    .successes(&[success(200, "Result")])
    .codes(&["not_terminal"]);
pub(super) const LOGS: Route = Route::get("get_run_logs", "/api/v1/runs/{track_id}/logs")
    .permission("svc_run_read")
    .summary("What a run wrote; the header X-Log-Source says where that comes from: live, archive or none")
    .segments(&[RUN])
    .parameters(&[STREAM, TAIL, SINCE, FOLLOW])
    .successes(&[media(
        200,
        &[
            ("application/json", r##"{"$ref":"#/components/schemas/Logs"}"##),
            ("text/event-stream", r#"{"type":"string"}"#),
        ],
    )
    .about("Lines; with follow, server-sent events")])
    .codes(&["engine_unavailable", "busy"]);
pub(super) const UTILIZATION: Route = Route::get("get_run_utilization", "/api/v1/runs/{track_id}/utilization")
    .permission("svc_run_read")
    .summary("What a run used: a sample a second for ten minutes, then one every five; 100 percent is a full core")
    .segments(&[RUN])
    .successes(&[success(200, "Utilization")])
    .codes(&["engine_unavailable", "busy"]);

pub(super) async fn result(call: Call) -> Answered {
    let run_key = run_key(&call)?;
    let run = run_of(&call, run_key)?;
    if !run.state.is_terminal() {
        return Err(Refusal::NotTerminal.into());
    }
    let (result, words) = results::get(&call.snapshot(), run_key).map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::json(200, write_result(run_key.1, &run, &result, &words)))
}

pub(super) async fn logs(mut call: Call) -> Answered {
    let stream = call.word(&STREAM)?.unwrap_or("stdout");
    let streams = match stream {
        "both" => vec![Stream::Stdout, Stream::Stderr],
        "stderr" => vec![Stream::Stderr],
        _ => vec![Stream::Stdout],
    };
    let tail = call.integer(&TAIL)?.and_then(|tail| u64::try_from(tail).ok());
    let since = call
        .text(&SINCE)?
        .map(|text| Since::parse(&text).ok_or_else(|| Refusal::from(Fault::parameter(SINCE.name, SINCE_EXPECTED))));
    let wanted = Wanted { streams, tail, since: since.transpose()? };
    let is_followed = call.word(&FOLLOW)? == Some("true");
    let run_key = run_key(&call)?;
    run_of(&call, run_key)?;
    let (source, answer) = if is_followed {
        let (source, follower) = follow(&call.context, run_key, wanted).await.map_err(refusal_of)?;
        (source, Answer::stream(200, EVENTS, events(follower)))
    } else {
        let context = call.context.clone();
        let read = move || {
            let found = kept::read(&context, run_key, &wanted)?;
            Ok((found.source, write_lines(run_key, stream, found)))
        };
        let (source, text) = call.in_turn(&call.context.readers, read).await?;
        (source, Answer::json(200, text))
    };
    Ok(answer.header(LOG_SOURCE, HeaderValue::from_static(source.name())))
}

pub(super) async fn utilization(call: Call) -> Answered {
    let run_key = run_key(&call)?;
    run_of(&call, run_key)?;
    let context = call.context.clone();
    let read = move || Ok(write_samples(run_key.1, &used::samples(&context, run_key)?).to_string());
    Ok(Answer::json(200, call.in_turn(&call.context.readers, read).await?))
}

/// How a run ended. Its output is told as it was written: reading numbers would change them.
fn write_result(run_id: RunId, run: &Run, result: &RunResult, words: &LastWords) -> String {
    let told = json!({
        "track_id": ulid(run_id.0), "state": run.state.name(), "reason": run.reason.map(Reason::name),
        "message": run.message, "exit_code": run.exit_code, "signal": result.signal, "oom_killed": result.oom_killed,
        "started_at": at(run.started_at), "finished_at": at(run.finished_at),
        "duration_seconds": seconds(result.duration_micros), "paused_seconds": seconds(result.paused_micros),
        "stdout_bytes": result.stdout_bytes, "stderr_bytes": result.stderr_bytes,
        "stdout_truncated": result.stdout_truncated, "stderr_truncated": result.stderr_truncated,
        "result_summary": words.summary,
        "peak_memory_mb": result.peak_memory_bytes.div_ceil(1 << 20), "cpu_seconds": seconds(result.cpu_micros),
    });
    let output = words.output.as_deref().and_then(output).unwrap_or_else(|| "null".into());
    let told = told.to_string();
    format!(r#"{},"output":{output}}}"#, told.strip_suffix('}').unwrap_or(&told))
}

/// JSON that a run wrote, as readers of JSON take it: nested no deeper than they follow, with real Unicode, no name twice.
fn output(text: &str) -> Option<Cow<'_, str>> {
    match parse(text.as_bytes(), Limits { max_depth: OUTPUT_DEPTH_MAX }) {
        Ok(_) => Some(text.into()),
        Err(JsonError::DuplicateKey { .. }) => Some(serde_json::from_str::<Value>(text).ok()?.to_string().into()),
        Err(_) => None,
    }
}

/// What a run wrote: JSON, put together from what is JSON already.
fn write_lines(run_key: RunKey, stream: &str, found: Found) -> Vec<u8> {
    let Found { page, truncated, next, .. } = found;
    let (lines, entries) = page.into_arrays();
    let head = format!(r#"{{"track_id":"{}","stream":"{stream}","lines":["#, ulid(run_key.1.0));
    let tail = format!(r#"],"truncated":{truncated},"next_since":"{next}"}}"#);
    let between: &[u8] = br#"],"entries":["#;
    let mut text = Vec::with_capacity(head.len() + lines.len() + between.len() + entries.len() + tail.len());
    for part in [head.as_bytes(), &lines, between, &entries, tail.as_bytes()] {
        text.extend_from_slice(part);
    }
    text
}

/// What somebody who follows is told, as server-sent events.
fn events(follower: Follower) -> Body {
    Body::from_stream(stream::unfold(follower, |mut follower| async move {
        let event = match follower.piece().await? {
            Piece::Lines(entries) => {
                let line = |(position, entry): &(Position, Entry)| {
                    format!("id: {position}\nevent: line\ndata: {}\n\n", write_entry(entry))
                };
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
fn write_entry(entry: &Entry) -> Value {
    json!({"ts": rfc3339(entry.at), "stream": stream_name(entry.stream), "line": entry.text})
}

/// What a container used.
fn write_samples(run_id: RunId, samples: &[Sample]) -> Value {
    let sample = |sample: &Sample| {
        json!({
            "ts": rfc3339(Timestamp::from_micros(sample.at_micros)),
            "state": if sample.paused { "paused" } else { "running" },
            "cpu_percent": (sample.cpu_percent * 10.0).round() / 10.0,
            "memory_mb": sample.memory_bytes.div_ceil(1 << 20), "memory_limit_mb": sample.memory_limit_bytes >> 20,
            "pids": sample.pids, "io_read_bytes": sample.io_read_bytes, "io_write_bytes": sample.io_write_bytes,
        })
    };
    json!({"track_id": ulid(run_id.0), "samples": samples.iter().map(sample).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::output;

    #[test]
    fn output_is_told_as_it_was_written() {
        for text in
            [r#"{"n": 12345678901234567890123, "d": 0.10000000000000000001, "e": 1e400}"#, "null", "17", r#""a""#]
        {
            assert_eq!(output(text).as_deref(), Some(text));
        }
        assert_eq!(output(r#"{"a":1,"a":2}"#).as_deref(), Some(r#"{"a":2}"#));
        for text in [&"[".repeat(200), r#""\ud800""#, &format!("{}{}", "[".repeat(200), "]".repeat(200))] {
            assert_eq!(output(text), None, "{text}");
        }
    }
}
