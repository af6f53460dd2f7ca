//! Receivers of webhooks as they are out there: those that judge signatures, those that misbehave, those that speak TLS, and
//! those that stand under names.

mod names;
pub mod odd;
mod table;
mod verifiers;
