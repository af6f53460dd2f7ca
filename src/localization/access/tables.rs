//! The rows of grants.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0318 | grants | tenant, id | who was granted which template, and what it expanded to |
//! | 0x0319 | grants by principal | tenant, principal, id | an index |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{GrantId, IntentState, Scope};
use crate::model::{FAMILY, TenantId};

/// Grants.
pub const GRANTS: Table<(TenantId, GrantId), GrantRow> = Table::new(0x0318, FAMILY, "localization_grants");
/// Grants of a principal.
pub const GRANTS_BY_PRINCIPAL: Table<(TenantId, Uuid, GrantId), MarkRow> =
    Table::new(0x0319, FAMILY, "localization_grants_by_principal");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[GRANTS.spec(), GRANTS_BY_PRINCIPAL.spec()];

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MarkRow;
impl Row for MarkRow {}

/// One intent of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct IntentRow {
    /// Where it holds, as text.
    pub target: String,
    /// What it confers, as texts.
    pub permissions: Vec<String>,
    /// How far it has come.
    pub state: IntentState,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GrantRow {
    /// To whom.
    pub principal: [u8; 16],
    /// Which template.
    pub template: String,
    /// Within which scope.
    pub scope: Scope,
    /// What it expanded to.
    pub intents: Vec<IntentRow>,
    /// When.
    pub created_at: Timestamp,
}
impl Row for GrantRow {}
