//! The engine's loop: it hears of containers, and gives slots.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use quintet_runtime::{ContainerId, Runner};
use quintet_storage::{Failure, WriteTx};
use tokio::sync::mpsc;

use super::core::{Engine, Trouble};
use super::room::Starting;
use crate::containers::dispatch;
use crate::context::Context;
use crate::model::RunKey;

/// Between two looks when nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// How long the runner is asked to wait for the end of a container.
const LISTEN_TIME: Duration = Duration::from_secs(5);
/// Between two calls to a runner that does not answer.
const DOWN_PAUSE: Duration = Duration::from_millis(200);
/// Runs given a slot in one transaction.
const DISPATCH_SLICE: usize = 64;

/// What the thread that listens to the runner tells.
enum Heard {
    /// It answers, for the first time or again.
    Up,
    /// It does not answer.
    Down,
    /// These containers have ended.
    Ended(Vec<ContainerId>),
}

impl Context {
    /// Starts what is due and sees to what ends, until [`Context::stop`].
    pub async fn run_containers(self) {
        let Some(runner) = self.runner.clone() else { return };
        let (sender, mut heard) = mpsc::channel(64);
        let listening = {
            let (context, runner) = (self.clone(), runner.clone());
            move || listen(&context, &runner, &sender)
        };
        let keeping_pulse = {
            let (context, runner) = (self.clone(), runner.clone());
            move || runner.keep_pulse(|| context.stopping.is_stopping())
        };
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let begun = thread("runs").spawn(listening).and_then(|_| thread("runs-pulse").spawn(keeping_pulse));
        if let Err(error) = begun {
            tracing::error!(%error, "nobody listens to the runner");
            return;
        }
        Arc::new(Engine::new(self, runner)).run(&mut heard).await;
    }
}

/// Asks the runner in a loop what has ended. On a thread of its own: each question takes seconds.
fn listen(context: &Context, runner: &Runner, heard: &mpsc::Sender<Heard>) {
    let (mut cursor, mut is_up) = (0, None);
    while !context.stopping.is_stopping() {
        let told = match runner.ended(cursor, LISTEN_TIME) {
            Ok(ended) => {
                cursor = ended.cursor;
                if is_up != Some(true) && heard.blocking_send(Heard::Up).is_err() {
                    return;
                }
                is_up = Some(true);
                Heard::Ended(ended.ids)
            }
            Err(error) => {
                if is_up != Some(false) {
                    tracing::warn!(%error, "runs wait until the runner answers");
                }
                (cursor, is_up) = (0, Some(false));
                std::thread::sleep(DOWN_PAUSE);
                Heard::Down
            }
        };
        if heard.blocking_send(told).is_err() {
            return;
        }
    }
}

impl Engine {
    async fn run(self: Arc<Self>, heard: &mut mpsc::Receiver<Heard>) {
        let mut answers = false;
        let mut watch = self.context.watch();
        while !self.context.stopping.is_stopping() {
            watch.mark();
            // That it hangs is known before whoever listens to it gives up.
            if answers && !self.runner.is_hung() {
                answers = self.step().await;
            }
            self.context.engine_up.store(answers, Ordering::SeqCst);
            let told = tokio::select! {
                told = heard.recv() => told,
                () = self.context.doubts.notified() => None,
                () = watch.change(TICK) => None,
            };
            match told {
                Some(Heard::Up) => {
                    answers = true;
                    self.context.is_in_doubt.store(true, Ordering::SeqCst);
                }
                Some(Heard::Down) => answers = false,
                Some(Heard::Ended(ids)) => {
                    for id in ids {
                        tokio::spawn(Arc::clone(&self).finish(id));
                    }
                }
                None => {}
            }
        }
        self.context.engine_up.store(false, Ordering::SeqCst);
    }

    /// Clears doubts, then gives slots. Says whether the runner answers.
    async fn step(self: &Arc<Self>) -> bool {
        if self.context.is_in_doubt.swap(false, Ordering::SeqCst)
            && let Err(trouble) = self.reattach().await
        {
            // Not at once: what cannot be done now is tried at the next look.
            self.context.is_in_doubt.store(true, Ordering::SeqCst);
            tracing::warn!(%trouble, "it is not known how runs stand; asking the runner again");
            return !matches!(trouble, Trouble::Runner(_));
        }
        if let Err(failure) = self.heed_wishes() {
            tracing::warn!(%failure, "runs of cancelled workflows cannot be looked at");
        }
        if let Err(failure) = self.dispatch().await {
            tracing::warn!(%failure, "slots could not be given; trying again");
        }
        true
    }

    /// Gives slots until there are none, or nobody to have them.
    async fn dispatch(self: &Arc<Self>) -> Result<(), Failure> {
        let mut most = self.starts_with_room();
        loop {
            let mut chosen = self.choose(most.min(DISPATCH_SLICE)).await?;
            if chosen.is_empty() {
                if most > 0 {
                    self.disk_is_ample();
                }
                return Ok(());
            }
            // Those that have their slot need a worker alone, which no row tells of.
            let all = chosen.len();
            chosen.retain(|run_key| !self.context.aside.give(run_key.1));
            most = most.saturating_sub(all - chosen.len());
            if chosen.is_empty() {
                continue;
            }
            let context = self.context.clone();
            let verb = move |tx: &mut WriteTx<'_>, now| {
                let (settings, aside) = (&context.settings, &context.aside);
                let workers = u64::from(settings.workers);
                dispatch::dispatch(tx, now, workers, aside, &settings.ceilings, chosen, context.node_ends)
            };
            let given = self.write(verb).await?;
            if given.is_empty() {
                // Things have changed since the choice: whatever did that wakes the loop.
                return Ok(());
            }
            most = most.saturating_sub(given.len());
            for run_key in given {
                let (engine, starting) = (Arc::clone(self), Starting::new(Arc::clone(self)));
                tokio::spawn(async move {
                    engine.start(run_key).await;
                    drop(starting);
                });
            }
        }
    }

    /// Who gets the free workers. All tenants are looked at: on the blocking pool.
    async fn choose(self: &Arc<Self>, most: usize) -> Result<Vec<RunKey>, Failure> {
        let engine = Arc::clone(self);
        let look = move || {
            let (read, now) = engine.context.store.read_now(engine.context.clock.now());
            let mut turns = engine.turns.lock().unwrap_or_else(PoisonError::into_inner);
            dispatch::choose(&read, now, engine.context.machine(&read)?, most, &mut turns)
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(Err(Failure::Panicked))
    }
}
