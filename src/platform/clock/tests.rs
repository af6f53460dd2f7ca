//! The clock stepping, remembering, and driving work in real time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32};

use tokio::sync::Notify;

use super::*;
use crate::testing::TestStore;

const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);

fn after(seconds: i64) -> Timestamp {
    START.plus_seconds(seconds)
}

/// Work that is due at given instants, writes down when it ran, and may add instants when it does.
struct Agenda {
    clock: Clock,
    name: &'static str,
    due: Mutex<BTreeSet<Timestamp>>,
    ran: Arc<Mutex<Vec<(&'static str, i64)>>>,
    /// Each run adds one instant so many seconds later, so many times.
    follow_up: Mutex<(i64, u32)>,
}

impl Agenda {
    fn register(
        clock: &Clock,
        name: &'static str,
        seconds: &[i64],
        ran: &Arc<Mutex<Vec<(&'static str, i64)>>>,
    ) -> Arc<Agenda> {
        let agenda = Arc::new(Agenda {
            clock: clock.clone(),
            name,
            due: Mutex::new(seconds.iter().map(|seconds| after(*seconds)).collect()),
            ran: Arc::clone(ran),
            follow_up: Mutex::new((0, 0)),
        });
        clock.register(agenda.clone());
        agenda
    }
}

impl DueWork for Agenda {
    fn name(&self) -> &'static str {
        self.name
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.due.lock().unwrap().first().copied()
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::task::yield_now().await;
            let now = self.clock.now();
            let mut due = self.due.lock().unwrap();
            while due.first().is_some_and(|first| *first <= now) {
                due.pop_first();
                self.ran.lock().unwrap().push((self.name, now.micros_since(START) / 1_000_000));
                let mut follow_up = self.follow_up.lock().unwrap();
                if follow_up.1 > 0 {
                    follow_up.1 -= 1;
                    due.insert(now.plus_seconds(follow_up.0));
                }
            }
        })
    }
}

#[tokio::test]
async fn an_advance_stops_where_something_is_due() {
    let clock = Clock::rehearsal(START);
    let ran = Arc::default();
    Agenda::register(&clock, "a", &[-5, 10, 30, 100], &ran);
    Agenda::register(&clock, "b", &[20, 30, 61], &ran);
    assert_eq!(clock.next_due(), Some(after(-5)));
    assert_eq!(clock.advance(60).await, Ok(AdvanceReport { now: after(60), steps: 3 }));
    assert_eq!(*ran.lock().unwrap(), [("a", 0), ("a", 10), ("b", 20), ("a", 30), ("b", 30)]);
    assert_eq!(clock.advance(1).await, Ok(AdvanceReport { now: after(61), steps: 1 }));
    assert_eq!(ran.lock().unwrap().last(), Some(&("b", 61)));
    assert_eq!(clock.next_due(), Some(after(100)));
    assert_eq!(clock.now(), after(61));
}

#[tokio::test]
async fn work_that_makes_work_is_run_too() {
    let clock = Clock::rehearsal(START);
    let ran = Arc::default();
    let agenda = Agenda::register(&clock, "a", &[10], &ran);
    *agenda.follow_up.lock().unwrap() = (7, 100);
    assert_eq!(clock.advance(30).await, Ok(AdvanceReport { now: after(30), steps: 3 }));
    assert_eq!(*ran.lock().unwrap(), [("a", 10), ("a", 17), ("a", 24)]);
}

#[tokio::test]
async fn advancing_by_nothing_runs_what_is_due() {
    let clock = Clock::rehearsal(START);
    let ran = Arc::default();
    Agenda::register(&clock, "a", &[0], &ran);
    assert_eq!(clock.advance(0).await, Ok(AdvanceReport { now: START, steps: 0 }));
    assert_eq!(*ran.lock().unwrap(), [("a", 0)]);
}

/// Due for ever.
struct Restless;

impl DueWork for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    fn next_due(&self) -> Option<Timestamp> {
        Some(after(5))
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { panic!("and it panics") })
    }
}

#[tokio::test]
async fn work_without_rest_is_given_up() {
    let clock = Clock::rehearsal(START);
    clock.register(Arc::new(Restless));
    assert_eq!(clock.advance(10).await, Err(ClockError::NotAtRest("restless")));
    assert_eq!(clock.now(), after(5));
}

#[tokio::test]
async fn what_cannot_be_advanced() {
    let real = Clock::system();
    assert!(!real.is_rehearsal());
    assert_eq!(real.advance(1).await, Err(ClockError::RealTime));
    let clock = Clock::rehearsal(START);
    for seconds in [u64::MAX, i64::MAX as u64, 400_000_000_000] {
        assert_eq!(clock.advance(seconds).await, Err(ClockError::TooFar), "{seconds}");
    }
    assert_eq!(clock.now(), START);
}

