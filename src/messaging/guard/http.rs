//! The tool guard over HTTP.
//!
//! Whoever asks goes on without an answer: where there are rules, everything that keeps from one is a no, with status 200.

use std::time::Duration;

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer as HttpAnswer, Content, Endpoint, Route, ServiceRefusal as _, json as success, refusal_of,
};
use quintet_storage::{Timestamp, WriteTx};

use super::check::{Answer, Asked, check, judged};
use super::model::{Rule, Use};
use super::rows;
use crate::dialect::{ACTING, Answered, Call, Messaging, VETTING, challenged};
use crate::form::{members, optional, required};
use crate::refusal::Refusal;

/// How long a check may wait for the writer: whoever asks waits for four seconds in all.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of a tool's name.
const TOOL_CHARS_MAX: usize = 200;

const CHECK: Route = Route::post("check_guard", "/v1/guard/check")
    .permission("read")
    .marks(&[ACTING, VETTING])
    .summary("Whether the agent may use a tool, by the rules of its workspace; each answer is for one use")
    .any_parameter()
    .body(Content::Json("GuardCheck"))
    .successes(&[success(200, "GuardDecision")])
    .codes(&["malformed_json", "payload_too_large", "request_timeout"]);

/// What is served of the guard.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] =
    &[Endpoint::new(&CHECK, |call| Box::pin(challenged(call, check_guard)))];

async fn check_guard(call: Call) -> Answered {
    let rules = match rows::rules(&call.snapshot(), call.caller.workspace.no) {
        Ok(rules) => rules.map(|(rules, _)| rules).unwrap_or_default(),
        Err(failure) => {
            tracing::error!(%failure, "the rules of a guard cannot be read; what was asked is denied");
            return Ok(told(&Answer::deny("the rules cannot be read")));
        }
    };
    let has_rules = !rules.is_empty();
    match answered(call, &rules).await {
        Ok(answer) => Ok(told(&answer)),
        Err(refusal) if has_rules => {
            let code = refusal.verdict().code;
            Ok(told(&Answer::deny(format!("this cannot be checked against the rules of the workspace ({code})"))))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

async fn answered(call: Call, rules: &[Rule]) -> Result<Answer, Refusal> {
    let (agent, acting) = call.caller.acting()?;
    let (workspace, asker) = (call.caller.workspace.clone(), (agent, acting.name.clone()));
    let (context, basis, attestation) = (call.context.clone(), call.caller.basis(false), call.caller.attestation());
    let mut change = call.change().await?;
    let mut fields = members(&mut change)?;
    let tool_name: String = required(&mut fields, "tool_name")?;
    if tool_name.is_empty() || tool_name.chars().count() > TOOL_CHARS_MAX {
        return Err(Refusal::field("tool_name", format!("must have 1 to {TOOL_CHARS_MAX} characters")));
    }
    let tool_input = optional::<Json>(&mut fields, "tool_input")?.unwrap_or(Json::Object(Vec::new()));
    if !matches!(tool_input, Json::Object(_)) {
        return Err(Refusal::field("tool_input", "must be an object"));
    }
    let is_truncated = optional::<bool>(&mut fields, "truncated")?.unwrap_or(false);
    let wanted = Use { tool_name, tool_input, is_truncated };
    if let Ok(answer) = judged(rules, &asker.1, &wanted) {
        return Ok(answer);
    }
    let asked = Asked::of(asker, attestation, wanted);
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        basis.check(tx)?;
        check(tx, now, &workspace, asked)
    };
    context.write(PATIENCE, verb).await.map_err(refusal_of)
}

fn told(answer: &Answer) -> HttpAnswer {
    let decision = if answer.is_allowed { "allow" } else { "deny" };
    let members = [
        Some(("decision", Json::from(decision))),
        Some(("reason", answer.reason.as_str().into())),
        answer.rule.map(|place| ("rule", place.into())),
        answer.approval.map(|id| ("approval_id", ulid(id.0).into())),
    ];
    HttpAnswer::json(200, to_compact(&Json::object(members.into_iter().flatten())))
}
