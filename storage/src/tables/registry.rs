//! The registry: all tables, whose tags and names are kept apart for ever.

use std::collections::{BTreeMap, BTreeSet};

use super::family::Family;
use super::table::TableSpec;
use super::version::ROWS_FORMAT;
use crate::error::OpenError;

/// All tables of the appliance, by tag.
#[derive(Clone, Debug)]
pub struct Registry {
    by_tag: BTreeMap<u16, TableSpec>,
}

impl Registry {
    /// Collects the packages' tables, and the one that storage always has: which format the rows have.
    ///
    /// # Errors
    /// [`OpenError::Registry`] if two tables share a tag or a name.
    pub fn new(groups: &[&[TableSpec]]) -> Result<Registry, OpenError> {
        let mut by_tag = BTreeMap::new();
        let mut names = BTreeSet::new();
        for spec in groups.iter().copied().flatten().chain([&ROWS_FORMAT.spec()]) {
            if let Some(other) = by_tag.insert(spec.tag, *spec) {
                let reason = format!("{} and {} share tag {:#06x}", other.name, spec.name, spec.tag);
                return Err(OpenError::Registry(reason));
            }
            if !names.insert(spec.name) {
                return Err(OpenError::Registry(format!("two tables are named {}", spec.name)));
            }
        }
        Ok(Registry { by_tag })
    }

    /// The table that a stored key belongs to.
    #[must_use]
    pub fn table_of(&self, key: &[u8]) -> Option<TableSpec> {
        let tag = u16::from_be_bytes([*key.first()?, *key.get(1)?]);
        self.by_tag.get(&tag).copied()
    }

    /// Every table, in the order of their tags.
    pub fn tables(&self) -> impl Iterator<Item = TableSpec> + '_ {
        self.by_tag.values().copied()
    }

    /// The families that the tables lie in, and storage's own.
    pub(crate) fn families(&self) -> BTreeSet<Family> {
        let declared = self.tables().map(|table| table.family);
        declared.chain([Family::APPLIANCE, Family::LARGE]).collect()
    }
}
