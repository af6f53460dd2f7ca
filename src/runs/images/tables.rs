//! What is stored of images.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0413 | named images | tenant, digest | an image that was pulled and that runs of the tenant have used |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::Named;
use crate::model::{FAMILY, TenantId};

/// Images that tenants name.
pub(super) const NAMED: Table<(TenantId, String), NamedRow> = Table::new(0x0413, FAMILY, "runs_named_images");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[NAMED.spec()];

/// See [`Named`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct NamedRow {
    layers: Vec<(String, u64)>,
    used_at: Timestamp,
}
impl Row for NamedRow {}

impl From<Named> for NamedRow {
    fn from(Named { layers, used_at }: Named) -> NamedRow {
        NamedRow { layers, used_at }
    }
}

impl From<NamedRow> for Named {
    fn from(NamedRow { layers, used_at }: NamedRow) -> Named {
        Named { layers, used_at }
    }
}
