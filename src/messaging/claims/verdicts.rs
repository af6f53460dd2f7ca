//! Giving verdicts, and listing them (6-messaging.md, D4).

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx, decode_plain, encode_plain};

use super::tables::{Given, LISTS, ListRow, Observed, Outcome, VERDICTS, VerdictRow};
use crate::identity::{Attestation, Workspace};
use crate::model::{MessageId, MessageKey};
use crate::refusal::Refusal;

/// Verdicts of one message.
const VERDICTS_MAX: usize = 100;
/// Those of them that one recipient has given: the newest.
const OF_ONE_MAX: usize = 4;

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

/// Which verdicts a message has, the oldest first; `None`: no row says so yet, for they are all of an earlier version. They
/// stay the same until there is one, for whoever gives a verdict puts it.
pub(super) fn listed(read: &impl Read, message: MessageKey) -> Result<Option<Vec<Given>>, Failure> {
    if let Some(ListRow(all)) = read.get(&LISTS, &message)? {
        return Ok(Some(all));
    }
    let is_any = !read.scan(&VERDICTS, Scan::prefix(&message).limit(1))?.is_empty();
    Ok(if is_any { None } else { Some(Vec::new()) })
}

/// The same where no row says so: what recipients saw is read with them, and so before the transaction.
pub(super) fn found(read: &impl Read, message: MessageKey) -> Result<Vec<Given>, Failure> {
    let rows = read.scan(&VERDICTS, Scan::prefix(&message))?;
    Ok(rows.into_iter().map(|(key, row)| Given { runner: row.runner, id: key.2.into_bytes() }).collect())
}

/// Gives a verdict; its id. `known`: which the message had before the transaction, which counts where no row says so. It takes
/// the place of one of the same recipient's that has given so many, or where the message has as many as one may, of one of
/// somebody's that has given another since.
///
/// # Errors
/// The message has as many as one may, each of another recipient.
pub(super) fn give(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    message: MessageId,
    (verdict, known): (&Verdict, Vec<Given>),
) -> Result<Uuid, Abort<Refusal>> {
    let mut all = listed(tx, (workspace.no, message))?.unwrap_or(known);
    for gone in make_room(&mut all, &verdict.runner)? {
        tx.delete(&VERDICTS, &(workspace.no, message, Uuid::from_bytes(gone.id)));
    }
    let id = tx.new_id();
    all.push(Given { runner: verdict.runner.clone(), id: id.into_bytes() });
    tx.put(&LISTS, &(workspace.no, message), &ListRow(all))?;
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

/// Takes out of a list what must go for one more of a recipient's.
fn make_room(all: &mut Vec<Given>, runner: &str) -> Result<Vec<Given>, Refusal> {
    let is_own = |given: &Given| given.runner == runner;
    let own = all.iter().filter(|given| is_own(given)).count();
    let mut surplus = (own + 1).saturating_sub(OF_ONE_MAX);
    let mut gone = Vec::new();
    all.retain(|given| {
        let goes = surplus > 0 && is_own(given);
        if goes {
            surplus -= 1;
            gone.push(given.clone());
        }
        !goes
    });
    while all.len() >= VERDICTS_MAX {
        let has_later = |(place, given): (usize, &Given)| {
            all.iter().skip(place + 1).any(|later| later.runner == given.runner) || is_own(given)
        };
        let place = all.iter().enumerate().position(has_later);
        let place = place.ok_or(Refusal::LimitReached("verdicts", VERDICTS_MAX as u64))?;
        gone.push(all.remove(place));
    }
    Ok(gone)
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
