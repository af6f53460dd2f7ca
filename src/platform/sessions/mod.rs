//! Sessions of people: what a browser holds once its owner has signed in.
//!
//! Nouns: a *session* is one principal's, in one tenant, behind one *door*: a service's, or the console's. Its *token* is
//! what the browser holds; its *origin* is what the identity provider said when it began.
//!
//! Invariants:
//! - a token is 256 random bits of which a digest is stored; a session that is not there and a wrong secret cannot be told
//!   apart (4-localization.md, N5);
//! - a session ends 12 hours after its owner signed in, whatever was made of it since, and after an hour without a
//!   request, which is noted to the minute (N5);
//! - whether it is there is read from the newest state: one that was ended opens nothing in the next request;
//! - a principal has a bounded number of them: another one ends the oldest;
//! - what the provider said is sealed under the member's own key, so that it goes with the member; by what it calls
//!   people they are found by marks alone, digests under a key that lies sealed.
//!
//! Reading order: `model`, `token`, `tables` · `create`, `find`, `end` (verbs) · `uses` (what is noted of requests), `over`
//! (what the clock ends), `verify`.

mod create;
mod end;
mod find;
mod model;
mod over;
pub(crate) mod tables;
mod token;
mod uses;
mod verify;

#[cfg(test)]
mod tests;

pub use create::{Made, Moved, NewSession, create_session, move_session};
pub use end::{end_session, end_sessions_at_provider, end_sessions_of};
pub(crate) use find::find_by_id;
pub use find::{find_session, is_there, list_sessions, origin_of, sessions_of};
pub use model::{AtProvider, Door, LIFE_SECONDS, Marks, Origin, SESSIONS_MAX, Session};
pub use over::SessionEnds;
pub use token::SessionToken;
pub(crate) use token::split_token;
pub use uses::SessionUses;
pub(crate) use verify::verify;
