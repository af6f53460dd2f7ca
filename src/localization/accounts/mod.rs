//! Accounts: changing who there is, and what the tenant has set.
//!
//! Nouns and invariants of members and service accounts are those of [`principals`](crate::principals). What a tenant has
//! *set* is shown as it was set: what was never set is left out, and its default is for whoever asks to know.
//!
//! Invariants:
//! - whoever is removed, erased or revoked is shut out in the same transaction: `leaving` is the one place that ends
//!   everything that lets a principal in;
//! - what is recorded of a person in the audit chain is the id alone (localization, I2).
//!
//! Reading order: `leaving` · `members` · `settings` · `verify`.

mod leaving;
pub mod members;
pub mod settings;
mod verify;

#[cfg(test)]
mod tests;

pub use settings::TABLES;
pub use verify::verify;
