//! The rows of approval requests.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0376 | approval requests | tenant, request | a request, but for its items and its context |
//! | 0x0377 | approval items | tenant, request | its items |
//! | 0x0378 | approval contexts | tenant, request | its context |
//! | 0x0379 | open approvals | tenant, file, locale | the request that is open; makes it the only one |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::Item;
use super::states::RequestStatus;
use crate::audit::ActorKind;
use crate::content::FileId;
use crate::decisions::Asked;
use crate::model::{FAMILY, ProjectId, TenantId};

/// Requests.
pub const APPROVAL_REQUESTS: Table<(TenantId, Uuid), ApprovalRequestRow> =
    Table::new(0x0376, FAMILY, "localization_approval_requests");
/// Their items.
pub const APPROVAL_ITEMS: Table<(TenantId, Uuid), ApprovalItemsRow> =
    Table::new(0x0377, FAMILY, "localization_approval_items");
/// Their contexts.
pub const APPROVAL_CONTEXTS: Table<(TenantId, Uuid), ApprovalContextRow> =
    Table::new(0x0378, FAMILY, "localization_approval_contexts");
/// Those that are open.
pub const OPEN_APPROVALS: Table<(TenantId, FileId, String), OpenApprovalRow> =
    Table::new(0x0379, FAMILY, "localization_open_approvals");

/// The tables of this folder.
pub const TABLES: &[TableSpec] =
    &[APPROVAL_REQUESTS.spec(), APPROVAL_ITEMS.spec(), APPROVAL_CONTEXTS.spec(), OPEN_APPROVALS.spec()];

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalRequestRow {
    /// In which project.
    pub project_id: ProjectId,
    /// Of which file.
    pub file_id: FileId,
    /// The file's path, when it was made.
    pub path: String,
    /// The canonical tag of the locale.
    pub locale: String,
    /// The revision of the file in the locale.
    pub file_revision: u64,
    /// How many items it has.
    pub item_count: u32,
    /// Whether one of them is of class legal.
    pub holds_legal: bool,
    /// How it stands.
    pub status: RequestStatus,
    /// Its decision, once that is raised.
    pub decision_id: Option<String>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// Where people look at it: what whoever made it says.
    pub own_review_url: Option<String>,
    /// The same, as the service says.
    pub service_review_url: Option<String>,
    /// What the service says it was shown.
    pub context_hash: Option<String>,
    /// Who made it.
    pub created_by: [u8; 16],
    /// What kind of principal.
    pub created_by_kind: ActorKind,
    /// With which request of the interface; empty: none.
    pub request_id: String,
    /// When.
    pub created_at: Timestamp,
    /// Until when it can be decided.
    pub expires_at: Timestamp,
    /// What its first answer is remembered under.
    pub asked: Option<Asked>,
}
impl Row for ApprovalRequestRow {}

/// The items of a request.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalItemsRow {
    /// In the order of their keys' ids.
    pub items: Vec<Item>,
}
impl Row for ApprovalItemsRow {}

/// The context of a request.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalContextRow {
    /// As it was sent.
    pub text: String,
}
impl Row for ApprovalContextRow {}

/// The request that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OpenApprovalRow {
    /// Which.
    pub request_id: [u8; 16],
}
impl Row for OpenApprovalRow {}
