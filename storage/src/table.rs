//! Tables: typed names for ranges of keys, and the registry that keeps their tags apart for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use crate::codec::{self, Row};
use crate::error::{Failure, OpenError};
use crate::keys::Key;
use crate::read::decode_key;

/// A column family: a part of the tables that is flushed and compacted by itself. Every room declares one for its rows,
/// as a constant; its name on disk stays for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family(&'static str);

impl Family {
    /// The appliance's own rows: what all services share, storage's keys among it.
    pub const APPLIANCE: Family = Family::named("platform");
    /// Chunks of large values, whoever they belong to.
    pub const LARGE: Family = Family::named("large");

    /// Names a family, by lower-case letters, digits and `_`.
    ///
    /// # Panics
    /// On any other name, at compile time where it stands in a constant.
    #[must_use]
    pub const fn named(name: &'static str) -> Family {
        assert!(is_family_name(name), "a family's name is of lower-case letters, digits and _, and not RocksDB's own");
        Family(name)
    }

    /// A family that a directory holds; perhaps none of this binary's rooms knows it. Names that were met stay in
    /// memory: they are few.
    pub(crate) fn found(name: &str) -> Family {
        static FOUND: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(name) {
            return Family(known);
        }
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        found.insert(name);
        Family(name)
    }

    /// The column family's name on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

const fn is_family_name(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let [first, others @ ..] = rest {
        if !(first.is_ascii_lowercase() || first.is_ascii_digit() || *first == b'_') {
            return false;
        }
        rest = others;
    }
    !name.is_empty() && !matches!(name.as_bytes(), b"default")
}

/// A table: its keys are `tag` (two bytes, big-endian) followed by the encoded `K`; its values are rows `V`.
pub struct Table<K, V> {
    spec: TableSpec,
    types: PhantomData<fn() -> (K, V)>,
}

/// A table without its types, for the registry.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// The two bytes in front of every key. Given once, never reused.
    pub tag: u16,
    /// The column family the rows lie in.
    pub family: Family,
    /// The table's name for people and tools.
    pub name: &'static str,
    /// Whether the writer keeps decoded rows of this table.
    pub hot: bool,
    /// Whether a stored key and row decode as the table's types; for `verify`.
    pub(crate) decodes: fn(&[u8], &[u8]) -> Result<(), Failure>,
}

/// Whether a stored key and row are what a table's types say.
fn decodes<K: Key, V: Row>(key: &[u8], row: &[u8]) -> Result<(), Failure> {
    decode_key::<K>(key)?;
    codec::decode_row::<V>(row).map(drop)
}

impl<K: Key, V: Row> Table<K, V> {
    /// Names a table. The tag must be new: the registry refuses two tables with one tag.
    #[must_use]
    pub const fn new(tag: u16, family: Family, name: &'static str) -> Self {
        Table { spec: TableSpec { tag, family, name, hot: false, decodes: decodes::<K, V> }, types: PhantomData }
    }

    /// Keeps rows that transactions touch decoded in the writer's memory: for small rows which many
    /// transactions read and change.
    #[must_use]
    pub const fn hot(mut self) -> Self {
        self.spec.hot = true;
        self
    }

    /// The table without its types.
    #[must_use]
    pub const fn spec(&self) -> TableSpec {
        self.spec
    }

    pub(crate) fn key_bytes(&self, key: &K) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48);
        bytes.extend_from_slice(&self.spec.tag.to_be_bytes());
        key.encode(&mut bytes);
        bytes
    }
}

/// All tables of the appliance, by tag.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    by_tag: BTreeMap<u16, TableSpec>,
}

impl Registry {
    /// Collects the packages' tables.
    ///
    /// # Errors
    /// [`OpenError::Registry`] if two tables share a tag or a name.
    pub fn new(groups: &[&[TableSpec]]) -> Result<Registry, OpenError> {
        let mut by_tag = BTreeMap::new();
        let mut names = BTreeSet::new();
        for spec in groups.iter().copied().flatten() {
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
