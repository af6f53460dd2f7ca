//! Tables: typed names for ranges of keys.

use std::marker::PhantomData;

use super::codec::{self, Row};
use super::family::Family;
use super::keys::{Key, decode_key};
use crate::error::Failure;

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
