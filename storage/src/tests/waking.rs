//! Who waits for a change, for what falls due, or for one thing among many: told after publication and before the answer,
//! and of nothing that was undone.

use std::sync::{Arc, Mutex, OnceLock};

use super::threads::{soon, store_on};
use super::workload::{COLD, Cell, HOT, No};
use crate::env::sim::SimDisk;
use crate::error::{Abort, Failure};
use crate::open::store::Store;
use crate::tables::family::Family;
use crate::time::Timestamp;
use crate::view::read::Read;
use crate::write::tx::WriteTx;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn cell(byte: u8) -> Cell {
    Cell(vec![byte; 40])
}

/// Runs a verb and waits for its answer.
fn write(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>) -> Result<(), Abort<No>> + Send + 'static,
) -> Result<(), Abort<No>> {
    store.write_blocking(soon(), move |tx, _| verb(tx))
}

/// Everything a store's listener is told.
fn told(store: &Store) -> Arc<Mutex<Vec<(u16, i64)>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    store.on_due(Box::new(move |tag, at| listener.lock().unwrap().push((tag, at.as_micros()))));
    told
}

/// Everything the listeners of two topics are told.
fn told_of(store: &Store, topics: [u16; 2]) -> Arc<Mutex<Vec<(u16, u64, u64)>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    for topic in topics {
        let listener = Arc::clone(&told);
        store.on_told(topic, Box::new(move |of, number| listener.lock().unwrap().push((topic, of, number))));
    }
    told
}

/// What a transaction does.
type Verb = Box<dyn FnOnce(&mut WriteTx<'_>) + Send>;

/// Has these rows written with these notes in one group: the first transaction holds the writer until the others wait
/// behind it.
fn in_one_group(store: &Store, verbs: Vec<Verb>) {
    let (entered, release) = (crossbeam_channel::bounded(1), crossbeam_channel::bounded::<()>(1));
    let others = verbs.len() as u64 - 1;
    std::thread::scope(|scope| {
        let mut hold = Some((entered.0, release.1));
        for (row, verb) in (0..).zip(verbs) {
            let (store, held) = (store.clone(), hold.take());
            let is_first = held.is_some();
            scope.spawn(move || {
                let verb = move |tx: &mut WriteTx<'_>| {
                    if let Some((entered, release)) = held {
                        entered.send(()).unwrap();
                        release.recv().unwrap();
                    }
                    tx.put(&HOT, &(9, row), &cell(2))?;
                    verb(tx);
                    Ok(())
                };
                write(&store, verb).unwrap();
            });
            if is_first {
                entered.1.recv().unwrap();
            }
        }
        while store.stats().queue_depth < others {
            std::thread::yield_now();
        }
        release.0.send(()).unwrap();
    });
}

#[test]
fn a_change_is_told_to_those_who_follow_its_family_before_its_answer() {
    let store = store_on(&SimDisk::default());
    let (mut hot, mut cold) = (store.changes(HOT.spec().family), store.changes(COLD.spec().family));
    let mut nothing = store.changes(Family::named("nobody"));
    assert_eq!((*hot.borrow(), *cold.borrow()), (0, 0));

    write(&store, |tx| Ok(tx.put(&HOT, &(0, 1), &cell(1))?)).unwrap();
    assert!(hot.has_changed().unwrap() && !cold.has_changed().unwrap(), "the answer comes after it");
    assert_eq!(*hot.borrow_and_update(), 1);

    write(&store, |tx| {
        tx.delete(&COLD, &(0, 1));
        tx.put(&HOT, &(0, 2), &cell(2))?;
        Ok(tx.put(&COLD, &(0, 3), &cell(3))?)
    })
    .unwrap();
    assert_eq!((*hot.borrow_and_update(), *cold.borrow_and_update()), (2, 2), "a group may write to several");

    // What changes nothing is no change, and who comes later learns where things are.
    write(&store, |_| Ok(())).unwrap();
    write(&store, |tx| {
        tx.put(&HOT, &(0, 4), &cell(4))?;
        Err(No.into())
    })
    .unwrap_err();
    assert!(!hot.has_changed().unwrap() && !cold.has_changed().unwrap() && !nothing.has_changed().unwrap());
    let late = store.changes(HOT.spec().family);
    assert_eq!((*late.borrow(), late.has_changed().unwrap()), (2, false));
    assert_eq!(*nothing.borrow_and_update(), 0);

    store.shutdown();
    drop(store);
    assert!(hot.has_changed().is_err(), "whoever still waits learns that there is nothing more");
}

