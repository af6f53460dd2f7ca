//! Posting: a message into its thread, and to everybody whom it goes to, in one transaction.

use quintet_storage::large::{self, LargeValue};
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::deliver::{Became, Parcel, deliver_into};
use super::messages::{self, encode, seal_here, unerased_upload};
use super::model::{Addressee, Attachment, Contents, Kept, Message, Pause, Role, Sender, Thread};
use super::tables::{MESSAGES, MessageRow, SENT, SentRow, THREAD_HELD, THREAD_MESSAGES, ThreadHeldRow};
use super::threads;
use super::told::paused;
use super::whereabouts::{is_from, went_to};
use crate::due::{self, Due};
use crate::identity::{Attestation, Availability, Mailbox, Priority, Standing, Workspace, mailboxes};
use crate::model::{AgentKey, AgentNo, Mark, MessageId, ThreadId, ThreadKey};
use crate::rooms::ROOM_HISTORY;

/// What is to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    /// The thread it belongs to; `None`: one of its own.
    pub(crate) thread: Option<ThreadId>,
    /// Which message it answers.
    pub(crate) in_reply_to: Option<MessageId>,
    /// Who writes it.
    pub(crate) from: From,
    /// What it is about.
    pub(crate) subject: String,
    /// Recipients as typed.
    pub(crate) to: Vec<String>,
    /// The same of those who are to know of it.
    pub(crate) cc: Vec<String>,
    /// The agents that it goes to, each once.
    pub(crate) agents: Vec<Addressee>,
    /// The addresses outside that it goes to, each once.
    pub(crate) outside: Vec<(String, Role)>,
    /// The rooms among its recipients.
    pub(crate) rooms: Vec<String>,
    /// How urgent it is.
    pub(crate) priority: Priority,
    /// Whether its text arrives sealed.
    pub(crate) is_sealed: bool,
    /// Whether it is signed, whatever the signature is worth.
    pub(crate) is_signed: bool,
    /// Whether it makes a claim.
    pub(crate) has_claim: bool,
    /// What it says.
    pub(crate) said: Said,
    /// Its attachments, not adopted yet.
    pub(crate) attachments: Vec<Attachment>,
}

/// Who writes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) sender: Sender,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) lane: Option<String>,
    pub(crate) attestation: Attestation,
}

/// What a message says, in bytes: as they are, or as a value that was stored before the transaction because they are many.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Here(Vec<u8>),
    Large(LargeValue),
}

/// What was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) message: MessageId,
    pub(crate) thread: ThreadId,
    /// What is held, for whom and why.
    pub(crate) held: Vec<HeldFor>,
    /// Why the thread does not deliver, if so.
    pub(crate) pause: Option<Pause>,
}

/// A delivery that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldFor {
    /// The agent's name.
    pub(crate) agent: String,
    /// What it has declared.
    pub(crate) availability: Availability,
    /// Until when it is held, as things stand; `None`: until the thread goes on.
    pub(crate) until: Option<Timestamp>,
    /// Why: in the agent's words, or `thread_paused`.
    pub(crate) reason: Option<String>,
}

/// Why a delivery is held that waits for its thread.
const THREAD_PAUSED: &str = "thread_paused";

