//! The listener for mail from outside: SMTP as far as mail is taken, and no further (6-messaging.md, M2; RFC 5321).
//!
//! Nouns: a *client* connects and says *lines*, each a *command* of its *session*, which it is answered by a *reply*; a *body*
//! is a mail as it is sent. What it is answered for the mail comes from `intake`.
//!
//! Invariants:
//! - mail is taken for those whom it is for, and never handed on;
//! - CR LF . CR LF ends a mail and nothing else does, whoever reads it before or behind this;
//! - of what came before a connection was encrypted nothing counts behind that;
//! - a client has bounded memory, time and errors, and all clients together have.
//!
//! Reading order: `reply`, `path` · `lines`, `body` (reading, without a connection) · `session` (what is answered, likewise) ·
//! `places` · `connection` · `listener`.

mod body;
mod connection;
mod lines;
mod listener;
mod path;
mod places;
mod reply;
mod session;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

pub use listener::SmtpListening;
