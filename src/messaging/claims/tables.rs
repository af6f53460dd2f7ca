//! What is stored of verdicts; claims are part of what messages say.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x053C | verdicts | workspace, message, verdict | what a recipient found; its own words are sealed |
//! | 0x0585 | verdict lists | workspace, message | which verdicts a message has, and whose |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use crate::identity::Attestation;
use crate::model::{FAMILY, MessageId, MessageKey, WorkspaceNo};

pub(super) const VERDICTS: Table<(WorkspaceNo, MessageId, Uuid), VerdictRow> =
    Table::new(0x053C, FAMILY, "messaging_verdicts");
/// A message whose verdicts are all of an earlier version has none: see [`listed`](super::verdicts::listed).
pub(super) const LISTS: Table<MessageKey, ListRow> = Table::new(0x0585, FAMILY, "messaging_verdict_lists");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[VERDICTS.spec(), LISTS.spec()];

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Outcome {
    Verified,
    Refuted,
    Error,
}

impl Outcome {
    /// As requests write it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Outcome::Verified => "verified",
            Outcome::Refuted => "refuted",
            Outcome::Error => "error",
        }
    }

    /// The outcome with a name.
    pub(super) fn named(name: &str) -> Option<Outcome> {
        [Outcome::Verified, Outcome::Refuted, Outcome::Error].into_iter().find(|outcome| outcome.name() == name)
    }
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct VerdictRow {
    /// Who gave it, by name.
    pub(super) runner: String,
    /// What was known of him by his key.
    pub(super) attestation: Attestation,
    /// How it ended.
    pub(super) outcome: Outcome,
    /// With which status.
    pub(super) observed_exit: Option<i64>,
    /// When it was given.
    pub(super) created_at: Timestamp,
    /// See [`Observed`].
    pub(super) observed: Sealed,
}
impl Row for VerdictRow {}

/// The verdicts of a message, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct ListRow(pub(super) Vec<Given>);
impl Row for ListRow {}

/// A verdict that was given.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Given {
    /// By whom: agents keep their names.
    pub(super) runner: String,
    /// Its id.
    pub(super) id: [u8; 16],
}

/// What a recipient saw, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Observed {
    pub(super) output: Option<String>,
    pub(super) client_version: Option<String>,
    pub(super) env_note: Option<String>,
}
