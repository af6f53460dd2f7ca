//! What is used and what may be, over HTTP.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Endpoint, Route, failed, json as success};
use quintet_storage::{Failure, Read, Timestamp};

use super::day::used;
use super::model::{Daily, day_of, end_of};
use crate::dialect::{Answered, Call, Messaging, challenged};
use crate::identity::{Workspace, workspaces};
use crate::limits::{ACTIVE_AGENTS, BOUND_KEYS, LIMITS, OPERATOR_KEYS};
use crate::refusal::Refusal;
use crate::wire;

const USAGE: Route = Route::get("get_usage", "/v1/usage")
    .permission("read")
    .summary("What the workspace has used of its day, and how many keys and agents there are")
    .successes(&[success(200, "Usage")]);
const LIMITS_OF: Route = Route::get("get_limits", "/v1/limits")
    .permission("read")
    .summary("Every limit of the workspace by its name, and what is used")
    .successes(&[success(200, "Limits")]);

/// What is served of usage.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&USAGE, |call| Box::pin(challenged(call, get_usage))),
    Endpoint::new(&LIMITS_OF, |call| Box::pin(challenged(call, get_limits))),
];

async fn get_usage(call: Call) -> Answered {
    let told = standing(&call.snapshot(), &call.caller.workspace, call.now());
    let told = told.map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::json(200, to_compact(&Json::object(told))))
}

async fn get_limits(call: Call) -> Answered {
    let workspace = &call.caller.workspace;
    let standing = standing(&call.snapshot(), workspace, call.now());
    let standing = standing.map_err(|failure| failed::<Refusal>(&failure))?;
    let limits = LIMITS.iter().map(|limit| (limit.name, wire::limit(workspace.limit(*limit))));
    let limits = ("limits", Json::object(limits));
    Ok(Answer::json(200, to_compact(&Json::object([limits].into_iter().chain(standing)))))
}

/// What is used of what.
fn standing(read: &impl Read, workspace: &Workspace, now: Timestamp) -> Result<[(&'static str, Json); 3], Failure> {
    let (day, counts) = (day_of(now), workspaces::counts(read, workspace.no)?);
    let today = used(read, workspace.no, day)?;
    let policies = Daily::ALL.map(|daily| {
        let (limit, used) = (workspace.limit(daily.limit()), today.of(daily));
        Json::object([
            ("name", Json::from(daily.limit().name)),
            ("limit", wire::limit(limit)),
            ("used", Json::from(used)),
            ("remaining", wire::limit(limit.saturating_sub(used))),
            ("window", Json::object([("reset_at", wire::instant(end_of(day)))])),
        ])
    });
    let of =
        |count: u32, limit| Json::object([("used", Json::from(count)), ("limit", wire::limit(workspace.limit(limit)))]);
    let keys =
        [("bound_send", of(counts.bound_keys, BOUND_KEYS)), ("operator", of(counts.operator_keys, OPERATOR_KEYS))];
    let agents = of(counts.active_agents, ACTIVE_AGENTS);
    Ok([("policies", Json::from(policies.to_vec())), ("keys", Json::object(keys)), ("agents", agents)])
}
