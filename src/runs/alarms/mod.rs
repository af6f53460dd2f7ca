//! Alarms: what timers and schedules have in common.
//!
//! Nouns: an *alarm* is a timer or a schedule. It has a webhook of its own, with a secret, and a *payload*: any JSON, which
//! is handed back each time the alarm fires.
//!
//! Invariants:
//! - that an alarm has fired and the delivery that tells of it are one transaction;
//! - what an alarm tells goes to its own webhook alone, always signed; no pattern of an endpoint asks for it;
//! - secret and payload are sealed for the tenant.
//!
//! Reading order: `model` (words) · `tables`, `counts`, `contents` (rows) · `told` (how one fires) · `form`, `wire` (how they
//! are read and written).

pub(crate) mod contents;
pub(crate) mod counts;
pub(crate) mod form;
pub(crate) mod model;
mod tables;
pub(crate) mod told;
pub(crate) mod wire;

pub(crate) use tables::{ContentsRow, TABLES};
