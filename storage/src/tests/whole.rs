//! The store on RocksDB and the real disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::workload::{COLD, Cell, Content, HOT, No, TABLES, check_all, check_scan};
use crate::directory::format::FORMAT_VERSION;
use crate::error::{Abort, OpenError};
use crate::large;
use crate::large::value::{LargeValue, Upload};
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::time::{TimeSource, Timestamp};

#[derive(Default)]
struct Hands(AtomicI64);
impl TimeSource for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + self.0.load(Ordering::SeqCst))
    }
}

fn options(path: &std::path::Path) -> StoreOptions {
    StoreOptions { segment_bytes: 1 << 20, ..StoreOptions::new(path, Arc::new(Hands::default())) }
}

fn open(options: &StoreOptions) -> Store {
    Store::open(options.clone(), &[TABLES, large::TABLES]).unwrap()
}

/// Ends a store and gives its database back, so that the directory can be opened again.
fn close(store: Store) {
    store.shutdown();
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[test]
fn random_work_survives_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path());
    // Flushes and removed segments happen within the test.
    options.flush_log_bytes = 2 << 20;
    options.copy_bytes_max = 4 << 20;
    let mut random = fastrand::Rng::with_seed(4);
    let mut content = Content::new();
    let mut lsn = 0;
    for _ in 0..4 {
        let store = open(&options);
        assert_eq!(store.read().lsn(), lsn);
        check_all(&store.read(), &content).unwrap();
        for _ in 0..400 {
            let (which, key) = (random.u8(..2), (random.u8(..3), random.u16(..12)));
            let value = vec![random.u8(..); random.usize(..20_000)];
            let table = super::workload::table(which);
            if random.u8(..5) == 0 {
                content.remove(&(which, key));
                store
                    .write_blocking(soon(), move |tx, _| {
                        tx.delete(table, &key);
                        Ok::<_, Abort<No>>(())
                    })
                    .unwrap();
            } else {
                content.insert((which, key), value.clone());
                store
                    .write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(table, &key, &Cell(value))?))
                    .unwrap();
            }
            lsn += 1;
            check_scan(&store.read(), &mut random, which, &content).unwrap();
        }
        close(store);
    }
    let segments = std::fs::read_dir(directory.path().join("wal")).unwrap().count();
    assert!(segments < 12, "{segments} files: flushed segments are removed");
}

#[test]
fn one_process_at_a_time_and_one_kind_of_clock() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());
    let store = open(&options);
    let second = Store::open(options.clone(), &[TABLES, large::TABLES]);
    assert!(matches!(second.err(), Some(OpenError::InUse(_))));
    close(store);
    let rehearsal = StoreOptions { rehearsal: true, ..options.clone() };
    let refused = Store::open(rehearsal, &[TABLES, large::TABLES]);
    assert!(matches!(refused.err(), Some(OpenError::ClockMismatch { directory_is_rehearsal: false })));
    close(open(&options));
}

#[test]
fn foreign_and_newer_directories_are_refused_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("letter.txt"), "mine").unwrap();
    let refused = Store::open(options(directory.path()), &[TABLES]);
    assert!(matches!(refused.err(), Some(OpenError::NotADataDirectory(_))));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);

    let headless = tempfile::tempdir().unwrap();
    close(open(&options(headless.path())));
    std::fs::remove_file(headless.path().join("FORMAT")).unwrap();
    let refused = Store::open(options(headless.path()), &[TABLES, large::TABLES]);
    assert!(matches!(refused.err(), Some(OpenError::Damaged { .. })));

    let newer = tempfile::tempdir().unwrap();
    close(open(&options(newer.path())));
    let file = newer.path().join("FORMAT");
    let text = std::fs::read_to_string(&file).unwrap().replace(&format!("format = {FORMAT_VERSION}"), "format = 99");
    std::fs::write(&file, text).unwrap();
    let refused = Store::open(options(newer.path()), &[TABLES, large::TABLES]);
    assert!(matches!(refused.err(), Some(OpenError::NewerFormat { found: 99, known: FORMAT_VERSION })));
}

