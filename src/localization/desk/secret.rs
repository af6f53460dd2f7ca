//! What the desk's webhooks are signed with: made once, and sealed.

use std::time::{Duration, Instant};

use quintet_platform::secrets::{Secret, random_bytes};
use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Store, Timestamp, WriteTx};

use super::tables::{DESK_SECRET, DeskSecretRow};
use crate::refusal::Refusal;

/// The key of the one row.
const THE_SECRET: u8 = 0;
/// How long making it may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(30);

fn stored(read: &impl Read) -> Result<Option<Secret>, Failure> {
    let Some(row) = read.get(&DESK_SECRET, &THE_SECRET)? else { return Ok(None) };
    match seal::open(read, KeyOwner::Appliance, &DESK_SECRET, &THE_SECRET, &row.sealed) {
        Ok(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(Some(Secret::new(text.to_owned()))),
            Err(_) => Err(Failure::Damaged("the desk's secret is no text".to_owned())),
        },
        Err(Abort::Failed(failure)) => Err(failure),
        Err(Abort::Refused(_)) => Err(Failure::Damaged("the appliance's own key is erased".to_owned())),
    }
}

fn make(tx: &mut WriteTx<'_>, _: Timestamp) -> Result<Secret, Abort<Refusal>> {
    if let Some(known) = stored(tx)? {
        return Ok(known);
    }
    let secret = Secret::new(data_encoding::HEXLOWER.encode(&random_bytes::<32>()));
    let sealed = seal::seal(tx, KeyOwner::Appliance, &DESK_SECRET, &THE_SECRET, secret.expose().as_bytes());
    let sealed = sealed.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(_) => Failure::Damaged("the appliance's own key is erased".to_owned()),
    })?;
    tx.put(&DESK_SECRET, &THE_SECRET, &DeskSecretRow { sealed })?;
    Ok(secret)
}

/// The secret of a directory; one that has none gets it. Blocks.
///
/// # Errors
/// Only the store's.
pub fn webhook_secret(store: &Store) -> Result<Secret, Failure> {
    if let Some(known) = stored(&store.read())? {
        return Ok(known);
    }
    store.write_blocking(Instant::now() + WRITER_TIME, make).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(refusal) => Failure::Damaged(format!("the desk's secret cannot be made: {refusal:?}")),
    })
}
