//! The webhook of the decision service.

use std::time::Duration;

use quintet_platform::http::body;
use quintet_platform::json::{Json, Limits, parse};
use quintet_platform::service::{Answer, Content, Endpoint, Fault, Route, Visit, json as success, refusal_of};
use quintet_storage::Abort;

use super::settle::{Settlement, settle_decision};
use crate::context::Context;
use crate::decisions::{Subject, check_signature, is_decision_id, is_known_event, subject_of};
use crate::http::{Answered, Localization};
use crate::refusal::Refusal;

/// The largest body (localization, W3).
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long it may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How deep it may nest.
const DEPTH_MAX: usize = 64;

/// How often it is looked whether a decision is ours, as long as any is being raised, and the pause in between.
const NOTED_LOOKS: usize = 40;
/// See [`NOTED_LOOKS`].
const NOTED_PAUSE: Duration = Duration::from_millis(50);

const WEBHOOK: Route = Route::post("decision_webhook", "/v1/decision/webhook")
    .summary("A decision was taken: it is read, and what it was about is settled; signed by X-HITL-Signature")
    .body(Content::Media(&[("application/json", r##"{"$ref":"#/components/schemas/DecisionEvent"}"##)]))
    .successes(&[success(200, "Nothing")])
    .codes(&[
        "signature_invalid",
        "timestamp_invalid",
        "timestamp_stale",
        "invalid_parameter",
        "invalid_field",
        "invalid_body",
        "malformed_json",
        "payload_too_large",
        "request_timeout",
        "decision_unavailable",
        "busy",
    ]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::open(&WEBHOOK, |visit| Box::pin(webhook(visit)))];

/// In the order of W3.
async fn webhook(mut visit: Visit<Localization>) -> Answered {
    let context = visit.context.clone();
    let Some(secret) = &context.decisions.webhook_secret else { return Err(Refusal::DecisionUnavailable.into()) };
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, BODY_BYTES_MAX, BODY_TIME).await;
    let body = body.map_err(|error| Refusal::Fault(Fault::of_body(error)))?;
    let event_id = check_signature(visit.headers(), &body, secret, context.clock.now())?;
    let decision_id = read_decision_id(&body)?;
    let failed = |failure| refusal_of::<Refusal>(Abort::Failed(failure));
    let is_known = is_known_event(&visit.snapshot(), &event_id).map_err(failed)?;
    let subject = if is_known { None } else { find_subject(&context, &decision_id).await.map_err(refusal_of)? };
    if let Some(subject) = subject {
        match settle_decision(&context, subject, Some(event_id)).await {
            Ok(Settlement::Settled) => {}
            // What nobody has decided is told too early; what cannot be read is told again.
            Ok(Settlement::NotYet) => return Err(Refusal::DecisionUnavailable.into()),
            Err(abort) => return Err(refusal_of(abort).into()),
        }
    }
    Ok(Answer::json(200, "{}"))
}

/// What a decision is about; none: it is not ours. One that is taken as soon as it is raised is told before it is noted what
/// it is about; if that takes long, it is to be told again.
async fn find_subject(context: &Context, decision_id: &str) -> Result<Option<Subject>, Abort<Refusal>> {
    for _ in 0..NOTED_LOOKS {
        // Whoever notes it is in flight until it is noted: what is not found after that is not ours.
        let is_any_in_flight = context.decisions.is_any_in_flight();
        let found = subject_of(&context.store.read(), decision_id)?;
        if found.is_some() || !is_any_in_flight {
            return Ok(found);
        }
        tokio::time::sleep(NOTED_PAUSE).await;
    }
    Err(Refusal::DecisionUnavailable.into())
}

/// The one member that counts.
fn read_decision_id(body: &[u8]) -> Result<String, Refusal> {
    let json = match parse(body, Limits { max_depth: DEPTH_MAX }) {
        Ok(json @ Json::Object(_)) => json,
        Ok(_) => return Err(Refusal::InvalidBody("a JSON object is required")),
        Err(error) => return Err(Refusal::Fault(Fault::Json(error))),
    };
    let decision_id = json.get("decision_id").and_then(Json::as_str).filter(|id| is_decision_id(id));
    decision_id.map(str::to_owned).ok_or_else(|| Refusal::field("decision_id", "is a text of 1 to 200 characters"))
}
