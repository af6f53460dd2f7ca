//! The threads that draw, in three lanes, so that what is small goes past what is large.
//!
//! Drawing takes processor time and nothing else, so it never runs on the threads that serve connections. Nobody can
//! tell from a source what its drawing costs, so each is begun in the lane of tries, where it may take as much as small
//! ones do; what needs more is given up there and begun again in the lane of large ones. Checks, which are always
//! short, have a lane of their own. A lane has threads and a bounded queue that no other lane uses: however many large
//! drawings run and wait, a small one waits for tries alone, and a check for checks alone. Whoever finds a queue full,
//! or waits in it too long, is turned away and told when to come back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

/// The bounds of each lane of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Jobs at once.
    pub width: usize,
    /// Jobs that may wait.
    pub queue: usize,
    /// How long one may wait.
    pub queue_time: Duration,
    /// How long one may run before nobody waits for it any more. The engine's own bounds, which count what is computed,
    /// end it before, unless the machine is busy with much else.
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
            run_time: Duration::from_secs(20),
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
    /// Drawings and checks that were begun.
    pub begun: u64,
    /// Jobs that were turned away.
    pub turned_away: u64,
}

/// The pool. Its threads end when it is dropped and its queues are empty.
pub struct Pool {
    checks: Lane,
    tries: Lane,
    large: Lane,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn start(limits: PoolLimits) -> std::io::Result<Pool> {
        Ok(Pool {
            checks: Lane::start("diagrams-check", limits)?,
            tries: Lane::start("diagrams-try", limits)?,
            large: Lane::start("diagrams-large", limits)?,
        })
    }

    /// Runs what is always short, such as reading a source.
    ///
    /// # Errors
    /// See [`PoolRefusal`].
    pub async fn check<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolRefusal> {
        self.checks.run(job).await
    }

    /// Draws: tries it as something small first; if the try gives up (`None`), does the whole of it among the large ones.
    /// If the caller goes away before a part is begun, it is not.
    ///
    /// # Errors
    /// See [`PoolRefusal`].
    pub async fn draw<T: Send + 'static>(
        &self,
        a_try: impl FnOnce() -> Option<T> + Send + 'static,
        whole: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolRefusal> {
        match self.tries.run(a_try).await? {
            Some(drawn) => Ok(drawn),
            None => self.large.run(whole).await,
        }
    }

    /// For how long there has always been somebody waiting, in the lane where that is longest.
    #[must_use]
    pub fn saturated_for(&self) -> Duration {
        self.lanes().map(Lane::saturated_for).into_iter().max().unwrap_or_default()
    }

    /// What it has done and is about to do.
    #[must_use]
    pub fn reading(&self) -> PoolReading {
        let [checks, tries, large] = self.lanes().map(Lane::reading);
        PoolReading {
            waiting: checks.waiting + tries.waiting + large.waiting,
            // What is large was begun as a try.
            begun: checks.begun + tries.begun,
            turned_away: checks.turned_away + tries.turned_away + large.turned_away,
        }
    }

    fn lanes(&self) -> [&Lane; 3] {
        [&self.checks, &self.tries, &self.large]
    }
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    /// Since when there has always been somebody waiting.
    waiting_since: Option<Instant>,
    begun: u64,
    turned_away: u64,
}

/// Threads and the queue before them.
struct Lane {
    jobs: SyncSender<Job>,
    limits: PoolLimits,
    state: Arc<Mutex<State>>,
}

