//! The authorization system: another system that is to know of every intent, if there is one (`[authorization]`).
//!
//! It is told of intents and asked for them; it never says what a caller may here, nor what a credential is worth: requests
//! work while it is away (localization, S4 and S5).
//!
//! - `PUT {url}/intents/{principal_id}/{intent_id}` with `{tenant_id, principal_id, intent_id, target, permissions}`: an
//!   intent is to be there; any 2xx is taken for yes;
//! - `DELETE {url}/intents/{principal_id}/{intent_id}`: it is to be gone; 2xx, 404 and 410 are taken for yes;
//! - `GET {url}/intents/{principal_id}`: `{"intents": [{"intent_id", …}]}`.
//!
//! Each carries `Authorization: Bearer <api_key>`, has two seconds, and there are at most 50 in a second.
//!
//! Reading order: `system` (the trait, and nobody behind it) · `pace` · `remote` (over HTTP).

mod pace;
mod remote;
mod system;

pub use remote::RemoteSystem;
pub use system::{AuthorizationSystem, Embedded, SystemFailure, ToldIntent};
