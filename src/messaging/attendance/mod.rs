//! Who is there: when each agent was last heard of, which challenges wait for their echo, and which streams are open. All of
//! it in memory; what is worth keeping is stored at most once a minute, so that reading costs no write and a crash loses a
//! minute of it (6-messaging.md, W).
//!
//! Nouns: an agent is *seen* by each request and while a stream of it is open. A *challenge* is a word that an answer
//! carries; an agent that *echoes* it with its next request shows that somebody reads its answers. A stream is
//! *wake-capable* if its reader says that it can start a turn of the agent.
//!
//! Reading order: `model` (presence and wake channels, pure) · `memory` (what is held).

mod memory;
mod model;

pub(crate) use memory::Attendance;
pub(crate) use model::{Presence, Sighting};
