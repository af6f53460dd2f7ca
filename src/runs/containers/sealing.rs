//! What is sealed of a run: for its tenant, in the row it belongs to.

use std::ops::Deref;

use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Read, Row, Table, WriteTx};

use crate::model::RunKey;

/// Seals a value for the row of a run. None if the tenant's key was destroyed: what cannot be sealed is not kept.
pub(super) fn seal<V: Row>(
    tx: &mut WriteTx<'_>,
    table: &Table<RunKey, V>,
    run_key: RunKey,
    plain: &[u8],
) -> Result<Option<Sealed>, Failure> {
    known(seal::seal(tx, KeyOwner::Tenant(run_key.0.0), table, &run_key, plain))
}

/// Opens what the row of a run has sealed. None if the tenant's key was destroyed: nobody can read it any more.
pub(super) fn open<V: Row>(
    read: &impl Read,
    table: &Table<RunKey, V>,
    run_key: RunKey,
    sealed: &Sealed,
) -> Result<Option<impl Deref<Target = Vec<u8>>>, Failure> {
    known(seal::open(read, KeyOwner::Tenant(run_key.0.0), table, &run_key, sealed))
}

fn known<T>(outcome: Result<T, Abort<Erased>>) -> Result<Option<T>, Failure> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
