//! Deliveries: what is told to other systems over HTTP, at least once, whatever crashes in between.
//!
//! Nouns: a room *enqueues* a delivery into its tenant's *outbox* in the transaction of what it tells of; its body is
//! frozen and sealed there. Its *target* is an endpoint that the room keeps, or an address of its own (*inline*). The
//! *pump* makes *attempts*; each is *settled* durably: delivered, to be tried again, or dead. Deliveries to one endpoint, or
//! to one authority, share a *lane*: a lane never has more than a few attempts in flight, and none waits for another's.
//! The *health* of an endpoint is what its deliveries have come to.
//!
//! Invariants:
//! - a delivery is there exactly if what it tells of happened: one transaction;
//! - a delivery that waits has one row in the due index, one that has ended has one among the old ones, and the counters
//!   of its outbox agree with both;
//! - what waits for an endpoint is counted; a room may have what is too much given up at once;
//! - that an attempt is under way is known in memory alone. After a crash it is made again, under the same number;
//! - verbs open no connection and ask no name server; rules (delays, statuses, limits, headers, what a death leads to)
//!   come from the room.
//!
//! Reading order: `model`, `health` (words and pure rules) · `tables` · `room` (what a room gives) · `due`, `follow` · the verbs
//! `enqueue`, `settle`, `redeliver`, `drop_target`, `old` · `list`, `dead` · `signing` · `pump` · `verify`.

mod dead;
mod drop_target;
mod due;
mod enqueue;
mod follow;
mod health;
mod list;
mod model;
mod old;
mod pump;
mod redeliver;
mod room;
mod settle;
mod signing;
pub(crate) mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use dead::{Dead, DeadPage, dead};
pub use drop_target::{DroppedTargets, drop_target};
pub use enqueue::{NewDelivery, NewTarget, enqueue, enqueue_all};
pub use health::Health;
pub use list::{Filter, Page, all_counters, counters, find, health_of, list, note_notice, reset_health, waiting_for};
pub use model::{Attempted, Counters, Delivery, DeliveryState, End, LastError, Outbox, Policy, Target, Verdict};
pub use old::OldDeliveries;
pub use pump::{Figures, Pump};
pub use redeliver::{NotRedelivered, redeliver};
pub use room::{Attempt, DeliveryRoom, Destination, Settled};
pub use signing::hmac_sha256;
pub(crate) use verify::verify;
