//! To whom a reply goes: to whom its parent came from; to all who got that as well, if so, as typed there.

use quintet_storage::{Abort, Failure, Read};

use super::model::{Author, Reply};
use crate::identity::{agents, mailboxes};
use crate::inbox::find::find;
use crate::mail::model::{Message, Role, Sender};
use crate::mail::recipients::Typed;
use crate::model::{MessageId, ThreadId};
use crate::refusal::{Bad, Refusal};
use crate::rooms;
use crate::words::address;
use crate::words::agent_name::AgentName;
use crate::words::recipient::Recipient;
use crate::words::subject::of_reply;

/// A reply, as far as its parent says what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// What it answers.
    pub(super) parent: MessageId,
    /// Where that belongs.
    pub(super) thread: ThreadId,
    /// Its recipients.
    pub(super) typed: Typed,
    /// For how many these count: as many as were typed, and not as many as a tag stood for.
    pub(super) count: u64,
    /// What it is about.
    pub(super) subject: String,
    /// Whom it does not go to, for they are retired.
    pub(super) skipped_retired: Vec<String>,
}

/// What a reply is.
///
/// # Errors
/// The author has no part in its parent; nobody reads answers to that; or all who did are retired.
pub(super) fn answer(read: &impl Read, author: &Author, reply: &Reply) -> Result<Answer, Abort<Refusal>> {
    let parent = find(read, author.key(), reply.parent)?;
    let parent = parent.ok_or_else(|| Refusal::NotFound("message with this id that is for this agent".to_owned()))?;
    let (id, parent) = (parent.id, parent.message);
    let sender = writer(&parent)?;
    let (typed, most) = addressed(read, author, reply, &parent, sender)?;
    let (typed, skipped_retired) = without_retired(read, author, typed)?;
    if typed.to.is_empty() && typed.cc.is_empty() {
        let gone = |name: &String| Bad { at: name.clone(), message: "is retired".to_owned() };
        return Err(Refusal::UnknownRecipient(skipped_retired.iter().map(gone).collect()).into());
    }
    Ok(Answer {
        parent: id,
        thread: parent.thread,
        count: typed.count().min(most),
        typed,
        subject: reply.subject.clone().unwrap_or_else(|| of_reply(&parent.subject)),
        skipped_retired,
    })
}

/// Whom a message came from, as one would type it.
fn writer(parent: &Message) -> Result<String, Refusal> {
    match &parent.sender {
        Sender::Agent(_) => Ok(parent.sender_name.clone()),
        Sender::External(address) => Ok(address.clone()),
        Sender::System | Sender::Ingress(_) => {
            let message = "nobody reads answers to this message".to_owned();
            Err(Refusal::UnknownRecipient(vec![Bad { at: parent.sender_name.clone(), message }]))
        }
    }
}

/// Its recipients, and for how many they count at most.
fn addressed(
    read: &impl Read,
    author: &Author,
    reply: &Reply,
    parent: &Message,
    sender: String,
) -> Result<(Typed, u64), Failure> {
    if !reply.to_all {
        return Ok((Typed { to: vec![sender], cc: reply.cc.clone() }, u64::MAX));
    }
    let own_address = address::of_agent(&author.workspace.slug, &author.name, &author.domain);
    let is_own = |text: &str| text == author.name || text.eq_ignore_ascii_case(&own_address);
    let otherwise = meant_otherwise(read, author, parent)?;
    let mut typed = Typed::default();
    let to = std::iter::once(sender).chain(untagged(parent, &parent.to, Role::To, &otherwise));
    for text in to.filter(|text| !is_own(text)) {
        if !typed.to.contains(&text) {
            typed.to.push(text);
        }
    }
    let cc = untagged(parent, &parent.cc, Role::Cc, &otherwise).chain(reply.cc.iter().cloned());
    for text in cc.filter(|text| !is_own(text)) {
        if !typed.to.contains(&text) && !typed.cc.contains(&text) {
            typed.cc.push(text);
        }
    }
    if typed.to.is_empty() && typed.cc.is_empty() {
        // A note to oneself.
        typed.to.push(author.name.clone());
    }
    Ok((typed, (parent.to.len() + parent.cc.len() + reply.cc.len()).max(1) as u64))
}

fn is_tag(text: &str) -> bool {
    matches!(Recipient::parse(text), Ok(Recipient::Tag(_)))
}

/// Agents that a message's recipients mean whatever its tags stood for: by name, or by a room that they are in. Nobody, of
/// one that has no tags.
fn meant_otherwise(read: &impl Read, author: &Author, parent: &Message) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    if !parent.to.iter().chain(&parent.cc).any(|text| is_tag(text)) {
        return Ok(names);
    }
    for text in parent.to.iter().chain(&parent.cc) {
        match Recipient::parse(text) {
            Ok(Recipient::Agent(name)) => names.push(name.to_owned()),
            Ok(Recipient::Room(room)) => {
                for no in rooms::find(read, author.workspace.no, room)?.unwrap_or_default() {
                    names.push(mailboxes::get(read, (author.workspace.no, no))?.name);
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// What was typed, each tag replaced by the agents that got the message for it: others may wear it by now.
fn untagged<'m>(
    parent: &'m Message,
    typed: &'m [String],
    role: Role,
    otherwise: &'m [String],
) -> impl Iterator<Item = String> + 'm {
    typed.iter().flat_map(move |text| {
        let is_tag = is_tag(text);
        let got = parent.recipients.iter().filter(move |(name, as_what)| {
            is_tag && *as_what == role && !otherwise.contains(name) && AgentName::parse(name).is_ok()
        });
        let itself = if is_tag { None } else { Some(text.clone()) };
        got.map(|(name, _)| name.clone()).chain(itself)
    })
}

/// The same without retired agents, and these.
fn without_retired(read: &impl Read, author: &Author, typed: Typed) -> Result<(Typed, Vec<String>), Failure> {
    let mut skipped = Vec::new();
    let mut kept = |all: Vec<String>| -> Result<Vec<String>, Failure> {
        let mut left = Vec::with_capacity(all.len());
        for text in all {
            match retired(read, author, &text)? {
                Some(name) => skipped.push(name),
                None => left.push(text),
            }
        }
        Ok(left)
    };
    let typed = Typed { to: kept(typed.to)?, cc: kept(typed.cc)? };
    Ok((typed, skipped))
}

/// The retired agent that a text names.
fn retired(read: &impl Read, author: &Author, text: &str) -> Result<Option<String>, Failure> {
    let name = match Recipient::parse(text) {
        Ok(Recipient::Agent(name)) => AgentName::parse(name).ok(),
        Ok(Recipient::Address(address)) => address::Mailbox::read(address, &author.domain)
            .filter(|own| own.workspace == author.workspace.slug)
            .map(|own| own.agent),
        _ => None,
    };
    let Some(name) = name else { return Ok(None) };
    let Some(no) = agents::by_name(read, author.workspace.no, name.as_str())? else { return Ok(None) };
    let is_retired = mailboxes::get(read, (author.workspace.no, no))?.is_retired;
    Ok(if is_retired { Some(name.as_str().to_owned()) } else { None })
}
