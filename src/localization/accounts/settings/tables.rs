//! The rows of settings.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0362 | settings | tenant | what the tenant has set |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use crate::model::{FAMILY, TenantId};

/// What tenants have set.
pub const SETTINGS: Table<TenantId, SettingsRow> = Table::new(0x0362, FAMILY, "localization_settings");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[SETTINGS.spec()];

/// What a tenant has set; without a row: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SettingsRow {
    /// What it calls itself.
    pub display_name: Option<String>,
    /// How many people decide on what is legal.
    pub legal_approval_quorum: Option<u64>,
}
impl Row for SettingsRow {}
