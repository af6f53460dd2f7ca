//! What is stored of templates. Nobody but `rows` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0428 | templates | tenant, template | its name, and how many versions it has |
//! | 0x0429 | template names | tenant, name | whose name it is |
//! | 0x042A | template versions | tenant, template, version | when it was made |
//! | 0x042B | template params | tenant, template, version | what it asks for, sealed |
//! | 0x042C | template definitions | tenant, template, version | its definition, sealed |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::Template;
use crate::model::{FAMILY, TemplateId, TemplateKey, TenantId};

/// Tenant, template, the number of a version.
pub(super) type VersionKey = (TenantId, TemplateId, u64);

/// Templates.
pub(super) const TEMPLATES: Table<TemplateKey, TemplateRow> = Table::new(0x0428, FAMILY, "runs_templates");
/// Their names.
pub(super) const NAMES: Table<(TenantId, String), NameRow> = Table::new(0x0429, FAMILY, "runs_template_names");
/// Their versions.
pub(super) const VERSIONS: Table<VersionKey, VersionRow> = Table::new(0x042A, FAMILY, "runs_template_versions");
/// What versions ask for.
pub(super) const PARAMS: Table<VersionKey, SealedRow> = Table::new(0x042B, FAMILY, "runs_template_params");
/// What versions say.
pub(super) const DEFINITIONS: Table<VersionKey, SealedRow> = Table::new(0x042C, FAMILY, "runs_template_definitions");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] =
    &[TEMPLATES.spec(), NAMES.spec(), VERSIONS.spec(), PARAMS.spec(), DEFINITIONS.spec()];

/// See [`Template`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TemplateRow(pub(super) Template);
impl Row for TemplateRow {}

/// Whose name it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct NameRow {
    pub(super) template_id: [u8; 16],
}
impl Row for NameRow {}

/// A version, but for what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct VersionRow {
    pub(super) created_at: Timestamp,
    pub(super) node_count: u32,
}
impl Row for VersionRow {}

/// What is sealed for the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SealedRow(pub(super) Sealed);
impl Row for SealedRow {}