#[test]
fn two_tables_with_one_tag_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = Store::open(options(directory.path()), &[TABLES, TABLES]);
    assert!(matches!(refused.err(), Some(OpenError::Registry(_))));
}

#[test]
fn damage_in_synced_log_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());
    let store = open(&options);
    for key in 0..50 {
        store
            .write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &(0, key), &Cell(vec![7; 300]))?))
            .unwrap();
    }
    // Lose the tables, so that the whole log must be read; then harm one record in its middle.
    close(store);
    std::fs::remove_dir_all(directory.path().join("live")).unwrap();
    let segment = std::fs::read_dir(directory.path().join("wal")).unwrap().map(|e| e.unwrap().path());
    let segment = segment.filter(|p| p.extension().is_some_and(|e| e == "log")).min().unwrap();
    let sound = std::fs::read(&segment).unwrap();
    let mut harmed = sound.clone();
    harmed[10_000] ^= 0x10;
    std::fs::write(&segment, harmed).unwrap();
    match Store::open(options.clone(), &[TABLES, large::TABLES]).err() {
        Some(OpenError::Damaged { file, offset, .. }) => {
            assert_eq!(file, segment);
            assert_eq!(offset % 512, 0);
            assert!((9_000..=10_000).contains(&offset), "{offset}");
        }
        other => panic!("{other:?}"),
    }
    // Mended, it opens: a refused start has changed nothing.
    std::fs::write(&segment, sound).unwrap();
    let store = open(&options);
    assert_eq!(store.read().lsn(), 50);
    close(store);
}

#[tokio::test]
async fn large_values_are_adopted_whole_or_collected() {
    let directory = tempfile::tempdir().unwrap();
    let hands = Arc::new(Hands::default());
    let mut options = options(directory.path());
    options.time = hands.clone();
    let store = open(&options);
    let patience = Duration::from_secs(20);
    let bytes: Vec<u8> = (0..700_000_u32).map(|n| (n % 251) as u8).collect();
    let upload = |seconds| {
        let (store, bytes) = (store.clone(), bytes.clone());
        async move {
            let mut upload = Upload::begin(&store, seconds, patience).await.unwrap();
            for piece in bytes.chunks(99_999) {
                upload.push(piece).await.unwrap();
            }
            upload.finish().await.unwrap()
        }
    };
    let kept: LargeValue = upload(60).await;
    let lost: LargeValue = upload(60).await;
    let adopt = |value: LargeValue| store.write(soon(), move |tx, now| large::adopt(tx, now, &value));
    adopt(kept.clone()).await.unwrap();
    hands.0.store(61_000_000, Ordering::SeqCst);
    assert!(adopt(lost.clone()).await.is_err(), "its deadline has passed");
    assert!(large::next_deadline(&store.read()).unwrap().is_some());
    let mut removed = 0;
    loop {
        let step = store.write(soon(), |tx, now| Ok::<_, Abort<No>>(large::collect(tx, now, 2)?)).await.unwrap();
        assert!(step <= 3);
        removed += step;
        if step == 0 {
            break;
        }
    }
    assert_eq!(removed, 4, "three chunks and the upload itself");
    assert!(large::read_chunk(&store.read(), &lost, 0).is_err());
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(chunk) = large::read_chunk(&store.read(), &kept, index).unwrap() {
        found.extend_from_slice(&chunk);
        index += 1;
    }
    assert_eq!((&found, index), (&bytes, 3));
    let collected = || store.write(soon(), |tx, now| Ok::<_, Abort<No>>(large::collect(tx, now, 100)?));
    let begun = async || {
        let mut upload = Upload::begin(&store, 3_600, patience).await.unwrap();
        upload.push(&bytes).await.unwrap();
        upload
    };
    let adopted = begun().await.stage().await.unwrap();
    adopt(adopted.value().clone()).await.unwrap();
    let also_kept = adopted.value().clone();
    drop(adopted);
    assert_eq!(collected().await.unwrap(), 0);
    assert_eq!(large::next_deadline(&store.read()).unwrap(), None, "what was adopted stays");
    assert!(large::is_sound(&store.read(), &also_kept).unwrap());
    // Nobody needs it any more, long before its time is over.
    let passing = begun().await.stage().await.unwrap();
    let value = passing.value().clone();
    drop(passing);
    assert!(adopt(value).await.is_err());
    assert_eq!(collected().await.unwrap(), 4);
    assert_eq!(large::next_deadline(&store.read()).unwrap(), None);
    // Nor does anything stay of one that breaks off; of its last chunk nothing was written.
    drop(begun().await);
    assert_eq!(collected().await.unwrap(), 3);
    assert_eq!(large::next_deadline(&store.read()).unwrap(), None);
    store.write(soon(), move |tx, now| Ok::<_, Abort<No>>(large::release(tx, now, &kept)?)).await.unwrap();
    store.write(soon(), |tx, now| Ok::<_, Abort<No>>(large::collect(tx, now, 100)?)).await.unwrap();
    assert_eq!(large::next_deadline(&store.read()).unwrap(), None);
    close(store);
}

