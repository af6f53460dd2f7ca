//! From the slot to the end: what the engine and the controls make of a run.
//!
//! Each verb names the container it speaks of by its number. What is told of an earlier container, or comes after the
//! end, changes nothing.

use quintet_runtime::{EndReason, Outcome};
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx, decode_plain, encode_plain, large};

use crate::changes::{Place, change, find, remove};
use crate::model::{Reason, RunState};
use crate::refusal::Refusal;
use crate::tables::{
    ARCHIVES, ArchiveRow, CONTAINERS, ContainerRow, DESCRIPTIONS, DescriptionRow, LastWords, RESULTS, RUNS, ResultRow,
    RunRow, Secrets,
};

/// Begins to see to a run that has its slot: its container gets a number that no other has had. None if it is not
/// queued any more.
pub(crate) fn pulling(tx: &mut WriteTx<'_>, now: Timestamp, place: Place) -> Result<Option<RunRow>, Failure> {
    let Some(before) = find(tx, place)?.filter(|row| row.state == RunState::Queued) else { return Ok(None) };
    let row = RunRow { state: RunState::Pulling, pulling_at: Some(now), starts: before.starts + 1, ..before.clone() };
    tx.put(&CONTAINERS, &place.1, &ContainerRow { tenant_id: place.0, number: row.starts })?;
    change(tx, now, place, Some(&before), row, "run.pulling").map(Some)
}

/// The container of this number runs.
pub(crate) fn started(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    container: u32,
    at: Timestamp,
    image_digest: &str,
) -> Result<(), Failure> {
    let Some(before) = find(tx, place)? else { return Ok(()) };
    if before.state != RunState::Pulling || before.starts != container {
        return Ok(());
    }
    run_on(tx, now, place, &before, at, Some(image_digest))?;
    Ok(())
}

fn run_on(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    before: &RunRow,
    at: Timestamp,
    image_digest: Option<&str>,
) -> Result<RunRow, Failure> {
    let row = RunRow {
        state: RunState::Running,
        started_at: Some(within(at, before.pulling_at, now)),
        image_digest: image_digest.map(str::to_owned).or_else(|| before.image_digest.clone()),
        ..before.clone()
    };
    change(tx, now, place, Some(before), row, "run.running")
}

/// An instant that another clock tells, not before what came before it and not after now.
fn within(at: Timestamp, after: Option<Timestamp>, now: Timestamp) -> Timestamp {
    at.min(now).max(after.unwrap_or(at).min(now))
}

/// The run's container is frozen.
pub(crate) fn paused(tx: &mut WriteTx<'_>, now: Timestamp, place: Place, container: u32) -> Result<(), Abort<Refusal>> {
    let before = in_state(tx, place, &[RunState::Running])?;
    if before.starts != container {
        return Err(Refusal::InvalidState(before.state.name()).into());
    }
    let row = RunRow { state: RunState::Paused, paused_at: Some(now), ..before.clone() };
    change(tx, now, place, Some(&before), row, "run.paused")?;
    Ok(())
}

/// The run's container goes on; `paused_micros` is how long it has been paused by then.
pub(crate) fn resumed(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    container: u32,
    paused_micros: u64,
) -> Result<(), Abort<Refusal>> {
    let before = in_state(tx, place, &[RunState::Paused])?;
    if before.starts != container {
        return Err(Refusal::InvalidState(before.state.name()).into());
    }
    let row = RunRow { state: RunState::Running, paused_at: None, paused_micros, ..before.clone() };
    change(tx, now, place, Some(&before), row, "run.resumed")?;
    Ok(())
}

/// The run is about to be told to stop. A second stop changes nothing; says whether this is the first.
pub(crate) fn stopping(tx: &mut WriteTx<'_>, now: Timestamp, place: Place) -> Result<bool, Abort<Refusal>> {
    let before = in_state(tx, place, &[RunState::Running])?;
    if before.is_stopping {
        return Ok(false);
    }
    let row = RunRow { is_stopping: true, ..before.clone() };
    change(tx, now, place, Some(&before), row, "run.stopping")?;
    Ok(true)
}

