//! Agents over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `register`, `join`, `whoami`,
//! `phonebook`, `labels`, `life`.

mod form;
mod join;
mod labels;
mod life;
mod phonebook;
mod register;
#[cfg(test)]
mod tests;
mod whoami;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of agents.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&register::REGISTER, |call| Box::pin(challenged(call, register::register))),
    Endpoint::open(&join::JOIN, |visit| Box::pin(join::join(visit))),
    Endpoint::new(&whoami::WHOAMI, |call| Box::pin(challenged(call, whoami::whoami))),
    Endpoint::new(&phonebook::LIST, |call| Box::pin(challenged(call, phonebook::list))),
    Endpoint::new(&phonebook::GET, |call| Box::pin(challenged(call, phonebook::get))),
    Endpoint::new(&labels::CHANGE, |call| Box::pin(challenged(call, labels::change))),
    Endpoint::new(&life::HEARTBEAT, |call| Box::pin(challenged(call, life::heartbeat))),
    Endpoint::new(&life::RETIRE, |call| Box::pin(challenged(call, life::retire))),
];
