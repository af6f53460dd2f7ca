//! Messages, deliveries and threads, and the rules that need nothing else.

use bincode::{Decode, Encode};
use quintet_storage::Timestamp;
use quintet_storage::large::LargeValue;
use quintet_storage::seal::Sealed;

use crate::identity::{Attestation, Mailbox, Priority};
use crate::model::{AgentNo, MessageId, ThreadId};

/// Who wrote a message.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Sender {
    /// An agent of the workspace.
    Agent(AgentNo),
    /// The platform.
    System,
    /// A call of an inbound endpoint; its source.
    Ingress(String),
    /// Somebody outside; his address.
    External(String),
}

impl Sender {
    /// Where his messages come from, as answers write it.
    pub(crate) const fn direction(&self) -> &'static str {
        match self {
            Sender::Agent(_) => "bus",
            Sender::System => "system",
            Sender::Ingress(_) | Sender::External(_) => "ingress",
        }
    }
}

/// As what a message was addressed to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Role {
    /// A recipient.
    To,
    /// Somebody who is to know of it.
    Cc,
}

impl Role {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Role::To => "to",
            Role::Cc => "cc",
        }
    }
}

/// An agent that a message goes to, with its mailbox as the transaction that delivers it sees it: whoever has looked an
/// agent up need not do so again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addressee {
    /// Its number.
    pub(crate) no: AgentNo,
    /// As what it is addressed.
    pub(crate) role: Role,
    /// Its mailbox.
    pub(crate) mailbox: Mailbox,
}

/// An attachment.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Attachment {
    /// What it is called.
    pub(crate) filename: String,
    /// Its media type.
    pub(crate) content_type: String,
    /// Its bytes, sealed for the tenant.
    pub(crate) value: LargeValue,
}

/// Where the contents of a message lie: always sealed for the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Kept {
    /// In the message's own row.
    Here(Sealed),
    /// As a large value.
    Large(LargeValue),
}

/// A message, all but its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The thread it belongs to.
    pub(crate) thread: ThreadId,
    /// Which message it answers.
    pub(crate) in_reply_to: Option<MessageId>,
    /// Who wrote it.
    pub(crate) sender: Sender,
    /// What he was called then.
    pub(crate) sender_name: String,
    /// His address then; empty: he has none.
    pub(crate) sender_address: String,
    /// What the sender said he is, if an admin's key said so: the lane of his messages.
    pub(crate) lane: Option<String>,
    /// What is known of him by his key.
    pub(crate) attestation: Attestation,
    /// What it is about.
    pub(crate) subject: String,
    /// Recipients as typed.
    pub(crate) to: Vec<String>,
    /// The same of those who are to know of it.
    pub(crate) cc: Vec<String>,
    /// Agents and addresses that it went to, each once.
    pub(crate) recipients: Vec<(String, Role)>,
    /// How urgent it is.
    pub(crate) priority: Priority,
    /// When it was accepted.
    pub(crate) created_at: Timestamp,
    /// Whether its text arrived sealed.
    pub(crate) is_sealed: bool,
    /// Whether it is signed, whatever the signature is worth.
    pub(crate) is_signed: bool,
    /// Whether it makes a claim.
    pub(crate) has_claim: bool,
    /// Its attachments.
    pub(crate) attachments: Vec<Attachment>,
    /// Where its contents lie.
    pub(crate) kept: Kept,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Contents {
    /// Its text.
    pub(crate) text: String,
    /// The same as HTML.
    pub(crate) html: Option<String>,
    /// What it carries for programs, as JSON.
    pub(crate) payload: Option<String>,
    /// Which schema of a room that fits.
    pub(crate) payload_schema_ref: Option<String>,
    /// By whom the client says it was sealed.
    pub(crate) sealed_by: Option<String>,
    /// A signature over it, and the fingerprint of its key.
    pub(crate) signature: Option<(String, Option<String>)>,
    /// What it claims, as JSON.
    pub(crate) claim: Option<String>,
    /// The messages that it says to be derived from, and whether its sender could read each.
    pub(crate) derived_from: Vec<(String, bool)>,
    /// Whom it says to have taken over from.
    pub(crate) handoff_from: Option<String>,
}

/// Where mail from outside came from (6-messaging.md, M3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// What others call it: its message id, without brackets.
    pub(crate) message_id: Option<String>,
    /// Whether nobody wrote it: it says so, or it is a report.
    pub(crate) is_automatic: bool,
    /// Whether it comes from where it says.
    pub(crate) verdicts: Verdicts,
}

/// What was found out of where mail comes from: words such as `pass`, `fail`, `none`, `temperror`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdicts {
    /// Whether the address that it came from may send for its sender's domain.
    pub(crate) spf: String,
    /// Whether a signature of it is good.
    pub(crate) dkim: String,
    /// Whether either is of the domain that it names as its author's.
    pub(crate) dmarc: String,
    /// The address that handed it in.
    pub(crate) source: String,
}

