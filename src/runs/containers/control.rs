//! What callers do to the container of a run: pause, resume, stop, kill.
//!
//! The runner does it first, then it is noted. Should the store not take the note, the engine finds out from the
//! runner. One control of a run at a time; its end is noted between two of them.

use std::time::{Duration, Instant};

use quintet_platform::service::Fault;
use quintet_runtime::Action;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::changes::find;
use super::life;
use super::model::Run;
use super::runner::{on_runner, refusal_of};
use crate::context::{Context, Control};
use crate::model::RunKey;
use crate::refusal::Refusal;
use crate::states::{Actor, RunState};

/// How often a run that is being killed before it runs is told so.
const KILL_POLL: Duration = Duration::from_millis(50);

/// Freezes a running run.
pub(crate) async fn pause(context: &Context, run_key: RunKey, patience: Duration) -> Result<(), Abort<Refusal>> {
    let _turn = turn(context, run_key, patience).await?;
    let run = control(context, run_key, &[RunState::Running], Action::Pause).await?;
    note(context, patience, move |tx, now| life::paused(tx, now, Actor::Api, run_key, run.starts)).await
}

/// Lets a paused run go on.
pub(crate) async fn resume(context: &Context, run_key: RunKey, patience: Duration) -> Result<(), Abort<Refusal>> {
    let _turn = turn(context, run_key, patience).await?;
    let run = control(context, run_key, &[RunState::Paused], Action::Resume).await?;
    let paused_micros = run.paused_micros_at(context.clock.now());
    let verb = move |tx: &mut WriteTx<'_>, now| life::resumed(tx, now, Actor::Api, run_key, run.starts, paused_micros);
    note(context, patience, verb).await
}

/// Tells a running run to end.
pub(crate) async fn stop(context: &Context, run_key: RunKey, patience: Duration) -> Result<(), Abort<Refusal>> {
    // Its end is not noted before this is: it would not be known that it was told to stop.
    let _turn = turn(context, run_key, patience).await?;
    control(context, run_key, &[RunState::Running], Action::Stop).await?;
    note(context, patience, move |tx, now| life::stopping(tx, now, run_key).map(drop)).await
}

/// Ends a run that has begun. The engine hears of it and notes it. One that is pulling has ended when this answers, or
/// is killed as soon as its container runs, if that is being started.
pub(crate) async fn kill(context: &Context, run_key: RunKey, patience: Duration) -> Result<(), Abort<Refusal>> {
    let (until, mut watch, mut is_asked) = (Instant::now() + patience, context.watch(), false);
    loop {
        watch.mark();
        let left = until.saturating_duration_since(Instant::now());
        match find(&context.store.read(), run_key)?.ok_or(Refusal::NotFound)?.state {
            RunState::Running | RunState::Paused => break,
            RunState::Pulling if left.is_zero() || context.stopping.is_stopping() => {
                return Err(Refusal::EngineUnavailable.into());
            }
            RunState::Pulling => {
                context.aside.kill(run_key.1);
                is_asked = true;
            }
            state if is_asked && state.is_terminal() => return Ok(()),
            state => return Err(Refusal::InvalidState(state.name()).into()),
        }
        // One that is not aside yet may be in a moment, which no change tells of.
        watch.paced_change(left.min(KILL_POLL)).await;
    }
    let _turn = turn(context, run_key, patience).await?;
    control(context, run_key, &[RunState::Running, RunState::Paused], Action::Kill).await?;
    Ok(())
}

/// Waits until nobody else controls the run.
async fn turn(context: &Context, run_key: RunKey, patience: Duration) -> Result<Control<'_>, Abort<Refusal>> {
    let turn = tokio::time::timeout(patience, context.control_of(run_key.1)).await;
    turn.map_err(|_| Refusal::Fault(Fault::Busy).into())
}

/// Does something to the container of a run in one of these states.
async fn control(
    context: &Context,
    run_key: RunKey,
    states: &[RunState],
    action: Action,
) -> Result<Run, Abort<Refusal>> {
    let run = life::in_state(&context.store.read(), run_key, states)?;
    let runner = context.runner.as_ref().ok_or(Refusal::EngineUnavailable)?;
    let id = context.container_id(run_key.1, run.starts).ok_or(Refusal::Fault(Fault::Internal))?;
    on_runner(runner, move |runner| runner.control(&id, action)).await.map_err(|error| refusal_of(&error))?;
    Ok(run)
}

/// Notes what was done to a container.
async fn note(
    context: &Context,
    patience: Duration,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<(), Abort<Refusal>> + Send + 'static,
) -> Result<(), Abort<Refusal>> {
    let noted = context.write(patience, verb).await;
    if noted.is_err() {
        context.doubt();
    }
    noted
}
