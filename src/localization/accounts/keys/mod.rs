//! API keys of members and service accounts.
//!
//! Reading order: `model` · `issue` · `list` · `revoke` · `http`.

pub mod http;
mod issue;
mod list;
mod model;
mod revoke;

pub use issue::note_key;
