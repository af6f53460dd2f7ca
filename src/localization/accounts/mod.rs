//! Accounts: changing who there is and with which keys they act, and what the tenant has set.
//!
//! Nouns and invariants of members and service accounts are those of [`principals`](crate::principals). What a tenant has
//! *set* is shown as it was set: what was never set is left out, and its default is for whoever asks to know.
//!
//! Invariants:
//! - whoever is removed, erased or revoked is shut out in the same transaction: `leaving` is the one place that ends
//!   everything that lets a principal in;
//! - what is recorded of a person in the audit chain is the id alone, and an answer that tells of one is remembered under
//!   that member's own key (localization, I2);
//! - nobody has a key of a principal who may do more than he may himself;
//! - a key's secret is told once.
//!
//! Reading order: `leaving` · `members` · `service_accounts` · `keys` · `operator` (keys from the command line), `people` (members
//! from there) · `settings` ·
//! `migration` · `verify`.

pub mod keys;
mod leaving;
pub mod members;
mod migration;
pub mod operator;
pub mod people;
pub mod service_accounts;
pub mod settings;
mod verify;

#[cfg(test)]
mod tests;

pub use migration::MIGRATIONS;
pub use settings::TABLES;
pub use verify::verify;