/// A message in an agent's inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Which.
    pub(crate) message: MessageId,
    /// As what.
    pub(crate) role: Role,
    /// When it came into the inbox, which is later than it was sent where it was held.
    pub(crate) arrived_at: Timestamp,
    /// With how many others it was released at once, itself included; 0: it came by itself.
    pub(crate) released: u32,
    /// When it was read.
    pub(crate) read_at: Option<Timestamp>,
    /// When it was acknowledged.
    pub(crate) acked_at: Option<Timestamp>,
    /// The agent's labels for it.
    pub(crate) labels: Vec<String>,
}

impl Delivery {
    /// As answers write it.
    pub(crate) fn state(&self) -> &'static str {
        match (self.acked_at, self.read_at) {
            (Some(_), _) => "acked",
            (None, Some(_)) => "read",
            (None, None) => "delivered",
        }
    }
}

/// Why a thread does not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Pause {
    /// Since when.
    pub(crate) since: Timestamp,
    /// Whether participants may not resume it: it was paused again soon after they did (6-messaging.md, G3).
    pub(crate) is_for_operators: bool,
    /// When it goes on by itself, as things stand.
    pub(crate) resumes_at: Timestamp,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    /// What its first message was about.
    pub(crate) subject: String,
    /// Messages in it, held ones too.
    pub(crate) message_count: u64,
    /// When the last of them was accepted.
    pub(crate) last_message_at: Timestamp,
    /// The instants of the last messages that the guard counts, the oldest first, [`GUARD_MESSAGES`] and one at most.
    pub(crate) counted: Vec<Timestamp>,
    /// Why it does not deliver.
    pub(crate) pause: Option<Pause>,
    /// When a participant last had it go on.
    pub(crate) resumed_at: Option<Timestamp>,
    /// Deliveries that it holds.
    pub(crate) held_count: u32,
    /// The number of what it held last.
    pub(crate) last_held: u64,
}

/// More messages than this within an hour pause a thread (the contract's guard).
pub(crate) const GUARD_MESSAGES: usize = 60;
/// The guard's hour, in seconds.
pub(crate) const GUARD_SECONDS: i64 = 3_600;

impl Thread {
    /// A new one.
    pub(crate) fn new(subject: String, now: Timestamp) -> Thread {
        Thread {
            subject,
            message_count: 0,
            last_message_at: now,
            counted: Vec::new(),
            pause: None,
            resumed_at: None,
            held_count: 0,
            last_held: 0,
        }
    }

    /// One that has but the message that began it.
    pub(crate) fn of_one(message: &Message) -> Thread {
        let mut thread = Thread::new(message.subject.clone(), message.created_at);
        thread.message_count = 1;
        if message.sender != Sender::System {
            thread.counted.push(message.created_at);
        }
        thread
    }

    /// Counts a message for the guard (6-messaging.md, G1, G3): `true` if it pauses the thread.
    pub(crate) fn count(&mut self, now: Timestamp) -> bool {
        self.counted.push(now);
        let surplus = self.counted.len().saturating_sub(GUARD_MESSAGES + 1);
        self.counted.drain(..surplus);
        let Some(first) = self.counted.first().filter(|_| self.counted.len() > GUARD_MESSAGES).copied() else {
            return false;
        };
        // As long as this one lies within the hour there are too many; then an hour must pass.
        let resumes_at = first.plus_seconds(2 * GUARD_SECONDS);
        if let Some(pause) = &mut self.pause {
            pause.resumes_at = resumes_at.max(pause.resumes_at);
            return false;
        }
        if first.plus_seconds(GUARD_SECONDS) <= now {
            return false;
        }
        let is_for_operators = self.resumed_at.is_some_and(|at| now < at.plus_seconds(GUARD_SECONDS));
        self.pause = Some(Pause { since: now, is_for_operators, resumes_at });
        true
    }

    /// Whether what comes now waits: the thread is paused, or still delivers what it held.
    pub(crate) fn holds(&self) -> bool {
        self.pause.is_some() || self.held_count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_764_000_000_000_000).plus_seconds(seconds)
    }

    /// The naive guard: all instants, counted anew each time.
    fn is_over(all: &[i64], now: i64) -> bool {
        all.iter().filter(|then| now - **then < GUARD_SECONDS).count() > GUARD_MESSAGES
    }

    #[test]
    fn message_61_within_an_hour_pauses() {
        let mut thread = Thread::new(String::new(), at(0));
        for second in 0..60 {
            assert!(!thread.count(at(second)), "{second}");
        }
        assert!(thread.count(at(60)));
        assert_eq!(thread.pause.unwrap().resumes_at, at(7_200), "an hour after the first has left the hour");
        assert!(!thread.count(at(61)), "it is paused already");
        assert_eq!(thread.pause.unwrap().resumes_at, at(7_201));
    }

    #[test]
    fn one_an_hour_and_a_minute_is_never_too_much() {
        let mut thread = Thread::new(String::new(), at(0));
        assert!((0..10_000).all(|number| !thread.count(at(number * 60))));
    }

    #[test]
    fn the_guard_agrees_with_one_that_counts_all() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (mut thread, mut all, mut now) = (Thread::new(String::new(), at(0)), Vec::new(), 0);
            for _ in 0..200 {
                now += random.i64(0..120);
                all.push(now);
                let paused = thread.count(at(now));
                assert_eq!(paused, is_over(&all, now));
                if paused {
                    break;
                }
            }
        }
    }
}
