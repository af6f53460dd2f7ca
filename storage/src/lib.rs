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
//! Reading order: `time`, `error`, `keys`, `codec`, `table` (words) · `read`, `tx` (what verbs and readers use) ·
//! `env`, `log` (the disk) · `projection`, `rocks` (the tables) · `waking`, `writer`, `space`, `shared`, `pipeline`,
//! `housekeeping`, `options`, `directory`, `opening`, `start`, `migration`, `store` (the way of a write) · `manifest`,
//! `identity`, `checkpoint`, `keeper`, `rebuild`, `backup` (copies) · `overlay`, `verify`, `salvage` (damage) · `seal`
//! (encryption of values) · `large`, `staging` (what does not fit into one transaction).

pub mod backup;
mod checkpoint;
mod codec;
mod directory;
mod env;
mod error;
mod housekeeping;
mod identity;
mod ids;
mod keeper;
mod keys;
pub mod large;
mod log;
mod manifest;
mod migration;
mod opening;
mod options;
mod overlay;
mod pipeline;
mod projection;
mod read;
mod rebuild;
mod rocks;
mod salvage;
pub mod seal;
mod shared;
mod space;
pub mod staging;
mod start;
mod stats;
mod store;
mod table;
mod time;
mod tx;
mod verify;
mod waking;
mod writer;

#[cfg(test)]
mod tests;

pub use bincode;
pub use uuid::Uuid;

pub use checkpoint::CopyWindow;
pub use codec::{Row, decode_plain, encode_plain};
pub use directory::{FORMAT_VERSION, Format, read_format};
pub use env::handle::has_file_handles;
pub use env::kernel_clock::is_clock_synchronized;
pub use error::{Abort, Failure, OpenError, Refusal};
pub use ids::first_id_after;
pub use keeper::HeldCheckpoint;
pub use keys::{Key, KeyPrefix, Reverse};
pub use log::Lsn;
pub use options::StoreOptions;
pub use read::{Read, Scan, Snapshot};
pub use salvage::{Salvaged, salvage};
pub use space::Room;
pub use stats::StatsReading;
pub use store::{LongView, Store};
pub use table::{Family, Registry, Table, TableSpec};
pub use time::{TimeSource, Timestamp};
pub use tx::WriteTx;
pub use verify::{Finding, Tables, Verification, Verified};
pub use waking::DueListener;