#[test]
fn whoever_is_woken_reads_the_change() {
    let store = store_on(&SimDisk::default());
    let mut changes = store.changes(HOT.spec().family);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    std::thread::scope(|scope| {
        let writing = store.clone();
        scope.spawn(move || {
            for row in 0..300 {
                write(&writing, move |tx| Ok(tx.put(&HOT, &(1, row), &cell(1))?)).unwrap();
            }
        });
        let mut lsn = 0;
        while lsn < 300 {
            runtime.block_on(changes.changed()).unwrap();
            lsn = *changes.borrow_and_update();
            let read = store.read();
            assert!(read.lsn() >= lsn);
            assert!(read.contains(&HOT, &(1, u16::try_from(lsn).unwrap() - 1)).unwrap());
        }
    });
    store.shutdown();
}

#[test]
fn what_falls_due_is_told_by_table_and_the_earliest_of_a_group() {
    let store = store_on(&SimDisk::default());
    let told = told(&store);
    write(&store, |tx| {
        tx.put(&HOT, &(0, 1), &cell(1))?;
        for (tag, micros) in [(7, 500), (9, 40), (7, 300), (7, 400), (9, 41)] {
            tx.falls_due(tag, at(micros));
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [(7, 300), (9, 40)], "before the answer");

    let verbs = [900, 800, 850].map(|micros| -> Verb { Box::new(move |tx| tx.falls_due(7, at(micros))) });
    in_one_group(&store, verbs.into());
    assert_eq!(*told.lock().unwrap(), [(7, 800)], "one group, told once");
    store.shutdown();
}

#[test]
fn what_is_told_is_told_to_the_listener_of_its_topic_and_the_greatest_of_a_group() {
    let store = store_on(&SimDisk::default());
    let told = told_of(&store, [3, 4]);
    write(&store, |tx| {
        tx.put(&HOT, &(0, 1), &cell(1))?;
        // Topic 5 has no listener.
        for (topic, of, number) in [(4, 8, 2), (3, u64::MAX, 1), (3, 7, 5), (3, 7, 9), (3, 7, 8), (5, 7, 1), (4, 7, 0)]
        {
            tx.tells(topic, of, number);
        }
        Ok(())
    })
    .unwrap();
    let expected = [(3, 7, 9), (3, u64::MAX, 1), (4, 7, 0), (4, 8, 2)];
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), expected, "before the answer");

    let verbs =
        [(7, 11), (7, 13), (7, 12), (8, 1)].map(|(of, number)| -> Verb { Box::new(move |tx| tx.tells(3, of, number)) });
    in_one_group(&store, verbs.into());
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [(3, 7, 13), (3, 8, 1)], "one group, told once");

    // Of several groups each is told, and what is told once is not told again.
    for number in [20, 19] {
        write(&store, move |tx| {
            tx.put(&HOT, &(0, 2), &cell(1))?;
            tx.tells(3, 7, number);
            Ok(())
        })
        .unwrap();
    }
    write(&store, |tx| Ok(tx.put(&HOT, &(0, 3), &cell(1))?)).unwrap();
    assert_eq!(*told.lock().unwrap(), [(3, 7, 20), (3, 7, 19)]);
    store.shutdown();
}

#[test]
fn many_notes_of_a_group_are_joined_in_little_time() {
    const OF: u64 = 3_000;
    let store = store_on(&SimDisk::default());
    let told = told_of(&store, [3, 4]);
    let began = std::time::Instant::now();
    let verbs =
        [1, 3, 2].map(|number| -> Verb { Box::new(move |tx| (0..OF).rev().for_each(|of| tx.tells(3, of, number))) });
    in_one_group(&store, verbs.into());
    assert_eq!(*told.lock().unwrap(), (0..OF).map(|of| (3, of, 3)).collect::<Vec<_>>());
    // Some milliseconds; what looked through all notes for each would take seconds.
    assert!(began.elapsed() < std::time::Duration::from_secs(1), "{:?}", began.elapsed());
    store.shutdown();
}

#[test]
fn what_is_undone_is_not_told() {
    let store = store_on(&SimDisk::default());
    let told = told_of(&store, [3, 4]);
    write(&store, |tx| {
        tx.put(&HOT, &(0, 1), &cell(1))?;
        tx.tells(3, 1, 5);
        let undone: Result<(), No> = tx.savepoint(|tx| {
            tx.tells(3, 1, 6);
            tx.tells(4, 1, 1);
            tx.falls_due(1, at(1));
            Err(No)
        });
        assert_eq!(undone, Err(No));
        let kept: Result<(), No> = tx.savepoint(|tx| {
            tx.tells(4, 2, 3);
            let gone: Result<(), No> = tx.savepoint(|tx| {
                tx.tells(4, 2, 4);
                Err(No)
            });
            assert_eq!(gone, Err(No));
            Ok(())
        });
        kept.unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [(3, 1, 5), (4, 2, 3)]);

    let note = |tx: &mut WriteTx<'_>| {
        tx.put(&HOT, &(0, 2), &cell(2)).unwrap();
        tx.tells(3, 1, 7);
    };
    let refused = write(&store, move |tx| {
        note(tx);
        Err(No.into())
    });
    assert_eq!(refused, Err(Abort::Refused(No)));
    let failed = write(&store, move |tx| {
        note(tx);
        Err(Failure::Damaged("planted".to_owned()).into())
    });
    assert!(matches!(failed, Err(Abort::Failed(_))));
    let panicked = write(&store, move |tx| {
        note(tx);
        std::panic::resume_unwind(Box::new("planted"))
    });
    assert_eq!(panicked, Err(Abort::Failed(Failure::Panicked)));
    // A transaction without rows has nothing to tell of.
    write(&store, |tx| {
        tx.tells(3, 1, 7);
        Ok(())
    })
    .unwrap();
    assert_eq!(*told.lock().unwrap(), []);
    store.shutdown();
}

