//! What an agent wears.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, Route, json as success};
use quintet_storage::{Timestamp, WriteTx};

use super::super::relabel;
use super::form::read_labels;
use super::wire::labels;
use crate::dialect::{Answered, Call};
use crate::form::{AGENT, agent_of, members};
use crate::limits::AGENT_TAGS;
use crate::wire;

pub(super) const CHANGE: Route = Route::patch("change_agent_labels", "/v1/agents/{name}/labels")
    .permission("send")
    .summary("Set labels of the agent and take others off")
    .segments(&[AGENT])
    .body(Content::OptionalJson("LabelsChange"))
    .successes(&[success(200, "Labels")])
    .codes(&["limit_reached", "permission_denied"]);

pub(super) async fn change(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let (set, remove) = read_labels(&mut members(&mut change)?)?;
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        let agent = relabel(tx, &workspace, no, &set, &remove)?;
        let told = [
            ("labels", labels(&agent)),
            ("count", agent.labels.len().into()),
            ("limit", wire::limit(workspace.limit(AGENT_TAGS))),
        ];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.write(verb).await
}
