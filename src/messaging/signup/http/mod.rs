//! Signing up over HTTP: the page of three fields, and that of the link.
//!
//! Reading order: this file (the routes on one screen) · `html` (pages as text) · `page`.

mod html;
mod page;

use quintet_platform::service::Endpoint;

use crate::dialect::Messaging;

/// What is served of signing up.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::open(&page::FORM, |visit| Box::pin(page::form(visit))),
    Endpoint::open(&page::ASK, |visit| Box::pin(page::ask(visit))),
    Endpoint::open(&page::SHOW, |visit| Box::pin(page::show(visit))),
    Endpoint::open(&page::CONFIRM, |visit| Box::pin(page::confirm(visit))),
];
