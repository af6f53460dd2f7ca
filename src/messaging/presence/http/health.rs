//! Whether a message would start a turn of an agent.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Route, json as success};

use crate::attendance::Attended;
use crate::dialect::{Answered, Call};
use crate::form::{AGENT, agent_of};
use crate::identity::Scope;
use crate::refusal::Refusal;
use crate::wire::instant_or_null;

pub(super) const HEALTH: Route = Route::get("get_agent_health", "/v1/agents/{name}/health")
    .permission("read")
    .summary("Whether a message would start a turn of an agent; a key of scope read asks of its own agent alone")
    .segments(&[AGENT])
    .successes(&[success(200, "AgentHealth")])
    .codes(&["permission_denied"]);

/// Exactly ten members, and no challenge among them (6-messaging.md, W4).
pub(super) async fn health(call: Call) -> Answered {
    let (no, name) = agent_of(&call)?;
    let is_own = call.caller.agent.as_ref().is_some_and(|acting| acting.no == no);
    if call.caller.key.scope == Scope::Read && !is_own {
        return Err(Refusal::Denied("a key of scope read reads the health of its own agent alone").into());
    }
    let agent = (call.caller.workspace.no, no);
    let attendance = call.context.attendance.clone();
    call.answer(200, |read| Ok(to_compact(&written(&name, &attendance.attended(read, agent)?)).into()))
}

fn written(name: &str, attended: &Attended) -> Json {
    let age = attended.keepalive_age().map(|age| age.as_secs());
    Json::object([
        ("agent", Json::from(name)),
        ("wake_channel_state", attended.wake_channel().name().into()),
        ("subscriber_count", u64::try_from(attended.stream_count()).unwrap_or(u64::MAX).into()),
        ("last_seen_at", instant_or_null(attended.sighting.last_seen_at)),
        ("last_pong_at", instant_or_null(attended.sighting.last_pong_at)),
        ("last_stream_attached_at", instant_or_null(attended.sighting.attached_at)),
        ("last_stream_detached_at", instant_or_null(attended.sighting.detached_at)),
        ("keepalive_age_seconds", age.into()),
        ("watcher_alive", attended.is_watched().into()),
        ("capabilities", Json::object([("supports_canary_heartbeat", Json::from(false))])),
    ])
}
