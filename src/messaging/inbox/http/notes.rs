//! What an agent notes of a delivery: that it has dealt with it, and labels.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, json as success};
use quintet_storage::WriteTx;

use super::super::find::Mine;
use super::deliveries::{DELIVERY, mine, no_delivery};
use crate::dialect::{ACTING, Answered, Call};
use crate::form;
use crate::mail::{deliver, labels};
use crate::model::{AgentKey, DeliveryId};
use crate::refusal::Refusal;
use crate::wire::{instant_or_null, texts};
use crate::words::label::{RULE, is_label};

/// Labels that one request can name.
const NAMED_MAX: usize = 50;

pub(super) const ACK: Route = Route::post("ack_delivery", "/v1/deliveries/{delivery_id}/ack")
    .permission("send")
    .marks(&[ACTING])
    .summary("Note that the agent has dealt with a delivery: it is read, and no acknowledgement is owed for it")
    .segments(&[DELIVERY])
    .successes(&[success(200, "Acked")])
    .key(KeyRule::Optional);
pub(super) const LABEL: Route = Route::post("label_delivery", "/v1/deliveries/{delivery_id}/labels")
    .permission("send")
    .marks(&[ACTING])
    .summary("Take labels off a delivery, and put others on; labels are made by use")
    .segments(&[DELIVERY])
    .body(Content::OptionalJson("LabelChange"))
    .successes(&[success(200, "Labelled")])
    .key(KeyRule::Optional)
    .codes(&["limit_reached"]);

/// The delivery that the path names: a message that the agent only sent has none.
fn delivered(call: &Call) -> Result<(AgentKey, u64, Json), Refusal> {
    let (agent, Mine { delivered, .. }) = mine(call)?;
    let (seq, delivery) = delivered.ok_or_else(no_delivery)?;
    let delivery_id = DeliveryId { arrived_at: delivery.arrived_at, agent: agent.1, seq };
    Ok((agent, seq, Json::from(ulid(delivery_id.to_uuid()))))
}

pub(super) async fn ack(call: Call) -> Answered {
    let (agent, seq, id) = delivered(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let delivery = deliver::ack(tx, now, agent, seq)?.ok_or_else(no_delivery)?;
        let told =
            [("delivery_id", id), ("state", delivery.state().into()), ("acked_at", instant_or_null(delivery.acked_at))];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.write(verb).await
}

pub(super) async fn label(call: Call) -> Answered {
    let (agent, seq, id) = delivered(&call)?;
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = form::members(&mut change)?;
    let add = named(form::texts(&mut fields, "add", NAMED_MAX)?)?;
    let remove = form::texts(&mut fields, "remove", NAMED_MAX)?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        let changed = labels::change(tx, &workspace, (agent, seq), add, &remove)?;
        let delivery = changed.ok_or_else(no_delivery)?;
        let told = [("delivery_id", id), ("labels", texts(&delivery.labels))];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.write(verb).await
}

fn named(labels: Vec<String>) -> Result<Vec<String>, Refusal> {
    match labels.iter().position(|label| !is_label(label)) {
        Some(place) => Err(Refusal::field(format!("add[{place}]"), RULE)),
        None => Ok(labels),
    }
}
