//! What a run is to run: its command and webhook in the clear, its environment and secrets sealed.

use quintet_storage::{Failure, Read, WriteTx, encode_plain};

use super::model::{Description, Secrets, Webhook};
use super::sealing;
use super::tables::{DESCRIPTIONS, DescriptionRow};
use crate::model::RunKey;

/// Keeps what a run is to run. False if its secrets cannot be kept, for the tenant's key was destroyed.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    run_key: RunKey,
    command: Vec<String>,
    webhook: Option<Webhook>,
    secrets: &Secrets,
) -> Result<bool, Failure> {
    let env_names = secrets.env.iter().map(|(name, _)| name.clone()).collect();
    let sealed = if *secrets == Secrets::default() {
        None
    } else {
        let sealed = sealing::seal(tx, &DESCRIPTIONS, run_key, &encode_plain(secrets)?)?;
        if sealed.is_none() {
            return Ok(false);
        }
        sealed
    };
    let row = DescriptionRow::new(Description { command, webhook, env_names }, sealed);
    tx.put(&DESCRIPTIONS, &run_key, &row)?;
    Ok(true)
}

/// What a run is to run; its secrets stay sealed.
pub(crate) fn get(read: &impl Read, run_key: RunKey) -> Result<Option<Description>, Failure> {
    Ok(read.get(&DESCRIPTIONS, &run_key)?.map(Description::from))
}

/// What a run is to run, with its secrets.
pub(super) fn open(read: &impl Read, run_key: RunKey) -> Result<Option<(Description, Secrets)>, Failure> {
    let Some(row) = read.get(&DESCRIPTIONS, &run_key)? else { return Ok(None) };
    let secrets = match &row.secrets {
        None => Secrets::default(),
        Some(sealed) => match sealing::open(read, &DESCRIPTIONS, run_key, sealed)? {
            Some(plain) => Secrets::decode(&plain)?,
            None => Secrets::default(),
        },
    };
    Ok(Some((row.into(), secrets)))
}
