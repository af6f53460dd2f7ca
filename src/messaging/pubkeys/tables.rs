//! What is stored of public keys.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0518 | pubkeys | workspace, agent, algorithm, fingerprint | its text, and whether it is revoked |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Algorithm, Pubkey};
use crate::model::{AgentNo, FAMILY, WorkspaceNo};

pub(super) const PUBKEYS: Table<(WorkspaceNo, AgentNo, u8, String), PubkeyRow> =
    Table::new(0x0518, FAMILY, "messaging_pubkeys");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[PUBKEYS.spec()];

/// An algorithm in the keys of rows; never changes.
pub(super) const fn code(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::AgeX25519 => 0,
        Algorithm::Ed25519 => 1,
    }
}

/// See [`Pubkey`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct PubkeyRow {
    algorithm: Algorithm,
    text: String,
    label: Option<String>,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
    reason: Option<String>,
}
impl Row for PubkeyRow {}

impl PubkeyRow {
    pub(super) fn of(key: &Pubkey) -> PubkeyRow {
        PubkeyRow {
            algorithm: key.algorithm,
            text: key.text.clone(),
            label: key.label.clone(),
            created_at: key.created_at,
            revoked_at: key.revoked_at,
            reason: key.reason.clone(),
        }
    }

    pub(super) fn into_pubkey(self, fingerprint: String) -> Pubkey {
        let PubkeyRow { algorithm, text, label, created_at, revoked_at, reason } = self;
        Pubkey { algorithm, fingerprint, text, label, created_at, revoked_at, reason }
    }
}
