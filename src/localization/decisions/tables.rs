//! The rows of decisions.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0372 | decision subjects | decision | what the decision is about |
//! | 0x0373 | decision rereads | instant, tenant, kind, subject | open subjects, in the order in which they are read again |
//! | 0x0374 | decision events | event | when a webhook's event settled something |
//! | 0x0375 | decision events by age | instant, event | an index |
//! | 0x037f | decision watches | tenant, kind, subject | when an open subject is read again, and until when it is open |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use crate::model::{FAMILY, ProjectId, TenantId};

/// What decisions are about.
pub const DECISION_SUBJECTS: Table<String, DecisionSubjectRow> =
    Table::new(0x0372, FAMILY, "localization_decision_subjects");
/// Open subjects by when they are read again.
pub const DECISION_REREADS: Table<(Timestamp, TenantId, u8, Uuid), DecisionMarkRow> =
    Table::new(0x0373, FAMILY, "localization_decision_rereads");
/// Events of webhooks.
pub const DECISION_EVENTS: Table<String, DecisionEventRow> = Table::new(0x0374, FAMILY, "localization_decision_events");
/// Events by their age.
pub const DECISION_EVENTS_BY_AGE: Table<(Timestamp, String), DecisionMarkRow> =
    Table::new(0x0375, FAMILY, "localization_decision_events_by_age");
/// Open subjects.
pub const DECISION_WATCHES: Table<(TenantId, u8, Uuid), DecisionWatchRow> =
    Table::new(0x037F, FAMILY, "localization_decision_watches");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    DECISION_SUBJECTS.spec(),
    DECISION_REREADS.spec(),
    DECISION_EVENTS.spec(),
    DECISION_EVENTS_BY_AGE.spec(),
    DECISION_WATCHES.spec(),
];

/// What a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DecisionSubjectRow {
    /// Whose.
    pub tenant_id: TenantId,
    /// What kind of thing.
    pub kind: u8,
    /// Which.
    pub id: [u8; 16],
}
impl Row for DecisionSubjectRow {}

/// The row of an index whose key says everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DecisionMarkRow;
impl Row for DecisionMarkRow {}

/// An event of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DecisionEventRow {
    /// When it settled something.
    pub at: Timestamp,
}
impl Row for DecisionEventRow {}

/// An open subject.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DecisionWatchRow {
    /// In which project.
    pub project_id: ProjectId,
    /// When it is read again.
    pub due_at: Timestamp,
    /// Until when the decision may be taken.
    pub expires_at: Timestamp,
    /// The decision; none: it is yet to be raised.
    pub decision_id: Option<String>,
}
impl Row for DecisionWatchRow {}