#[test]
fn identifiers_go_on_rising_after_a_restart_under_a_standing_clock() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());
    let mut last = crate::Uuid::nil();
    for _ in 0..3 {
        let store = open(&options);
        for _ in 0..20 {
            let id = store
                .write_blocking(soon(), |tx, _| {
                    let id = tx.new_id();
                    tx.put(&HOT, &(0, 0), &Cell(id.as_bytes().to_vec()))?;
                    Ok::<_, Abort<No>>(id)
                })
                .unwrap();
            assert!(id > last);
            last = id;
        }
        close(store);
    }
}

#[test]
fn a_log_that_is_gone_is_damage_not_an_empty_store() {
    for (lost, watermark) in [("one segment", true), ("all segments", false), ("wal and live", false)] {
        let directory = tempfile::tempdir().unwrap();
        let options = options(directory.path());
        let store = open(&options);
        store.write_blocking(soon(), |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &(0, 1), &Cell(vec![7]))?)).unwrap();
        close(store);
        // The tables of a killed process have flushed nothing.
        std::fs::remove_dir_all(directory.path().join("live")).unwrap();
        let wal = directory.path().join("wal");
        if lost == "wal and live" {
            std::fs::remove_dir_all(&wal).unwrap();
        } else {
            for file in std::fs::read_dir(&wal).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|extension| extension == "log") || !watermark {
                    std::fs::remove_file(file).unwrap();
                }
            }
        }
        let refused = Store::open(options, &[TABLES, large::TABLES]).err();
        assert!(matches!(refused, Some(OpenError::Damaged { .. })), "{lost}: {refused:?}");
    }
}

#[test]
fn a_directory_whose_making_was_interrupted_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());
    close(open(&options));
    // As it is when the process dies right after FORMAT was written.
    let file = directory.path().join("FORMAT");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("complete = true"));
    assert_eq!(text, std::fs::read_to_string(&file).unwrap());
    let format = crate::read_format(directory.path()).unwrap().unwrap();
    crate::directory::format::write_format(directory.path(), &crate::Format { complete: false, ..format }).unwrap();
    std::fs::remove_dir_all(directory.path().join("live")).unwrap();
    std::fs::remove_dir_all(directory.path().join("wal")).unwrap();
    close(open(&options));
}

#[test]
fn a_snapshot_answers_for_a_limited_time() {
    use crate::view::read::{Read, Scan};
    let directory = tempfile::tempdir().unwrap();
    let store = open(&options(directory.path()));
    let fresh = store.read();
    assert_eq!(fresh.get(&COLD, &(0, 1)), Ok(None));
    let old = fresh.clone().until(Instant::now() - Duration::from_millis(1));
    assert!(old.get(&COLD, &(0, 1)).is_err());
    assert!(old.contains(&COLD, &(0, 1)).is_err());
    assert!(old.scan(&COLD, Scan::all()).is_err());
    drop((fresh, old));
    close(store);
}
