//! What came of an attempt is written down: who has the mail, when it is tried again, what is given up and who is told.

use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::client::Said;
use crate::identity::{Workspace, workspaces};
use crate::mail::messages;
use crate::mail::model::Sender;
use crate::mail::post::{post, system};
use crate::model::MessageId;
use crate::outbox::{self, Fate, Outgoing, OutgoingKey, State, Undeliverable, What, note_undeliverable};
use crate::words::subject::SUBJECT_BYTES_MAX;

/// What is waited after the first attempt, the second, and so on; the last one for all that follow, in seconds.
const DELAYS_SECONDS: [i64; 5] = [10, 60, 300, 1_800, 3_600];
/// For how long a mail is tried, in seconds.
const TRIED_SECONDS: i64 = 86_400;

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// What the relay said to each of those whom it was for.
    Said(Vec<(String, Said)>),
    /// It could not be asked; why.
    NotAsked(String),
    /// There is nothing to be sent any more.
    Nothing,
}

/// What was made of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Whether it went to somebody.
    pub(super) is_sent: bool,
    /// Whether it is tried again.
    pub(super) is_retried: bool,
    /// For how many it was given up.
    pub(super) given_up: u64,
}

/// Writes down what came of an attempt. Of a mail that is not due any more nothing is.
pub(super) fn settle(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: OutgoingKey,
    outcome: &Outcome,
) -> Result<Settled, Failure> {
    let Some(mut outgoing) = outbox::find(tx, key)? else { return Ok(Settled::default()) };
    let (State::Due(_), Some(began_at)) = (outgoing.state, outgoing.began_at) else { return Ok(Settled::default()) };
    outgoing.attempts = outgoing.attempts.saturating_add(1);
    let place = usize::try_from(outgoing.attempts).unwrap_or(usize::MAX).saturating_sub(1);
    let delay = DELAYS_SECONDS.get(place).or(DELAYS_SECONDS.last()).copied().unwrap_or_default();
    // The last attempt is at the end of the day.
    let end = began_at.plus_seconds(TRIED_SECONDS);
    let (next, is_last) = (now.plus_seconds(delay).min(end), now >= end);
    let mut settled = Settled::default();
    let mut given_up = Vec::new();
    let is_note = matches!(outgoing.what, What::Note { .. });
    for bound in &mut outgoing.bound {
        if !matches!(bound.fate, Fate::Waits(_)) {
            continue;
        }
        let said = said_to(outcome, &bound.address);
        // A note may have a secret in it (P4).
        let said = if is_note { said.without_words() } else { said };
        bound.fate = match said {
            Said::Taken => Fate::Taken,
            Said::No(words) => Fate::GivenUp(words),
            Said::Later(words) if is_last => Fate::GivenUp(format!("given up after a day: {words}")),
            Said::Later(words) => Fate::Waits(Some(words)),
        };
        match &bound.fate {
            Fate::Taken => settled.is_sent = true,
            Fate::Waits(_) => settled.is_retried = true,
            Fate::GivenUp(why) => given_up.push((bound.address.clone(), why.clone())),
        }
    }
    settled.given_up = given_up.len() as u64;
    outgoing.state = if settled.is_retried { State::Due(next) } else { State::Done(now) };
    if let (false, What::Note { text, .. }) = (settled.is_retried, &mut outgoing.what) {
        *text = None;
    }
    outbox::put(tx, key, outgoing.clone())?;
    // Nobody is told of what nobody could be told of any more.
    if !given_up.is_empty() && *outcome != Outcome::Nothing {
        tell(tx, now, key, &outgoing, &given_up)?;
    }
    Ok(settled)
}

fn said_to(outcome: &Outcome, address: &str) -> Said {
    match outcome {
        Outcome::Said(all) => {
            let said = all.iter().find(|(to, _)| to == address).map(|(_, said)| said.clone());
            said.unwrap_or_else(|| Said::Later("it was not asked about".to_owned()))
        }
        Outcome::NotAsked(why) => Said::Later(why.clone()),
        Outcome::Nothing => Said::No("there is nothing to be sent any more".to_owned()),
    }
}

/// Tells the operator, and who wrote it.
fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: OutgoingKey,
    outgoing: &Outgoing,
    given_up: &[(String, String)],
) -> Result<(), Failure> {
    let Some(workspace) = workspaces::find(tx, key.0)? else { return Ok(()) };
    let message = messages::find(tx, (key.0, MessageId(key.1)))?;
    let (sender, subject) = match (&outgoing.what, &message) {
        (What::Note { subject, .. }, _) => ("system".to_owned(), subject.clone()),
        (What::Message(_), Some(message)) => (message.sender_address.clone(), message.subject.clone()),
        (What::Message(_), None) => (String::new(), String::new()),
    };
    for (recipient, reason) in given_up {
        let (reason, sender, recipient) = (reason.clone(), sender.clone(), recipient.clone());
        let line = Undeliverable { received_at: now, reason, sender, recipient, subject: subject.clone() };
        note_undeliverable(tx, key.0, line)?;
    }
    match (&outgoing.what, message.map(|message| message.sender)) {
        (What::Message(thread), Some(Sender::Agent(agent))) => {
            tell_author(tx, now, &workspace, (key, *thread, agent), &subject, given_up)
        }
        _ => Ok(()),
    }
}

fn tell_author(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    (key, thread, agent): (OutgoingKey, crate::model::ThreadId, crate::model::AgentNo),
    subject: &str,
    given_up: &[(String, String)],
) -> Result<(), Failure> {
    let mut text = format!("The message {} could not be delivered to:\n", ulid(key.1));
    for (address, why) in given_up {
        text.push_str(&format!("{address}: {why}\n"));
    }
    let mut subject = format!("Not delivered: {subject}");
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    let letter = system(tx, workspace, thread, subject, text, &[agent])?;
    // Nobody hears what is told to a retired agent.
    if letter.agents.is_empty() { Ok(()) } else { post(tx, now, workspace, letter).map(drop) }
}
