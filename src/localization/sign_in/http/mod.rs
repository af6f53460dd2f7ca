//! Sign-in over HTTP: what browsers are sent to, what pages of this service ask for, what the identity provider sends.
//!
//! Reading order: `answers` (what they share) · `pages` (what people see) · `login`, `callback` · `logout`, `switch_tenant` · `backchannel`.

mod answers;
mod backchannel;
mod callback;
mod login;
mod logout;
mod pages;
mod switch_tenant;

use quintet_platform::service::Endpoint;

use crate::http::Localization;

/// The endpoints of this folder.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::open(&login::LOGIN, |visit| Box::pin(login::login(visit))),
    Endpoint::open(&callback::CALLBACK, |visit| Box::pin(callback::callback(visit))),
    Endpoint::new(&logout::LOGOUT, |call| Box::pin(logout::logout(call))),
    Endpoint::open(&pages::LOGGED_OUT, |_| Box::pin(async { Ok(pages::logged_out()) })),
    Endpoint::new(&switch_tenant::SWITCH, |call| Box::pin(switch_tenant::switch_tenant(call))),
    Endpoint::open(&backchannel::BACKCHANNEL_LOGOUT, |visit| Box::pin(backchannel::backchannel_logout(visit))),
];
