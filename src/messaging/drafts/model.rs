//! What a draft is.

use quintet_storage::{Timestamp, key_newtype};

use crate::model::{AgentNo, WorkspaceNo};

key_newtype!(
    /// A draft; callers know it as its ULID.
    pub(crate) DraftId(Uuid)
);

/// A draft of an agent.
pub(super) type DraftKey = (WorkspaceNo, AgentNo, DraftId);

/// An agent has so many drafts at most.
pub(super) const DRAFTS_MAX: u32 = 500;

/// The recipients of a draft have so many bytes together at most.
pub(super) const RECIPIENTS_BYTES_MAX: usize = 64 << 10;

/// What is written of a draft at once has so many bytes at most, for it is one transaction's: what it says, and its answer
/// where that is remembered.
pub(super) const WRITTEN_BYTES_MAX: usize = 4 << 20;

/// A draft, all but its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    /// Recipients as typed.
    pub(super) to: Vec<String>,
    /// The same of those who are to know of it.
    pub(super) cc: Vec<String>,
    /// What it is about.
    pub(super) subject: String,
    /// Whether its text arrived sealed.
    pub(super) is_sealed: bool,
    /// When it was made.
    pub(super) created_at: Timestamp,
    /// When it was last changed.
    pub(super) updated_at: Timestamp,
    /// How often it was changed.
    pub(super) version: u64,
}

impl Draft {
    /// How long its recipients are together.
    pub(super) fn recipients_bytes(&self) -> usize {
        self.to.iter().chain(&self.cc).map(String::len).sum()
    }
}
