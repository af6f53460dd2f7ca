//! Acknowledgements that an agent waits for (`owing`), and that others wait for from it (`owed`). The words are those of the
//! public client, which asks what others owe to whoever asks, and what is owed by him.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Route, json as success};
use quintet_storage::{Failure, Read};

use crate::acks::{Owed, of_debtor, of_sender};
use crate::dialect::{ACTING, Answered, Call};
use crate::identity::mailboxes;
use crate::mail::messages;
use crate::mail::model::{Delivery, Message};
use crate::mail::whereabouts::delivery_of;
use crate::model::{AgentKey, AgentNo, DeliveryId, MessageId};
use crate::wire::{instant, instant_or_null};

/// More are not shown.
const SHOWN_MAX: usize = 200;
/// What an agent owes is looked at up to so much for one answer: of what is held for it nothing is shown.
const LOOKED_AT_MAX: usize = 2_000;

pub(super) const OWING: Route = Route::get("list_owing", "/v1/reminders/owing")
    .permission("read")
    .marks(&[ACTING])
    .summary("Messages of the agent that others have yet to acknowledge, the oldest first")
    .successes(&[success(200, "Owing")])
    .codes(&["busy"]);
pub(super) const OWED: Route = Route::get("list_owed", "/v1/reminders/owed")
    .permission("read")
    .marks(&[ACTING])
    .summary("Messages that the agent has yet to acknowledge, the oldest first")
    .successes(&[success(200, "OwedAcks")])
    .codes(&["busy"]);

pub(super) async fn owing(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let context = call.context.clone();
    let look = move || Ok(awaited(&context.store.read(), agent)?);
    answer("owing", call.in_turn(&call.context.lookers, look).await?)
}

/// What an agent waits for, the oldest first, with what is held for whoever owes it.
fn awaited(read: &impl Read, agent: AgentKey) -> Result<Vec<Json>, Failure> {
    let all = of_sender(read, agent, SHOWN_MAX)?.into_iter();
    let rows = all.map(|(debtor, id, owed)| {
        let (key, message) = ((agent.0, debtor), messages::get(read, (agent.0, id))?);
        let mailbox = mailboxes::get(read, key)?;
        let delivered = delivery_of(read, key, &mailbox, (id, &message))?;
        Ok(row(debtor, (id, message), delivered, &owed, ("recipient_name", mailbox.name)))
    });
    rows.collect()
}

pub(super) async fn owed(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let context = call.context.clone();
    let look = move || Ok(arrived(&context.store.read(), agent)?);
    answer("owed", call.in_turn(&call.context.lookers, look).await?)
}

/// What an agent owes for what has come, the oldest first: what is held, for it or with its thread, it reads nowhere before it
/// is released.
fn arrived(read: &impl Read, agent: AgentKey) -> Result<Vec<Json>, Failure> {
    let mailbox = mailboxes::get(read, agent)?;
    let (mut rows, mut looked_at, mut after) = (Vec::new(), 0, None);
    while looked_at < LOOKED_AT_MAX {
        let all = of_debtor(read, agent, after, SHOWN_MAX)?;
        let count = all.len();
        for (id, owed) in all {
            after = Some(id);
            let message = messages::get(read, (agent.0, id))?;
            let Some(delivered) = delivery_of(read, agent, &mailbox, (id, &message))? else { continue };
            let sender = mailboxes::get(read, (agent.0, owed.sender))?.name;
            rows.push(row(agent.1, (id, message), Some(delivered), &owed, ("sender_name", sender)));
            if rows.len() == SHOWN_MAX {
                return Ok(rows);
            }
        }
        looked_at += count;
        if count < SHOWN_MAX {
            break;
        }
    }
    Ok(rows)
}

fn answer(name: &'static str, rows: Vec<Json>) -> Answered {
    let count = Json::from(rows.len());
    Ok(Answer::json(200, to_compact(&Json::object([(name, Json::Array(rows)), ("count", count)]))))
}

/// An acknowledgement that an agent owes; `delivered`: where the message lies for it, if it has come.
fn row(
    debtor: AgentNo,
    (id, message): (MessageId, Message),
    delivered: Option<(u64, Delivery)>,
    owed: &Owed,
    (who, name): (&'static str, String),
) -> Json {
    let delivery_id = delivered
        .map(|(seq, delivery)| ulid(DeliveryId { arrived_at: delivery.arrived_at, agent: debtor, seq }.to_uuid()));
    Json::object([
        ("delivery_id", Json::from(delivery_id)),
        ("message_id", ulid(id.0).into()),
        ("thread_id", ulid(message.thread.0).into()),
        ("subject", message.subject.into()),
        ("required_by", instant(owed.required_by)),
        ("attempts_so_far", owed.attempts.into()),
        ("last_attempt_at", instant_or_null(owed.last_attempt_at)),
        ("next_attempt_at", instant_or_null(owed.next_attempt_at())),
        (who, name.into()),
    ])
}
