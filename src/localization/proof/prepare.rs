//! Makes the audit key, of a new directory and of one that is older than checkpoints.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_platform::secrets::{Secret, random_bytes};
use quintet_storage::{Abort, Failure, Store, Timestamp, WriteTx};

use crate::audit::{make_key, public_key, take_up};

/// How long it may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// Chains taken up in one transaction.
const CHAINS_AT_A_TIME: usize = 200;

/// Makes the key that checkpoints are signed with, if there is none. The chains of an older directory are taken up before, so
/// that a start that breaks off does that again. Blocks.
///
/// # Errors
/// Only the store's.
pub fn prepare(store: &Store) -> Result<(), Failure> {
    if public_key(&store.read())?.is_some() {
        return Ok(());
    }
    let mut behind = None;
    loop {
        behind = write(store, move |tx, _| take_up(tx, behind, CHAINS_AT_A_TIME))?;
        if behind.is_none() {
            break;
        }
    }
    let seed = Secret::new(random_bytes::<32>());
    write(store, move |tx, now| make_key(tx, now, &seed))
}

fn write<T: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    store.write_blocking(Instant::now() + WRITER_TIME, move |tx, now| Ok(verb(tx, now)?)).map_err(failure_of)
}

/// These verbs refuse nothing.
pub(super) fn failure_of(abort: Abort<Infallible>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(never) => match never {},
    }
}
