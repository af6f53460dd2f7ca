//! The threaded store on a simulated disk that fails: what callers are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::model::ModelTables;
use super::workload::{Cell, HOT, No, TABLES};
use crate::env::sim::SimDisk;
use crate::error::{Abort, Failure};
use crate::large::{self, Upload};
use crate::log::Trust;
use crate::open::options::StoreOptions;
use crate::open::start::start;
use crate::open::store::Store;
use crate::tables::registry::Registry;
use crate::time::{TimeSource, Timestamp};
use crate::view::read::Read;
use crate::write::space::{FreeSpace, Room};

struct Still;
impl TimeSource for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000)
    }
}

pub(super) fn store_on(disk: &SimDisk) -> Store {
    store_with_space(disk, Box::new(|| Ok(u64::MAX)))
}

fn store_with_space(disk: &SimDisk, free: FreeSpace) -> Store {
    let options = StoreOptions { segment_bytes: 64 << 10, ..StoreOptions::new("unused", Arc::new(Still)) };
    let registry = Registry::new(&[TABLES, large::TABLES]).unwrap();
    let started =
        start(Arc::new(disk.clone()), Arc::new(ModelTables::empty()), registry, [7; 16], Trust::Original, &options)
            .unwrap();
    Store::run(started, None, free, &options).unwrap()
}

pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn put(store: &Store, key: u16) -> Result<(), Abort<No>> {
    store.write_blocking(soon(), move |tx, _| Ok(tx.put(&HOT, &(0, key), &Cell(vec![1; 100]))?))
}

#[test]
fn tables_that_refuse_end_writing_and_a_restart_makes_it_good() {
    let (disk, tables) = (SimDisk::default(), Arc::new(ModelTables::empty()));
    let options = StoreOptions { segment_bytes: 64 << 10, ..StoreOptions::new("unused", Arc::new(Still)) };
    let open = |tables: &Arc<ModelTables>| {
        let registry = Registry::new(&[TABLES]).unwrap();
        let tables = Arc::clone(tables) as _;
        let started = start(Arc::new(disk.clone()), tables, registry, [7; 16], Trust::Original, &options).unwrap();
        Store::run(started, None, Box::new(|| Ok(u64::MAX)), &options).unwrap()
    };
    let store = open(&tables);
    put(&store, 1).unwrap();
    tables.refuses.store(true, Ordering::SeqCst);
    assert_eq!(put(&store, 2), Err(Abort::Failed(Failure::OutcomeUnknown)), "it is in the log, but nobody can read it");
    assert_eq!(put(&store, 3), Err(Abort::Failed(Failure::Stopped)));
    assert!(store.stop_reason().unwrap().contains("tables"), "{:?}", store.stop_reason());
    assert!(!store.read().contains(&HOT, &(0, 2)).unwrap());
    store.shutdown();
    tables.refuses.store(false, Ordering::SeqCst);
    let store = open(&tables);
    assert!(store.read().contains(&HOT, &(0, 2)).unwrap());
    put(&store, 3).unwrap();
    store.shutdown();
}

#[test]
fn a_failed_sync_ends_writing_and_reads_go_on() {
    let disk = SimDisk::default();
    let store = store_on(&disk);
    put(&store, 1).unwrap();
    disk.fail_from(disk.calls() + 1);
    let outcome = put(&store, 2);
    assert_eq!(outcome, Err(Abort::Failed(Failure::OutcomeUnknown)));
    assert_eq!(put(&store, 3), Err(Abort::Failed(Failure::Stopped)));
    assert!(store.stop_reason().unwrap().contains("log"), "{:?}", store.stop_reason());
    let snapshot = store.read();
    assert!(snapshot.contains(&HOT, &(0, 1)).unwrap());
    assert!(!snapshot.contains(&HOT, &(0, 2)).unwrap());
    store.shutdown();
}

#[test]
fn many_callers_see_their_own_writes() {
    let disk = SimDisk::default();
    let store = store_on(&disk);
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let store = store.clone();
            scope.spawn(move || {
                for n in 0..100_u16 {
                    let key = caller * 100 + n;
                    put(&store, key).unwrap();
                    assert!(store.read().contains(&HOT, &(0, key)).unwrap());
                }
            });
        }
    });
    assert_eq!(store.read().lsn(), 800);
    store.shutdown();
    assert_eq!(put(&store, 1), Err(Abort::Failed(Failure::Stopped)));
}

