//! Sending a draft: as it is, or with a text that was sealed for those who get it.

use quintet_platform::service::{Content, Fault, KeyRule, Route, json as success, refusal_of};
use quintet_storage::{Abort, WriteTx};

use super::super::rows::{find, remove, text};
use super::path::{DRAFT, DRAFT_BODY_BYTES_MAX, draft_key, held_by};
use crate::dialect::{ACTING, Answered, Call, SEALING};
use crate::form::{members, optional};
use crate::identity::Priority;
use crate::mail::recipients::Typed;
use crate::refusal::Refusal;
use crate::sending::form::{long_text, signature};
use crate::sending::{Asked, Course, Spoken, Taken, Wants, author, deliver, take};

pub(super) const SEND: Route = Route::post("send_draft", "/v1/drafts/{draft_id}/send")
    .permission("send")
    .marks(&[ACTING, SEALING])
    .summary("Send a draft, which is gone then; a text that is given takes the place of its own")
    .segments(&[DRAFT])
    .body(Content::OptionalJson("DraftSend"))
    .successes(&[success(202, "Sent")])
    .makes("message_id", "id")
    .key(KeyRule::Optional)
    .codes(&[
        "blocked_by_recipient",
        "busy",
        "external_mail_refused",
        "external_mail_unavailable",
        "payload_too_large",
        "quota_exceeded",
        "sealing_required",
        "too_many_recipients",
        "unknown_recipient",
        "unmatched_capability",
    ]);

pub(super) async fn send(call: Call) -> Answered {
    let key = draft_key(&call)?;
    let author = author(&call)?;
    let Taken { mut change, turn, .. } = take(call, DRAFT_BODY_BYTES_MAX).await?;
    change.begin()?;
    let mut fields = members(&mut change)?;
    let given = long_text(&mut fields, "text")?;
    let says_sealed = optional::<bool>(&mut fields, "sealed")?.unwrap_or(false);
    let signature = signature(&mut fields)?;
    let read = change.call.snapshot();
    let draft = find(&read, key).map_err(refusal_of)?;
    let (text, is_sealed) = match given {
        Some(text) => (text, says_sealed),
        None => {
            let own = text(&read, &author.workspace, key).map_err(|failure| refusal_of::<Refusal>(failure.into()))?;
            (own, draft.is_sealed)
        }
    };
    drop(read);
    let held = held_by(&change.call, (key.0, key.1)).await?;
    let course = Course::New { typed: Typed { to: draft.to, cc: draft.cc }, subject: draft.subject, thread: None };
    let asked = Asked {
        course,
        priority: Priority::Normal,
        wants: Wants::default(),
        ack_window_seconds: None,
        is_ephemeral: false,
    };
    let spoken = Spoken { text, is_sealed, signature, ..Spoken::default() };
    let version = draft.version;
    let before = move |tx: &mut WriteTx<'_>| -> Result<(), Abort<Refusal>> {
        // Somebody changed it meanwhile: what was read is not what is to be sent.
        if find(tx, key)?.version != version {
            return Err(Refusal::from(Fault::Busy).into());
        }
        Ok(remove(tx, key, held)?)
    };
    let answered = deliver(change, author, asked, spoken, before).await;
    drop(turn);
    answered
}
