//! A message of rows as mail.

use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Read};

use super::model::{Message, Sender};
use super::raw::{Addressee, Attachment, Mail, written};
use super::{messages, origins};
use crate::identity::Workspace;
use crate::model::MessageId;
use crate::words::address;

/// Writes a message as mail, under what is said of the domain and with further headers. What came from outside is no
/// matter of this: it is kept as it came.
pub(crate) fn composed(
    read: &impl Read,
    (workspace, domain): (&Workspace, &str),
    (id, message): (MessageId, &Message),
    further: &[(&'static str, &'static str)],
) -> Result<Vec<u8>, Failure> {
    let contents = messages::open(read, workspace, id, &message.kept)?;
    let files = message.attachments.iter().map(|file| messages::whole(read, &file.value));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let attachments = message.attachments.iter().zip(&files).map(|(file, bytes)| Attachment {
        filename: &file.filename,
        content_type: &file.content_type,
        bytes,
    });
    let attachments: Vec<Attachment<'_>> = attachments.collect();
    let to = addresses(workspace, domain, &message.to);
    let cc = addresses(workspace, domain, &message.cc);
    let references = references(read, workspace, domain, (id, message))?;
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
        further,
        text: Some(&contents.text),
        html: contents.html.as_deref(),
        attachments: &attachments,
    }))
}

/// What the messages before it are called: the one that began the thread, and the one that it answers.
fn references(
    read: &impl Read,
    workspace: &Workspace,
    domain: &str,
    (id, message): (MessageId, &Message),
) -> Result<Vec<String>, Failure> {
    let earlier = [Some(MessageId(message.thread.0)), message.in_reply_to];
    let mut all = Vec::new();
    for one in earlier.into_iter().flatten().filter(|one| *one != id) {
        all.push(called(read, workspace, domain, one)?);
    }
    all.dedup();
    Ok(all)
}

/// What a message is called: what came from outside by what it is called there.
fn called(read: &impl Read, workspace: &Workspace, domain: &str, id: MessageId) -> Result<String, Failure> {
    let message = messages::find(read, (workspace.no, id))?;
    let is_outside = message.is_some_and(|message| matches!(message.sender, Sender::External(_)));
    let origin = if is_outside { origins::find(read, (workspace.no, id))? } else { None };
    let own = || format!("{}@{domain}", ulid(id.0));
    Ok(origin.and_then(|origin| origin.message_id).unwrap_or_else(own))
}

/// Recipients as typed, each with its address: those of rooms and tags are empty.
fn addresses(workspace: &Workspace, domain: &str, typed: &[String]) -> Vec<(String, String)> {
    let address = |name: &String| match name {
        group if group.starts_with("room:") || group.starts_with("tag:") => String::new(),
        address if address.contains('@') => address.clone(),
        name => address::of_agent(&workspace.slug, name, domain),
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