#[tokio::test]
async fn advances_take_turns() {
    let clock = Clock::rehearsal(START);
    let both = futures_util::future::join(clock.advance(10), clock.advance(20)).await;
    assert!(both.0.is_ok() && both.1.is_ok());
    assert_eq!(clock.now(), after(30));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_outlives_the_process() {
    let test = TestStore::open(START);
    assert_eq!(test.clock.now(), START);
    test.clock.advance(3600).await.unwrap();
    let directory = test.close();
    // Started again a day later in real time: the clock stands where it stood.
    let test = TestStore::open_in(directory, after(86_400));
    assert_eq!(test.clock.now(), after(3600));
    // What is written now carries that reading.
    let reading = test.store.write_blocking(Instant::now() + STEP_DEADLINE, |_, now| Ok::<_, Abort<Infallible>>(now));
    assert_eq!(reading, Ok(after(3600)));
    let directory = test.close();
    // And if the machine's clock was set back, too.
    let test = TestStore::open_in(directory, after(-86_400));
    assert_eq!(test.clock.now(), after(3600));
}

#[tokio::test]
async fn the_reading_is_stored_before_it_is_shown() {
    let test = TestStore::open(START);
    test.store.shutdown();
    assert_eq!(test.clock.advance(10).await, Err(ClockError::Store(Failure::Stopped)));
    assert_eq!(test.clock.now(), START);
}

#[test]
fn a_stored_reading_never_goes_back() {
    let test = TestStore::open(START);
    let write = |at| test.store.write_blocking(Instant::now() + STEP_DEADLINE, move |tx, _| put_reading(tx, at));
    assert_eq!(write(after(10)), Ok(()));
    assert_eq!(write(after(5)), Ok(()));
    assert_eq!(test.store.read().get(&READING, &THE_READING), Ok(Some(Reading { at: after(10) })));
}

#[test]
fn pacing_goes_on_while_a_rehearsal_stands() {
    for clock in [Clock::rehearsal(START), Clock::system()] {
        let before = clock.pacing_now();
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.pacing_now().micros_since(before) >= 5_000);
    }
    let clock = Clock::rehearsal(START);
    assert!(clock.pacing_now() >= START && clock.pacing_now() < after(60));
    let apart = Clock::system().now().micros_since(Clock::system().pacing_now());
    assert!(apart.abs() < 5_000_000, "{apart}");
}

/// Counts its runs and tells; due from `due` on until it has run `wanted` times.
struct Counter {
    due: AtomicI64,
    ran: AtomicU32,
    wanted: u32,
    panics_first: AtomicBool,
    told: Notify,
}

impl Counter {
    fn new(due: Timestamp, wanted: u32, panics_first: bool) -> Arc<Counter> {
        Arc::new(Counter {
            due: AtomicI64::new(due.as_micros()),
            ran: AtomicU32::new(0),
            wanted,
            panics_first: AtomicBool::new(panics_first),
            told: Notify::new(),
        })
    }

    async fn wait(&self) {
        tokio::time::timeout(Duration::from_secs(20), self.told.notified()).await.unwrap();
    }
}

impl DueWork for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn next_due(&self) -> Option<Timestamp> {
        let is_done = self.ran.load(Ordering::SeqCst) >= self.wanted;
        if is_done { None } else { Some(Timestamp::from_micros(self.due.load(Ordering::SeqCst))) }
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            assert!(!self.panics_first.swap(false, Ordering::SeqCst), "the first run panics");
            self.ran.fetch_add(1, Ordering::SeqCst);
            self.told.notify_one();
        })
    }
}

/// Runs `body` while a clock drives its work.
async fn driven(clock: &Clock, body: impl Future<Output = ()>) {
    let stop = Notify::new();
    let driving = clock.run_real_time(stop.notified());
    let body = async {
        body.await;
        stop.notify_one();
    };
    tokio::time::timeout(Duration::from_secs(30), futures_util::future::join(driving, body)).await.unwrap();
}

#[tokio::test]
async fn real_time_runs_work_when_it_is_due() {
    let clock = Clock::system();
    let soon = Counter::new(clock.now().plus_micros(30_000), 1, false);
    clock.register(soon.clone());
    driven(&clock, async {
        soon.wait().await;
        assert!(clock.now().as_micros() >= soon.due.load(Ordering::SeqCst));
        // Registered while it drives, and due later than it first said.
        let late = Counter::new(Timestamp::MAX, 1, false);
        clock.register(late.clone());
        tokio::time::sleep(Duration::from_millis(20)).await;
        late.due.store(0, Ordering::SeqCst);
        clock.wake();
        late.wait().await;
    })
    .await;
}

#[tokio::test]
async fn a_panic_leaves_the_work_due() {
    let clock = Clock::system();
    let counter = Counter::new(Timestamp::EPOCH, 1, true);
    clock.register(counter.clone());
    driven(&clock, counter.wait()).await;
    assert_eq!(counter.ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_rehearsal_runs_what_is_due_now_untold() {
    let clock = Clock::rehearsal(START);
    let (now, later) = (Counter::new(START, 1, false), Counter::new(after(1), 1, false));
    clock.register(now.clone());
    clock.register(later.clone());
    driven(&clock, async {
        now.wait().await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(later.ran.load(Ordering::SeqCst), 0);
        clock.advance(1).await.unwrap();
        assert_eq!(later.ran.load(Ordering::SeqCst), 1);
    })
    .await;
}

/// Work that makes other work due and waits until that has run.
struct Waiting {
    clock: Clock,
    is_due: AtomicBool,
    begun: Notify,
    other: Arc<Counter>,
}

impl DueWork for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.is_due.load(Ordering::SeqCst).then_some(START)
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.is_due.store(false, Ordering::SeqCst);
            self.begun.notify_one();
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.other.due.store(START.as_micros(), Ordering::SeqCst);
            self.clock.wake();
            self.other.wait().await;
        })
    }
}

#[tokio::test]
async fn what_runs_untold_may_wait_for_other_work_while_rest_is_waited_for() {
    let clock = Clock::rehearsal(START);
    let other = Counter::new(Timestamp::MAX, 1, false);
    clock.register(other.clone());
    let (is_due, begun) = (AtomicBool::new(true), Notify::new());
    let waiting = Arc::new(Waiting { clock: clock.clone(), is_due, begun, other: other.clone() });
    clock.register(waiting.clone());
    driven(&clock, async {
        waiting.begun.notified().await;
        clock.advance(0).await.unwrap();
        assert_eq!(other.ran.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test]
async fn stopping_without_work_is_quick() {
    driven(&Clock::system(), async {}).await;
}
