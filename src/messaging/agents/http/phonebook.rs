//! The phonebook, and one agent of it.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Parameter, Route, Shape, json as success};
use quintet_storage::Abort;

use super::super::phonebook::{Wanted, listed};
use super::wire::written;
use crate::dialect::{Answered, Call};
use crate::form::{AGENT, agent_of};
use crate::identity::agents;
use crate::refusal::Refusal;
use crate::words::tag::TagExpression;

const QUERY: Parameter =
    Parameter::new("q", Shape::ANY, "Agents in whose name, role, persona, capabilities or labels this stands.");
const CAPABILITY: Parameter = Parameter::new("capability", Shape::ANY, "Agents that say they can this.");
const REPO_FINGERPRINT: Parameter =
    Parameter::new("repo_fingerprint", Shape::ANY, "Agents that work in this repository.");
const LABEL: Parameter = Parameter::new(
    "label",
    Shape::ANY,
    "KEY or KEY=VALUE: agents that wear it and do not block the one that asks, as tag:KEY in a recipient; of several, all.",
)
.repeatable();
/// More than an agent wears.
const LABELS_MAX: usize = 50;

pub(super) const LIST: Route = Route::get("list_agents", "/v1/agents")
    .permission("read")
    .summary("The phonebook: active agents that are listed, by name")
    .parameters(&[QUERY, CAPABILITY, REPO_FINGERPRINT, LABEL])
    .successes(&[success(200, "Phonebook")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_agent", "/v1/agents/{name}")
    .permission("read")
    .summary("One agent, retired or unlisted ones as well")
    .segments(&[AGENT])
    .successes(&[success(200, "Agent")]);

pub(super) async fn list(mut call: Call) -> Answered {
    let labels = call.texts(&LABEL)?;
    if labels.len() > LABELS_MAX {
        return Err(Refusal::field("label", format!("can be given {LABELS_MAX} times")).into());
    }
    for label in &labels {
        TagExpression::parse(label).map_err(|fault| Refusal::field("label", fault.to_string()))?;
    }
    let wanted = Wanted {
        query: call.text(&QUERY)?,
        capability: call.text(&CAPABILITY)?,
        repo_fingerprint: call.text(&REPO_FINGERPRINT)?,
    };
    let (context, read, now) = (call.context.clone(), call.snapshot(), call.now());
    let (workspace, asking) = (call.caller.workspace.clone(), call.caller.agent.as_ref().map(|acting| acting.no));
    let work = move || -> Result<Vec<u8>, Abort<Refusal>> {
        let tags: Vec<_> = labels.iter().filter_map(|label| TagExpression::parse(label).ok()).collect();
        let mut told = Vec::new();
        for (no, agent) in listed(&read, workspace.no, &tags, &wanted, asking, now)? {
            told.push(written(&context, &read, &workspace, no, &agent, now)?);
        }
        let count = Json::from(told.len());
        Ok(to_compact(&Json::object([("agents", Json::from(told)), ("count", count)])).into())
    };
    let body = call.in_turn(&call.context.lookers, work).await?;
    Ok(Answer::json(200, body))
}

pub(super) async fn get(call: Call) -> Answered {
    let (no, name) = agent_of(&call)?;
    let (context, workspace, now) = (&call.context, &call.caller.workspace, call.now());
    call.answer(200, |read| {
        let agent = agents::find(read, (workspace.no, no))?;
        let agent = agent.ok_or_else(|| Refusal::NotFound(format!("agent {name}")))?;
        Ok(to_compact(&written(context, read, workspace, no, &agent, now)?).into())
    })
}
