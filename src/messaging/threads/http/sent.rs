//! What an agent sent.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Parameter, Route, Shape, json as success};
use quintet_storage::{Failure, Read};

use super::super::look::Budget;
use super::page::{LIMIT, count};
use crate::dialect::{ACTING, Answered, Call};
use crate::identity::Workspace;
use crate::mail::messages;
use crate::mail::model::{Contents, Message};
use crate::model::{AgentKey, MessageId};
use crate::shown::signed_recipients;
use crate::wire::{instant, texts};

const CURSOR: Parameter = Parameter::new(
    "cursor",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "The cursor of the answer before; 0: from the newest on.",
);

pub(super) const LIST: Route = Route::get("list_sent", "/v1/sent")
    .permission("read")
    .marks(&[ACTING])
    .summary("What the agent sent, the newest first")
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "Sent")])
    .codes(&["busy"]);

pub(super) async fn list(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let limit = count(call.integer(&LIMIT)?);
    let before = call.integer(&CURSOR)?.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0);
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let look = move || Ok(written(&context.store.read(), &workspace, agent, before, limit)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

fn written(
    read: &impl Read,
    workspace: &Workspace,
    agent: AgentKey,
    before: Option<u64>,
    limit: usize,
) -> Result<String, Failure> {
    let (mut rows, mut budget, mut last) = (Vec::new(), Budget::default(), before);
    let sent = messages::sent_by(read, agent, before, limit)?;
    for (number, id) in sent {
        if !budget.has_room() {
            break;
        }
        let message = messages::get(read, (agent.0, id))?;
        let contents = messages::open(read, workspace, id, &message.kept)?;
        budget.take(&message, &contents);
        rows.push(record(id, &message, &contents));
        last = Some(number);
    }
    // The first number is 1: behind that there is nothing.
    let cursor = last.filter(|number| *number > 1 && !rows.is_empty());
    let told = [("count", Json::from(rows.len())), ("messages", rows.into()), ("cursor", cursor.into())];
    Ok(to_compact(&Json::object(told)))
}

/// The recipients that a signature is over stand as a text: its reader takes them apart by himself.
fn record(id: MessageId, message: &Message, contents: &Contents) -> Json {
    let signed = message.is_signed.then(|| to_compact(&signed_recipients(message)));
    Json::object([
        ("message_id", Json::from(ulid(id.0))),
        ("thread_id", ulid(message.thread.0).into()),
        ("subject", message.subject.as_str().into()),
        ("sent_at", instant(message.created_at)),
        ("priority", message.priority.name().into()),
        ("sealed", message.is_sealed.into()),
        ("sealed_by", contents.sealed_by.as_deref().into()),
        ("signed_recipients", signed.into()),
        ("recipients", texts(message.recipients.iter().map(|(name, _)| name))),
        ("attachment_count", message.attachments.len().into()),
        ("text_body", contents.text.as_str().into()),
    ])
}
