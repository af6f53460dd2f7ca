//! The threads that draw, in three lanes, so that what is small goes past what is large.
//!
//! Drawing takes processor time and nothing else, so it never runs on the threads that serve connections. Nobody can
//! tell from a source what its drawing costs, so each is begun in the lane of tries, where it may take as much as small
//! ones do; what needs more is given up there and begun again in the lane of large ones. Checks, which are always
//! short, have a lane of their own. A lane has threads and a bounded queue that no other lane uses: however many large
//! drawings run and wait, a small one waits for tries alone, and a check for checks alone.
//!
//! Tries of what turns out to be large are kept short in number: what was given up lately is not tried again, and a
//! large source is turned away untried while the lane of large ones has no place for it. In a queue ([`super::queue`])
//! those who ask take turns, and the shorter source goes first. Whoever has no place in it, or waits in it too long, is
//! turned away and told when to come back.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::queue::{Asker, Queue};
use crate::tables::ContentHash;

/// A source of more bytes is taken for a large one where there is no place for large ones.
const SMALL_SOURCE_BYTES: usize = 32 << 10;
/// How many drawings that were given up are remembered.
const GIVEN_UP_MAX: usize = 1024;

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
    /// What was given up lately, the latest last.
    given_up: Mutex<VecDeque<ContentHash>>,
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
            given_up: Mutex::default(),
        })
    }

    /// Runs what is always short, such as reading a source.
    ///
    /// # Errors
    /// See [`PoolRefusal`].
    pub async fn check<T: Send + 'static>(
        &self,
        asker: Asker,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolRefusal> {
        self.checks.run(asker, job).await
    }

    /// Draws: tries it as something small first; if the try gives up (`None`), does the whole of it among the large ones.
    /// If the caller goes away before a part is begun, it is not. `hash` says what is drawn.
    ///
    /// # Errors
    /// See [`PoolRefusal`].
    pub async fn draw<T: Send + 'static>(
        &self,
        asker: Asker,
        hash: ContentHash,
        a_try: impl FnOnce() -> Option<T> + Send + 'static,
        whole: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolRefusal> {
        // In turn among the large ones, whatever their sources have in bytes.
        let among_large = Asker { bytes: 0, ..asker };
        if !self.was_given_up(hash) {
            if asker.bytes > SMALL_SOURCE_BYTES && !self.large.has_place(among_large) {
                self.large.state().turned_away += 1;
                return Err(PoolRefusal::Busy);
            }
            if let Some(drawn) = self.tries.run(asker, a_try).await? {
                return Ok(drawn);
            }
            self.note_given_up(hash);
        }
        self.large.run(among_large, whole).await
    }

    fn was_given_up(&self, hash: ContentHash) -> bool {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner).contains(&hash)
    }

    fn note_given_up(&self, hash: ContentHash) {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if given_up.len() >= GIVEN_UP_MAX {
            given_up.pop_front();
        }
        given_up.push_back(hash);
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
            // What is large was begun as a try, now or not long ago.
            begun: checks.begun + tries.begun,
            turned_away: checks.turned_away + tries.turned_away + large.turned_away,
        }
    }

    fn lanes(&self) -> [&Lane; 3] {
        [&self.checks, &self.tries, &self.large]
    }
}

type Job = Box<dyn FnOnce() + Send>;

struct State {
    queue: Queue<Job>,
    /// Since when there has always been somebody waiting.
    waiting_since: Option<Instant>,
    begun: u64,
    turned_away: u64,
    /// Nobody can send another job.
    is_closed: bool,
}

