//! The threads that draw: as many as the machine has cores, with a bounded queue before them.
//!
//! Drawing takes processor time and nothing else, so it never runs on the threads that serve connections, and more of
//! it at once than there are cores would only make all of it later. Whoever finds the queue full, or waits in it too
//! long, is turned away at once and told when to come back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// The bounds of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Jobs at once.
    pub width: usize,
    /// Jobs that may wait.
    pub queue: usize,
    /// How long one may wait.
    pub queue_time: Duration,
    /// How long one may run before nobody waits for it any more. The engine's own bounds end it long before.
    pub run_time: Duration,
}

impl PoolLimits {
    /// As wide as the machine.
    #[must_use]
    pub fn of_machine() -> PoolLimits {
        let width = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        PoolLimits {
            width,
            queue: width.saturating_mul(16),
            queue_time: Duration::from_secs(5),
            run_time: Duration::from_secs(10),
        }
    }
}

/// Why a job gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolRefusal {
    /// The queue is full, or the job waited in it too long; it was not begun.
    Busy,
    /// It runs longer than anything may.
    Overdue,
    /// It panicked.
    Panicked,
}

/// What the pool has done and is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReading {
    /// Jobs that wait.
    pub waiting: usize,
    /// Jobs that were begun.
    pub begun: u64,
    /// Jobs that were turned away.
    pub turned_away: u64,
}

struct Job {
    queued: Instant,
    work: Box<dyn FnOnce(Duration) + Send>,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    /// Since when there has always been somebody waiting.
    waiting_since: Option<Instant>,
    begun: u64,
    turned_away: u64,
}

/// The pool. Its threads end when it is dropped and its queue is empty.
pub struct Pool {
    jobs: SyncSender<Job>,
    limits: PoolLimits,
    state: Arc<Mutex<State>>,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn start(limits: PoolLimits) -> std::io::Result<Pool> {
        let (jobs, queue) = sync_channel(limits.queue.max(1));
        let queue = Arc::new(Mutex::new(queue));
        let state = Arc::new(Mutex::new(State::default()));
        for _ in 0..limits.width.max(1) {
            let (queue, state) = (Arc::clone(&queue), Arc::clone(&state));
            std::thread::Builder::new().name("diagrams".to_owned()).spawn(move || work(&queue, &state))?;
        }
        Ok(Pool { jobs, limits, state })
    }

    /// Runs a job on one of the threads. If the caller goes away before the job is begun, it is not.
    ///
    /// # Errors
    /// See [`PoolRefusal`].
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolRefusal> {
        let (answer, answered) = oneshot::channel();
        let queue_time = self.limits.queue_time;
        let work = move |waited: Duration| {
            if answer.is_closed() {
                return;
            }
            let outcome = match waited > queue_time {
                true => Err(PoolRefusal::Busy),
                false => catch_unwind(AssertUnwindSafe(job)).map_err(|_| PoolRefusal::Panicked),
            };
            let _ = answer.send(outcome);
        };
        self.enqueue(Job { queued: Instant::now(), work: Box::new(work) })?;
        let outcome = tokio::time::timeout(queue_time + self.limits.run_time, answered).await;
        let outcome = match outcome {
            Ok(answered) => answered.unwrap_or(Err(PoolRefusal::Panicked)),
            // It waited `queue_time` at most, so it has run for `run_time` at least.
            Err(_) => Err(PoolRefusal::Overdue),
        };
        if matches!(outcome, Err(PoolRefusal::Busy)) {
            self.state().turned_away += 1;
        }
        outcome
    }

    fn enqueue(&self, job: Job) -> Result<(), PoolRefusal> {
        let mut state = self.state();
        match self.jobs.try_send(job) {
            Ok(()) => {
                state.waiting += 1;
                state.waiting_since.get_or_insert_with(Instant::now);
                Ok(())
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                state.turned_away += 1;
                Err(PoolRefusal::Busy)
            }
        }
    }

