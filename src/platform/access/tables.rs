//! All stored shapes of this room.

use std::fmt;

use bincode::{Decode, Encode};
use quintet_storage::{Family, Row, Table, Timestamp};
use uuid::Uuid;

use super::model::{Services, Tenant, TenantStatus};
use crate::secrets::Digest;

/// Tenants, by id.
pub(crate) const TENANTS: Table<Uuid, TenantRow> = Table::new(0x0101, Family::APPLIANCE, "platform.tenants").hot();

/// Index: (parent, sub-tenant).
pub(crate) const TENANTS_BY_PARENT: Table<(Uuid, Uuid), Mark> =
    Table::new(0x0102, Family::APPLIANCE, "platform.tenants_by_parent");

/// Keys, by key id.
pub(crate) const KEYS: Table<Uuid, KeyRow> = Table::new(0x0103, Family::APPLIANCE, "platform.keys");

/// Index: (tenant, key).
pub(crate) const KEYS_BY_TENANT: Table<(Uuid, Uuid), Mark> =
    Table::new(0x0104, Family::APPLIANCE, "platform.keys_by_tenant");

/// When a key was last used, by key id. Apart from the key, since it changes all the time.
pub(crate) const KEY_USES: Table<Uuid, KeyUseRow> = Table::new(0x0105, Family::APPLIANCE, "platform.key_uses");

/// When a tenant that was suspended was last put back into service, by id.
pub(crate) const ACTIVATIONS: Table<Uuid, ActivationRow> =
    Table::new(0x0106, Family::APPLIANCE, "platform.tenant_activations");

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Mark;

impl Row for Mark {}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct TenantRow {
    name: String,
    services: u8,
    pub(crate) suspended: bool,
    parent: Option<[u8; 16]>,
    created_at: Timestamp,
}

impl Row for TenantRow {}

impl TenantRow {
    pub(crate) fn of(tenant: &Tenant) -> TenantRow {
        TenantRow {
            name: tenant.name.clone(),
            services: tenant.services.bits(),
            suspended: tenant.status == TenantStatus::Suspended,
            parent: tenant.parent.map(Uuid::into_bytes),
            created_at: tenant.created_at,
        }
    }

    pub(crate) fn into_tenant(self, tenant_id: Uuid) -> Tenant {
        let services = self.services();
        let parent = self.parent();
        let status = if self.suspended { TenantStatus::Suspended } else { TenantStatus::Active };
        Tenant { tenant_id, name: self.name, services, status, parent, created_at: self.created_at }
    }

    pub(crate) fn services(&self) -> Services {
        Services::from_bits(self.services)
    }

    pub(crate) fn parent(&self) -> Option<Uuid> {
        self.parent.map(Uuid::from_bytes)
    }
}

/// When somebody was put back into service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ActivationRow(pub(crate) Timestamp);

impl Row for ActivationRow {}

/// A key. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct KeyRow {
    pub(crate) tenant: [u8; 16],
    pub(crate) principal: [u8; 16],
    pub(crate) digest: Digest,
    pub(crate) label: String,
    /// Sorted.
    pub(crate) permissions: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) revoked_at: Option<Timestamp>,
}

impl Row for KeyRow {}

impl fmt::Debug for KeyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyRow { tenant, principal, digest: _, label, permissions, created_at, expires_at, revoked_at } = self;
        f.debug_struct("KeyRow")
            .field("tenant", tenant)
            .field("principal", principal)
            .field("label", label)
            .field("permissions", permissions)
            .field("created_at", created_at)
            .field("expires_at", expires_at)
            .field("revoked_at", revoked_at)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct KeyUseRow {
    pub(crate) last_used_at: Timestamp,
}

impl Row for KeyUseRow {}
