//! What is stored of drafts.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0540 | drafts | workspace, agent, draft | all of a draft but its text |
//! | 0x0541 | draft texts | workspace, agent, draft | its text, sealed |
//! | 0x0584 | draft counts | workspace, agent | how many drafts an agent has |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Draft, DraftKey};
use crate::model::{AgentKey, FAMILY};

pub(super) const DRAFTS: Table<DraftKey, DraftRow> = Table::new(0x0540, FAMILY, "messaging_drafts");
/// Apart from the rest, for lists of drafts have none.
pub(super) const TEXTS: Table<DraftKey, TextRow> = Table::new(0x0541, FAMILY, "messaging_draft_texts");
/// An agent whose drafts are all of an earlier version has none: see [`counted`](super::rows::counted).
pub(super) const COUNTS: Table<AgentKey, CountRow> = Table::new(0x0584, FAMILY, "messaging_draft_counts");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[DRAFTS.spec(), TEXTS.spec(), COUNTS.spec()];

/// See [`Draft`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct DraftRow {
    to: Vec<String>,
    cc: Vec<String>,
    subject: String,
    is_sealed: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    version: u64,
}
impl Row for DraftRow {}

impl DraftRow {
    pub(super) fn of(draft: &Draft) -> DraftRow {
        let Draft { to, cc, subject, is_sealed, created_at, updated_at, version } = draft.clone();
        DraftRow { to, cc, subject, is_sealed, created_at, updated_at, version }
    }

    pub(super) fn into_draft(self) -> Draft {
        let DraftRow { to, cc, subject, is_sealed, created_at, updated_at, version } = self;
        Draft { to, cc, subject, is_sealed, created_at, updated_at, version }
    }
}

/// What a draft says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TextRow(pub(super) Sealed);
impl Row for TextRow {}

/// How many drafts an agent has.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountRow(pub(super) u32);
impl Row for CountRow {}
