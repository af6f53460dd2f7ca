//! What every part of localization names.

use quintet_storage::{Family, key_newtype};

/// Where the room's rows lie.
pub const FAMILY: Family = Family::named("localization");

key_newtype!(
    /// A tenant.
    pub TenantId(Uuid)
);
