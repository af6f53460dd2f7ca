//! Acknowledgements that an agent owes, and that it is owed.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Route, json as success, refusal_of};
use quintet_storage::{Failure, Read};

use crate::acks::{Owed, of_debtor, of_sender};
use crate::dialect::{ACTING, Answered, Call};
use crate::identity::mailboxes;
use crate::mail::messages;
use crate::mail::whereabouts::delivery_of;
use crate::model::{AgentKey, AgentNo, DeliveryId, MessageId};
use crate::refusal::Refusal;
use crate::wire::{instant, instant_or_null};

/// More are not shown.
const SHOWN_MAX: usize = 200;

pub(super) const OWING: Route = Route::get("list_owing", "/v1/reminders/owing")
    .permission("read")
    .marks(&[ACTING])
    .summary("Messages that the agent has yet to acknowledge, the oldest first")
    .successes(&[success(200, "Owing")])
    .codes(&["busy"]);
pub(super) const OWED: Route = Route::get("list_owed", "/v1/reminders/owed")
    .permission("read")
    .marks(&[ACTING])
    .summary("Messages of the agent that others have yet to acknowledge, the oldest first")
    .successes(&[success(200, "OwedAcks")])
    .codes(&["busy"]);

pub(super) async fn owing(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let read = call.snapshot();
    let list = || -> Result<Vec<Json>, Failure> {
        let all = of_debtor(&read, agent, SHOWN_MAX)?.into_iter();
        all.map(|(message, owed)| row(&read, agent, message, &owed, "sender_name", owed.sender)).collect()
    };
    answer("owing", list().map_err(|failure| refusal_of::<Refusal>(failure.into()))?)
}

pub(super) async fn owed(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let read = call.snapshot();
    let list = || -> Result<Vec<Json>, Failure> {
        let all = of_sender(&read, agent, SHOWN_MAX)?.into_iter();
        all.map(|(debtor, message, owed)| row(&read, (agent.0, debtor), message, &owed, "recipient_name", debtor))
            .collect()
    };
    answer("owed", list().map_err(|failure| refusal_of::<Refusal>(failure.into()))?)
}

fn answer(name: &'static str, rows: Vec<Json>) -> Answered {
    let count = Json::from(rows.len());
    Ok(Answer::json(200, to_compact(&Json::object([(name, Json::Array(rows)), ("count", count)]))))
}

fn row(
    read: &impl Read,
    debtor: AgentKey,
    id: MessageId,
    owed: &Owed,
    who: &'static str,
    other: AgentNo,
) -> Result<Json, Failure> {
    let message = messages::get(read, (debtor.0, id))?;
    let delivered = delivery_of(read, debtor, &mailboxes::get(read, debtor)?, (id, &message))?;
    let delivery_id = delivered
        .map(|(seq, delivery)| ulid(DeliveryId { arrived_at: delivery.arrived_at, agent: debtor.1, seq }.to_uuid()));
    Ok(Json::object([
        ("delivery_id", Json::from(delivery_id)),
        ("message_id", ulid(id.0).into()),
        ("thread_id", ulid(message.thread.0).into()),
        ("subject", message.subject.into()),
        ("required_by", instant(owed.required_by)),
        ("attempts_so_far", owed.attempts.into()),
        ("last_attempt_at", instant_or_null(owed.last_attempt_at)),
        ("next_attempt_at", instant_or_null(owed.next_attempt_at())),
        (who, mailboxes::get(read, (debtor.0, other))?.name.into()),
    ]))
}
