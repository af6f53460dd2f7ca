//! Sending a message.

use quintet_platform::service::{Answer, Content, KeyRule, Route, Stop, json as success};
use quintet_storage::WriteTx;

use super::super::model::{Author, Faults, Ready};
use super::super::send::send as send_message;
use super::form::read_message;
use super::wire::write_sent;
use crate::context::Context;
use crate::dialect::{ACTING, Answered, BODY_BYTES_MAX, Call, WRITER_TIME};
use crate::form::members;
use crate::mail::messages::encode;
use crate::mail::model::Contents;
use crate::mail::post::Said;
use crate::mail::recipients::count_blocked;
use crate::refusal::Refusal;

pub(super) const SEND: Route = Route::post("send_message", "/v1/messages")
    .permission("send")
    .marks(&[ACTING])
    .summary("Send a message to agents, rooms, tags and addresses")
    .body(Content::Json("MessageSend"))
    .successes(&[success(202, "Sent")])
    .makes("message_id", "id")
    .key(KeyRule::Optional)
    .codes(&[
        "blocked_by_recipient",
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
    ]);

/// The agent that writes.
pub(super) fn author(call: &Call) -> Result<Author, Refusal> {
    let caller = &call.caller;
    let (_, acting) = caller.acting()?;
    Ok(Author {
        workspace: caller.workspace.clone(),
        no: acting.no,
        name: acting.name.clone(),
        attestation: caller.attestation(),
        domain: call.context.domain().to_owned(),
    })
}

pub(super) async fn send(call: Call) -> Answered {
    let author = author(&call)?;
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    change.begin()?;
    let mut fields = members(&mut change)?;
    let asked = read_message(&mut fields, &author.name)?;
    let contents = Contents { text: asked.text, ..Contents::default() };
    let ready = Ready {
        course: asked.course,
        priority: asked.priority,
        wants: asked.wants,
        ack_window_seconds: None,
        is_sealed: false,
        is_signed: false,
        has_claim: false,
        said: Said::Here(encode(&contents).map_err(|failure| quintet_platform::service::failed::<Refusal>(&failure))?),
        attachments: Vec::new(),
        faults: Faults::default(),
    };
    let context = change.call.context.clone();
    let (own, writer) = (context.clone(), author.clone());
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let sent = send_message(tx, now, &writer, ready, &own.attendance)?;
        Ok(Answer::json(202, write_sent(&sent)))
    };
    counted(&context, author, change.write(verb).await).await
}

/// Counts a message that blocks kept from being sent.
async fn counted(context: &Context, author: Author, outcome: Answered) -> Answered {
    if let Err(Stop::Refused(Refusal::Blocked(refused))) = &outcome {
        let refused = refused.clone();
        let verb = move |tx: &mut WriteTx<'_>, _| Ok(count_blocked(tx, author.asker(), &refused)?);
        // The refusal is the answer, whether or not it could be counted.
        let _: Result<(), _> = context.write::<_, Refusal>(WRITER_TIME, verb).await;
    }
    outcome
}