    /// For how long there has always been somebody waiting.
    #[must_use]
    pub fn saturated_for(&self) -> Duration {
        self.state().waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// What it has done and is about to do.
    #[must_use]
    pub fn reading(&self) -> PoolReading {
        let state = self.state();
        PoolReading { waiting: state.waiting, begun: state.begun, turned_away: state.turned_away }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread: job after job, until nobody can send another.
fn work(queue: &Mutex<Receiver<Job>>, state: &Mutex<State>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.waiting = state.waiting.saturating_sub(1);
            state.begun += 1;
            if state.waiting == 0 {
                state.waiting_since = None;
            }
        }
        (job.work)(job.queued.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    fn limits(width: usize, queue: usize) -> PoolLimits {
        PoolLimits { width, queue, queue_time: Duration::from_secs(20), run_time: Duration::from_secs(20) }
    }

    /// A job that runs until the sender is dropped or sends.
    fn held() -> (mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
        let (release, held) = mpsc::channel();
        (release, move || {
            let _ = held.recv();
        })
    }

    async fn until(condition: impl Fn() -> bool) {
        for _ in 0..2_000 {
            if condition() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come about");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_finds_the_queue_full_is_turned_away() {
        let pool = Arc::new(Pool::start(limits(1, 2)).unwrap());
        let (release, job) = held();
        let running = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(job).await }
        });
        until(|| pool.reading().begun == 1).await;
        let waiting: Vec<_> = (0..2)
            .map(|number| {
                let pool = Arc::clone(&pool);
                tokio::spawn(async move { pool.run(move || number).await })
            })
            .collect();
        until(|| pool.reading().waiting == 2).await;
        assert_eq!(pool.run(|| 9).await, Err(PoolRefusal::Busy));
        assert!(pool.saturated_for() > Duration::ZERO);
        assert_eq!(pool.reading(), PoolReading { waiting: 2, begun: 1, turned_away: 1 });
        drop(release);
        assert_eq!(running.await.unwrap(), Ok(()));
        for (number, waiting) in waiting.into_iter().enumerate() {
            assert_eq!(waiting.await.unwrap(), Ok(number));
        }
        assert_eq!(pool.saturated_for(), Duration::ZERO);
        assert_eq!(pool.run(|| 9).await, Ok(9));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_run_at_once_than_it_is_wide() {
        let pool = Arc::new(Pool::start(limits(2, 64)).unwrap());
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jobs = (0..40).map(|_| {
            let (pool, now, most) = (Arc::clone(&pool), Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                let job = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                pool.run(job).await
            })
        });
        for job in jobs.collect::<Vec<_>>() {
            assert_eq!(job.await.unwrap(), Ok(()));
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nobody_waits_without_end() {
        let brief =
            PoolLimits { queue_time: Duration::from_millis(50), run_time: Duration::from_millis(400), ..limits(1, 4) };
        let pool = Arc::new(Pool::start(brief).unwrap());
        let (release, job) = held();
        assert_eq!(pool.run(job).await, Err(PoolRefusal::Overdue), "it runs on, and nobody waits for it");
        let late = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(|| ()).await }
        });
        until(|| pool.reading().waiting == 1).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        drop(release);
        assert_eq!(late.await.unwrap(), Err(PoolRefusal::Busy), "it waited too long and is not begun");
        assert_eq!(pool.run(|| 1).await, Ok(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_costs_nobody_else_anything() {
        let pool = Pool::start(limits(1, 4)).unwrap();
        assert_eq!(pool.run(|| panic!("on purpose")).await, Err::<(), _>(PoolRefusal::Panicked));
        assert_eq!(pool.run(|| 1).await, Ok(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_nobody_waits_for_is_not_begun() {
        let pool = Arc::new(Pool::start(limits(1, 4)).unwrap());
        let (release, job) = held();
        let running = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(job).await }
        });
        until(|| pool.reading().begun == 1).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let abandoned = tokio::spawn({
            let (pool, ran) = (Arc::clone(&pool), Arc::clone(&ran));
            async move { pool.run(move || ran.fetch_add(1, Ordering::SeqCst)).await }
        });
        until(|| pool.reading().waiting == 1).await;
        abandoned.abort();
        let _ = abandoned.await;
        drop(release);
        running.await.unwrap().unwrap();
        assert_eq!(pool.run(|| 1).await, Ok(1));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
