//! The words of webhooks.

use bincode::{Decode, Encode};
use quintet_storage::Timestamp;
use uuid::Uuid;

use crate::secrets::{Secret, random_bytes};

/// Tells that an endpoint of the tenant is in a bad way; only to whom it was asked for by name.
pub const DEGRADED: &str = "webhook.endpoint_degraded";
/// What the test of an endpoint sends; nobody can ask for it.
pub const TEST: &str = "webhook.test";

/// An endpoint of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointKey {
    /// Whose.
    pub tenant_id: Uuid,
    /// Which.
    pub endpoint_id: Uuid,
}

/// The key that signs, and where it comes from.
#[derive(Clone)]
pub struct SigningSecret {
    /// The bytes that sign.
    pub key: Secret<Vec<u8>>,
    /// Where they come from.
    pub origin: SecretOrigin,
}

impl SigningSecret {
    /// A secret of our own: 32 random bytes.
    #[must_use]
    pub fn generated() -> SigningSecret {
        SigningSecret { key: Secret::new(random_bytes::<32>().to_vec()), origin: SecretOrigin::Generated }
    }

    /// A secret of the caller's, which signs as it stands.
    #[must_use]
    pub fn supplied(text: String) -> SigningSecret {
        SigningSecret { key: Secret::new(text.into_bytes()), origin: SecretOrigin::Supplied }
    }
}

/// Where a secret comes from. It decides what its text means: 64 hexadecimal characters stand for 32 bytes, what a caller
/// supplied for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SecretOrigin {
    /// Made here.
    Generated,
    /// The caller's.
    Supplied,
}

impl SecretOrigin {
    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SecretOrigin::Generated => "generated",
            SecretOrigin::Supplied => "supplied",
        }
    }
}

/// Why an endpoint is inactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DisabledReason {
    /// Twenty deliveries were given up within a day, and none was taken.
    DeadWithoutSuccess,
    /// Somebody wanted it.
    Manual,
}

impl DisabledReason {
    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DisabledReason::DeadWithoutSuccess => "dead_without_success_24h",
            DisabledReason::Manual => "manual",
        }
    }
}

/// An endpoint, but for its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it is.
    pub url: String,
    /// The patterns as they were given, each once.
    pub patterns: Vec<String>,
    /// What its tenant says of it.
    pub description: Option<String>,
    /// Where its secret comes from.
    pub secret_origin: SecretOrigin,
    /// None: it is active.
    pub disabled: Option<DisabledReason>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A new endpoint.
#[derive(Clone)]
pub struct NewEndpoint {
    /// Where it is.
    pub url: String,
    /// What it asks for: patterns, each once.
    pub patterns: Vec<String>,
    /// What its tenant says of it.
    pub description: Option<String>,
    /// What signs what it is told.
    pub secret: SigningSecret,
    /// Whether it is told anything from the start.
    pub is_active: bool,
}

/// What is changed of an endpoint.
#[derive(Clone, Default)]
pub struct EndpointChange {
    /// See [`NewEndpoint`].
    pub url: Option<String>,
    /// See [`NewEndpoint`].
    pub patterns: Option<Vec<String>>,
    /// See [`NewEndpoint`].
    pub description: Option<Option<String>>,
    /// See [`NewEndpoint`].
    pub secret: Option<SigningSecret>,
    /// See [`NewEndpoint`].
    pub is_active: Option<bool>,
}

/// What is done to endpoints and deliveries by nobody of their tenant.
#[derive(Clone, Copy, Debug)]
pub enum Deed<'e> {
    /// The operator enabled an endpoint, which now stands like this.
    Enabled(Uuid, &'e Endpoint),
    /// The operator had an endpoint told that it is being tried.
    Tested(Uuid),
    /// The operator had a delivery sent once more, under another number.
    Redelivered(u64, u64),
    /// An endpoint was disabled, for nothing arrived there; it now stands like this.
    Disabled(Uuid, &'e Endpoint),
}

/// An active endpoint as far as events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Which.
    pub endpoint_id: Uuid,
    /// What it asks for, a bit for each event of its service.
    pub events: u32,
}