/// A run of the tenant, in one of these states.
pub(crate) fn in_state(read: &impl Read, place: Place, states: &[RunState]) -> Result<RunRow, Abort<Refusal>> {
    let row = find(read, place)?.ok_or(Refusal::NotFound)?;
    if states.contains(&row.state) { Ok(row) } else { Err(Refusal::InvalidState(row.state.name()).into()) }
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) state: RunState,
    pub(crate) reason: Option<Reason>,
    pub(crate) message: Option<String>,
    pub(crate) exit_code: Option<i32>,
    /// When its command ran, if it ever did.
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Timestamp,
    pub(crate) result: ResultRow,
    pub(crate) last_words: LastWords,
}

impl End {
    /// An end without a container.
    pub(crate) fn failed(reason: Reason, message: impl Into<String>, now: Timestamp) -> End {
        End {
            state: RunState::Failed,
            reason: Some(reason),
            message: Some(message.into()),
            exit_code: None,
            started_at: None,
            finished_at: now,
            result: ResultRow::default(),
            last_words: LastWords::default(),
        }
    }

    /// What a container's outcome means for its run; `is_stopping`: it was told to stop.
    pub(crate) fn of(outcome: &Outcome, is_stopping: bool, last_words: LastWords) -> End {
        let code = outcome.exit_code.or(outcome.signal.map(|signal| 128 + signal));
        let (state, reason, message) = verdict(outcome, is_stopping, code);
        let started_at = outcome.started_at_micros.map(Timestamp::from_micros);
        let finished_at = Timestamp::from_micros(outcome.finished_at_micros);
        let ran = outcome.started_at_micros.map_or(0, |start| outcome.finished_at_micros.saturating_sub(start));
        End {
            state,
            reason,
            message,
            exit_code: code,
            started_at,
            finished_at,
            result: ResultRow {
                signal: outcome.signal,
                oom_killed: outcome.oom_killed,
                duration_micros: u64::try_from(ran).unwrap_or(0),
                paused_micros: outcome.paused_micros,
                stdout_bytes: outcome.stdout.bytes,
                stderr_bytes: outcome.stderr.bytes,
                stdout_truncated: outcome.stdout.dropped_lines > 0,
                stderr_truncated: outcome.stderr.dropped_lines > 0,
                last_words: None,
                peak_memory_bytes: outcome.peak_memory_bytes,
                cpu_micros: outcome.cpu_micros,
            },
            last_words,
        }
    }
}

/// The state and the reason of the contract's table.
fn verdict(outcome: &Outcome, is_stopping: bool, code: Option<i32>) -> (RunState, Option<Reason>, Option<String>) {
    let returned = || match (outcome.signal, code) {
        (Some(signal), _) => format!("the command was ended by signal {signal}"),
        (None, Some(code)) => format!("the command returned {code}"),
        (None, None) => "the command ended".to_owned(),
    };
    match &outcome.reason {
        EndReason::Exited if code == Some(0) => (RunState::Exited, None, None),
        EndReason::Exited if is_stopping => (RunState::Exited, None, Some(returned())),
        EndReason::Exited if outcome.oom_killed => {
            let message = "the kernel ended it: it wanted more memory than memory_limit_mb".to_owned();
            (RunState::Failed, Some(Reason::OomKilled), Some(message))
        }
        EndReason::Exited => (RunState::Failed, Some(Reason::NonzeroExit), Some(returned())),
        EndReason::Killed => (RunState::Killed, Some(Reason::Killed), None),
        EndReason::TimedOut => {
            let message = "it ran longer than timeout_seconds".to_owned();
            (RunState::Timeout, Some(Reason::Timeout), Some(message))
        }
        EndReason::GraceExpired => {
            let message = "it did not end within the grace period of a stop".to_owned();
            (RunState::Killed, Some(Reason::StopGraceExpired), Some(message))
        }
        EndReason::StartFailed(why) => (RunState::Failed, Some(Reason::StartFailed), Some(why.clone())),
        EndReason::Lost => {
            let message = "what supervised it is gone, and how it would have ended nobody knows".to_owned();
            (RunState::Failed, Some(Reason::WorkerLost), Some(message))
        }
    }
}

