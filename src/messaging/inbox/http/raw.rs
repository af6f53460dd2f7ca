//! A message as mail.

use http::HeaderValue;
use http::header::X_CONTENT_TYPE_OPTIONS;
use quintet_platform::ids::ulid;
use quintet_platform::service::{Answer, Route, failed, media};
use quintet_storage::large::{LargeValue, read_chunk};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read};

use super::deliveries::no_delivery;
use crate::context::Context;
use crate::dialect::{ACTING, Answered, Call};
use crate::form::MESSAGE;
use crate::identity::Workspace;
use crate::mail::messages;
use crate::mail::model::Message;
use crate::mail::raw::{Addressee, Attachment, Mail, written};
use crate::mail::whereabouts::concerns;
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
    let contents = messages::open(&read, workspace, id, &message.kept)?;
    let files = message.attachments.iter().map(|file| whole(&read, &file.value)).collect::<Result<Vec<_>, _>>()?;
    let attachments = message.attachments.iter().zip(&files).map(|(file, bytes)| Attachment {
        filename: &file.filename,
        content_type: &file.content_type,
        bytes,
    });
    let attachments: Vec<Attachment<'_>> = attachments.collect();
    let (to, cc) = (addresses(context, workspace, &message.to), addresses(context, workspace, &message.cc));
    let domain = context.domain();
    let earlier = [Some(message.thread.0), message.in_reply_to.map(|parent| parent.0)];
    let mut references: Vec<String> =
        earlier.into_iter().flatten().filter(|one| *one != id.0).map(|one| format!("{}@{domain}", ulid(one))).collect();
    references.dedup();
    let references: Vec<&str> = references.iter().map(String::as_str).collect();
    Ok(written(&Mail {
        id: &ulid(id.0),
        domain,
        from: Addressee::Mailbox { name: &message.sender_name, address: &message.sender_address },
        sent_at_seconds: message.created_at.as_micros().div_euclid(1_000_000),
        to: &to.iter().map(addressee).collect::<Vec<_>>(),
        cc: &cc.iter().map(addressee).collect::<Vec<_>>(),
        subject: &message.subject,
        references: &references,
        further: &[],
        text: Some(&contents.text),
        html: contents.html.as_deref(),
        attachments: &attachments,
    }))
}

/// Recipients as typed, each with its address: those of rooms and tags are empty.
fn addresses(context: &Context, workspace: &Workspace, typed: &[String]) -> Vec<(String, String)> {
    let address = |name: &String| match name {
        group if group.starts_with("room:") || group.starts_with("tag:") => String::new(),
        address if address.contains('@') => address.clone(),
        name => context.address(workspace, name),
    };
    typed.iter().map(|name| (name.clone(), address(name))).collect()
}

fn addressee((name, address): &(String, String)) -> Addressee<'_> {
    match address.as_str() {
        "" => Addressee::Group(name),
        address if address == name => Addressee::Mailbox { name: "", address },
        address => Addressee::Mailbox { name, address },
    }
}

/// All bytes of an attachment; of an erased tenant's there are none.
fn whole(read: &impl Read, value: &LargeValue) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for index in 0.. {
        match read_chunk(read, value, index) {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(Abort::Refused(Erased)) => break,
            Err(Abort::Failed(failure)) => return Err(failure),
        }
    }
    Ok(bytes)
}
