//! OpenID Connect: signing people in by a provider that is not ours, as a protocol. Nothing in here knows whose people they
//! are, nor what they may.
//!
//! Nouns: a *provider* says who somebody is; what it is and where it answers stands in its *document* (OpenID Connect
//! Discovery 1.0). Its *tokens* are JSON Web Signatures (RFC 7515), which its *keys* (RFC 7517) check: an *ID token* says who
//! has signed in, a *logout token* whose sessions are over. A *login* is one attempt to sign in, from the redirect to the
//! provider to the callback; whoever makes it holds it, sealed. What counts once is *spent*.
//!
//! Invariants:
//! - RS256, PS256, ES256 and EdDSA are taken, and nothing else: no `none`, no secret of both sides (HS256), whatever a token
//!   or a key claims; what a key says of itself and what a token asks for must agree;
//! - a token is nothing before its signature was checked, and then only what its claims allow at this instant, with 60 s of
//!   leeway (4-localization.md, N2 and N6);
//! - what the provider answers is bounded in size and time, and no more than some requests to it are made at once;
//! - no answer tells which check a token failed; the log does, without the token;
//! - a login works once, and only in the browser that has made it.
//!
//! Reading order: `jose` (tokens and signatures), `key_set` · `claims` (what they must say) · `document` · `fetched` (what is
//! kept of the provider for a while), `provider` (asking it) · `login` (the sealed attempt), `login_key` · `tables`, `spent`,
//! `verify`.

mod claims;
mod document;
mod fetched;
mod jose;
mod key_set;
mod login;
mod login_key;
mod provider;
mod spent;
pub(crate) mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use claims::{Email, IdToken, LogoutToken};
pub use document::Document;
pub use fetched::Unavailable;
pub use jose::TokenFault;
pub use login::{LIFE_SECONDS, Login, LoginKey};
pub use login_key::LoginKeys;
pub use provider::{ExchangeFailure, Provider, Settings, Signed};
pub use spent::{SpentNames, is_spent, login_name, logout_name, spend};
pub(crate) use verify::verify;
