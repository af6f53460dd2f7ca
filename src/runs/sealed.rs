//! What is sealed for a tenant within its rows, and opened again.

use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Key, Read, Row, Table, WriteTx};

use crate::model::TenantId;

/// Seals a value for a row of a tenant. None if the tenant's key was destroyed.
pub(crate) fn seal_for<K: Key, V: Row>(
    tx: &mut WriteTx<'_>,
    table: &Table<K, V>,
    key: &K,
    tenant_id: TenantId,
    plain: &[u8],
) -> Result<Option<Sealed>, Failure> {
    match seal::seal(tx, KeyOwner::Tenant(tenant_id.0), table, key, plain) {
        Ok(sealed) => Ok(Some(sealed)),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// What was sealed in a row of a tenant. None if the tenant's key was destroyed.
pub(crate) fn open_for<K: Key, V: Row>(
    read: &impl Read,
    table: &Table<K, V>,
    key: &K,
    tenant_id: TenantId,
    sealed: &Sealed,
) -> Result<Option<Vec<u8>>, Failure> {
    match seal::open(read, KeyOwner::Tenant(tenant_id.0), table, key, sealed) {
        Ok(plain) => Ok(Some(plain.to_vec())),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
