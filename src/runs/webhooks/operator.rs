//! The operator's side of webhooks.

use quintet_platform::webhooks::Operator;

use super::room::WEBHOOKS;
use crate::context::Context;

/// What the operator looks at and does.
#[must_use]
pub fn webhooks(context: &Context) -> Operator {
    Operator {
        webhooks: WEBHOOKS,
        store: context.store.clone(),
        clock: context.clock.clone(),
        pump: context.settings.pump.clone(),
        egress: context.settings.egress.clone(),
    }
}
