//! The words of webhooks.

use quintet_platform::access::Service;
use quintet_platform::deliveries::Outbox;

use crate::model::TenantId;

pub(crate) use quintet_platform::webhooks::{SecretOrigin, SigningSecret};

/// The deliveries of a tenant's runs.
pub(crate) fn outbox(tenant_id: TenantId) -> Outbox {
    Outbox { tenant_id: tenant_id.0, service: Service::Runs }
}
