//! Reminders over HTTP.

mod form;
mod reminders;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of reminders.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&reminders::CREATE, |call| Box::pin(challenged(call, reminders::create))),
    Endpoint::new(&reminders::LIST, |call| Box::pin(challenged(call, reminders::list))),
    Endpoint::new(&reminders::CANCEL, |call| Box::pin(challenged(call, reminders::cancel))),
];