impl Lane {
    fn start(name: &str, limits: PoolLimits) -> std::io::Result<Lane> {
        let (jobs, queue) = sync_channel(limits.queue.max(1));
        let queue = Arc::new(Mutex::new(queue));
        let state = Arc::new(Mutex::new(State::default()));
        for _ in 0..limits.width.max(1) {
            let (queue, state) = (Arc::clone(&queue), Arc::clone(&state));
            std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&queue, &state))?;
        }
        Ok(Lane { jobs, limits, state })
    }

    async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolRefusal> {
        let (begin, begun) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let work = move || {
            // Nobody can be told any more where the caller has gone or was turned away.
            if begin.send(()).is_ok() {
                let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
            }
        };
        self.enqueue(Box::new(work))?;
        let Ok(begun) = timeout(self.limits.queue_time, begun).await else {
            self.state().turned_away += 1;
            return Err(PoolRefusal::Busy);
        };
        begun.map_err(|_| PoolRefusal::Panicked)?;
        match timeout(self.limits.run_time, answered).await {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(_)) | Err(_)) => Err(PoolRefusal::Panicked),
            Err(_) => Err(PoolRefusal::Overdue),
        }
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

    fn saturated_for(&self) -> Duration {
        self.state().waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn reading(&self) -> PoolReading {
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
        job();
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

    fn lane(width: usize, queue: usize) -> Arc<Lane> {
        Arc::new(Lane::start("test", limits(width, queue)).unwrap())
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
    async fn what_is_small_goes_past_what_is_large() {
        let pool = Arc::new(Pool::start(limits(2, 16)).unwrap());
        // None of them ends before everything small has: whatever waited for one of them would wait for ever.
        let heavy: Vec<_> = (0..8)
            .map(|_| {
                let (release, whole) = held();
                let pool = Arc::clone(&pool);
                (release, tokio::spawn(async move { pool.draw(|| None, whole).await }))
            })
            .collect();
        until(|| pool.large.reading() == PoolReading { waiting: 6, begun: 2, turned_away: 0 }).await;
        for number in 0..40 {
            assert_eq!(pool.draw(move || Some(number), || 0).await, Ok(number));
            assert_eq!(pool.check(move || number).await, Ok(number));
        }
        assert_eq!(pool.large.reading(), PoolReading { waiting: 6, begun: 2, turned_away: 0 });
        assert_eq!(pool.reading().begun, 8 + 40 + 40);
        // All are let go before any is waited for: nobody knows which two of them run.
        let (releases, drawings): (Vec<_>, Vec<_>) = heavy.into_iter().unzip();
        drop(releases);
        for drawing in drawings {
            assert_eq!(drawing.await.unwrap(), Ok(()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_check_waits_for_no_drawing_at_all() {
        let pool = Arc::new(Pool::start(limits(1, 1)).unwrap());
        let (release, job) = held();
        let trying = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move {
                let a_try = move || {
                    job();
                    Some(())
                };
                pool.draw(a_try, || ()).await
            }
        });
        until(|| pool.tries.reading().begun == 1).await;
        assert_eq!(pool.check(|| 1).await, Ok(1));
        drop(release);
        assert_eq!(trying.await.unwrap(), Ok(()));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_finds_the_queue_full_is_turned_away() {
        let lane = lane(1, 2);
        let (release, job) = held();
        let running = tokio::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(job).await }
        });
        until(|| lane.reading().begun == 1).await;
        let waiting: Vec<_> = (0..2)
            .map(|number| {
                let lane = Arc::clone(&lane);
                tokio::spawn(async move { lane.run(move || number).await })
            })
            .collect();
        until(|| lane.reading().waiting == 2).await;
        assert_eq!(lane.run(|| 9).await, Err(PoolRefusal::Busy));
        assert!(lane.saturated_for() > Duration::ZERO);
        assert_eq!(lane.reading(), PoolReading { waiting: 2, begun: 1, turned_away: 1 });
        drop(release);
        assert_eq!(running.await.unwrap(), Ok(()));
        for (number, waiting) in waiting.into_iter().enumerate() {
            assert_eq!(waiting.await.unwrap(), Ok(number));
        }
        assert_eq!(lane.saturated_for(), Duration::ZERO);
        assert_eq!(lane.run(|| 9).await, Ok(9));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_run_at_once_than_it_is_wide() {
        let lane = lane(2, 64);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jobs = (0..40).map(|_| {
            let (lane, now, most) = (Arc::clone(&lane), Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                let job = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                lane.run(job).await
            })
        });
        for job in jobs.collect::<Vec<_>>() {
            assert_eq!(job.await.unwrap(), Ok(()));
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nobody_waits_without_end() {
        let short = Duration::from_millis(400);
        let brief = PoolLimits { queue_time: short, run_time: short, ..limits(1, 4) };
        let lane = Lane::start("test", brief).unwrap();
        let (release, job) = held();
        assert_eq!(lane.run(job).await, Err(PoolRefusal::Overdue), "it runs on, and nobody waits for it");
        let ran = Arc::new(AtomicUsize::new(0));
        let late = Arc::clone(&ran);
        let late = lane.run(move || late.fetch_add(1, Ordering::SeqCst)).await;
        assert_eq!(late, Err(PoolRefusal::Busy), "it is told so while the first still runs");
        assert_eq!(lane.reading().turned_away, 1);
        drop(release);
        until(|| lane.reading().waiting == 0).await;
        assert_eq!(lane.run(|| 1).await, Ok(1));
        assert_eq!(ran.load(Ordering::SeqCst), 0, "it was not begun");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_costs_nobody_else_anything() {
        let lane = lane(1, 4);
        assert_eq!(lane.run(|| panic!("on purpose")).await, Err::<(), _>(PoolRefusal::Panicked));
        assert_eq!(lane.run(|| 1).await, Ok(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_nobody_waits_for_is_not_begun() {
        let lane = lane(1, 4);
        let (release, job) = held();
        let running = tokio::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(job).await }
        });
        until(|| lane.reading().begun == 1).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let abandoned = tokio::spawn({
            let (lane, ran) = (Arc::clone(&lane), Arc::clone(&ran));
            async move { lane.run(move || ran.fetch_add(1, Ordering::SeqCst)).await }
        });
        until(|| lane.reading().waiting == 1).await;
        abandoned.abort();
        let _ = abandoned.await;
        drop(release);
        running.await.unwrap().unwrap();
        assert_eq!(lane.run(|| 1).await, Ok(1));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
