//! Rooms: names that a message can go to, and the agents that are in them.
//!
//! Invariants: a room's list of members and its members' lists of rooms say the same, but for agents that are retired: those
//! know their rooms, in whose lists they are again when they are revived, and get nothing; one that is in many rooms is put
//! into their lists, or taken out, some at a time, and a row says so, by which it is in them all the same; a room that
//! everybody has left goes on if it has a history or had a schema, until another is wanted where there are as many as there
//! may be, and otherwise goes.
//!
//! Reading order: `schema` (what payloads must be) · `tables` · `counts` · `schemas` · `members` (who is in it, joining, leaving) · `prepare` ·
//! `moves` (retiring, coming back) · `verify` · `http`.

mod counts;
pub(crate) mod http;
mod members;
mod moves;
mod prepare;
pub(crate) mod schema;
mod schemas;
mod tables;
mod verify;

pub(crate) use members::{find, is_member, join, of_agent};
pub(crate) use moves::{go_on, retire, revive};
pub(crate) use prepare::prepare;
pub(crate) use schemas::schema_of;
#[cfg(test)]
pub(crate) use schemas::set_schema;
pub(crate) use tables::{ROOM_HISTORY, TABLES};
pub(crate) use verify::verify;