/// Posts a message. Whether it may be is decided before.
pub(crate) fn post(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    mut letter: Letter,
) -> Result<Posted, Failure> {
    let message = MessageId(tx.new_id());
    let thread_id = letter.thread.unwrap_or(ThreadId(message.0));
    let key = (workspace.no, thread_id);
    let known = match letter.thread {
        Some(_) => threads::find(tx, key)?,
        None => None,
    };
    let (is_new, begins) = (known.is_none(), letter.thread.is_none());
    let mut thread = known.unwrap_or_else(|| Thread::new(letter.subject.clone(), now));
    let is_counted = letter.from.sender != Sender::System;
    let (before, pauses) = (thread.pause, is_counted && thread.count(now));
    thread.message_count += 1;
    thread.last_message_at = now;
    let sender = match letter.from.sender {
        Sender::Agent(no) => Some(no),
        _ => None,
    };
    // Whoever is new in it takes part when something of it has reached him, unless he wrote it.
    let mut new: Option<Vec<AgentNo>> = None;
    if !begins {
        let members = letter.agents.iter().map(|addressee| addressee.no).chain(sender);
        new = threads::enter(tx, key, members, is_new)?;
        tx.put(&THREAD_MESSAGES, &(workspace.no, thread_id, message), &Mark)?;
    }
    let is_new_there = |no| Some(no) != sender && new.as_ref().is_none_or(|new| new.contains(&no));
    for room in &letter.rooms {
        tx.put(&ROOM_HISTORY, &(workspace.no, room.clone(), message), &Mark)?;
    }
    if let Some(no) = sender {
        // Whatever is held for him of the thread.
        threads::arrived(tx, key, no)?;
        note_sent(tx, (workspace.no, no), message, &mut letter.agents)?;
    }
    let (agents, priority) = (std::mem::take(&mut letter.agents), letter.priority);
    put_message(tx, now, workspace, message, thread_id, letter, &agents)?;
    // The platform's own words pass a pause: they tell of it.
    let waits = is_counted && thread.holds();
    let mut held = Vec::new();
    for Addressee { no, role, mut mailbox } in agents {
        let parcel = Parcel { message, thread: thread_id, role, priority, is_late: false };
        let held_for = match waits {
            true => Some(hold_in_thread(tx, now, (key.0, no), &mut thread, mailbox, parcel)?),
            false => {
                let became = deliver_into(tx, now, (workspace.no, no), &mut mailbox, parcel)?;
                held_for(mailbox.name, became)
            }
        };
        if held_for.is_some() && is_new_there(no) {
            threads::expect(tx, key, no)?;
        }
        held.extend(held_for);
    }
    keep_pause_due(tx, key, before, thread.pause)?;
    if !begins {
        threads::put(tx, key, &thread)?;
    }
    if pauses {
        tell_of_pause(tx, now, workspace, thread_id, &thread)?;
    }
    Ok(Posted { message, thread: thread_id, held, pause: thread.pause })
}

/// Has a pause end when it says so, and no earlier one any more.
fn keep_pause_due(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    before: Option<Pause>,
    pause: Option<Pause>,
) -> Result<(), Failure> {
    let ends = |pause: Option<Pause>| pause.map(|pause| pause.resumes_at);
    let (was, is) = (ends(before), ends(pause));
    if was == is {
        return Ok(());
    }
    if let Some(was) = was {
        due::clear(tx, was, Due::Resume(key));
    }
    is.map_or(Ok(()), |is| due::put(tx, is, Due::Resume(key)))
}

fn held_for(agent: String, became: Became) -> Option<HeldFor> {
    let Became::Held(Standing { availability, until, reason, .. }) = became else { return None };
    Some(HeldFor { agent, availability, until, reason })
}

fn hold_in_thread(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    thread: &mut Thread,
    mailbox: Mailbox,
    parcel: Parcel,
) -> Result<HeldFor, Failure> {
    thread.last_held += 1;
    thread.held_count = thread.held_count.saturating_add(1);
    let Parcel { message, thread: thread_id, role, priority, .. } = parcel;
    let row = ThreadHeldRow { agent: agent.1, message, role, priority };
    tx.put(&THREAD_HELD, &(agent.0, thread_id, thread.last_held), &row)?;
    let Standing { availability, .. } = if mailbox.standing.is_over(now) { Standing::ONLINE } else { mailbox.standing };
    Ok(HeldFor { agent: mailbox.name, availability, until: None, reason: Some(THREAD_PAUSED.to_owned()) })
}

/// Counts a message at its sender, who may be among those whom it goes to.
fn note_sent(
    tx: &mut WriteTx<'_>,
    agent: AgentKey,
    message: MessageId,
    agents: &mut [Addressee],
) -> Result<(), Failure> {
    let mut mailbox = mailboxes::get(tx, agent)?;
    mailbox.last_sent += 1;
    tx.put(&SENT, &(agent.0, agent.1, mailbox.last_sent), &SentRow(message))?;
    mailboxes::put(tx, agent, &mailbox)?;
    if let Some(own) = agents.iter_mut().find(|addressee| addressee.no == agent.1) {
        own.mailbox = mailbox;
    }
    Ok(())
}

