//! The tables: typed rows as bytes, and where the log's operations are applied to.
//!
//! Reading order: `keys`, `codec` (bytes) · `family`, `table` (types and tags), `version` (the rows' own format), `registry`
//! · `projection` (what the store asks of the tables), `rocks` (RocksDB).

pub(crate) mod codec;
pub(crate) mod family;
pub(crate) mod keys;
pub(crate) mod projection;
pub(crate) mod registry;
pub(crate) mod rocks;
pub(crate) mod table;
pub(crate) mod version;
