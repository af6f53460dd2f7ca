//! A decision on the desk.

use bincode::{Decode, Encode};
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Timestamp, Uuid};

use crate::decisions::{Reading, Status, Subject};

/// Somebody's yes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskApproval {
    /// Whose.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A decision as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskDecision {
    /// Its id.
    pub decision_id: Uuid,
    /// About what.
    pub subject: Subject,
    /// By which policy.
    pub policy: String,
    /// What would be done: canonical JSON.
    pub action: String,
    /// SHA-256 of the context, in hex.
    pub context_hash: String,
    /// How it stands.
    pub status: Status,
    /// When it was raised.
    pub created_at: Timestamp,
    /// Until when it can be taken.
    pub expires_at: Timestamp,
    /// Who has said yes; of a decision that needs several names it may wait with some.
    pub approvals: Vec<DeskApproval>,
    /// Who took it.
    pub decided_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
}

impl DeskDecision {
    /// What would be done.
    #[must_use]
    pub fn action_json(&self) -> Json {
        parse(self.action.as_bytes(), Limits::default()).unwrap_or(Json::Null)
    }

    /// As the service tells it.
    #[must_use]
    pub fn reading(&self) -> Reading {
        Reading {
            status: self.status,
            decided_by: self.decided_by.clone(),
            reason: self.reason.clone(),
            decided_at: self.decided_at,
        }
    }
}