#[test]
fn a_passed_deadline_and_a_refusal_change_nothing() {
    let store = store_on(&SimDisk::default());
    let late = store.write_blocking(Instant::now() - Duration::from_millis(1), |tx, _| {
        tx.put(&HOT, &(0, 1), &Cell(vec![]))?;
        Ok::<_, Abort<No>>(())
    });
    assert_eq!(late, Err(Abort::Failed(Failure::Busy)));
    let refused = store.write_blocking(soon(), |tx, _| {
        tx.put(&HOT, &(0, 1), &Cell(vec![]))?;
        Err::<(), _>(Abort::Refused(No))
    });
    assert_eq!(refused, Err(Abort::Refused(No)));
    let panicked = store.write_blocking(soon(), |tx, _| {
        tx.put(&HOT, &(0, 1), &Cell(vec![]))?;
        panic!("planted");
        #[expect(unreachable_code, reason = "gives the closure its type")]
        Ok::<(), Abort<No>>(())
    });
    assert_eq!(panicked, Err(Abort::Failed(Failure::Panicked)));
    let large =
        store.write_blocking(soon(), |tx, _| Ok::<_, Abort<No>>(tx.put(&HOT, &(0, 1), &Cell(vec![0; 1 << 20]))?));
    assert_eq!(large, Err(Abort::Failed(Failure::TooLarge)));
    assert!(!store.read().contains(&HOT, &(0, 1)).unwrap());
    assert_eq!(store.read().lsn(), 0);
    store.shutdown();
}

#[tokio::test]
async fn a_full_disk_is_a_state_that_passes() {
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let look = Arc::clone(&free);
    let store = store_with_space(&SimDisk::default(), Box::new(move || Ok(look.load(Ordering::SeqCst))));
    let until = async |room| {
        while store.room() != room {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let write = |tx: &mut crate::WriteTx<'_>, _| Ok::<_, Abort<No>>(tx.put(&HOT, &(0, 1), &Cell(vec![1]))?);
    store.write(soon(), write).await.unwrap();
    for (bytes, room, ordinary, freeing) in [
        (511 << 20, Room::Low, false, true),
        (127 << 20, Room::Exhausted, false, false),
        (513 << 20, Room::Low, false, true),
        (600 << 20, Room::Ample, true, true),
    ] {
        free.store(bytes, Ordering::SeqCst);
        until(room).await;
        let refused = |accepted| if accepted { Ok(()) } else { Err(Abort::Failed(Failure::StorageFull)) };
        assert_eq!(store.write(soon(), write).await, refused(ordinary), "{room:?}");
        assert_eq!(store.write_freeing(soon(), write).await, refused(freeing), "{room:?}");
        assert!(store.read().contains(&HOT, &(0, 1)).unwrap(), "reads go on");
    }
    assert_eq!(store.stop_reason(), None);
    store.shutdown();
}

/// What takes room for nothing goes when there is next to none.
#[tokio::test]
async fn what_is_given_up_is_discarded_below_the_reserve() {
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let look = Arc::clone(&free);
    let store = store_with_space(&SimDisk::default(), Box::new(move || Ok(look.load(Ordering::SeqCst))));
    let mut upload = Upload::begin(&store, 3_600, Duration::from_secs(10)).await.unwrap();
    upload.push(&[7; 100]).await.unwrap();
    let staged = upload.stage().await.unwrap();
    let under_way = Upload::begin(&store, 3_600, Duration::from_secs(10)).await.unwrap();
    free.store(511 << 20, Ordering::SeqCst);
    while store.room() != Room::Low {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop((staged, under_way));
    let collect = |tx: &mut crate::WriteTx<'_>, now| Ok::<_, Abort<No>>(large::collect(tx, now, 100)?);
    assert_eq!(store.write_freeing(soon(), collect).await, Ok(3), "a chunk and two uploads");
    assert_eq!(large::next_deadline(&store.read()).unwrap(), None);
    store.shutdown();
}

/// Whoever begins an upload may leave before the writer comes to it.
#[tokio::test]
async fn an_upload_whose_caller_has_left_is_discarded() {
    let store = store_on(&SimDisk::default());
    let ((begun, has_begun), (go, may_go)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let own = store.clone();
    let held = std::thread::spawn(move || {
        own.write_blocking(soon(), move |_, _| {
            begun.send(()).unwrap();
            may_go.recv().unwrap();
            Ok::<_, Abort<No>>(())
        })
    });
    has_begun.recv().unwrap();
    let mut beginning = Box::pin(Upload::begin(&store, 3_600, Duration::from_secs(10)));
    let polled = std::future::poll_fn(|context| std::task::Poll::Ready(beginning.as_mut().poll(context)));
    assert!(polled.await.is_pending());
    drop(beginning);
    go.send(()).unwrap();
    held.join().unwrap().unwrap();
    let collect = |tx: &mut crate::WriteTx<'_>, now| Ok::<_, Abort<No>>(large::collect(tx, now, 100)?);
    let until = soon();
    let mut collected = 0;
    while collected == 0 {
        assert!(Instant::now() < until, "it stays until its deadline");
        collected = store.write_freeing(soon(), collect).await.unwrap();
    }
    assert_eq!((collected, large::next_deadline(&store.read()).unwrap()), (1, None));
    store.shutdown();
}

/// A clock that ticks with every third look, so that some looks are equal.
#[derive(Default)]
struct Ticking(std::sync::atomic::AtomicI64);
impl TimeSource for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst) / 3)
    }
}

