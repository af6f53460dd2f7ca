//! Messaging over HTTP: what all folders serve, strung together, and whether the service works.

mod health;
#[cfg(test)]
mod tests;

use axum::Router;
use quintet_platform::service::{self, Endpoints};

use crate::agents::http as agents;
use crate::blocks::http as blocks;
use crate::claims::http as claims;
use crate::context::Context;
use crate::dialect::Messaging;
use crate::inbound::http as inbound;
use crate::inbox::http as inbox;
use crate::invites::http as invites;
use crate::keys::http as keys;
use crate::memory::http as memory;
use crate::outbox::http as outbox;
use crate::pubkeys::http as pubkeys;
use crate::rooms::http as rooms;
use crate::signup::http as signup;
use crate::skills::http as skills;
use crate::threads::http as threads;
use crate::usage::http as usage;
use crate::webhooks::http as webhooks;
use crate::{approvals, drafts, guard, mcp, presence, reminders, sending};

/// Everything that is served.
pub(crate) const ENDPOINTS: Endpoints<Messaging> = &[
    health::ENDPOINTS,
    agents::ENDPOINTS,
    approvals::ENDPOINTS,
    blocks::ENDPOINTS,
    claims::ENDPOINTS,
    drafts::ENDPOINTS,
    guard::ENDPOINTS,
    inbound::ENDPOINTS,
    inbox::ENDPOINTS,
    invites::ENDPOINTS,
    keys::ENDPOINTS,
    mcp::ENDPOINTS,
    memory::ENDPOINTS,
    outbox::ENDPOINTS,
    presence::ENDPOINTS,
    pubkeys::ENDPOINTS,
    reminders::ENDPOINTS,
    rooms::ENDPOINTS,
    sending::ENDPOINTS,
    signup::ENDPOINTS,
    skills::ENDPOINTS,
    threads::ENDPOINTS,
    usage::ENDPOINTS,
    webhooks::ENDPOINTS,
];

/// The listener of messaging.
pub fn routes(context: Context) -> Router {
    service::router::<Messaging>(&context, ENDPOINTS, |router| router)
}
