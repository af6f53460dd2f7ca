//! What the five services share and none of them owns.
//!
//! Nouns: the one [`clock`], tenants and their keys ([`access`]), stored answers of requests ([`idempotency`]),
//! the strict pieces HTTP interfaces are put together from ([`http`]), page [`cursor`]s, token buckets
//! ([`limits`]), quotas and usage ([`metering`]), the one way out ([`egress`]) and what is told to other systems through
//! it ([`deliveries`], [`webhooks`]), the [`stopping`] of what would not end by itself, work in the [`background`], engines that are asked for words ([`chat`]), who people are
//! ([`identity`]), what their browsers hold ([`sessions`]) and who comes to the console ([`people`]), [`ids`] and [`secrets`], time [`zones`] and what comes again and again in them ([`recurrence`]),
//! records of [`backups`]; [`verify()`] checks that all rows agree.
//!
//! Invariants:
//! - only `clock` reads the system's time, only `secrets` its random source, only `egress` connects to others;
//! - verbs (functions over a [`WriteTx`](quintet_storage::WriteTx)) are deterministic: randomness and time come in
//!   as arguments; only sealing draws its nonces by itself, which nothing depends on;
//! - a rule's refusal and the store's failure are two types, everywhere;
//! - whatever comes from outside is read in linear time and bounded memory, and never comes back in an error,
//!   except for the names of members and parameters and for what is wrong in a cron pattern, shortened and without
//!   control characters.
//!
//! Reading order: `secrets`, `ids`, `time_text`, `clock`, `stopping`, `background`, `cursor`, `limits`, `zones`, `recurrence` · `http` (`json`,
//! `query`, `body`, `etag`, `precondition`, `problem`, `request_id`) · `egress`, `chat` · `access` · `identity`, `sessions`, `people` · `idempotency`, `metering` ·
//! `deliveries` · `backups` ·
//! `verify` · `foundation` (what each service is made from, and how a request is let in) · `service` (the way of a request),
//! `mcp` (the same operations as tools) · `webhooks` (endpoints of tenants).

pub mod access;
pub mod background;
pub mod backups;
pub mod chat;
pub mod clock;
pub mod cursor;
pub mod deliveries;
pub mod egress;
mod foundation;
pub mod http;
pub mod idempotency;
pub mod identity;
pub mod ids;
pub mod jobs;
pub mod json;
pub mod large_values;
pub mod limits;
pub mod mcp;
pub mod metering;
pub mod people;
pub mod recurrence;
pub mod secrets;
pub mod service;
pub mod sessions;
mod shown;
pub mod stopping;
mod time_text;
pub mod verify;
pub mod vouched;
pub mod webhooks;
pub mod zones;

#[cfg(test)]
mod testing;

use quintet_storage::TableSpec;

pub use quintet_storage::{TimeSource, Timestamp};

pub use foundation::{Foundation, NotAdmitted};
pub use verify::verify;

/// Every table of this package. Their tags lie in 0x0100 to 0x01FF.
pub const TABLES: &[TableSpec] = &[
    clock::READING.spec(),
    access::tables::TENANTS.spec(),
    access::tables::TENANTS_BY_PARENT.spec(),
    access::tables::KEYS.spec(),
    access::tables::KEYS_BY_TENANT.spec(),
    access::tables::KEY_USES.spec(),
    access::tables::ACTIVATIONS.spec(),
    idempotency::tables::ANSWERS.spec(),
    idempotency::tables::ANSWERS_BY_EXPIRY.spec(),
    metering::tables::QUOTAS.spec(),
    metering::tables::USAGE.spec(),
    backups::BACKUPS.spec(),
    deliveries::tables::TABLES[0],
    deliveries::tables::TABLES[1],
    deliveries::tables::TABLES[2],
    deliveries::tables::TABLES[3],
    deliveries::tables::TABLES[4],
    deliveries::tables::TABLES[5],
    deliveries::tables::TABLES[6],
    deliveries::tables::TABLES[7],
    deliveries::tables::TABLES[8],
    identity::tables::TABLES[0],
    identity::tables::TABLES[1],
    identity::tables::TABLES[2],
    sessions::tables::TABLES[0],
    sessions::tables::TABLES[1],
    sessions::tables::TABLES[2],
    sessions::tables::TABLES[3],
    sessions::tables::TABLES[4],
    sessions::tables::TABLES[5],
    people::tables::TABLES[0],
    people::tables::TABLES[1],
    people::tables::TABLES[2],
    people::tables::TABLES[3],
    people::tables::TABLES[4],
];
