//! What every part of localization names.

use quintet_storage::{Family, key_newtype};

/// Where the room's rows lie.
pub const FAMILY: Family = Family::named("localization");

key_newtype!(
    /// A tenant.
    pub TenantId(Uuid)
);
key_newtype!(
    /// A workspace of a tenant.
    pub WorkspaceId(Uuid)
);
key_newtype!(
    /// A project of a workspace.
    pub ProjectId(Uuid)
);
