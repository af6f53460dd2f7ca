//! Webhooks, as far as all services that have some do alike: endpoints of a tenant and their secrets, what is sent of an
//! event, how it is signed, what follows when it does not arrive.
//!
//! Nouns: an *endpoint* is an address of a tenant that asks for events by patterns, and has a secret. An *envelope* is what
//! is sent of an event; a *notice* tells of an endpoint in a bad way. A service says in its [`Webhooks`] what is its own:
//! its events, its tables, its limits, how it writes ids.
//!
//! Invariants:
//! - what happens, and one delivery for each endpoint that asks for it, are one transaction ([`crate::deliveries`] does the
//!   rest);
//! - an endpoint that is inactive gets nothing new;
//! - secrets are sealed, and shown once.
//!
//! Reading order: `model` (words), `tables` (rows), `room` (what a service says) · `endpoints` (rows written together) ·
//! `envelope`, `tell` (what happens is told) · the verbs `manage` · `attempts` (rules, heads, what a death leads to) · `form`
//! (reading), `wire` (writing), `query` (lists) · `operator` (what the operator sees and does) · `verify`.

mod attempts;
mod endpoints;
mod envelope;
pub mod form;
mod manage;
mod model;
mod operator;
pub mod query;
mod room;
mod tables;
mod tell;
mod verify;
mod wire;

pub use attempts::RULES;
pub use endpoints::Opened;
pub use envelope::{Envelope, Event, renumbered};
pub use form::DeliveryNumber;
pub use manage::NotDone;
pub use model::{
    DEGRADED, Deed, DisabledReason, Endpoint, EndpointChange, EndpointKey, NewEndpoint, SecretOrigin, SigningSecret,
    Subscription, TEST,
};
pub use operator::{Host, Operator, Standing, Wanted};
pub use room::{Terms, Webhooks};
pub use tables::{EndpointId, EndpointRow, SubscriptionsRow, TenantId};
pub use tell::ATTEMPTS_MAX;
pub use wire::with_secret;
