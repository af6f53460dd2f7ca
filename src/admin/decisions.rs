//! Decisions, for the operator: what lies on the desk, and taking it. The desk speaks the interface of a decision service
//! here, too: `POST /v1/decisions` and `GET /v1/decisions/{id}`.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_localization::decision_operator::{self, DeskRefusal, Verdict};
use quintet_storage::{Abort, Uuid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Call, Items};
use super::records::Asked;
use super::task::{TaskError, blocking};
use crate::app::App;

/// What waits on the desk, oldest first; `all`: what was taken, too.
pub const LIST: Call<(), Items<Map<String, Value>>> = Call::look("/decisions");
/// One decision.
pub const SHOW: Call<(), Map<String, Value>> = Call::look("/decisions/{decision}");
/// Takes a decision.
pub const DECIDE: Call<DecideWish, Map<String, Value>> = Call::change("/decisions/{decision}/decide");
/// Whether the decision service answers.
pub const SERVICE: Call<(), ServiceView> = Call::look("/decision-service");
/// A decision as a decision service tells it.
const READING: Call<(), Value> = Call::look("/v1/decisions/{decision}");
/// Has a decision taken, as a decision service is asked to.
const RAISE: Call<Value, Value> = Call::change("/v1/decisions");

/// What shows which decisions there are.
const HINT: &str = "`quintet decision list --all` shows what there is";

/// Takes a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecideWish {
    /// `approve`, `reject`, `request-changes` or `cancel`.
    pub verdict: String,
    /// Who takes it.
    pub by: String,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The service that takes decisions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceView {
    /// Whether it is the desk.
    pub is_embedded: bool,
    /// Its address; empty: none, or nobody has said.
    pub url: String,
    /// Why it does not answer; absent if it does.
    pub problem: Option<String>,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(SHOW.served_by(show))
        .merge(DECIDE.served_by(decide))
        .merge(SERVICE.served_by(service))
        .merge(READING.served_by(reading))
        .merge(RAISE.served_by(raise))
        .with_state(app)
}

/// A record as it is shown.
fn record(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let all = Asked::of(raw.as_deref())?.0.take("all").is_some_and(|value| value == "true");
    let listed = blocking(move || decision_operator::list(&app.localization, all)).await??;
    LIST.answer(&Items { items: listed.into_iter().map(record).collect() })
}

fn id_of(text: &str) -> Result<Uuid, TaskError> {
    text.parse().map_err(|_| TaskError::NotThere(format!("there is no decision {text:?}"), HINT))
}

async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Response, TaskError> {
    let found = decision_operator::show(&app.localization, id_of(&id)?)?;
    let found = found.ok_or_else(|| TaskError::NotThere(format!("there is no decision {id:?}"), HINT))?;
    SHOW.answer(&record(found))
}

async fn decide(State(app): State<App>, Path(id): Path<String>, body: Body) -> Result<Response, TaskError> {
    let wish = DECIDE.wish(body).await?;
    let verdict = match wish.verdict.as_str() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        "request-changes" => Verdict::RequestChanges,
        "cancel" => Verdict::Cancel,
        other => return Err(TaskError::Unusable(format!("unknown verdict {other:?}"))),
    };
    if !decision_operator::is_embedded(&app.localization) {
        let place = &app.config.decision_url;
        return Err(TaskError::Conflict(format!("decision.mode is external: decisions are taken at {place:?}")));
    }
    let decided = decision_operator::decide(&app.localization, id_of(&id)?, verdict, wish.by, wish.reason).await;
    let decided = decided.map_err(|abort| match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(refusal @ DeskRefusal::NoSuch(_)) => TaskError::NotThere(refusal.to_string(), HINT),
        Abort::Refused(refusal @ (DeskRefusal::Words | DeskRefusal::NoReason)) => {
            TaskError::Unusable(refusal.to_string())
        }
        Abort::Refused(refusal) => TaskError::Conflict(refusal.to_string()),
    })?;
    DECIDE.answer(&record(decided))
}

async fn service(State(app): State<App>) -> Result<Response, TaskError> {
    let is_embedded = decision_operator::is_embedded(&app.localization);
    let problem = decision_operator::obstacle(&app.localization).await;
    SERVICE.answer(&ServiceView { is_embedded, url: app.config.decision_url.clone(), problem })
}

async fn reading(State(app): State<App>, Path(id): Path<String>) -> Result<Response, TaskError> {
    let found = decision_operator::reading(&app.localization, id_of(&id)?)?;
    READING.answer(&found.ok_or_else(|| TaskError::NotThere(format!("there is no decision {id:?}"), HINT))?)
}

async fn raise(State(app): State<App>, body: Body) -> Result<Response, TaskError> {
    let wanted = RAISE.wish(body).await?;
    let raised = decision_operator::raise(&app.localization, &wanted.to_string()).await;
    RAISE.answer(&raised.map_err(TaskError::Unusable)?)
}
