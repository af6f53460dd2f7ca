//! Grants.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid, key_newtype};

use super::permissions::Intent;
use super::states::{GrantState, IntentState, grant_state};
use crate::model::{ProjectId, WorkspaceId};

key_newtype!(
    /// A grant.
    pub GrantId(Uuid)
);

/// The most grants of a principal: all of them are looked up for each of its requests. The contract knows no such limit.
pub const GRANTS_MAX: usize = 500;
/// The most grants of a tenant that are not revoked: all of them are listed at once, as the contract wants it.
pub const TENANT_GRANTS_MAX: u32 = 10_000;
/// How many revoked grants of a tenant are kept; of more, those that were revoked first go. The audit chain has them all.
pub const REVOKED_GRANTS_MAX: u32 = 1_000;

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
    /// What it expanded to.
    pub intents: Vec<GrantIntent>,
    /// When.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// An intent of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantIntent {
    /// Where, and what.
    pub intent: Intent,
    /// How far it has come.
    pub state: IntentState,
    /// Whether the authorization system was told of it, or is being told. It never is of the operator's (localization, S5).
    pub is_told: bool,
}

impl Grant {
    /// How far it has come.
    #[must_use]
    pub fn state(&self) -> GrantState {
        grant_state(self.revoked_at.is_some(), self.intents.iter().map(|intent| intent.state))
    }

    /// What it confers now: sorted, each once (localization, S2).
    #[must_use]
    pub fn permissions(&self) -> Vec<&str> {
        let held = self.intents.iter().filter(|intent| intent.state == IntentState::Granted);
        let mut texts: Vec<&str> = held.flat_map(|intent| &intent.intent.permissions).map(String::as_str).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    }

    /// The intents, each with the id by which the authorization system knows it: that of the grant, counted on.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, Uuid, &GrantIntent)> {
        let own = self.grant_id.0.as_u128();
        self.intents
            .iter()
            .enumerate()
            .map(move |(place, intent)| (place, Uuid::from_u128(own.wrapping_add(place as u128)), intent))
    }
}
