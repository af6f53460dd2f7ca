//! Grants.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid, key_newtype};

use super::permissions::Intent;
use crate::model::{ProjectId, WorkspaceId};

key_newtype!(
    /// A grant.
    pub GrantId(Uuid)
);

/// The most grants of a principal: all of them are looked up for each of its requests. The contract knows no such limit.
pub const GRANTS_MAX: usize = 500;

/// How far a grant, or one intent of it, has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum IntentState {
    /// The authorization system has not taken it yet.
    Granting,
    /// It holds.
    Granted,
    /// The authorization system has not removed it yet.
    Revoking,
    /// It holds no more.
    Revoked,
}

/// The scope of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Scope {
    /// A workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// A project.
    pub project_id: Option<ProjectId>,
    /// A canonical tag.
    pub locale: Option<String>,
}

/// A grant as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub grant_id: GrantId,
    /// To whom.
    pub principal_id: Uuid,
    /// Which template.
    pub template: String,
    /// Within which scope.
    pub scope: Scope,
    /// What it expanded to, and how far each of it has come.
    pub intents: Vec<(Intent, IntentState)>,
    /// When.
    pub created_at: Timestamp,
}
