//! The desk, for the operator.

use std::time::{Duration, Instant};

use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Abort, Failure, Uuid};
use serde_json::{Value, json};

use crate::approvals::names_needed;
use crate::context::Context;
use crate::decisions::{DecisionService as _, Raise};
use crate::desk::{self, Decide, Desk, DeskDecision, get_context, get_decision, list_decisions};

pub use crate::desk::{DeskRefusal, Verdict};

/// How long a decision may wait for the writer.
pub(super) const WRITER_TIME: Duration = Duration::from_secs(10);

/// JSON of this room as the administration socket has it.
fn value(json: &Json) -> Value {
    serde_json::from_str(&quintet_platform::json::to_compact(json)).unwrap_or(Value::Null)
}

/// A decision in a list (localization, W6).
pub(super) fn view(decision: &DeskDecision) -> Value {
    json!({
        "decision_id": decision.decision_id.to_string(),
        "tenant_id": decision.subject.tenant_id.0.to_string(),
        "subject": value(&decision.subject.to_json()),
        "action": value(&decision.action_json()),
        "policy": decision.policy,
        "status": decision.status.name(),
        "created_at": rfc3339(decision.created_at),
        "expires_at": rfc3339(decision.expires_at),
    })
}

/// Everything of a decision.
pub(super) fn whole(context: &Context, decision: &DeskDecision) -> Result<Value, Failure> {
    let read = context.store.read();
    let shown = get_context(&read, decision.decision_id)?;
    let shown = parse(shown.as_bytes(), Limits::default()).map_or(Value::Null, |json| value(&json));
    let needed = names_needed(&read, &context.shelf, &decision.subject)?;
    let mut all = view(decision);
    let approvals: Vec<Value> =
        decision.approvals.iter().map(|one| json!({"by": one.by, "at": rfc3339(one.at)})).collect();
    let further = json!({
        "context": shown,
        "context_hash": decision.context_hash,
        "approvals": approvals,
        "approvals_needed": needed,
        "decided_by": decision.decided_by,
        "reason": decision.reason,
        "decided_at": decision.decided_at.map(rfc3339),
    });
    if let (Value::Object(all), Value::Object(further)) = (&mut all, further) {
        all.extend(further);
    }
    Ok(all)
}

/// Every decision that waits, of all tenants, oldest first; with `all`, those that were taken, too.
///
/// # Errors
/// Only the store's.
pub fn list(context: &Context, all: bool) -> Result<Vec<Value>, Failure> {
    Ok(list_decisions(&context.store.read(), all)?.iter().map(view).collect())
}

/// One decision.
///
/// # Errors
/// Only the store's.
pub fn show(context: &Context, decision_id: Uuid) -> Result<Option<Value>, Failure> {
    let decision = get_decision(&context.store.read(), decision_id)?;
    decision.map(|decision| whole(context, &decision)).transpose()
}

/// One decision as a decision service tells it (localization, Approvals).
///
/// # Errors
/// Only the store's.
pub fn reading(context: &Context, decision_id: Uuid) -> Result<Option<Value>, Failure> {
    let decision = get_decision(&context.store.read(), decision_id)?;
    Ok(decision.map(|decision| {
        json!({
            "decision_id": decision_id.to_string(),
            "status": decision.status.name(),
            "decided_by": decision.decided_by,
            "reason": decision.reason,
            "decided_at": decision.decided_at.map(rfc3339),
            "context_hash": decision.context_hash,
        })
    }))
}

/// Puts a decision on the desk, as a decision service is asked to (localization, W1).
///
/// # Errors
/// What is wrong with what is asked, or why it cannot be done.
pub async fn raise(context: &Context, text: &str) -> Result<Value, String> {
    let json = parse(text.as_bytes(), Limits::default()).map_err(|error| error.to_string())?;
    let wanted = Raise::read(&json).ok_or("policy, subject, action, context and expires_at are what it takes")?;
    let raised = Desk::new(context.store.clone()).raise(wanted).await.map_err(|unavailable| unavailable.0)?;
    Ok(json!({
        "decision_id": raised.decision_id,
        "status": "pending",
        "context_hash": raised.context_hash,
        "review_url": raised.review_url,
    }))
}

/// Whether decisions are taken at this appliance's own desk.
#[must_use]
pub fn is_embedded(context: &Context) -> bool {
    context.decisions.is_embedded
}

/// Reads whatever it takes to count names, so that the writer finds it on the shelf and keeps nobody waiting.
pub(super) fn warm(context: &Context, decision_id: Uuid) -> Result<(), Failure> {
    let read = context.store.read();
    if let Some(known) = get_decision(&read, decision_id)? {
        names_needed(&read, &context.shelf, &known.subject)?;
    }
    Ok(())
}

/// Takes a decision.
///
/// # Errors
/// See [`DeskRefusal`].
pub async fn decide(
    context: &Context,
    decision_id: Uuid,
    verdict: Verdict,
    by: String,
    reason: Option<String>,
) -> Result<Value, Abort<DeskRefusal>> {
    let shared = context.clone();
    warm(context, decision_id)?;
    let decided = context.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
        let known = get_decision(tx, decision_id)?.ok_or(DeskRefusal::NoSuch(decision_id))?;
        let names_needed = names_needed(tx, &shared.shelf, &known.subject)?;
        desk::decide(tx, now, Decide { decision_id, verdict, by, reason, names_needed })
    });
    Ok(whole(context, &decided.await?)?)
}

/// Why the decision service does not answer; `None`: it does.
pub async fn obstacle(context: &Context) -> Option<String> {
    context.decisions.service.probe().await.err().map(|unavailable| unavailable.0)
}
