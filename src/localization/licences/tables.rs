//! The rows of licences.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x037a | licences | tenant, project, licence | everything of a licence |
//! | 0x037b | licence heads | tenant, project, locale | the licence that is active, and the one that waits |
//! | 0x037c | licence expiries | instant, tenant, project, licence | active ones, in the order in which their time is over |
//! | 0x037d | licence changes | tenant, licence, file | the keys whose source was replaced since the decision |
//! | 0x038e | licence counts | tenant, licence, file | how many of those keys are prose |
//! | 0x037e | policy switches | tenant, project, locale | whether policy approves; without a row it does |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::states::{LapseReason, LicenceState};
use crate::audit::ActorKind;
use crate::content::FileId;
use crate::decisions::Asked;
use crate::model::{FAMILY, ProjectId, TenantId};

/// Licences.
pub const LICENCES: Table<(TenantId, ProjectId, Uuid), LicenceRow> =
    Table::new(0x037A, FAMILY, "localization_licences");
/// Those that are active, and those that wait.
pub const LICENCE_HEADS: Table<(TenantId, ProjectId, String), LicenceHeadRow> =
    Table::new(0x037B, FAMILY, "localization_licence_heads");
/// Active ones by when their time is over.
pub const LICENCE_EXPIRIES: Table<(Timestamp, TenantId, ProjectId, Uuid), LicenceMarkRow> =
    Table::new(0x037C, FAMILY, "localization_licence_expiries");
/// What has changed since their decisions.
pub const LICENCE_CHANGES: Table<(TenantId, Uuid, FileId), LicenceChangesRow> =
    Table::new(0x037D, FAMILY, "localization_licence_changes");
/// How many of the keys that have changed are prose.
pub const LICENCE_COUNTS: Table<(TenantId, Uuid, FileId), LicenceCountRow> =
    Table::new(0x038E, FAMILY, "localization_licence_counts");
/// Switches.
pub const POLICY_SWITCHES: Table<(TenantId, ProjectId, String), PolicySwitchRow> =
    Table::new(0x037E, FAMILY, "localization_policy_switches");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    LICENCES.spec(),
    LICENCE_HEADS.spec(),
    LICENCE_EXPIRIES.spec(),
    LICENCE_CHANGES.spec(),
    LICENCE_COUNTS.spec(),
    POLICY_SWITCHES.spec(),
];

/// A licence.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LicenceRow {
    /// The canonical tag of the locale.
    pub locale: String,
    /// How it stands.
    pub state: LicenceState,
    /// How many translations somebody has read.
    pub sample_size: u32,
    /// How many of them needed a correction.
    pub corrections: u64,
    /// How many said something else than their source.
    pub meaning_errors: u64,
    /// Where that is written down.
    pub sample_ref: String,
    /// Its decision, once that is raised.
    pub decision_id: Option<String>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// The number of the last audit event before: what was uploaded later counts as changed.
    pub decided_seq: Option<u64>,
    /// When it lapsed.
    pub lapsed_at: Option<Timestamp>,
    /// Why.
    pub lapse_reason: Option<LapseReason>,
    /// Prose keys, at the decision; before it, when it was asked for.
    pub prose_keys: u64,
    /// How many prose keys have changed since.
    pub prose_changed: u64,
    /// When its time is over.
    pub expires_at: Option<Timestamp>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Until when it can be decided.
    pub decide_until: Timestamp,
    /// Who asked for it.
    pub created_by: [u8; 16],
    /// What kind of principal.
    pub created_by_kind: ActorKind,
    /// With which request of the interface; empty: none.
    pub request_id: String,
    /// What its first answer is remembered under.
    pub asked: Option<Asked>,
}
impl Row for LicenceRow {}

/// The licences of a locale that can still become something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LicenceHeadRow {
    /// The one that holds.
    pub active: Option<[u8; 16]>,
    /// The one that waits for its decision.
    pub requested: Option<[u8; 16]>,
}
impl Row for LicenceHeadRow {}

/// The row of an index whose key says everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LicenceMarkRow;
impl Row for LicenceMarkRow {}

/// The keys of a file whose source was replaced since a licence was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LicenceChangesRow {
    /// Their numbers, in ascending order.
    pub numbers: Vec<u64>,
}
impl Row for LicenceChangesRow {}

/// Of the keys of a file whose source was replaced since a licence was given, those that are prose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LicenceCountRow {
    /// How many.
    pub prose: u64,
}
impl Row for LicenceCountRow {}

/// Whether policy approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PolicySwitchRow {
    /// Whether it does.
    pub enabled: bool,
}
impl Row for PolicySwitchRow {}