/// Threads and the queue before them.
struct Lane {
    limits: PoolLimits,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// There is a job, or there will be none.
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn start(name: &str, limits: PoolLimits) -> std::io::Result<Lane> {
        let queue = Queue::new(limits.queue.max(1));
        let state = State { queue, waiting_since: None, begun: 0, turned_away: 0, is_closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        // Closed when it is dropped, so that no thread outlives one that could not start them all.
        let lane = Lane { limits, shared };
        for _ in 0..limits.width.max(1) {
            let shared = Arc::clone(&lane.shared);
            std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared))?;
        }
        Ok(lane)
    }

    async fn run<T: Send + 'static>(
        &self,
        asker: Asker,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolRefusal> {
        let (begin, begun) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let work = move || {
            // Nobody can be told any more where the caller has gone or was turned away.
            if begin.send(()).is_ok() {
                let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
            }
        };
        self.enqueue(asker, Box::new(work))?;
        let Ok(begun) = timeout(self.limits.queue_time, begun).await else {
            self.state().turned_away += 1;
            return Err(PoolRefusal::Busy);
        };
        // It was dropped unbegun: another took its place.
        begun.map_err(|_| PoolRefusal::Busy)?;
        match timeout(self.limits.run_time, answered).await {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(_)) | Err(_)) => Err(PoolRefusal::Panicked),
            Err(_) => Err(PoolRefusal::Overdue),
        }
    }

    fn enqueue(&self, asker: Asker, job: Job) -> Result<(), PoolRefusal> {
        let mut state = self.state();
        let pushed = state.queue.push(asker, job);
        if !matches!(pushed, Ok(None)) {
            state.turned_away += 1;
        }
        // Whoever lost a place is told by the dropped job, outside of the lock.
        let displaced = pushed.map_err(|_| PoolRefusal::Busy)?;
        state.waiting_since.get_or_insert_with(Instant::now);
        drop(state);
        drop(displaced);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Whether there would be a place in the queue.
    fn has_place(&self, asker: Asker) -> bool {
        self.state().queue.has_place(asker)
    }

    fn saturated_for(&self) -> Duration {
        self.state().waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn reading(&self) -> PoolReading {
        let state = self.state();
        PoolReading { waiting: state.queue.len(), begun: state.begun, turned_away: state.turned_away }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.state().is_closed = true;
        self.shared.changed.notify_all();
    }
}

/// One thread: job after job, until nobody can send another.
fn work(shared: &Shared) {
    while let Some(job) = next(shared) {
        job();
    }
}

fn next(shared: &Shared) -> Option<Job> {
    let mut state = shared.state();
    loop {
        if let Some(job) = state.queue.pop() {
            state.begun += 1;
            if state.queue.len() == 0 {
                state.waiting_since = None;
            }
            return Some(job);
        }
        if state.is_closed {
            return None;
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    const ME: Asker = Asker { source: None, bytes: 1 };

    fn hash(number: u8) -> ContentHash {
        ContentHash([number; 32])
    }

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
        let heavy: Vec<_> = (1..=8)
            .map(|number| {
                let (release, whole) = held();
                let pool = Arc::clone(&pool);
                (release, tokio::spawn(async move { pool.draw(ME, hash(number), || None, whole).await }))
            })
            .collect();
        until(|| pool.large.reading() == PoolReading { waiting: 6, begun: 2, turned_away: 0 }).await;
        for number in 0..40 {
            assert_eq!(pool.draw(ME, hash(0), move || Some(number), || 0).await, Ok(number));
            assert_eq!(pool.check(ME, move || number).await, Ok(number));
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
    async fn small_drawings_go_past_tries_of_48_large_ones() {
        let pool = Arc::new(Pool::start(limits(2, 32)).unwrap());
        let heavy_source = Asker { source: None, bytes: 100_000 };
        // Two hold the lane of tries. Whatever waits behind them is tried after them.
        let tried = Arc::new(AtomicUsize::new(0));
        let mut releases = Vec::new();
        let mut drawings = Vec::new();
        for number in 0..48 {
            let (release, job) = held();
            releases.push(release);
            let (beside, tried) = (Arc::clone(&pool), Arc::clone(&tried));
            drawings.push(tokio::spawn(async move {
                let a_try = move || {
                    tried.fetch_add(1, Ordering::SeqCst);
                    job();
                    None
                };
                beside.draw(heavy_source, hash(number), a_try, || 0).await
            }));
            if number == 1 {
                until(|| pool.tries.reading().begun == 2).await;
            }
        }
        until(|| pool.tries.reading() == PoolReading { waiting: 32, begun: 2, turned_away: 14 }).await;
        let small: Vec<_> = (1..=8)
            .map(|number| {
                let (pool, tried) = (Arc::clone(&pool), Arc::clone(&tried));
                tokio::spawn(async move {
                    let a_try = move || Some(tried.load(Ordering::SeqCst));
                    pool.draw(ME, hash(100 + number), a_try, || 0).await
                })
            })
            .collect();
        until(|| pool.tries.reading().turned_away == 14 + 8).await;
        drop(releases);
        for drawing in small {
            let tried_before = drawing.await.unwrap();
            assert!(matches!(tried_before, Ok(count) if count <= 4), "{tried_before:?}");
        }
        for drawing in drawings {
            assert!(matches!(drawing.await.unwrap(), Ok(0) | Err(PoolRefusal::Busy)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_large_is_not_tried_where_it_could_not_be_drawn() {
        let pool = Arc::new(Pool::start(limits(1, 1)).unwrap());
        let mut heavy = Vec::new();
        for number in 0..2 {
            let (release, whole) = held();
            let beside = Arc::clone(&pool);
            heavy.push((release, tokio::spawn(async move { beside.draw(ME, hash(number), || None, whole).await })));
            until(|| pool.large.reading().begun + pool.large.reading().waiting as u64 == u64::from(number) + 1).await;
            until(|| pool.large.reading().begun == 1).await;
        }
        let tries = pool.tries.reading().begun;
        let large = Asker { bytes: SMALL_SOURCE_BYTES + 1, ..ME };
        assert_eq!(pool.draw(large, hash(9), || Some(()), || ()).await, Err(PoolRefusal::Busy));
        assert_eq!(pool.draw(ME, hash(0), || Some(()), || ()).await, Err(PoolRefusal::Busy), "it was given up before");
        assert_eq!(pool.tries.reading().begun, tries);
        assert_eq!(pool.draw(ME, hash(9), || Some(()), || ()).await, Ok(()));
        for (release, drawing) in heavy {
            drop(release);
            assert_eq!(drawing.await.unwrap(), Ok(()));
        }
        assert_eq!(pool.draw(large, hash(9), || Some(()), || ()).await, Ok(()));
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
                pool.draw(ME, hash(0), a_try, || ()).await
            }
        });
        until(|| pool.tries.reading().begun == 1).await;
        assert_eq!(pool.check(ME, || 1).await, Ok(1));
        drop(release);
        assert_eq!(trying.await.unwrap(), Ok(()));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_finds_the_queue_full_is_turned_away() {
        let lane = lane(1, 2);
        let (release, job) = held();
        let running = tokio::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(ME, job).await }
        });
        until(|| lane.reading().begun == 1).await;
        let waiting: Vec<_> = (0..2)
            .map(|number| {
                let lane = Arc::clone(&lane);
                tokio::spawn(async move { lane.run(ME, move || number).await })
            })
            .collect();
        until(|| lane.reading().waiting == 2).await;
        assert_eq!(lane.run(ME, || 9).await, Err(PoolRefusal::Busy));
        assert!(lane.saturated_for() > Duration::ZERO);
        assert_eq!(lane.reading(), PoolReading { waiting: 2, begun: 1, turned_away: 1 });
        drop(release);
        assert_eq!(running.await.unwrap(), Ok(()));
        for (number, waiting) in waiting.into_iter().enumerate() {
            assert_eq!(waiting.await.unwrap(), Ok(number));
        }
        assert_eq!(lane.saturated_for(), Duration::ZERO);
        assert_eq!(lane.run(ME, || 9).await, Ok(9));
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
                lane.run(ME, job).await
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
        assert_eq!(lane.run(ME, job).await, Err(PoolRefusal::Overdue), "it runs on, and nobody waits for it");
        let ran = Arc::new(AtomicUsize::new(0));
        let late = Arc::clone(&ran);
        let late = lane.run(ME, move || late.fetch_add(1, Ordering::SeqCst)).await;
        assert_eq!(late, Err(PoolRefusal::Busy), "it is told so while the first still runs");
        assert_eq!(lane.reading().turned_away, 1);
        drop(release);
        until(|| lane.reading().waiting == 0).await;
        assert_eq!(lane.run(ME, || 1).await, Ok(1));
        assert_eq!(ran.load(Ordering::SeqCst), 0, "it was not begun");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_costs_nobody_else_anything() {
        let lane = lane(1, 4);
        assert_eq!(lane.run(ME, || panic!("on purpose")).await, Err::<(), _>(PoolRefusal::Panicked));
        assert_eq!(lane.run(ME, || 1).await, Ok(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_nobody_waits_for_is_not_begun() {
        let lane = lane(1, 4);
        let (release, job) = held();
        let running = tokio::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(ME, job).await }
        });
        until(|| lane.reading().begun == 1).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let abandoned = tokio::spawn({
            let (lane, ran) = (Arc::clone(&lane), Arc::clone(&ran));
            async move { lane.run(ME, move || ran.fetch_add(1, Ordering::SeqCst)).await }
        });
        until(|| lane.reading().waiting == 1).await;
        abandoned.abort();
        let _ = abandoned.await;
        drop(release);
        running.await.unwrap().unwrap();
        assert_eq!(lane.run(ME, || 1).await, Ok(1));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
