//! Diagrams over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), `handlers`, `request` (who asks, and what), `work` (drawing, storing, asking the
//! AI engine), `picture` (stored pictures on their way out), `answer` · `page` (the web page) · `describe`.

mod answer;
mod describe;
mod handlers;
mod page;
mod picture;
mod request;
mod routes;
mod work;

#[cfg(test)]
mod tests;

pub use handlers::{panic_answer, routes};
pub use routes::{PERMISSION, ROUTES, Route};
