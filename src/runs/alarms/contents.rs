//! What an alarm holds: sealed for its tenant, in the row it belongs to.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Key, Read, Table, WriteTx, decode_plain, encode_plain};

use super::ContentsRow;
use super::model::Contents;
use crate::model::TenantId;

/// Keeps what an alarm of a tenant holds. False if that cannot be kept, for the tenant has been erased.
pub(crate) fn put<I: Key>(
    tx: &mut WriteTx<'_>,
    table: &Table<(TenantId, I), ContentsRow>,
    key: &(TenantId, I),
    contents: &Contents,
) -> Result<bool, Failure> {
    match seal::seal(tx, KeyOwner::Tenant(key.0.0), table, key, &encode_plain(contents)?) {
        Ok(sealed) => tx.put(table, key, &ContentsRow(sealed)).map(|()| true),
        Err(Abort::Refused(Erased)) => Ok(false),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// What an alarm of a tenant holds; none if the tenant has been erased.
pub(crate) fn open<I: Key>(
    read: &impl Read,
    table: &Table<(TenantId, I), ContentsRow>,
    key: &(TenantId, I),
) -> Result<Option<Contents>, Failure> {
    let Some(ContentsRow(sealed)) = read.get(table, key)? else { return Ok(None) };
    match seal::open(read, KeyOwner::Tenant(key.0.0), table, key, &sealed) {
        Ok(plain) => decode_plain(&plain).map(Some),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
