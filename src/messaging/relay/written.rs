//! What is sent: a message as mail, or words of the platform, with its envelope.

use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Read, Timestamp, Uuid};

use crate::identity::{Status, Workspace, workspaces};
use crate::mail::compose::composed;
use crate::mail::messages;
use crate::mail::model::Sender;
use crate::mail::raw::{Addressee, Mail, written};
use crate::outbox::{Outgoing, OutgoingKey, What, note_text};
use crate::words::address;

/// What a person is told by who writes and nobody reads.
const NOBODY: &str = "no-reply";

/// A mail with its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Where reports go to.
    pub(super) sender: String,
    /// To whom.
    pub(super) recipients: Vec<String>,
    /// The mail.
    pub(super) bytes: Vec<u8>,
}

/// Why there is nothing to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nothing {
    /// The workspace serves no more.
    Deleted,
    /// What was to be said is gone with its tenant.
    Erased,
}

/// Writes a mail; `Err`: there is nothing to be sent, and nobody to be told.
pub(super) fn write(
    read: &impl Read,
    domain: &str,
    key: OutgoingKey,
    outgoing: &Outgoing,
) -> Result<Result<Written, Nothing>, Failure> {
    let workspace = workspaces::find(read, key.0)?.filter(|workspace| workspace.status != Status::Deleted);
    let Some(workspace) = workspace else { return Ok(Err(Nothing::Deleted)) };
    let recipients: Vec<String> = outgoing.waiting().map(str::to_owned).collect();
    match &outgoing.what {
        What::Message(_) => message(read, (&workspace, domain), key, recipients).map(Ok),
        What::Note { subject, text } => {
            let text = match text {
                Some(sealed) => note_text(read, &workspace, key.1, sealed)?,
                None => None,
            };
            let Some(text) = text else { return Ok(Err(Nothing::Erased)) };
            Ok(Ok(words((&workspace.name, domain), (key.1, outgoing.created_at), (subject, &text), recipients)))
        }
    }
}

fn message(
    read: &impl Read,
    (workspace, domain): (&Workspace, &str),
    key: OutgoingKey,
    recipients: Vec<String>,
) -> Result<Written, Failure> {
    let id = crate::model::MessageId(key.1);
    let message = messages::get(read, (key.0, id))?;
    // A person's program may answer by itself what a program's may not.
    let further: &[(&'static str, &'static str)] = match message.sender {
        Sender::Agent(_) => &[("Auto-Submitted", "no")],
        _ => &[("Auto-Submitted", "auto-generated")],
    };
    let bytes = composed(read, (workspace, domain), (id, &message), further)?;
    let sender = address::of_agent(&workspace.slug, format!("{}+b.{}", message.sender_name, ulid(key.1)), domain);
    Ok(Written { sender, recipients, bytes })
}

/// Words of the platform, from nobody who reads.
pub(super) fn words(
    (from, domain): (&str, &str),
    (id, sent_at): (Uuid, Timestamp),
    (subject, text): (&str, &str),
    recipients: Vec<String>,
) -> Written {
    let sender = format!("{NOBODY}@{domain}");
    let to: Vec<Addressee<'_>> =
        recipients.iter().map(|address| Addressee::Mailbox { name: "", address: address.as_str() }).collect();
    let bytes = written(&Mail {
        id: &ulid(id),
        domain,
        from: Addressee::Mailbox { name: from, address: &sender },
        sent_at_seconds: sent_at.as_micros().div_euclid(1_000_000),
        to: &to,
        cc: &[],
        subject,
        references: &[],
        further: &[("Auto-Submitted", "auto-generated")],
        text: Some(text),
        html: None,
        attachments: &[],
    });
    Written { sender, recipients, bytes }
}
