//! What is asked to be sent, and what is ready to be posted.

use quintet_platform::json::Json;

use crate::identity::{Attestation, Priority, Workspace};
use crate::mail::model::Attachment;
use crate::mail::post::{Posted, Said};
use crate::mail::recipients::{Asker, Typed};
use crate::model::{AgentKey, AgentNo, MailId, ThreadId};
use crate::refusal::Refusal;

use super::payload::Judged;

/// The agent that writes.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    /// Where.
    pub(crate) workspace: Workspace,
    /// Its number.
    pub(crate) no: AgentNo,
    /// Its name.
    pub(crate) name: String,
    /// What its key proves of it.
    pub(crate) attestation: Attestation,
    /// What agents' addresses end with.
    pub(crate) domain: String,
    /// Whether anything here listens for mail from outside.
    pub(crate) listens: bool,
    /// Whether there is a way out for mail.
    pub(crate) has_relay: bool,
}

impl Author {
    /// The agent.
    pub(crate) fn key(&self) -> AgentKey {
        (self.workspace.no, self.no)
    }

    /// Who addresses somebody.
    pub(crate) fn asker(&self) -> Asker<'_> {
        let Author { workspace, no, domain, listens, .. } = self;
        Asker { workspace, agent: Some(*no), domain, listens: *listens }
    }
}

/// What the sender wants of all recipients, so that nothing is sent that would wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// They withhold nothing now.
    pub(crate) available: bool,
    /// They respond.
    pub(crate) responsive: bool,
}

/// Whom a message is for, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// As the request says.
    New { typed: Typed, subject: String, thread: Option<ThreadId> },
    /// To those whom another message came from.
    Reply(Reply),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// To what.
    pub(crate) parent: MailId,
    /// Whether to all who got that.
    pub(crate) to_all: bool,
    /// Further ones who are to know of it.
    pub(crate) cc: Vec<String>,
    /// What it is about; `None`: what its parent is.
    pub(crate) subject: Option<String>,
}

/// What a message says, as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoken {
    pub(crate) text: String,
    pub(crate) html: Option<String>,
    pub(crate) payload: Option<Json>,
    /// Whether the text says to be sealed.
    pub(crate) is_sealed: bool,
    /// A signature, and the fingerprint of its key.
    pub(crate) signature: Option<(String, Option<String>)>,
    /// A claim; or why it is none.
    pub(crate) claim: Option<Result<Json, Refusal>>,
    /// Messages that it says to be derived from.
    pub(crate) derived_from: Vec<String>,
    /// Whom it says to have taken over from.
    pub(crate) handoff_from: Option<String>,
    pub(crate) attachments: Vec<Given>,
}

/// An attachment, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) filename: String,
    pub(crate) content_type: String,
    /// How long it came, as base64.
    pub(crate) base64_bytes: usize,
    /// Whether its content is sealed.
    pub(crate) is_sealed: bool,
    pub(crate) content: Vec<u8>,
}

/// What is asked to be sent, contents apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Whom it is for.
    pub(crate) course: Course,
    /// How urgent it is.
    pub(crate) priority: Priority,
    /// What recipients must do.
    pub(crate) wants: Wants,
    /// For how long it is to be acknowledged, in seconds; `None`: it is not.
    pub(crate) ack_window_seconds: Option<i64>,
    /// Whether it goes to open streams alone, and is stored nowhere.
    pub(crate) is_ephemeral: bool,
}

/// What is ready to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    /// What is asked.
    pub(crate) asked: Asked,
    /// Whether its text arrived sealed.
    pub(crate) is_sealed: bool,
    /// Whether it is signed.
    pub(crate) is_signed: bool,
    /// Whether it makes a claim.
    pub(crate) has_claim: bool,
    /// What it says.
    pub(crate) said: Said,
    /// Its attachments, stored but not adopted.
    pub(crate) attachments: Vec<Attachment>,
    /// Its payload, if it has one, with what is known of whether it fits.
    pub(crate) payload: Option<Judged>,
    /// The event that it is, but for its end, if it is stored nowhere.
    pub(crate) event: Option<String>,
    /// What is wrong with what it says: told where its turn comes.
    pub(crate) faults: Faults,
}

/// What is wrong with what a message says, whatever else is: found before the transaction, for it takes long to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// It is not sealed as it must be.
    pub(crate) sealing: Option<Refusal>,
    /// It is too large.
    pub(crate) size: Option<Refusal>,
    /// Its claim is none.
    pub(crate) claim: Option<Refusal>,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// What became of it.
    pub(crate) posted: Posted,
    /// The agents and addresses that it went to.
    pub(crate) recipients: Vec<String>,
    /// Those who are to know of it, as typed.
    pub(crate) cc: Vec<String>,
    /// How many of them are outside.
    pub(crate) external_count: usize,
    /// Who cannot be reached at once.
    pub(crate) reachability: Reachability,
    /// Whom a reply left out, for they are retired; `None`: it was none.
    pub(crate) skipped_retired: Option<Vec<String>>,
}

/// Which recipients may not read a message at once: their places among the recipients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reachability {
    pub(crate) not_responsive: Vec<usize>,
    pub(crate) no_wake_channel: Vec<usize>,
    pub(crate) busy: Vec<usize>,
}

/// How a message went that is stored nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ephemeral {
    /// Whom it goes to.
    pub(crate) agents: Vec<AgentKey>,
    /// How many it does not go to, for they withhold it.
    pub(crate) withheld: usize,
    /// The event that their streams get.
    pub(crate) event: String,
}
