//! The way of a request, once for all services: what is served ([`Route`]), who is let in, how a request is read and
//! answered, what every service refuses alike ([`Fault`]), and what a service says of itself ([`describe`]). A service
//! adds its [`Dialect`]: the shape of its errors, its own codes, what it demands of requests; and a table of
//! [`Endpoint`]s.
//!
//! A request goes this way: `endpoint` (its route) → the dialect's `admit` (who asks, and whether they may) → `call` (path
//! and query) → the handler, which, to change something, goes on to `change` (Idempotency-Key, body, replay) and writes
//! in one transaction what it does and what is remembered of it → `answer`, or a refusal, which a `verdict` turns into the
//! dialect's form.
//!
//! Invariants:
//! - the router, the checks and the descriptions are made from the one table of endpoints;
//! - a fault that all services know has one type, and every dialect gives every fault a status and a code of its table;
//! - storage's failures become answers in one place ([`Fault::of_failure`]), where they are logged, too;
//! - an answer is remembered in the transaction of the effect, or not at all.
//!
//! Reading order: `shape`, `route` · `fault`, `verdict`, `answer`, `wire` · `dialect` · `call`, `page`, `change`, `endpoint` ·
//! `turns`, `health` · `describe`, `router`.

mod answer;
mod call;
mod change;
pub mod describe;
mod dialect;
mod endpoint;
mod fault;
mod health;
mod page;
mod route;
mod router;
mod shape;
mod turns;
mod verdict;
mod wire;

pub use crate::idempotency::Entered;
pub use answer::{Answer, AnswerTo, JSON, Stop};
pub use call::{Call, FromSegment, Visit, failed, refusal_of};
pub use change::{Change, once, refused};
pub use dialect::{Answered, Demands, Dialect, Interface, Recheck, Recognized, ServiceRefusal};
pub use endpoint::{Endpoint, Endpoints, Handler, endpoint, routes};
pub use fault::{Fault, Problem};
pub use health::{Ailment, ailment};
pub use page::{CURSOR, Page, limit, next_cursor};
pub use route::{Content, KeyRule, Method, Parameter, Route, Segment, Success, any_json, json, media, nothing};
pub use router::{refuse, router, told};
pub use shape::Shape;
pub use turns::{TURN_TIME, Turn, Turns};
pub use verdict::{Code, PROBLEM, Verdict, problem, problem_schema};
pub use wire::{Id, Instant, written};
