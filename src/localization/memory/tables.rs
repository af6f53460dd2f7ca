//! The rows of the translation memory.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0350 | memory units | tenant, source locale, target locale, number | a unit, under the number it got when it was written last |
//! | 0x0351 | memory sources | tenant, source locale, target locale, id of the source text | the unit's number |
//! | 0x0352 | memory pairs (hot) | tenant, source locale, target locale | the latest number, and how many units there are |
//! | 0x0353 | memory by project | tenant, project, target locale, source locale, number | an index: units by the project that wrote them last |
//!
//! Whoever knows the units up to a number learns what was written since by reading on from there.

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::MemoryUnit;
use crate::content::Wording;
use crate::model::{FAMILY, TenantId};
use crate::spaces::ProjectId;

/// Units.
pub const MEMORY_UNITS: Table<(TenantId, String, String, u64), MemoryUnitRow> =
    Table::new(0x0350, FAMILY, "localization_memory_units");
/// Where the unit of a source text lies.
pub const MEMORY_SOURCES: Table<(TenantId, String, String, u128), MemorySourceRow> =
    Table::new(0x0351, FAMILY, "localization_memory_sources");
/// Language pairs.
pub const MEMORY_PAIRS: Table<(TenantId, String, String), MemoryPairRow> =
    Table::new(0x0352, FAMILY, "localization_memory_pairs").hot();
/// Units by project.
pub const MEMORY_BY_PROJECT: Table<(TenantId, ProjectId, String, String, u64), MemoryMarkRow> =
    Table::new(0x0353, FAMILY, "localization_memory_by_project");

/// The tables of this folder.
pub const TABLES: &[TableSpec] =
    &[MEMORY_UNITS.spec(), MEMORY_SOURCES.spec(), MEMORY_PAIRS.spec(), MEMORY_BY_PROJECT.spec()];

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemoryUnitRow {
    /// The source text.
    pub source: String,
    /// What it was translated as.
    pub target: String,
    /// Who wrote that.
    pub origin: Option<Wording>,
    /// In which project it was written last.
    pub project_id: ProjectId,
    /// When it was written last.
    pub written_at: Timestamp,
}
impl Row for MemoryUnitRow {}

impl MemoryUnitRow {
    /// The unit.
    pub fn into_unit(self) -> MemoryUnit {
        let MemoryUnitRow { source, target, origin, project_id, written_at } = self;
        MemoryUnit { source, target, origin, project_id, written_at }
    }
}

/// Where the unit of a source text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemorySourceRow {
    /// Its number.
    pub number: u64,
}
impl Row for MemorySourceRow {}

/// A language pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct MemoryPairRow {
    /// The number of the unit written last; from 1, and one more with each writing.
    pub latest: u64,
    /// How many units there are.
    pub units: u64,
}
impl Row for MemoryPairRow {}

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemoryMarkRow;
impl Row for MemoryMarkRow {}