#[test]
fn a_reading_of_the_present_misses_nothing_from_its_past() {
    let ticking = Arc::new(Ticking::default());
    let options = StoreOptions { segment_bytes: 1 << 20, ..StoreOptions::new("unused", ticking.clone()) };
    let registry = Registry::new(&[TABLES]).unwrap();
    let started = start(
        Arc::new(SimDisk::default()),
        Arc::new(ModelTables::empty()),
        registry,
        [7; 16],
        Trust::Original,
        &options,
    )
    .unwrap();
    let store = Store::run(started, None, Box::new(|| Ok(u64::MAX)), &options).unwrap();
    let times = std::sync::Mutex::new(Vec::new());
    let (mut readings, mut idle) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let (store, times) = (store.clone(), &times);
            scope.spawn(move || {
                for n in 0..150_u16 {
                    let verb = move |tx: &mut crate::WriteTx<'_>, now| {
                        tx.put(&HOT, &(caller, n), &Cell(vec![]))?;
                        Ok::<_, Abort<No>>(now)
                    };
                    times.lock().unwrap().push((store.write_blocking(soon(), verb).unwrap(), (caller, n)));
                    if n % 10 == 0 {
                        std::thread::sleep(Duration::from_micros(300));
                    }
                }
            });
        }
        for _ in 0..2_000 {
            let (snapshot, until) = store.read_now(ticking.now());
            idle += usize::from(until > snapshot.time());
            readings.push((snapshot, until));
        }
    });
    let times = times.into_inner().unwrap();
    for (snapshot, until) in readings.iter().step_by(7) {
        for (time, key) in times.iter().filter(|(time, _)| time <= until) {
            assert!(snapshot.contains(&HOT, key).unwrap(), "{time:?} is missing from a reading at {until:?}");
        }
    }
    let (snapshot, present) = store.read_now(ticking.now());
    assert!(present >= snapshot.time() && times.iter().all(|(time, _)| *time <= present), "at rest it is complete");
    println!("{idle} of {} readings were of a store at rest", readings.len());
    store.shutdown();
}

/// A clock that stands where it is put.
struct Put(std::sync::atomic::AtomicI64);
impl TimeSource for Put {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn a_clock_that_is_put_back_writes_nothing_into_a_past_that_was_complete() {
    let clock = Arc::new(Put(1_700_000_000_000_000.into()));
    let options = StoreOptions { segment_bytes: 1 << 20, ..StoreOptions::new("unused", clock.clone()) };
    let registry = Registry::new(&[TABLES]).unwrap();
    let (disk, tables) = (Arc::new(SimDisk::default()), Arc::new(ModelTables::empty()));
    let started = start(disk, tables, registry, [7; 16], Trust::Original, &options).unwrap();
    let store = Store::run(started, None, Box::new(|| Ok(u64::MAX)), &options).unwrap();
    let written = || {
        let verb = |tx: &mut crate::WriteTx<'_>, now| tx.put(&HOT, &(0, 0), &Cell(vec![])).map(|()| now);
        store.write_blocking(soon(), move |tx, now| verb(tx, now).map_err(Abort::<No>::Failed)).unwrap()
    };
    written();
    clock.0.fetch_add(60_000_000, Ordering::SeqCst);
    let (_, until) = store.read_now(clock.now());
    clock.0.fetch_sub(30_000_000, Ordering::SeqCst);
    let late = written();
    assert!(late > until, "{late:?} lies before {until:?}, up to which everything was there");
    store.shutdown();
}
