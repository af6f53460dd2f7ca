//! What a workspace has used of its day: messages, mail to and from outside, approvals. Days are UTC by the Clock; a limit
//! that is raised holds at once (6-messaging.md, L).
//!
//! Reading order: `model` · `tables` · `count` (the verb) · `day` (reading) · `verify` · `http`.

mod count;
mod day;
pub(crate) mod http;
mod model;
mod tables;
mod verify;

pub(crate) use count::count;
pub(crate) use day::{forget, used};
pub(crate) use model::{Daily, Day, day_of, end_of};
pub(crate) use tables::TABLES;
pub(crate) use verify::{Sent, verify};
