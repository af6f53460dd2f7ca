//! What a reminder is, and the rules that need nothing else.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid};

use super::rule::Rule;
use crate::identity::Attestation;
use crate::model::{AgentNo, DeliveryId, MailId, ThreadId, WorkspaceNo};

/// A reminder: its author, and its number among his.
pub(crate) type ReminderKey = (WorkspaceNo, AgentNo, u64);

/// How many of an agent's reminders may be scheduled.
pub(super) const SCHEDULED_MAX: u32 = 500;
/// What that limit is called.
pub(super) const SCHEDULED_LIMIT: &str = "scheduled_reminders";
/// How many of an agent's reminders are kept, ended ones included.
pub(super) const KEPT_MAX: u32 = 1_000;
/// How long one is remembered that has ended, in seconds.
pub(super) const REMEMBERED_SECONDS: i64 = 30 * 86_400;
/// The longest delay: 366 days.
pub(super) const DELAY_SECONDS_MAX: u64 = 366 * 86_400;
/// The longest text, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 64 << 10;

/// How a reminder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum State {
    /// It will fire, or go on to.
    Scheduled,
    /// It has fired, and will not again.
    Fired,
    /// Its author wants it no more.
    Cancelled,
    /// Its time was over before it fired, or fired again.
    Expired,
}

impl State {
    /// As answers write it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Fired => "fired",
            State::Cancelled => "cancelled",
            State::Expired => "expired",
        }
    }
}

/// A reminder, all but what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reminder {
    /// What it is about.
    pub(super) subject: String,
    /// Whom it goes to.
    pub(super) target: AgentNo,
    /// What was known of its author by the key that made it.
    pub(super) attestation: Attestation,
    /// That key; of reminders that were made before this was kept it is not known.
    pub(super) key_id: Option<String>,
    /// How it stands, but for the time that may have run out: see [`Reminder::state_at`].
    pub(super) state: State,
    /// When it fires next; `None`: not any more.
    pub(super) due_at: Option<Timestamp>,
    /// From when on it does not fire.
    pub(super) expires_at: Option<Timestamp>,
    /// By what it is due again.
    pub(super) rule: Option<Rule>,
    /// The time zone it was made in.
    pub(super) timezone: String,
    /// Where its messages are.
    pub(super) thread: Option<ThreadId>,
    /// Whether its text arrived sealed.
    pub(super) is_sealed: bool,
    /// When it was made.
    pub(super) created_at: Timestamp,
    /// When something is done with it: it fires, expires, or goes.
    pub(super) looked_at: Timestamp,
}

impl Reminder {
    /// How it stands at an instant: one whose time is over has expired, whether or not that was seen to.
    pub(super) fn state_at(&self, now: Timestamp) -> State {
        match self.state {
            State::Scheduled if self.expires_at.is_some_and(|at| at <= now) => State::Expired,
            state => state,
        }
    }

    /// The id that callers know it by: a ULID in the order of time, which tells where its row is.
    pub(super) fn id(&self, (_, agent, seq): ReminderKey) -> Uuid {
        DeliveryId { arrived_at: self.created_at, agent, seq }.to_uuid()
    }

    /// Whether an id with these milliseconds is its own.
    pub(super) fn is_from(&self, millis: i64) -> bool {
        self.created_at.as_micros().div_euclid(1_000) == millis
    }
}

/// The number of an agent's reminder that an id names, with the milliseconds it names; `None`: another's, or something else.
pub(super) fn number_of(id: Uuid, agent: AgentNo) -> Option<(u64, i64)> {
    match MailId::of(id) {
        MailId::Delivery { agent: author, seq, millis } if author == agent => Some((seq, millis)),
        _ => None,
    }
}

/// A reminder that is asked for.
#[derive(Clone, Debug)]
pub(super) struct NewReminder {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) is_sealed: bool,
    /// Another agent's name; `None`: the author's own.
    pub(super) target: Option<String>,
    pub(super) begins: Begins,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) repeat: Option<String>,
    pub(super) timezone: String,
    pub(super) attestation: Attestation,
    pub(super) key_id: String,
}

/// When a reminder fires for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// So many seconds from now.
    After(u64),
    /// At an instant.
    At(Timestamp),
    /// When its rule says.
    ByRule,
}
