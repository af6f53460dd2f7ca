//! Stored answers: a mutating request that comes again under the same Idempotency-Key is answered with the bytes
//! of the first time, for as long as the room says.
//!
//! A room looks the key up and remembers the answer in the transaction of the effect, so that both are there or
//! neither. Since transactions run one after another, the second of two equal requests in flight finds the answer
//! of the first: there is no state in between.
//!
//! Invariants:
//! - one answer for each scope (tenant, service, what the key is unique within, key) at a time;
//! - every answer has its row in the expiry index, and the other way round;
//! - an answer is not found from the end of its time on, whether or not it has been collected;
//! - an answer that carries a secret (the room says which, [`remember_secret`]) is nowhere on the disk in the clear; one
//!   that tells of a person ([`remember_personal`]) neither, nor is what was asked; both are gone with that member's data key.
//!
//! What counts as final (2xx, some 4xx) is the room's decision; see its contract.
//!
//! Reading order: `model`, `tables`, `key` (of a request) · `answers` (verbs), `expired` (their collection) · `in_flight`.

mod answers;
mod expired;
mod in_flight;
mod key;
mod model;
pub(crate) mod tables;

#[cfg(test)]
mod tests;

pub use answers::{lookup, remember, remember_personal, remember_secret};
pub use expired::ExpiredAnswers;
pub use in_flight::{Beside, Entered, Guard, InFlight};
pub use key::{IDEMPOTENCY_KEY, MalformedKey, request_key};
pub use model::{KEPT_SECONDS, Lookup, RequestDigest, Scope, StoredAnswer};
