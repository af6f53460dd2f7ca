//! The appliance's memory: everything that must survive lives behind this crate.
//!
//! A *verb* runs as a [`WriteTx`] on the one writer, is made durable by the log, applied to the tables, published,
//! and only then answered. Readers see [`Snapshot`]s of published state. DESIGN.md has the format, the invariants
//! and their reasons.
//!
//! Invariants:
//! - what was answered is on disk; what a reader sees was on disk before;
//! - the log's order is the one order of everything; the tables are always a prefix of it;
//! - a failed write to the log or the tables ends writing until a restart.
//!
//! Reading order, which is the order of what imports what: `time`, `error`, `hex` (words) · `env` (the disk) · `log` ·
//! `tables` (rows as bytes, RocksDB) · `vault` (keys of sealed values) · `view` (what readers see) · `directory` (what it
//! says of itself) · `copies` (checkpoints, backups, damage) · `write` (the way of a write) · `open` (from files to a
//! running [`Store`]) · `seal` (encryption of values) · `large` (what does not fit into one transaction).

mod copies;
mod directory;
mod env;
mod error;
mod hex;
pub mod large;
mod log;
mod open;
pub mod seal;
mod tables;
mod time;
mod vault;
mod view;
mod write;

#[cfg(test)]
mod tests;

pub use bincode;
pub use uuid::Uuid;

pub use copies::backup;
pub use copies::checkpoint::{CopyWindow, HeldCheckpoint};
pub use copies::follow;
pub use copies::salvage::{Salvaged, salvage};
pub use copies::verify::{Finding, Tables, Verification, Verified};
pub use directory::format::{FORMAT_VERSION, Format, read_format};
pub use env::handle::has_file_handles;
pub use env::kernel_clock::is_clock_synchronized;
pub use error::{Abort, Failure, OpenError, Refusal};
pub use large::staging;
pub use open::migration::{Migrating, Migration};
pub use open::options::StoreOptions;
pub use open::store::{LongView, Store};
pub use tables::codec::{Row, decode_plain, encode_plain};
pub use tables::family::Family;
pub use tables::keys::{Key, KeyPrefix, Reverse};
pub use tables::registry::Registry;
pub use tables::table::{Decoded, Table, TableSpec};
pub use time::{Lsn, TimeSource, Timestamp};
pub use view::read::{Read, Scan};
pub use view::snapshot::Snapshot;
pub use write::ids::first_id_after;
pub use write::space::Room;
pub use write::stats::StatsReading;
pub use write::tx::WriteTx;
pub use write::waking::{DueListener, ToldListener};
