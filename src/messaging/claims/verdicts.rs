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
/// somebody's that has given another: of attempts that came to nothing first, and never of what a recipient has last found.
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
    make_room(tx, (workspace.no, message), &mut all, verdict)?;
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

/// Takes away what must go for one more of a recipient's.
fn make_room(
    tx: &mut WriteTx<'_>,
    message: MessageKey,
    all: &mut Vec<Given>,
    new: &Verdict,
) -> Result<(), Abort<Refusal>> {
    let is_own = |given: &Given| given.runner == new.runner;
    let own = |all: &[Given]| all.iter().filter(|given| is_own(given)).count();
    let is_full = all.len() >= VERDICTS_MAX;
    if own(all) < OF_ONE_MAX && !is_full {
        return Ok(());
    }
    let mut vain = Vec::with_capacity(all.len());
    for given in &*all {
        vain.push((is_full || is_own(given)) && is_vain(tx, message, given)?);
    }
    loop {
        let own = own(all);
        let place = match (own >= OF_ONE_MAX, all.len() >= VERDICTS_MAX) {
            (true, _) => superseded(all, &vain, new, |given| is_own(given)),
            (false, true) => superseded(all, &vain, new, |_| true),
            (false, false) => return Ok(()),
        };
        let place = place.ok_or(Refusal::LimitReached("verdicts", VERDICTS_MAX as u64))?;
        let gone = all.remove(place);
        vain.remove(place);
        tx.delete(&VERDICTS, &(message.0, message.1, Uuid::from_bytes(gone.id)));
    }
}

/// Whether an attempt came to nothing.
fn is_vain(read: &impl Read, message: MessageKey, given: &Given) -> Result<bool, Failure> {
    let row = read.get(&VERDICTS, &(message.0, message.1, Uuid::from_bytes(given.id)))?;
    Ok(row.is_none_or(|row| row.outcome == Outcome::Error))
}

/// The place of a verdict that may go, of those that are meant: the oldest attempt that came to nothing of somebody who has
/// given another, else the oldest finding of somebody who has found something since. `vain`: which came to nothing.
fn superseded(all: &[Given], vain: &[bool], new: &Verdict, is_meant: impl Fn(&Given) -> bool) -> Option<usize> {
    let is_vain = |place: usize| vain.get(place).copied().unwrap_or_default();
    let has_another = |place: usize, given: &Given| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != place);
        given.runner == new.runner || others.map(|(_, other)| other).any(|other| other.runner == given.runner)
    };
    let has_found_since = |place: usize, given: &Given| {
        let later = all.iter().enumerate().skip(place + 1);
        let is_new = given.runner == new.runner && new.outcome != Outcome::Error;
        is_new || later.into_iter().any(|(later, other)| other.runner == given.runner && !is_vain(later))
    };
    let meant = || all.iter().enumerate().filter(|(_, given)| is_meant(given));
    let vain = meant().find(|(place, given)| is_vain(*place) && has_another(*place, given));
    let found = || meant().find(|(place, given)| !is_vain(*place) && has_found_since(*place, given));
    vain.or_else(found).map(|(place, _)| place)
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