#[test]
fn what_is_undone_does_not_fall_due() {
    let store = store_on(&SimDisk::default());
    let told = told(&store);
    write(&store, |tx| {
        tx.put(&HOT, &(0, 1), &cell(1))?;
        tx.falls_due(1, at(100));
        let inner: Result<(), No> = tx.savepoint(|tx| {
            tx.falls_due(1, at(50));
            tx.falls_due(2, at(60));
            let innermost: Result<(), No> = tx.savepoint(|tx| {
                tx.falls_due(3, at(1));
                Ok(())
            });
            innermost.unwrap();
            Err(No)
        });
        assert_eq!(inner, Err(No));
        let kept: Result<(), No> = tx.savepoint(|tx| {
            tx.falls_due(4, at(70));
            let gone: Result<(), No> = tx.savepoint(|tx| {
                tx.falls_due(4, at(10));
                Err(No)
            });
            assert_eq!(gone, Err(No));
            Ok(())
        });
        kept.unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [(1, 100), (4, 70)]);

    let note = |tx: &mut WriteTx<'_>| {
        tx.put(&HOT, &(0, 2), &cell(2)).unwrap();
        tx.falls_due(1, at(5));
    };
    let refused = write(&store, move |tx| {
        note(tx);
        Err(No.into())
    });
    assert_eq!(refused, Err(Abort::Refused(No)));
    let failed = write(&store, move |tx| {
        note(tx);
        Err(Failure::Damaged("planted".to_owned()).into())
    });
    assert!(matches!(failed, Err(Abort::Failed(_))));
    let panicked = write(&store, move |tx| {
        note(tx);
        std::panic::resume_unwind(Box::new("planted"))
    });
    assert_eq!(panicked, Err(Abort::Failed(Failure::Panicked)));
    // A transaction without rows writes to no due table either.
    write(&store, |tx| {
        tx.falls_due(1, at(5));
        Ok(())
    })
    .unwrap();
    assert_eq!(*told.lock().unwrap(), []);
    store.shutdown();
}

#[test]
fn listeners_are_called_once_the_row_can_be_read_and_a_second_one_never() {
    let store = store_on(&SimDisk::default());
    let (reader, seen) = (Arc::new(OnceLock::<Store>::new()), Arc::new(Mutex::new(Vec::new())));
    let (listening, noting) = (Arc::clone(&reader), Arc::clone(&seen));
    store.on_due(Box::new(move |tag, _| {
        let read = listening.get().unwrap().read();
        noting.lock().unwrap().push(read.contains(&HOT, &(0, tag)).unwrap());
    }));
    store.on_due(Box::new(|_, _| panic!("called")));
    let (listening, noting) = (Arc::clone(&reader), Arc::clone(&seen));
    store.on_told(
        3,
        Box::new(move |row, _| {
            let read = listening.get().unwrap().read();
            noting.lock().unwrap().push(read.contains(&HOT, &(0, u16::try_from(row).unwrap())).unwrap());
        }),
    );
    store.on_told(3, Box::new(|_, _| panic!("called")));
    reader.set(store.clone()).ok().unwrap();
    for row in 0..50 {
        write(&store, move |tx| {
            tx.put(&HOT, &(0, row), &cell(1))?;
            tx.falls_due(row, at(1));
            tx.tells(3, row.into(), 1);
            Ok(())
        })
        .unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), vec![true; 100]);
    assert_eq!(store.stop_reason(), None);
    store.shutdown();
}

#[test]
fn what_could_not_be_made_durable_wakes_nobody() {
    let disk = SimDisk::default();
    let store = store_on(&disk);
    let (told, told_of) = (told(&store), told_of(&store, [3, 4]));
    let changes = store.changes(HOT.spec().family);
    disk.fail_from(disk.calls() + 1);
    let outcome = write(&store, |tx| {
        tx.put(&HOT, &(0, 1), &cell(1))?;
        tx.falls_due(1, at(5));
        tx.tells(3, 1, 1);
        Ok(())
    });
    assert_eq!(outcome, Err(Abort::Failed(Failure::OutcomeUnknown)));
    assert!(!changes.has_changed().unwrap());
    assert_eq!((told.lock().unwrap().len(), told_of.lock().unwrap().len()), (0, 0));
    store.shutdown();
}
