//! How runs ended, with the end of their output, which is sealed.

use quintet_storage::{Failure, Read, WriteTx, decode_plain, encode_plain};

use super::model::{LastWords, RunResult};
use super::sealing;
use super::tables::{RESULTS, ResultRow};
use crate::model::RunKey;

/// Keeps how a run ended.
pub(super) fn put(tx: &mut WriteTx<'_>, run_key: RunKey, result: &RunResult, words: &LastWords) -> Result<(), Failure> {
    let sealed = if *words == LastWords::default() {
        None
    } else {
        sealing::seal(tx, &RESULTS, run_key, &encode_plain(words)?)?
    };
    tx.put(&RESULTS, &run_key, &ResultRow::new(result, sealed))
}

/// How a run ended, with the end of its output.
pub(crate) fn get(read: &impl Read, run_key: RunKey) -> Result<(RunResult, LastWords), Failure> {
    let row = read.get(&RESULTS, &run_key)?.unwrap_or_default();
    let words = match &row.last_words {
        None => LastWords::default(),
        Some(sealed) => match sealing::open(read, &RESULTS, run_key, sealed)? {
            Some(plain) => decode_plain(&plain)?,
            None => LastWords::default(),
        },
    };
    Ok((row.into(), words))
}

/// What a metered key pays for a run; nothing before it has ended.
pub(super) fn used_seconds(read: &impl Read, run_key: RunKey) -> Result<u64, Failure> {
    Ok(read.get(&RESULTS, &run_key)?.map_or(0, |row| RunResult::from(row).used_seconds()))
}
