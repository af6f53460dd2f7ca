//! Localization over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), `router`, `request` (the way of a request), `paging`, `input`, `output`, `answer` ·
//! `spaces`, `files`, `translations` · `describe` (what the service says of itself).

mod answer;
mod describe;
mod files;
mod input;
mod output;
mod paging;
mod request;
mod router;
mod routes;
mod spaces;
mod translations;

#[cfg(test)]
mod tests;

pub use router::{panic_answer, routes};
pub use routes::{KeyRule, ROUTES, Route};
