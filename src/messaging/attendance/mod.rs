//! Who is there: when each agent was last heard of, which challenges wait for their echo, and which streams are open. All of
//! it in memory; what is worth keeping is stored at most once a minute, so that reading costs no write and a crash loses a
//! minute of it (6-messaging.md, W).
//!
//! Nouns: an agent is *seen* by each request and while a stream of it is open. A *challenge* is a word that an answer
//! carries; an agent that *echoes* it with its next request shows that somebody reads its answers. A stream is
//! *wake-capable* if its reader says that it can start a turn of the agent, and *taken* as long as its bytes arrive.
//!
//! Reading order: `model` (presence and wake channels, pure) · `tables` (what is kept) · `afloat` (events that lie in no
//! inbox), `streams` (what is open), `memory` (what is held besides, and the whole of what is known of an agent) · `keeping`
//! (what is stored once a minute).

mod afloat;
mod keeping;
mod memory;
mod model;
mod streams;
mod tables;

pub(crate) use keeping::Keeping;
pub(crate) use memory::Attendance;
pub(crate) use model::Attended;
pub(crate) use streams::{EVENT_BYTES_MAX, Line, Reached};
pub(crate) use tables::TABLES;
