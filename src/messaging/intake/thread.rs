//! Which thread mail from outside belongs to: that of a message which it says to answer, if its sender or an agent that it
//! is for has a part in that (6-messaging.md, M3). Whoever has none cannot write his way into it.

use quintet_platform::ids::parse_ulid;
use quintet_storage::{Failure, Read};

use super::model::{Read as Mail, Recipient};
use crate::identity::Workspace;
use crate::mail::model::{Message, Sender};
use crate::mail::{messages, origins, threads};
use crate::model::{AgentNo, MessageId, ThreadId};

/// Messages of others with one id that are looked at: anybody can give his mail any id.
const SAME_MAX: usize = 4;

/// The thread, and the message in it that is answered; `None`: it begins one of its own.
pub(super) fn of(
    read: &impl Read,
    (workspace, domain): (&Workspace, &str),
    mail: &Mail,
    sender: &str,
    agents: &[AgentNo],
) -> Result<Option<(ThreadId, MessageId)>, Failure> {
    for reference in &mail.references {
        for id in candidates(read, workspace, domain, reference)? {
            let Some(message) = messages::find(read, (workspace.no, id))? else { continue };
            if has_part(&message, sender) || takes_part(read, workspace, &message, agents)? {
                return Ok(Some((message.thread, id)));
            }
        }
    }
    Ok(None)
}

/// The thread of the message whose sender's address the mail is for, and the message: answers of programs go there, and often
/// name nothing else.
pub(super) fn of_sent(
    read: &impl Read,
    workspace: &Workspace,
    recipients: &[Recipient],
) -> Result<Option<(ThreadId, MessageId)>, Failure> {
    let Some(id) = recipients.iter().find_map(|recipient| recipient.bounce_of) else { return Ok(None) };
    let message = messages::find(read, (workspace.no, id))?;
    Ok(message.map(|message| (message.thread, id)))
}

/// The messages that a reference may mean: our own by what they are called here, others by what they were called.
fn candidates(
    read: &impl Read,
    workspace: &Workspace,
    domain: &str,
    reference: &str,
) -> Result<Vec<MessageId>, Failure> {
    let own = reference.rsplit_once('@').filter(|(_, of)| of.eq_ignore_ascii_case(domain));
    match own.and_then(|(id, _)| parse_ulid(&id.to_ascii_uppercase())) {
        Some(id) => Ok(vec![MessageId(id)]),
        None => origins::called(read, workspace.no, reference, SAME_MAX),
    }
}

/// Whether somebody outside wrote a message, or it was written to him.
fn has_part(message: &Message, address: &str) -> bool {
    let is_it = |text: &String| text.eq_ignore_ascii_case(address);
    let wrote = matches!(&message.sender, Sender::External(author) if author.eq_ignore_ascii_case(address));
    let got = message.recipients.iter().any(|(recipient, _)| is_it(recipient));
    !address.is_empty() && (wrote || got || message.to.iter().chain(&message.cc).any(is_it))
}

fn takes_part(read: &impl Read, workspace: &Workspace, message: &Message, agents: &[AgentNo]) -> Result<bool, Failure> {
    for agent in agents {
        if threads::takes_part(read, (workspace.no, message.thread), *agent)? {
            return Ok(true);
        }
    }
    Ok(false)
}
