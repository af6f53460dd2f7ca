//! What falls due of a reminder: it fires, expires, or goes.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::cancel::ended;
use super::model::{Reminder, ReminderKey, State};
use super::rows::{find, forget, put, text};
use crate::blocks;
use crate::context::Context;
use crate::due::{self, Due};
use crate::identity::{Attestation, Mailbox, Priority, Status, Workspace, agents, keys, mailboxes, workspaces};
use crate::mail::messages::encode;
use crate::mail::model::{Addressee, Contents, Role, Sender};
use crate::mail::post::{From, Letter, Said, post};
use crate::model::AgentKey;
use crate::usage::{self, Daily, day_of, end_of};
use crate::words::subject::SUBJECT_BYTES_MAX;

/// Characters of the text that stand for a subject.
const SUBJECT_CHARS: usize = 80;

/// Does what is due of a reminder.
pub(crate) fn fall_due(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    context: &Context,
    key: ReminderKey,
) -> Result<(), Failure> {
    let Some(before) = find(tx, key)? else { return Ok(()) };
    // An earlier time of it.
    if before.looked_at > now {
        return Ok(());
    }
    match before.state_at(now) {
        State::Fired | State::Cancelled => forget(tx, key, &before),
        State::Expired if before.state == State::Expired => forget(tx, key, &before),
        State::Expired => put(tx, key, &before, ended(before.clone(), now, State::Expired)),
        State::Scheduled => {
            let Some(workspace) = workspaces::find(tx, key.0)? else { return Ok(()) };
            let after = match workspaces::status(tx, &workspace)? {
                Status::Active => fire(tx, now, context, &workspace, key, before.clone())?,
                Status::Suspended => return due::park(tx, now, key.0, (before.looked_at, Due::Remind(key))),
                Status::Deleted => ended(before.clone(), now, State::Cancelled),
            };
            put(tx, key, &before, after)
        }
    }
}

/// Fires, if there is anybody to fire for; how the reminder stands then.
fn fire(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    context: &Context,
    workspace: &Workspace,
    key: ReminderKey,
    mut reminder: Reminder,
) -> Result<Reminder, Failure> {
    let author = (key.0, key.1);
    let Some((sender, receiver)) = ends(tx, now, author, &reminder)? else {
        return Ok(later(reminder, now, State::Expired));
    };
    match usage::count(tx, now, workspace, Daily::Messages, 1) {
        Ok(()) => {}
        Err(Abort::Failed(failure)) => return Err(failure),
        // It waits for the next day's allowance.
        Err(Abort::Refused(_)) => return Ok(Reminder { looked_at: end_of(day_of(now)), ..reminder }),
    }
    let contents = Contents { text: text(tx, workspace, key)?, ..Contents::default() };
    let letter = Letter {
        thread: reminder.thread,
        in_reply_to: None,
        from: From {
            sender: Sender::Agent(author.1),
            name: sender.name.clone(),
            address: context.address(workspace, &sender.name),
            lane: agents::find(tx, author)?.and_then(|agent| agent.persona),
            attestation: attestation(tx, &reminder)?,
        },
        subject: subject(&reminder, &contents.text),
        to: vec![receiver.name.clone()],
        cc: Vec::new(),
        agents: vec![Addressee { no: reminder.target, role: Role::To, mailbox: receiver }],
        outside: Vec::new(),
        rooms: Vec::new(),
        priority: Priority::Normal,
        is_sealed: reminder.is_sealed,
        is_signed: false,
        has_claim: false,
        said: Said::Here(encode(&contents)?),
        attachments: Vec::new(),
    };
    reminder.thread = Some(post(tx, now, workspace, letter)?.thread);
    Ok(later(reminder, now, State::Fired))
}

/// What is known of the author now: no more than that a key of the workspace said so, once the key that made the reminder is
/// good no more (6-messaging.md, Q3). Whoever has it may be whom it was revoked for.
fn attestation(read: &impl Read, reminder: &Reminder) -> Result<Attestation, Failure> {
    let key = reminder.key_id.as_ref().map(|id| keys::find(read, id)).transpose()?.flatten();
    let is_good = key.is_some_and(|key| key.revoked_at.is_none());
    Ok(match reminder.attestation {
        Attestation::Platform if !is_good => Attestation::Workspace,
        as_made => as_made,
    })
}

/// Author and target; `None`: one of them is retired, or the target takes nothing from the author.
fn ends(
    read: &impl Read,
    now: Timestamp,
    author: AgentKey,
    reminder: &Reminder,
) -> Result<Option<(Mailbox, Mailbox)>, Failure> {
    let (sender, receiver) = (mailboxes::get(read, author)?, mailboxes::get(read, (author.0, reminder.target))?);
    let is_blocked = blocks::blockers_of(read, author, now)?.contains(&reminder.target);
    Ok(if sender.is_retired || receiver.is_retired || is_blocked { None } else { Some((sender, receiver)) })
}

/// A reminder that has been due: it is due again, ends when its time is over, or has ended.
fn later(reminder: Reminder, now: Timestamp, end: State) -> Reminder {
    // A zone that is none any more ends it like a rule that has come to its end.
    let next = reminder.rule.as_ref().and_then(|rule| rule.next_after(now).ok().flatten());
    let Some(next) = next else { return ended(reminder, now, end) };
    match reminder.expires_at {
        Some(expires_at) if expires_at <= next => Reminder { due_at: None, looked_at: expires_at, ..reminder },
        _ => Reminder { due_at: Some(next), looked_at: next, ..reminder },
    }
}

/// What the message is about: what the reminder is, or how it begins.
fn subject(reminder: &Reminder, text: &str) -> String {
    let about = match (reminder.subject.as_str(), reminder.is_sealed) {
        ("", true) => "sealed note".to_owned(),
        ("", false) => {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("note");
            line.chars().filter(|char| !char.is_control()).take(SUBJECT_CHARS).collect()
        }
        (subject, _) => subject.to_owned(),
    };
    let mut subject = format!("Reminder: {about}");
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    subject
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AgentNo;

    #[test]
    fn a_subject_is_what_was_given_or_how_the_text_begins() {
        let reminder = |subject: &str, is_sealed| Reminder {
            subject: subject.to_owned(),
            target: AgentNo(1),
            attestation: Attestation::Platform,
            key_id: None,
            state: State::Scheduled,
            due_at: None,
            expires_at: None,
            rule: None,
            timezone: "UTC".to_owned(),
            thread: None,
            is_sealed,
            created_at: Timestamp::EPOCH,
            looked_at: Timestamp::EPOCH,
        };
        assert_eq!(subject(&reminder("standup", false), "x"), "Reminder: standup");
        assert_eq!(subject(&reminder("", false), "\n  call\tBob \nx"), "Reminder: callBob");
        assert_eq!(subject(&reminder("", true), "-----BEGIN"), "Reminder: sealed note");
        assert_eq!(subject(&reminder("", false), ""), "Reminder: note");
        assert_eq!(subject(&reminder(&"é".repeat(499), false), "").len(), 998);
    }
}
