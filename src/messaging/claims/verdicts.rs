//! Giving verdicts, and listing them (6-messaging.md, D4).

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx, decode_plain, encode_plain};

use super::tables::{Observed, Outcome, VERDICTS, VerdictRow};
use crate::identity::{Attestation, Workspace};
use crate::model::MessageId;
use crate::refusal::Refusal;

/// Verdicts of one message.
const VERDICTS_MAX: usize = 100;

/// A verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Who gave it, by name.
    pub(super) runner: String,
    /// What was known of him by his key.
    pub(super) attestation: Attestation,
    /// How it ended.
    pub(super) outcome: Outcome,
    /// With which status.
    pub(super) observed_exit: Option<i64>,
    /// What he saw.
    pub(super) observed: Observed,
}

/// Gives a verdict; its id.
///
/// # Errors
/// The message has as many as one may.
pub(super) fn give(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    message: MessageId,
    verdict: &Verdict,
) -> Result<Uuid, Abort<Refusal>> {
    let scan = Scan::prefix(&(workspace.no, message)).limit(VERDICTS_MAX);
    if tx.scan(&VERDICTS, scan)?.len() == VERDICTS_MAX {
        return Err(Refusal::LimitReached("verdicts", VERDICTS_MAX as u64).into());
    }
    let id = tx.new_id();
    let (key, owner) = ((workspace.no, message, id), KeyOwner::Tenant(workspace.tenant_id));
    let sealed = seal::seal(tx, owner, &VERDICTS, &key, &encode_plain(&verdict.observed)?);
    let observed = sealed.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Who still has a key of an erased tenant is turned away before this.
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    })?;
    let row = VerdictRow {
        runner: verdict.runner.clone(),
        attestation: verdict.attestation,
        outcome: verdict.outcome,
        observed_exit: verdict.observed_exit,
        created_at: now,
        observed,
    };
    tx.put(&VERDICTS, &key, &row)?;
    Ok(id)
}

/// All verdicts of a message, the oldest first, each with its id and its instant.
pub(super) fn list(
    read: &impl Read,
    workspace: &Workspace,
    message: MessageId,
) -> Result<Vec<(Uuid, Timestamp, Verdict)>, Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let rows = read.scan(&VERDICTS, Scan::prefix(&(workspace.no, message)))?;
    let opened = rows.into_iter().map(|(key, row)| {
        let observed = match seal::open(read, owner, &VERDICTS, &key, &row.observed) {
            Ok(bytes) => decode_plain(&bytes)?,
            Err(Abort::Refused(Erased)) => Observed::default(),
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        let VerdictRow { runner, attestation, outcome, observed_exit, created_at, .. } = row;
        Ok((key.2, created_at, Verdict { runner, attestation, outcome, observed_exit, observed }))
    });
    opened.collect()
}
