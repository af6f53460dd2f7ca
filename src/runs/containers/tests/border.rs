//! The runner's border: what becomes of containers, for those who wait for it.

use super::*;
use crate::context::NodeEnds;

/// What becomes of the container of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It returned this, and its last line was this.
    Returned(i32, Option<String>),
    /// It was told to stop, and returned this.
    Stopped(i32),
    /// It was killed.
    Killed,
    /// It ran too long.
    TimedOut,
    /// The kernel ended it.
    OutOfMemory,
    /// It was never started.
    NotStarted,
    /// Nobody knows.
    Lost,
}

/// Which of these runs get slots, of which there are plenty.
pub(crate) fn given_slots(bench: &Bench, chosen: Vec<RunKey>, node_ends: NodeEnds) -> Vec<RunKey> {
    let verb = move |tx: &mut WriteTx<'_>, now| {
        Ok(dispatch(tx, now, u64::MAX, &Aside::default(), &ceilings(&[]), chosen, node_ends)?)
    };
    bench.run(verb).unwrap()
}

/// Gives a waiting run its slot, and looks for its image.
pub(crate) fn pulling(bench: &Bench, run_key: RunKey, node_ends: NodeEnds) -> (u32, RunKey) {
    assert_eq!(given_slots(bench, vec![run_key], node_ends), [run_key], "it has its slot");
    let number = bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap().starts;
    (number, run_key)
}

/// Starts the container of a waiting run.
pub(crate) fn start(bench: &Bench, run_key: RunKey, node_ends: NodeEnds) {
    let (number, run_key) = pulling(bench, run_key, node_ends);
    bench.run(move |tx, now| Ok(life::started(tx, now, run_key, number, now, "sha256:0")?)).unwrap();
}

/// Ends the container of a run that has been started.
pub(crate) fn end(bench: &Bench, run_key: RunKey, fate: &Fate, node_ends: NodeEnds) {
    let run = run_of(bench, run_key);
    let number = run.starts;
    if matches!(fate, Fate::Stopped(_)) {
        bench.run(move |tx, now| life::stopping(tx, now, run_key)).unwrap();
    }
    let (reason, code, is_oom) = match fate {
        Fate::Returned(code, _) | Fate::Stopped(code) => (EndReason::Exited, Some(*code), false),
        Fate::Killed => (EndReason::Killed, None, false),
        Fate::TimedOut => (EndReason::TimedOut, None, false),
        Fate::OutOfMemory => (EndReason::Exited, Some(137), true),
        Fate::NotStarted => (EndReason::StartFailed("no such program".into()), None, false),
        Fate::Lost => (EndReason::Lost, None, false),
    };
    let output = match fate {
        Fate::Returned(_, output) => output.clone(),
        _ => None,
    };
    let now = bench.now().as_micros();
    let started_at_micros = Some(run.started_at.map_or(now, Timestamp::as_micros));
    let outcome = Outcome { finished_at_micros: now, started_at_micros, ..outcome(reason, code, None, is_oom) };
    let words = LastWords { summary: String::new(), output };
    let end = End::of(&outcome, matches!(fate, Fate::Stopped(_)), words);
    assert!(bench.run(move |tx, now| Ok(life::ended_of_node(tx, now, run_key, number, &end, node_ends)?)).unwrap());
}

/// What the engine would do about a run that is wished to end.
pub(crate) fn heed_wish(bench: &Bench, run_key: RunKey, node_ends: NodeEnds) {
    let state = run_of(bench, run_key).state;
    if state == RunState::Running {
        end(bench, run_key, &Fate::Killed, node_ends);
    } else {
        bench.run(move |tx, now| Ok(super::super::wishes::end_waiting(tx, now, run_key)?)).unwrap();
    }
}

/// After a restart: a run whose container was never made waits again.
pub(crate) fn requeue_of(bench: &Bench, run_key: RunKey) {
    bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
}

/// The environment that a run was given.
pub(crate) fn env_of(bench: &Bench, run_key: RunKey) -> Vec<(String, String)> {
    descriptions::open(&bench.store.read(), run_key).unwrap().unwrap().1.env
}
