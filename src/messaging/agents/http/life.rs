//! Showing that one is there, and retiring.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, KeyRule, Route, failed, json as success};
use quintet_storage::{Timestamp, WriteTx};

use super::super::retire as retiring;
use crate::dialect::{Answered, Call, REVIVING};
use crate::form::{AGENT, agent_of};
use crate::identity::mailboxes;
use crate::refusal::Refusal;
use crate::wire::instant;

pub(super) const HEARTBEAT: Route = Route::post("send_heartbeat", "/v1/agents/{name}/heartbeat")
    .permission("send")
    .summary("Show that the agent is there, as any request of it does")
    .segments(&[AGENT])
    .successes(&[success(200, "Heartbeat")])
    .key(KeyRule::Optional)
    .codes(&["permission_denied"]);
pub(super) const RETIRE: Route = Route::post("retire_agent", "/v1/agents/{name}/retire")
    .permission("send")
    .marks(&[REVIVING])
    .summary(
        "Retire the agent: it leaves the phonebook and gets no mail, and keeps what it has; registering revives it",
    )
    .segments(&[AGENT])
    .successes(&[success(200, "Retired")])
    .key(KeyRule::Optional)
    .codes(&["permission_denied"]);

pub(super) async fn heartbeat(call: Call) -> Answered {
    // Nothing is remembered of what changes nothing; a key that is none is refused here as elsewhere.
    call.idempotency_key()?;
    let (no, name) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let (agent, now) = ((call.caller.workspace.no, no), call.now());
    let mailbox = mailboxes::get(&call.snapshot(), agent).map_err(|failure| failed::<Refusal>(&failure))?;
    if mailbox.is_retired {
        return Err(Refusal::AgentRetired(name).into());
    }
    // Another's heartbeat, by an operator; its own has been seen already.
    if call.caller.agent.is_none() && call.context.attendance.saw(agent, &call.caller.key.id, None, false, now) {
        call.context.clock.wake();
    }
    let attended = call.context.attendance.attended(&call.snapshot(), agent);
    let attended = attended.map_err(|failure| failed::<Refusal>(&failure))?;
    let told = [("agent", Json::from(name)), ("presence", attended.presence(false, now).name().into())];
    Ok(Answer::json(200, to_compact(&Json::object(told))))
}

pub(super) async fn retire(call: Call) -> Answered {
    let (no, name) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let retired_at = retiring(tx, now, agent)?.ok_or_else(|| Refusal::NotFound(format!("agent {name}")))?;
        let told = [("agent", Json::from(name.as_str())), ("retired_at", instant(retired_at))];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.freeing(true).write(verb).await
}
