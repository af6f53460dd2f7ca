//! The words of webhooks.

use bincode::{Decode, Encode};
use quintet_platform::access::Service;
use quintet_platform::deliveries::Outbox;
use quintet_platform::secrets::Secret;
use quintet_storage::{Timestamp, key_newtype};

use crate::events::Events;
use crate::model::TenantId;

key_newtype!(
    /// An endpoint; callers know it as `endpoint_id`, in the form of a ULID.
    pub EndpointId(Uuid)
);

/// The key that signs, and where it comes from.
#[derive(Clone)]
pub(crate) struct SigningSecret {
    /// The bytes that sign.
    pub(crate) key: Secret<Vec<u8>>,
    pub(crate) origin: SecretOrigin,
}

/// Where a secret comes from. It decides what its text means: 64 hexadecimal characters stand for 32 bytes, what a caller
/// supplied for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum SecretOrigin {
    Generated,
    Supplied,
}

impl SecretOrigin {
    /// Its name in answers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            SecretOrigin::Generated => "generated",
            SecretOrigin::Supplied => "supplied",
        }
    }
}

/// Why an endpoint is inactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum DisabledReason {
    /// Twenty deliveries were given up within a day, and none was taken.
    DeadWithoutSuccess,
    /// Somebody wanted it.
    Manual,
}

impl DisabledReason {
    /// Its name in answers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            DisabledReason::DeadWithoutSuccess => "dead_without_success_24h",
            DisabledReason::Manual => "manual",
        }
    }
}

/// An endpoint, but for its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    /// The patterns as they were given, each once.
    pub(crate) patterns: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) secret_origin: SecretOrigin,
    /// None: it is active.
    pub(crate) disabled: Option<DisabledReason>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl Endpoint {
    /// What it asks for.
    pub(crate) fn events(&self) -> Events {
        let asked = self.patterns.iter().filter_map(|pattern| Events::asked_by(pattern));
        asked.fold(Events::default(), Events::with)
    }
}

/// A new endpoint.
#[derive(Clone)]
pub(crate) struct NewEndpoint {
    pub(crate) url: String,
    pub(crate) patterns: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) secret: SigningSecret,
    pub(crate) is_active: bool,
}

/// What is changed of an endpoint.
#[derive(Clone, Default)]
pub(crate) struct EndpointChange {
    pub(crate) url: Option<String>,
    pub(crate) patterns: Option<Vec<String>>,
    pub(crate) description: Option<Option<String>>,
    pub(crate) secret: Option<SigningSecret>,
    pub(crate) is_active: Option<bool>,
}

/// An active endpoint as far as events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) endpoint_id: EndpointId,
    pub(crate) events: Events,
}

/// The deliveries of a tenant's runs.
pub(crate) fn outbox(tenant_id: TenantId) -> Outbox {
    Outbox { tenant_id: tenant_id.0, service: Service::Runs }
}
