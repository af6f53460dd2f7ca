//! What happens in a workspace is told to its outbound webhooks: what is written down of them, and the one place that tells.
//! Making and changing them, and how they are called, is in `webhooks`.
//!
//! Nouns: a *webhook* is an address of a workspace that asks for events, of one agent or of all. A *listener* is one that is
//! enabled, as far as events go. Its *target* is what its deliveries are found by; enabled anew it gets another, so that
//! what waited before is not told after. Its *standing* is what has come of what it was told.
//!
//! Invariants:
//! - what happens, and one delivery for each listener that asks for it, are one transaction;
//! - without listeners, what happens costs one look at a hot row;
//! - of a webhook so much waits and no more: it is a hint, like a stream, and the inbox is the truth;
//! - nothing that a message says is told, but what it is about.
//!
//! Reading order: `model` (words) · `tables` · `rows` · `tell` · `verify`.

mod model;
pub(crate) mod rows;
mod tables;
mod tell;
mod verify;

pub(crate) use model::{Event, Standing, Webhook, WebhookId};
pub(crate) use tables::TABLES;
pub(crate) use tell::{Decided, Happened, decided, tell, who};
pub(crate) use verify::verify;
