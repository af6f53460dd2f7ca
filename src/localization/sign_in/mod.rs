//! Sign-in: people come by the identity provider, and their browsers hold a session for it.
//!
//! Nouns: a *login* goes from `/auth/login` to the provider and comes back to `/auth/callback`; whoever it brings is a
//! member of the login's tenant, or nobody. What the protocol is about stands in [`quintet_platform::identity`], sessions in
//! [`quintet_platform::sessions`].
//!
//! Invariants:
//! - a member is found by issuer and subject, and by nothing else once it has signed in; before that by an address that the
//!   provider vouches for (4-localization.md, N2);
//! - a login that was answered, whatever came of it, is spent in the transaction of what came of it; only while the provider
//!   gives no answer does it wait to be tried again;
//! - every failed sign-in is answered alike; the log has the reason;
//! - a session in a new tenant, or after a new login, has a new token, and the one before it ends.
//!
//! Reading order: `arrive` (a login that was answered), `switch`, `leave`, `log_out` (what the provider ends) · `http`.

mod arrive;
pub mod http;
mod leave;
mod log_out;
mod switch;

#[cfg(test)]
mod tests;