/// The run has ended; says whether that is news. `container` is the number of the container that this is about.
pub(crate) fn ended(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    container: u32,
    end: &End,
) -> Result<bool, Failure> {
    let Some(mut before) = find(tx, place)? else { return Ok(false) };
    let has_container = matches!(before.state, RunState::Pulling | RunState::Running | RunState::Paused);
    if !has_container || before.starts != container {
        return Ok(false);
    }
    if let (RunState::Pulling, Some(at)) = (before.state, end.started_at) {
        before = run_on(tx, now, place, &before, at, None)?;
    }
    let finished_at = within(end.finished_at, before.started_at.or(before.pulling_at), now);
    let row = RunRow {
        state: end.state,
        reason: end.reason,
        message: end.message.clone(),
        exit_code: end.exit_code,
        finished_at: Some(finished_at),
        paused_at: None,
        paused_micros: end.result.paused_micros,
        ..before.clone()
    };
    let last_words = if end.last_words == LastWords::default() {
        None
    } else {
        let plain = encode_plain(&end.last_words)?;
        sealed(seal::seal(tx, KeyOwner::Tenant(place.0.0), &RESULTS, &place, &plain))?
    };
    tx.put(&RESULTS, &place, &ResultRow { last_words, ..end.result.clone() })?;
    let event = format!("run.{}", row.state.name());
    change(tx, now, place, Some(&before), row, &event)?;
    Ok(true)
}

/// What is kept of an ended run's container; the container itself can go then. None: there never was one.
pub(crate) fn archived(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    archive: Option<&Archive>,
) -> Result<(), Failure> {
    tx.delete(&CONTAINERS, &place.1);
    // A run that was deleted meanwhile leaves nothing; a large value that nobody adopts is collected.
    let is_wanted = find(tx, place)?.is_some_and(|row| row.state.is_terminal()) && !tx.contains(&ARCHIVES, &place)?;
    let Some(archive) = archive.filter(|_| is_wanted) else { return Ok(()) };
    let row = match archive {
        Archive::Lost => ArchiveRow::Lost,
        Archive::Large(value) => match large::adopt(tx, now, value) {
            Ok(()) => ArchiveRow::Large(value.clone()),
            Err(Abort::Refused(_)) => ArchiveRow::Lost,
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        Archive::Small(bytes) => match sealed(seal::seal(tx, KeyOwner::Tenant(place.0.0), &ARCHIVES, &place, bytes))? {
            Some(text) => ArchiveRow::Here(text),
            None => ArchiveRow::Lost,
        },
    };
    tx.put(&ARCHIVES, &place, &row)
}

/// What is kept of a container's logs and samples, compressed.
#[derive(Clone, Debug)]
pub(crate) enum Archive {
    /// A small one.
    Small(Vec<u8>),
    /// A large one, which the row adopts.
    Large(large::LargeValue),
    /// There is none: what had it is gone.
    Lost,
}

/// What cannot be sealed, or opened, for a tenant whose key was destroyed, is nothing.
fn sealed<T>(outcome: Result<T, Abort<Erased>>) -> Result<Option<T>, Failure> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// What a run is to run, with its secrets.
pub(crate) fn description(read: &impl Read, place: Place) -> Result<Option<(DescriptionRow, Secrets)>, Failure> {
    let Some(row) = read.get(&DESCRIPTIONS, &place)? else { return Ok(None) };
    let secrets = match &row.secrets {
        None => Secrets::default(),
        Some(text) => match sealed(seal::open(read, KeyOwner::Tenant(place.0.0), &DESCRIPTIONS, &place, text))? {
            Some(plain) => decode_plain(&plain)?,
            None => Secrets::default(),
        },
    };
    Ok(Some((row, secrets)))
}

/// How a run ended, with the end of its output.
pub(crate) fn result(read: &impl Read, place: Place) -> Result<(ResultRow, LastWords), Failure> {
    let row = read.get(&RESULTS, &place)?.unwrap_or_default();
    let words = match &row.last_words {
        None => LastWords::default(),
        Some(text) => match sealed(seal::open(read, KeyOwner::Tenant(place.0.0), &RESULTS, &place, text))? {
            Some(plain) => decode_plain(&plain)?,
            None => LastWords::default(),
        },
    };
    Ok((row, words))
}

/// Deletes a run that has ended, or has no slot yet.
pub(crate) fn delete(tx: &mut WriteTx<'_>, now: Timestamp, place: Place) -> Result<(), Abort<Refusal>> {
    let row = tx.get(&RUNS, &place)?.ok_or(Refusal::NotFound)?;
    if row.state.holds_slot() {
        return Err(Refusal::RunActive.into());
    }
    remove(tx, now, place, &row)?;
    Ok(())
}
