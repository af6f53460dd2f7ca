//! Mail that leaves, and what could not be delivered.

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Timestamp, Uuid};

use crate::model::{ThreadId, WorkspaceNo};

/// A mail of a workspace: a message's by the message's own id.
pub(crate) type OutgoingKey = (WorkspaceNo, Uuid);

/// A mail that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// What is sent.
    pub(crate) what: What,
    /// To whom, each address once.
    pub(crate) bound: Vec<Bound>,
    /// When it was enqueued.
    pub(crate) created_at: Timestamp,
    /// From when on it may be sent: attempts are made for a day from then on. `None`: not yet.
    pub(crate) began_at: Option<Timestamp>,
    /// Attempts that were made.
    pub(crate) attempts: u32,
    /// How it stands.
    pub(crate) state: State,
    /// Whether a report of somebody outside has come that it did not arrive.
    pub(crate) is_reported: bool,
}

/// What a mail says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum What {
    /// A message, of this thread.
    Message(ThreadId),
    /// Words of the platform.
    Note {
        /// What they are about.
        subject: String,
        /// The words; `None`: it is done, and nobody needs them any more.
        text: Option<Sealed>,
    },
}

/// Somebody whom a mail goes to.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Bound {
    /// His address.
    pub(crate) address: String,
    /// How far it came.
    pub(crate) fate: Fate,
}

/// How far a mail came with one of its recipients.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Fate {
    /// It is to be sent, or sent again; what was said the last time.
    Waits(Option<String>),
    /// The relay has taken it.
    Taken,
    /// It was given up; why.
    GivenUp(String),
}

/// How a mail stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum State {
    /// It is to be sent then.
    Due(Timestamp),
    /// Its thread is paused.
    Held(ThreadId),
    /// Nothing is to be done any more, since then.
    Done(Timestamp),
}

impl Outgoing {
    /// A new one.
    pub(crate) fn new(now: Timestamp, what: What, addresses: Vec<String>) -> Outgoing {
        let bound = addresses.into_iter().map(|address| Bound { address, fate: Fate::Waits(None) });
        Outgoing {
            what,
            bound: bound.collect(),
            created_at: now,
            began_at: Some(now),
            attempts: 0,
            state: State::Due(now),
            is_reported: false,
        }
    }

    /// The addresses that it is still to be sent to.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &str> {
        let waits = self.bound.iter().filter(|bound| matches!(bound.fate, Fate::Waits(_)));
        waits.map(|bound| bound.address.as_str())
    }
}

/// Mail that could not be delivered (6-messaging.md, M5): what was given up on its way out, and what was refused on its way
/// in after its recipient had been accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undeliverable {
    /// When that was known.
    pub(crate) received_at: Timestamp,
    /// Why.
    pub(crate) reason: String,
    /// Who sent it.
    pub(crate) sender: String,
    /// To whom.
    pub(crate) recipient: String,
    /// What it is about.
    pub(crate) subject: String,
}
