//! Pulls: images from registries by the OCI distribution protocol, handed to the runner.
//!
//! A registry is a stranger, even if its operator is a friend: every document and layer is checked against size and
//! digest while it arrives, everything is bounded in size and time, and nothing of a pull that fails is kept. What the
//! runner has already is not fetched. A layer whose connection breaks goes on where it broke.
//!
//! Names and passwords go to the registry they belong to and to the token server that it names, never along a redirect.
//! Connections are opened by the platform's egress, with its rules on addresses. `http://` is for the hosts that
//! `runs.registries` lists as plain, and there for the networks of `egress.allow_private` alone.
//!
//! Reading order: `model` (limits and faults), `reference` (what is asked for), `access` (who asks), `session` (the conversation), `documents` (what
//! is answered), `layout` (where it is put), `pull` (the whole), `shared` (one pull for all who want the image).

mod access;
mod documents;
mod layout;
mod model;
mod pull;
mod reference;
mod session;
mod shared;

pub use access::{Registries, RegistrySettings};
pub use model::{Progress, PullError, PullLimits};
pub use pull::Puller;
pub use reference::{NotAReference, Reference};
pub(crate) use shared::SharedPulls;