fn put_message(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    id: MessageId,
    thread: ThreadId,
    letter: Letter,
    agents: &[Addressee],
) -> Result<(), Failure> {
    for attachment in &letter.attachments {
        large::adopt(tx, now, &attachment.value).map_err(unerased_upload)?;
    }
    let kept = match letter.said {
        Said::Here(contents) => seal_here(tx, workspace, id, &contents)?,
        Said::Large(value) => {
            large::adopt(tx, now, &value).map_err(unerased_upload)?;
            Kept::Large(value)
        }
    };
    let inside = agents.iter().map(|addressee| (addressee.mailbox.name.clone(), addressee.role));
    let recipients = inside.chain(letter.outside).collect();
    let message = Message {
        thread,
        in_reply_to: letter.in_reply_to,
        sender: letter.from.sender,
        sender_name: letter.from.name,
        sender_address: letter.from.address,
        lane: letter.from.lane,
        attestation: letter.from.attestation,
        subject: letter.subject,
        to: letter.to,
        cc: letter.cc,
        recipients,
        priority: letter.priority,
        created_at: now,
        is_sealed: letter.is_sealed,
        is_signed: letter.is_signed,
        has_claim: letter.has_claim,
        attachments: letter.attachments,
        kept,
    };
    tx.put(&MESSAGES, &(workspace.no, id), &MessageRow::of(message))
}

/// Participants hear of a pause once (6-messaging.md, G1), but for those from whom all of the thread is held: they know of no
/// thread.
fn tell_of_pause(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    thread_id: ThreadId,
    thread: &Thread,
) -> Result<(), Failure> {
    let who = match thread.pause {
        Some(Pause { is_for_operators: true, .. }) => "an operator can resume it",
        _ => "a participant can resume it with a key of its own, and so can an operator",
    };
    let text = format!(
        "More than 60 messages came into this thread within an hour, so it is paused: what is sent to it is kept and \
         delivered when it goes on. It goes on by itself after an hour below the limit; {who}."
    );
    let to = threads::present(tx, (workspace.no, thread_id))?;
    paused(tx, now, (workspace.no, thread_id), thread, &to)?;
    for (subject, to) in by_subject(tx, (workspace.no, thread_id), thread, to)? {
        let letter = system(tx, workspace, thread_id, subject, text.clone(), &to)?;
        post(tx, now, workspace, letter)?;
    }
    Ok(())
}

/// Whoever came later than the message that began a thread is not told what that one is about.
fn by_subject(
    tx: &WriteTx<'_>,
    key: ThreadKey,
    thread: &Thread,
    all: Vec<AgentNo>,
) -> Result<Vec<(String, Vec<AgentNo>)>, Failure> {
    let first = messages::find(tx, (key.0, MessageId(key.1.0)))?;
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for no in all {
        let name = mailboxes::get(tx, (key.0, no))?.name;
        let knows = first.as_ref().is_none_or(|first| is_from(first, no) || went_to(first, &name));
        if knows { early.push(no) } else { late.push(no) }
    }
    let told = [(format!("Thread paused: {}", thread.subject), early), ("Thread paused".to_owned(), late)];
    Ok(told.into_iter().filter(|(_, who)| !who.is_empty()).collect())
}

/// A message of the platform to agents of a thread.
pub(crate) fn system(
    tx: &WriteTx<'_>,
    workspace: &Workspace,
    thread: ThreadId,
    subject: String,
    text: String,
    to: &[AgentNo],
) -> Result<Letter, Failure> {
    let mut agents = Vec::with_capacity(to.len());
    for no in to {
        let mailbox = mailboxes::get(tx, (workspace.no, *no))?;
        if !mailbox.is_retired {
            agents.push(Addressee { no: *no, role: Role::To, mailbox });
        }
    }
    Ok(Letter {
        thread: Some(thread),
        in_reply_to: None,
        from: From {
            sender: Sender::System,
            name: "system".to_owned(),
            address: String::new(),
            lane: None,
            attestation: Attestation::System,
        },
        subject,
        to: agents.iter().map(|addressee| addressee.mailbox.name.clone()).collect(),
        cc: Vec::new(),
        agents,
        outside: Vec::new(),
        rooms: Vec::new(),
        priority: Priority::Urgent,
        is_sealed: false,
        is_signed: false,
        has_claim: false,
        said: Said::Here(encode(&Contents { text, ..Contents::default() })?),
        attachments: Vec::new(),
    })
}
