//! A message as mail.

use http::HeaderValue;
use http::header::X_CONTENT_TYPE_OPTIONS;
use quintet_platform::service::{Answer, Route, failed, media};
use quintet_storage::Failure;

use super::deliveries::no_delivery;
use crate::context::Context;
use crate::dialect::{ACTING, Answered, Call};
use crate::form::MESSAGE;
use crate::identity::Workspace;
use crate::mail::compose::composed;
use crate::mail::model::Message;
use crate::mail::whereabouts::concerns;
use crate::mail::{messages, origins};
use crate::model::{MailId, MessageId};
use crate::refusal::Refusal;

const RFC822: HeaderValue = HeaderValue::from_static("message/rfc822");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

pub(super) const GET: Route = Route::get("get_message_raw", "/v1/messages/{message_id}/raw")
    .permission("read")
    .marks(&[ACTING])
    .summary("A message that concerns the agent, as mail with its attachments; marks nothing read")
    .segments(&[MESSAGE])
    .successes(&[media(200, &[("message/rfc822", r#"{"type":"string","format":"binary"}"#)])])
    .codes(&["busy"]);

pub(super) async fn get(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let Some(MailId::Message(id)) = call.segment(MESSAGE.name) else { return Err(no_delivery().into()) };
    let read = call.snapshot();
    let find = || -> Result<Option<Message>, Failure> {
        let Some(message) = messages::find(&read, (agent.0, id))? else { return Ok(None) };
        Ok(if concerns(&read, agent, (id, &message))? { Some(message) } else { None })
    };
    let message = find().map_err(|failure| failed::<Refusal>(&failure))?.ok_or_else(no_delivery)?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    // All of it is held at once, and twice: few at a time are.
    let write = move || Ok(raw(&context, &workspace, id, &message)?);
    let bytes = call.in_turn(&call.context.mails, write).await?;
    Ok(Answer::other(200, RFC822, bytes).header(X_CONTENT_TYPE_OPTIONS, NOSNIFF))
}

fn raw(context: &Context, workspace: &Workspace, id: MessageId, message: &Message) -> Result<Vec<u8>, Failure> {
    let read = context.store.read();
    match origins::raw(&read, workspace, id)? {
        Some(bytes) => Ok(bytes),
        None => composed(&read, (workspace, context.domain()), (id, message), &[]),
    }
}
