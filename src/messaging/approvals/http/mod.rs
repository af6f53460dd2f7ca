//! Approvals over HTTP: what agents ask, and the page on which a person decides.
//!
//! Reading order: this file (the routes on one screen) · `path` · `form` (what a request says) · `approvals` (raising,
//! listing, waiting, cancelling) · `html` (pages as text) · `page` (the link).

mod approvals;
mod form;
mod html;
mod page;
mod path;
#[cfg(test)]
mod tests;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of approvals.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&approvals::RAISE, |call| Box::pin(challenged(call, approvals::raise))),
    Endpoint::new(&approvals::LIST, |call| Box::pin(challenged(call, approvals::list))),
    Endpoint::new(&approvals::GET, |call| Box::pin(challenged(call, approvals::get))),
    Endpoint::new(&approvals::CANCEL, |call| Box::pin(challenged(call, approvals::cancel))),
    Endpoint::new(&approvals::DECIDE, |call| Box::pin(challenged(call, approvals::decide))),
    Endpoint::open(&page::SHOW, |visit| Box::pin(page::show(visit))),
    Endpoint::open(&page::DECIDE, |visit| Box::pin(page::decide(visit))),
];
