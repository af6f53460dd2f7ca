//! Sending a message, and answering one.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use quintet_platform::service::{Answer, Change, Content, KeyRule, Route, Stop, json as success};
use quintet_storage::{Abort, WriteTx};

use super::super::ephemeral::send_ephemeral;
use super::super::model::{Asked, Author, Ephemeral, Ready, Spoken};
use super::super::prepare::prepare;
use super::super::send::send as send_message;
use super::body::take;
use super::form::{read_message, read_reply};
use super::wire::{write_ephemeral, write_sent};
use crate::context::Context;
use crate::dialect::{ACTING, Answered, BODY_BYTES_MAX, Call, Messaging, SEALING, WRITER_TIME};
use crate::form::MESSAGE;
use crate::identity::Basis;
use crate::mail::recipients::count_blocked;
use crate::model::MailId;
use crate::refusal::Refusal;

/// What is refused of what is sent.
const CODES: &[&str] = &[
    "blocked_by_recipient",
    "busy",
    "external_mail_refused",
    "external_mail_unavailable",
    "payload_invalid",
    "payload_too_large",
    "quota_exceeded",
    "recipient_not_responsive",
    "recipient_unavailable",
    "sealing_required",
    "too_many_recipients",
    "unknown_recipient",
    "unmatched_capability",
];

pub(super) const SEND: Route = Route::post("send_message", "/v1/messages")
    .permission("send")
    .marks(&[ACTING, SEALING])
    .summary("Send a message to agents, rooms, tags and addresses")
    .body(Content::Json("MessageSend"))
    .successes(&[success(202, "Sent")])
    .makes("message_id", "id")
    .key(KeyRule::Optional)
    .codes(CODES);
pub(super) const REPLY: Route = Route::post("reply_to_message", "/v1/messages/{message_id}/reply")
    .permission("send")
    .marks(&[ACTING, SEALING])
    .summary("Answer a message: its sender, or all who got it")
    .segments(&[MESSAGE])
    .body(Content::Json("MessageReply"))
    .successes(&[success(202, "Sent")])
    .makes("message_id", "id")
    .key(KeyRule::Optional)
    .codes(CODES);

/// The agent that writes.
///
/// # Errors
/// None does.
pub(crate) fn author(call: &Call) -> Result<Author, Refusal> {
    let caller = &call.caller;
    let (_, acting) = caller.acting()?;
    Ok(Author {
        workspace: caller.workspace.clone(),
        no: acting.no,
        name: acting.name.clone(),
        attestation: caller.attestation(),
        domain: call.context.domain().to_owned(),
        listens: call.context.listens_for_mail(),
        has_relay: call.context.settings.mail.relay.is_some(),
    })
}

pub(super) async fn send(call: Call) -> Answered {
    let author = author(&call)?;
    let mut taken = take(call, BODY_BYTES_MAX).await?;
    taken.change.begin()?;
    let name = author.name.clone();
    let (asked, spoken) = taken.read(move |fields| read_message(fields, &name)).await?;
    let answered = deliver(taken.change, author, asked, spoken, |_| Ok(())).await;
    drop(taken.turn);
    answered
}

pub(super) async fn reply(call: Call) -> Answered {
    let author = author(&call)?;
    let parent: Option<MailId> = call.segment(MESSAGE.name);
    let parent = parent.ok_or_else(|| Refusal::NotFound("message with this id that is for this agent".to_owned()))?;
    let mut taken = take(call, BODY_BYTES_MAX).await?;
    taken.change.begin()?;
    let (asked, spoken) = taken.read(move |fields| read_reply(fields, parent)).await?;
    let answered = deliver(taken.change, author, asked, spoken, |_| Ok(())).await;
    drop(taken.turn);
    answered
}

/// Sends, with what else belongs into the same transaction, and before.
///
/// # Errors
/// What either refuses.
pub(crate) async fn deliver(
    change: Change<Messaging>,
    author: Author,
    asked: Asked,
    spoken: Spoken,
    before: impl Fn(&mut WriteTx<'_>) -> Result<(), Abort<Refusal>> + Clone + Send + 'static,
) -> Answered {
    let (context, basis) = (change.call.context.clone(), change.call.caller.basis(false));
    let author = Arc::new(author);
    let outcome = match asked.is_ephemeral {
        true => tell(change, &author, asked, spoken).await,
        false => post(change, &author, asked, spoken, before).await,
    };
    counted(&context, basis, &author, outcome).await
}

async fn post(
    change: Change<Messaging>,
    author: &Arc<Author>,
    asked: Asked,
    spoken: Spoken,
    before: impl Fn(&mut WriteTx<'_>) -> Result<(), Abort<Refusal>> + Clone + Send + 'static,
) -> Answered {
    let context = change.call.context.clone();
    let prepared = prepare(&context, author, asked, spoken).await?;
    let author = Arc::clone(author);
    let verb = move |tx: &mut WriteTx<'_>, now, ready: &Ready| {
        before(tx)?;
        let sent = send_message(tx, now, &author, ready, &context.attendance)?;
        Ok(Answer::json(202, write_sent(&sent)))
    };
    prepared.write(change, verb).await
}

/// Sends what is stored nowhere: when it was counted, the streams are told that are open then. What is remembered for a
/// repeat is how many were open when it was counted; what is answered is how many it went to.
async fn tell(change: Change<Messaging>, author: &Arc<Author>, asked: Asked, spoken: Spoken) -> Answered {
    let context = change.call.context.clone();
    let prepared = prepare(&context, author, asked, spoken).await?;
    let done: Arc<OnceLock<Ephemeral>> = Arc::default();
    let (own, author, counted) = (context.clone(), Arc::clone(author), Arc::clone(&done));
    let verb = move |tx: &mut WriteTx<'_>, now, ready: &Ready| {
        let ephemeral = send_ephemeral(tx, now, &author, ready, &own.attendance)?;
        let open = own.attendance.streams().reach(&ephemeral.agents);
        let told = write_ephemeral(open, ephemeral.withheld);
        let _ = counted.set(ephemeral);
        Ok(Answer::json(202, told))
    };
    // Nobody is told of what could not be counted.
    let answer = prepared.write(change, verb).await?;
    // A repeat has not sent again.
    let Some(Ephemeral { agents, withheld, event }) = done.get() else { return Ok(answer) };
    let reached = context.attendance.streams().tell(agents, event.clone());
    Ok(answer.with_body(Bytes::from(write_ephemeral(reached, *withheld))))
}

/// Counts a message that blocks kept from being sent.
pub(super) async fn counted(context: &Context, basis: Basis, author: &Arc<Author>, outcome: Answered) -> Answered {
    if let Err(Stop::Refused(Refusal::Blocked(refused))) = &outcome {
        let (refused, author) = (refused.clone(), Arc::clone(author));
        let verb = move |tx: &mut WriteTx<'_>, _| {
            basis.check(tx)?;
            Ok(count_blocked(tx, author.asker(), &refused)?)
        };
        // The refusal is the answer, whether or not it could be counted.
        let _: Result<(), _> = context.write::<_, Refusal>(WRITER_TIME, verb).await;
    }
    outcome
}
