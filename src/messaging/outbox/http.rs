//! What was given up, over HTTP.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Endpoint, Parameter, Route, Shape, failed, json as success};

use super::model::Undeliverable;
use super::undeliverable::list;
use crate::dialect::{Answered, Call, Messaging, challenged};
use crate::refusal::Refusal;
use crate::wire::instant;

const LIMIT: Parameter =
    Parameter::new("limit", Shape::Integer { min: 1, max: 200, default: Some(50) }, "The most items, the newest ones.");

const LIST: Route = Route::get("list_undeliverable", "/v1/admin/undeliverable")
    .permission("admin")
    .summary("Mail of the last 30 days that could not be delivered: given up on its way out, or refused on its way in")
    .parameters(&[LIMIT])
    .successes(&[success(200, "Undeliverable")]);

/// What is served of it.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] =
    &[Endpoint::new(&LIST, |call| Box::pin(challenged(call, list_undeliverable)))];

async fn list_undeliverable(mut call: Call) -> Answered {
    if call.caller.key.is_bound() {
        return Err(Refusal::Denied("mail that was given up is shown to a key that is bound to no agent").into());
    }
    let most = call.integer(&LIMIT)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let found = list(&call.snapshot(), call.caller.workspace.no, most);
    let found = found.map_err(|failure| failed::<Refusal>(&failure))?;
    let told = found.iter().map(written).collect::<Vec<_>>();
    Ok(Answer::json(200, to_compact(&Json::object([("undeliverable", Json::Array(told))]))))
}

fn written(one: &Undeliverable) -> Json {
    Json::object([
        ("received_at", instant(one.received_at)),
        ("reason", one.reason.as_str().into()),
        ("sender", one.sender.as_str().into()),
        ("recipient", one.recipient.as_str().into()),
        ("subject", one.subject.as_str().into()),
    ])
}
