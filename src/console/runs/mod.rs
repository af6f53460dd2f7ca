//! Runs, for members who watch them: containers with what they wrote and used, workflows with their graphs, templates, timers,
//! schedules, webhooks; and what can be done with them.
//!
//! Nouns: *acting* is a change that a button asks for; a *row* of a log is a line of it as the page shows it, a *piece* of
//! one is text or a character that cannot be seen.
//!
//! Invariants: what a container wrote is text, without the sequences that colour terminals; a page shows a bounded part of a
//! log, and says so; the file has all of it, and is written as it is read; a refusal stands on the page that asked.
//!
//! Reading order: `states` (words and colours), `wire` (what the room answers), `acting`, `listed` · `ansi`, `rows`, `logs` (what a run
//! wrote), `used` (plots) · `list`, `run` · `workflows`, `workflow`, `node`, `picture` · `templates`, `timers`, `schedules`,
//! `webhooks`.

mod acting;
mod ansi;
mod list;
mod listed;
mod logs;
mod node;
mod picture;
mod rows;
mod run;
mod schedules;
mod states;
mod templates;
mod timers;
mod used;
mod webhooks;
mod wire;
mod workflow;
mod workflows;

use axum::Router;
use axum::routing::{get, post};

use super::door::Console;

/// The pages.
pub fn routes() -> Router<Console> {
    Router::new()
        .route("/runs", get(list::show))
        .route("/runs/{run}", get(run::show))
        .route("/runs/{run}/act", post(run::take))
        .route("/runs/{run}/logs.txt", get(logs::download))
        .route("/runs/{run}/logs/tail", get(logs::tail))
        .route("/workflows", get(workflows::show))
        .route("/workflows/{workflow}", get(workflow::show))
        .route("/workflows/{workflow}/act", post(workflow::take))
        .route("/workflows/{workflow}/graph.svg", get(picture::of_workflow))
        .route("/workflows/{workflow}/nodes/{node}", get(node::show).post(node::take))
        .route("/templates", get(templates::list))
        .route("/templates/{template}", get(templates::show))
        .route("/templates/{template}/graph.svg", get(picture::of_template))
        .route("/timers", get(timers::show).post(timers::take))
        .route("/schedules", get(schedules::list))
        .route("/schedules/{schedule}", get(schedules::show).post(schedules::take))
        .route("/webhooks", get(webhooks::list))
        .route("/webhooks/{endpoint}", get(webhooks::show).post(webhooks::take))
}
