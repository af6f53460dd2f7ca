//! What a block is.

use quintet_storage::Timestamp;

/// An agent takes nothing from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Why, in its own words.
    pub(crate) reason: Option<String>,
    /// From when on it does again; `None`: until it says so.
    pub(crate) expires_at: Option<Timestamp>,
    /// When it began.
    pub(crate) created_at: Timestamp,
    /// How many messages were refused for it.
    pub(crate) suppressed_count: u64,
}

impl Block {
    /// Whether it holds at an instant.
    pub(crate) fn is_active(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }
}
