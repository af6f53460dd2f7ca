//! Mail from outside: who sends it and to whom, and what is read out of it.

use std::net::IpAddr;

use quintet_storage::Uuid;

use crate::model::{AgentNo, MessageId, WorkspaceNo};

/// The largest mail, in bytes, as it is announced.
pub(crate) const SIZE_MAX: usize = 26_214_400;

/// Somebody whom mail is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    /// Where.
    pub(crate) workspace: WorkspaceNo,
    /// Whose that is.
    pub(crate) tenant_id: Uuid,
    /// The agent.
    pub(crate) agent: AgentNo,
    /// Its name.
    pub(crate) name: String,
    /// The address that was written.
    pub(crate) address: String,
    /// The message that a report is about, if it is for what mail of that message is sent from.
    pub(crate) bounce_of: Option<MessageId>,
}

/// What an address stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// For this one.
    Here(Recipient),
    /// For nobody.
    Nobody,
    /// For somebody whose workspace takes no mail from outside.
    Closed,
    /// For somebody whose workspace has had as much as it may of a day.
    DayIsFull,
    /// It cannot be found out now.
    Unknown,
}

/// Who sends, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The address that reports go to; empty: nobody wants any.
    pub(crate) sender: String,
    /// To whom, each once.
    pub(crate) recipients: Vec<Recipient>,
}

/// A mail that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Who sends it, and to whom.
    pub(crate) envelope: Envelope,
    /// From where it came.
    pub(crate) source: IpAddr,
    /// What whoever handed it in calls itself.
    pub(crate) helo: String,
    /// How: `SMTP`, `ESMTP`, `ESMTPS`.
    pub(crate) protocol: &'static str,
    /// All of it.
    pub(crate) bytes: Vec<u8>,
}

/// What stands in a mail, as far as it is kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    /// Who wrote it, as it says: name and address.
    pub(crate) from: Option<(String, String)>,
    /// The addresses that it says it is for.
    pub(crate) to: Vec<String>,
    /// And who is to know of it.
    pub(crate) cc: Vec<String>,
    /// What it is about.
    pub(crate) subject: String,
    /// What it is called, without brackets.
    pub(crate) message_id: Option<String>,
    /// What is called before it in its thread, the nearest first.
    pub(crate) references: Vec<String>,
    /// Whether it says that nobody wrote it.
    pub(crate) is_automatic: bool,
    /// Whether it says that a program answers for somebody who is away.
    pub(crate) is_auto_reply: bool,
    /// What became of mail, if it is a report of that (RFC 3464).
    pub(crate) report: Option<Report>,
    /// How many servers it has passed, as they say.
    pub(crate) received: usize,
    /// Its text.
    pub(crate) text: String,
    /// The same as HTML.
    pub(crate) html: Option<String>,
    /// The files with it.
    pub(crate) files: Vec<File>,
}

/// A report of what became of mail (RFC 3464).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Whether it says of anybody that he does not get it.
    pub(crate) is_failure: bool,
    /// Who does not, and by which status, in its words.
    pub(crate) failed: Vec<String>,
}

/// A file with a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    pub(crate) content_type: String,
    /// What is in it.
    pub(crate) bytes: Vec<u8>,
}

/// Why a mail is refused after its recipients were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// It has a CR or an LF by itself.
    BareEnds,
    /// It is larger than may be.
    TooLarge,
    /// It has passed too many servers: it goes round and round.
    Loops,
    /// The recipients are gone meanwhile.
    Nobody,
    /// Their workspace takes none any more.
    Closed,
    /// Their workspace has had as much as it may of a day.
    DayIsFull,
    /// There is no room on the disk.
    NoRoom,
    /// The store could not, now.
    Failed,
}

impl NotTaken {
    /// Code, status and words (6-messaging.md, M2).
    pub(crate) const fn reply(self) -> (u16, &'static str, &'static str) {
        match self {
            NotTaken::BareEnds => (550, "5.6.0", "a CR or LF by itself: lines end with CR LF"),
            NotTaken::TooLarge => (552, "5.3.4", "the mail is too large"),
            NotTaken::Loops => (554, "5.4.6", "it has passed too many servers, and seems to go round and round"),
            NotTaken::Nobody => (550, "5.1.1", "nobody here has this address any more"),
            NotTaken::Closed => (550, "5.7.1", "mail from outside is not taken there"),
            NotTaken::DayIsFull => (452, "4.2.2", "no more mail is taken there today"),
            NotTaken::NoRoom => (452, "4.3.1", "there is no room now; try again later"),
            NotTaken::Failed => (451, "4.3.0", "it could not be kept; try again later"),
        }
    }
}

impl quintet_storage::Refusal for NotTaken {}
