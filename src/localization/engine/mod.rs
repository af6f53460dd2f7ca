//! The AI engine: another system that answers chat completions, OpenAI's interface of them (`[ai] url, model, api_key`).
//!
//! Nouns: an *ask* is what the engine is told, and which shape its answer must have; a *completion* is its answer.
//!
//! Invariants:
//! - the engine is not believed: an answer is bounded in size and time, redirects are not followed, and what is no
//!   completion of the asked shape is none at all;
//! - at most four requests are under way at a time, whoever asks; tenants take turns. A tenant has four callers at most, and
//!   all have sixteen: four tenants together can keep the others out, one cannot;
//! - no request is sent more than twice to an engine that
//!   takes `response_format`, three times to one that does not;
//! - neither what it is told nor what it says nor its key is in a log or an error.
//!
//! It knows nothing of translations. Reading order: `completion` (what an answer says) · `client` (asking).

mod client;
mod completion;

#[cfg(test)]
mod tests;

pub use client::{Ask, Caller, Engine, Unavailable};
