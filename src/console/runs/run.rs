//! A run: how it stands, what it wrote and used, and what can be done with it.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use quintet_platform::http::query::encode_segment;

use super::acting::{self, May, may};
use super::logs::{self, Shown};
use super::states::{has_ended, look, word};
use super::used::{self, Used};
use super::wire::{Run, RunResult};
use crate::console::address::{query, said};
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;
use crate::measures::size;

/// The page.
#[derive(Template)]
#[template(path = "run.html", config = "assets/console/askama.toml")]
struct RunPage {
    frame: Frame,
    run: Run,
    result: Option<RunResult>,
    used: Option<Used>,
    logs: Shown,
    sought: String,
    may: May,
    acts: &'static [Button],
    once: String,
    refused: Option<Refused>,
}

/// A button: what it asks for, and the key of its text.
struct Button {
    act: &'static str,
    text: &'static str,
}

const PAUSE: Button = Button { act: "pause", text: "runs.pause" };
const RESUME: Button = Button { act: "resume", text: "runs.resume" };
const STOP: Button = Button { act: "stop", text: "runs.stop" };
const KILL: Button = Button { act: "kill", text: "runs.kill" };

/// What can be asked for in a state (contract 2, "Run states").
fn acts(state: &str) -> &'static [Button] {
    match state {
        "running" => const { &[PAUSE, STOP, KILL] },
        "paused" => const { &[RESUME, KILL] },
        "pulling" => const { &[KILL] },
        _ => &[],
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path(run): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let sought = said(&mut query(raw.as_deref())?, "q");
    page(&console, member, &run, sought, None).await
}

async fn page(
    console: &Console,
    member: Member,
    id: &str,
    sought: Option<String>,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let asking = &member.asking;
    let base = format!("/api/v1/runs/{}", encode_segment(id));
    let run: Run = asking.get(Room::Runs, &base).await?;
    let result = match has_ended(&run.state) {
        true => Some(asking.get(Room::Runs, &format!("{base}/result")).await?),
        false => None,
    };
    let (logs, used) = (logs::read(asking, id, sought.as_deref()).await?, used::read(asking, id).await?);
    let status = acting::status(refused.as_ref());
    let page = RunPage {
        frame: member.frame,
        acts: acts(&run.state),
        run,
        result,
        used,
        logs,
        sought: sought.unwrap_or_default(),
        may,
        once: form::once(),
        refused,
    };
    Ok(answer(status, &page))
}

/// Does what a button asks for.
pub async fn take(
    State(console): State<Console>,
    member: Member,
    Path(run): Path<String>,
    body: Body,
) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    if !["pause", "resume", "stop", "kill"].contains(&said.act.as_str()) {
        return Err(Notice::Malformed);
    }
    let id = encode_segment(&run);
    let address = format!("/api/v1/runs/{id}/{}", said.act);
    match acting::ask(&member.asking, Method::POST, &address, None, &said.once).await? {
        None => Ok(Redirect::to(&format!("/runs/{id}")).into_response()),
        refused => page(&console, member, &run, None, refused).await,
    }
}

/// A number of seconds.
fn seconds(value: &f64) -> String {
    format!("{value:.1} s")
}

/// A command as it would be typed.
fn typed(command: &[String]) -> String {
    serde_json::to_string(command).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::states::OF_RUNS;
    use super::*;

    #[test]
    fn buttons_are_of_what_a_state_allows() {
        let all = |state| acts(state).iter().map(|button| button.act).collect::<Vec<_>>();
        assert_eq!(all("running"), ["pause", "stop", "kill"]);
        assert_eq!(all("paused"), ["resume", "kill"]);
        assert!(OF_RUNS.iter().filter(|state| has_ended(state)).all(|state| all(state).is_empty()));
    }
}
