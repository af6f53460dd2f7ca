//! Copies, backups, restores, verification and salvage on RocksDB and the real disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::workload::{COLD, Cell, Content, No, TABLES, check_all};
use crate::copies::backup::{self, CopyError};
use crate::copies::salvage::salvage;
use crate::copies::verify::{Finding, Tables, Verification, Verified};
use crate::error::{Abort, OpenError};
use crate::large;
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::tables::table::TableSpec;
use crate::time::{Lsn, TimeSource, Timestamp};
use crate::view::read::{Read, Scan};

pub(super) const ALL: &[&[TableSpec]] = &[TABLES, large::TABLES];

pub(super) struct Still;
impl TimeSource for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000)
    }
}

pub(super) fn options(path: &Path) -> StoreOptions {
    StoreOptions {
        segment_bytes: 256 << 10,
        flush_log_bytes: 1 << 20,
        copy_window: Duration::from_secs(4),
        disk_reserve_bytes: 0,
        ..StoreOptions::new(path, Arc::new(Still))
    }
}

fn open(path: &Path) -> Store {
    Store::open(options(path), ALL).unwrap()
}

pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Writes rows into one table; what it then holds.
fn fill(store: &Store, rows: std::ops::Range<u16>, bytes: usize) -> Content {
    let mut content = Content::new();
    for row in rows {
        let key = ((row % 3) as u8, row);
        let mut random = fastrand::Rng::with_seed(u64::from(row));
        let value: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(bytes).collect();
        content.insert((1, key), value.clone());
        store.write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &key, &Cell(value))?)).unwrap();
    }
    content
}

/// Ends a store and closes its database, so that the directory can be opened again.
pub(super) fn close(store: Store) {
    store.shutdown();
}

pub(super) fn verify(path: &Path) -> Verified {
    let mut silent = |_: &str, _: u64| {};
    let mut verification = match Verification::begin(path, false, ALL) {
        Ok(verification) => verification,
        Err(error) => {
            let finding = Finding { file: path.into(), offset: None, reason: error.to_string() };
            return Verified { findings: vec![finding], ..Verified::default() };
        }
    };
    verification.check_backup(&mut silent);
    verification.check_log(&mut silent);
    verification.check_checkpoints(&mut silent);
    verification.check_tables(&Tables::Own, &mut silent);
    verification.finish()
}

pub(super) fn copy(from: &Path, to: &Path) {
    let output = Command::new("cp").arg("-a").arg(from).arg(to).output().unwrap();
    // The live tables change under it, which is why a copy is opened from a checkpoint; nothing else may go away.
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().all(|line| line.contains("/live/") && line.ends_with("No such file or directory")), "{said}");
}

/// Every file below a directory.
fn files(place: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Row N holds N; a copy must hold a prefix of them, at least those that were acknowledged before it began.
fn check_rows(store: &Store, at_least: u64) -> u64 {
    let rows = store.read().scan(&COLD, Scan::all()).unwrap();
    let numbers: BTreeMap<u64, ()> =
        rows.iter().map(|(_, cell)| (u64::from_le_bytes(cell.0[..8].try_into().unwrap()), ())).collect();
    let count = numbers.len() as u64;
    assert!(numbers.keys().copied().eq(1..=count), "a row is missing among {count}");
    assert!(count >= at_least, "{at_least} were acknowledged before the copy began, it holds {count}");
    count
}

#[test]
fn copies_taken_while_it_writes_open() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = open(&data);
    let (acknowledged, going) = (AtomicU64::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while going.load(Ordering::SeqCst) {
                number += 1;
                let cell = Cell([&number.to_le_bytes()[..], &[number as u8; 3000]].concat());
                let key = ((number >> 16) as u8, number as u16);
                store.write_blocking(soon(), move |tx, _| Ok::<_, Abort<No>>(tx.put(&COLD, &key, &cell)?)).unwrap();
                acknowledged.store(number, Ordering::SeqCst);
            }
        });
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(if round == 0 { 5 } else { 700 }));
            let before = acknowledged.load(Ordering::SeqCst);
            let place = directory.path().join(format!("copy{round}"));
            // Files below live/ may go while they are copied: cp says so and goes on.
            Command::new("cp").arg("-a").arg(&data).arg(&place).output().unwrap();
            for _ in 0..2 {
                let copy = open(&place);
                check_rows(&copy, before);
                close(copy);
            }
            assert_eq!(verify(&place).findings, [], "round {round}");
        }
        going.store(false, Ordering::SeqCst);
    });
    assert_eq!(store.copy_window().in_force, Duration::from_secs(4));
    assert!(store.copy_window().checkpoints > 1);
    close(store);
    assert_eq!(verify(&data).findings, []);
}

#[test]
fn a_copys_own_tables_are_never_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let (data, place) = (directory.path().join("data"), directory.path().join("copy"));
    let store = open(&data);
    let content = fill(&store, 0..200, 500);
    let id = store.format().directory_id;
    close(store);
    copy(&data, &place);
    // What a copier makes of files that change under it.
    for file in files(&place.join("live")) {
        let mut bytes = fs::read(&file).unwrap();
        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        fs::write(file, bytes).unwrap();
    }
    // And a watermark of another moment.
    fs::write(place.join("wal/WATERMARK"), crate::log::format::encode_watermark(1 << 40, *id.as_bytes())).unwrap();
    let copied = open(&place);
    check_all(&copied.read(), &content).unwrap();
    close(copied);
    // From then on it is an original of its own.
    let again = open(&place);
    check_all(&again.read(), &content).unwrap();
    close(again);
}

#[test]
fn a_copy_without_what_it_needs_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = open(&data);
    fill(&store, 0..1500, 900);
    // Past the window: segments have gone, so the log alone does not do.
    std::thread::sleep(Duration::from_millis(5500));
    fill(&store, 0..300, 900);
    std::thread::sleep(Duration::from_millis(1500));
    close(store);
    assert!(!data.join("wal/0000000000000001.log").exists(), "the log has been cut");
    let spoil = |name: &str, harm: &dyn Fn(&Path)| {
        let place = directory.path().join(name);
        copy(&data, &place);
        harm(&place);
        match Store::open(options(&place), ALL).err() {
            Some(OpenError::Damaged { file, reason, .. }) => {
                assert!(file.starts_with(&place), "{name}: {}", file.display());
                reason
            }
            other => panic!("{name}: {other:?}"),
        }
    };
    let reason = spoil("no checkpoint", &|place| fs::remove_dir_all(place.join("checkpoints")).unwrap());
    assert!(reason.contains("no checkpoint is sound, and the log begins at"), "{reason}");
    let reason = spoil("no log", &|place| fs::remove_dir_all(place.join("wal")).unwrap());
    assert!(reason.contains("segments are gone"), "{reason}");
    let reason = spoil("checkpoints cut", &|place| {
        for file in files(&place.join("checkpoints")) {
            fs::OpenOptions::new().write(true).open(file).unwrap().set_len(3).unwrap();
        }
    });
    assert!(reason.contains("no checkpoint is sound"), "{reason}");
    // A copier that took so long that only an old checkpoint and a young log are there.
    let reason = spoil("too slow", &|place| {
        let mut segments: Vec<PathBuf> = files(&place.join("wal"));
        segments.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
        for segment in &segments[..segments.len() - 1] {
            fs::remove_file(segment).unwrap();
        }
        let mut checkpoints: Vec<PathBuf> =
            fs::read_dir(place.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect();
        checkpoints.sort();
        for checkpoint in &checkpoints[1..] {
            fs::remove_dir_all(checkpoint).unwrap();
        }
    });
    assert!(reason.contains("longer than the copy window"), "{reason}");
    let segment = |place: &Path| {
        let segments =
            files(&place.join("wal")).into_iter().filter(|file| file.extension().is_some_and(|e| e == "log"));
        segments.max().unwrap()
    };
    let reason = spoil("cut segment", &|place| {
        fs::OpenOptions::new().write(true).open(segment(place)).unwrap().set_len(2000).unwrap();
    });
    assert!(reason.contains("cut off"), "{reason}");
}

#[test]
fn a_backup_restores_and_a_damaged_one_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = open(&data);
    let content = fill(&store, 0..400, 800);
    fs::create_dir(data.join("blobs")).unwrap();
    fs::write(data.join("blobs/abc"), "layer").unwrap();
    let key = directory.path().join("root.key");
    fs::write(&key, "key").unwrap();
    let held = store.hold_checkpoint(60).unwrap();
    assert_eq!(held.lsn, 400);
    fill(&store, 1000..1100, 100);
    let destination = directory.path().join("backup");
    let mut told = Vec::new();
    let extra = [(key, "root.key".to_owned())];
    let made = backup::create_backup(&data, &held, &destination, &extra, &mut |what, done, total| {
        told.push((what.to_owned(), done, total));
    });
    assert_eq!(made.unwrap().lsn, 400);
    assert!(told.iter().any(|(what, done, total)| what == "checking" && done == total && *total > 0));
    store.release_checkpoint(held.lsn);
    close(store);
    assert_eq!(verify(&destination).findings, []);
    let again = backup::create_backup(&data, &held, &destination, &extra, &mut |_, _, _| {});
    assert!(matches!(again, Err(CopyError::NotEmpty(_))));

    let restore = |source: &Path, name: &str| {
        let place = directory.path().join(name);
        let restoring = backup::begin_restore(source, &place, None, &mut |_, _, _| {})?;
        let opened = Store::open(options(restoring.place()), ALL).map_err(CopyError::Source)?;
        check_all(&opened.read(), &content).unwrap();
        close(opened);
        assert_eq!(verify(restoring.place()).findings, []);
        restoring.keep()?;
        let opened = open(&place);
        check_all(&opened.read(), &content).unwrap();
        assert_eq!(fs::read(place.join("blobs/abc")).unwrap(), b"layer");
        assert_eq!(fs::read(place.join("root.key")).unwrap(), b"key");
        close(opened);
        Ok::<_, CopyError>(())
    };
    restore(&destination, "restored").unwrap();
    assert!(matches!(restore(&destination, "restored"), Err(CopyError::NotEmpty(_))));
    // Whatever of it is changed or missing is found before anything is made of it.
    for (number, file) in files(&destination).into_iter().enumerate() {
        let sound = fs::read(&file).unwrap();
        if sound.is_empty() {
            continue;
        }
        let mut harmed = sound.clone();
        let at = (number * 37) % harmed.len();
        harmed[at] ^= 0x20;
        fs::write(&file, harmed).unwrap();
        let refused = restore(&destination, "refused");
        assert!(
            matches!(refused, Err(CopyError::Damaged { .. } | CopyError::Source(_))),
            "{}: {refused:?}",
            file.display()
        );
        assert!(!verify_finds_nothing(&destination), "{}", file.display());
        fs::remove_file(&file).unwrap();
        assert!(restore(&destination, "refused").is_err(), "{}", file.display());
        assert!(!directory.path().join("refused").exists() && !directory.path().join("refused.partial").exists());
        fs::write(&file, sound).unwrap();
    }
    restore(&destination, "once more").unwrap();
    // A backup is a data directory: it opens as it is.
    copy(&destination, &directory.path().join("served"));
    let served = open(&directory.path().join("served"));
    check_all(&served.read(), &content).unwrap();
    close(served);
}

fn verify_finds_nothing(place: &Path) -> bool {
    verify(place).findings.is_empty()
}

/// A stopped directory with several table files, checkpoints and log segments, and what it holds.
fn rich_directory(place: &Path) -> (Content, Lsn) {
    let store = open(place);
    let mut content = fill(&store, 0..900, 700);
    store.hold_checkpoint(0).unwrap();
    content.extend(fill(&store, 800..1500, 700));
    store.hold_checkpoint(0).unwrap();
    content.extend(fill(&store, 1400..1600, 700));
    let lsn = store.read().lsn();
    close(store);
    (content, lsn)
}

/// What kind of file one is.
fn kind_of(data: &Path, file: &Path) -> Option<String> {
    let below = file.strip_prefix(data).unwrap();
    let top = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let stem: String = name.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    let kind = match file.extension() {
        Some(extension) if extension == "sst" || extension == "log" => extension.to_string_lossy().into_owned(),
        _ => stem,
    };
    // RocksDB's notes for people, and its lock.
    (fs::metadata(file).unwrap().len() > 0 && kind != "LOG" && kind != "LOCK").then(|| format!("{top} {kind}"))
}

/// What came of a flipped bit; panics if it was a silent wrong answer.
fn outcome_of_flip(data: &Path, file: &Path, content: &Content, lsn: Lsn) -> &'static str {
    let is_found = !verify_finds_nothing(data);
    let store = match Store::open(options(data), ALL) {
        Ok(store) => store,
        Err(OpenError::Io { doing, reason }) => panic!("{}: {doing}: {reason}", file.display()),
        Err(_) => return "refused to start",
    };
    let snapshot = store.read();
    let rows = snapshot.scan(&COLD, Scan::all());
    for (_, key) in content.keys() {
        if let Ok(value) = snapshot.get(&COLD, key) {
            assert_eq!(value.map(|cell| cell.0).as_ref(), content.get(&(1, *key)), "{}", file.display());
        }
    }
    assert_eq!(snapshot.lsn(), lsn, "{}", file.display());
    drop(snapshot);
    close(store);
    let Ok(rows) = rows else {
        assert!(is_found, "{}: verify must find what cannot be read", file.display());
        return "refused to read";
    };
    let rows: Content = rows.into_iter().map(|(key, cell)| ((1, key), cell.0)).collect();
    assert!(rows == *content, "{}: a silent wrong answer", file.display());
    if is_found { "found by verify, right answers" } else { "harmless" }
}

#[test]
fn a_flipped_bit_in_any_file_is_never_a_wrong_answer() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (content, lsn) = rich_directory(&data);
    let flips = std::env::var("QUINTET_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut by_kind: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files(&data) {
        if let Some(kind) = kind_of(&data, &file) {
            by_kind.entry(kind).or_default().push(file);
        }
    }
    assert!(by_kind.len() >= 12, "{by_kind:?}");
    let outcomes = std::sync::Mutex::new(BTreeMap::<(String, &str), usize>::new());
    std::thread::scope(|scope| {
        for (number, (kind, candidates)) in by_kind.iter().enumerate() {
            let (data, content, outcomes, directory) = (&data, &content, &outcomes, directory.path());
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(number as u64);
                for round in 0..flips {
                    let place = directory.join(format!("{number}-{round}"));
                    copy(data, &place);
                    // As if it had always lain here.
                    crate::directory::identity::write(&place).unwrap();
                    let file = candidates[random.usize(..candidates.len())].strip_prefix(data).unwrap();
                    let file = place.join(file);
                    // Segments are mostly zeros: half of the flips go where records are.
                    let length = fs::metadata(&file).unwrap().len() as usize;
                    let reach = if random.bool() { length } else { length.min(4096) };
                    flip(&file, random.usize(..reach), 1 << random.u8(..8));
                    let outcome = outcome_of_flip(&place, &file, content, lsn);
                    *outcomes.lock().unwrap().entry((kind.clone(), outcome)).or_default() += 1;
                    fs::remove_dir_all(&place).unwrap();
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    for ((kind, outcome), count) in &outcomes {
        println!("{kind:24} {count:4} {outcome}");
    }
    assert!(outcomes.keys().any(|(_, outcome)| outcome.starts_with("refused")), "{outcomes:?}");
    assert!(outcomes.keys().any(|(_, outcome)| outcome.starts_with("found")), "{outcomes:?}");
}

/// Changes one byte without making a new file.
fn flip(file: &Path, at: usize, mask: u8) {
    use std::os::unix::fs::FileExt;
    let open = fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    open.read_exact_at(&mut byte, at as u64).unwrap();
    open.write_all_at(&[byte[0] ^ mask], at as u64).unwrap();
}

#[test]
fn lost_and_damaged_tables_are_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (content, _) = rich_directory(&data);
    let current = fs::read_to_string(data.join("live/CURRENT")).unwrap();
    let manifest = data.join("live").join(current.trim());
    type Harm<'a> = (&'a str, &'a dyn Fn());
    let harms: [Harm<'_>; 4] = [
        ("live gone", &|| fs::remove_dir_all(data.join("live")).unwrap()),
        ("CURRENT gone", &|| fs::remove_file(data.join("live/CURRENT")).unwrap()),
        ("MANIFEST gone", &|| drop(fs::remove_file(&manifest))),
        ("MANIFEST garbled", &|| {
            let current = fs::read_to_string(data.join("live/CURRENT")).unwrap();
            let manifest = data.join("live").join(current.trim());
            for at in 0..200 {
                flip(&manifest, at, 0xFF);
            }
        }),
    ];
    for (name, harm) in harms {
        harm();
        let store = open(&data);
        check_all(&store.read(), &content).unwrap();
        close(store);
        assert_eq!(verify(&data).findings, [], "{name}");
    }
}

#[test]
fn salvage_loses_nothing_while_a_checkpoint_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (content, lsn) = rich_directory(&data);
    // Table files that only live/ has, or shares with the newest checkpoint.
    let mut spoiled = 0;
    for file in files(&data.join("live")) {
        use std::os::unix::fs::MetadataExt;
        if file.extension().is_some_and(|extension| extension == "sst") && fs::metadata(&file).unwrap().nlink() <= 2 {
            (0..600).for_each(|at| flip(&file, at, 0xFF));
            spoiled += 1;
        }
    }
    assert!(spoiled > 0);
    assert!(!verify_finds_nothing(&data));
    let saved = directory.path().join("saved");
    let salvaged = salvage(&data, &saved, &[], ALL, &mut |_, _| {}).unwrap();
    assert_eq!(salvaged.lost, []);
    assert_eq!(salvaged.lsn, lsn);
    assert!(salvaged.source.starts_with("checkpoint"), "{}", salvaged.source);
    let store = open(&saved);
    check_all(&store.read(), &content).unwrap();
    fill(&store, 0..3, 10);
    close(store);
    assert_eq!(verify(&saved).findings, []);
}

#[test]
fn salvage_takes_every_readable_row_and_names_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (content, _) = rich_directory(&data);
    fs::remove_dir_all(data.join("checkpoints")).unwrap();
    let mut segments = files(&data.join("wal"));
    segments.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    for segment in &segments[..segments.len() - 1] {
        fs::remove_file(segment).unwrap();
    }
    let largest = files(&data.join("live")).into_iter().filter(|file| file.extension().is_some_and(|e| e == "sst"));
    let largest = largest.max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    let middle = fs::metadata(&largest).unwrap().len() as usize / 2;
    flip(&largest, middle, 0x01);
    let saved = directory.path().join("saved");
    let salvaged = salvage(&data, &saved, &[], ALL, &mut |_, _| {}).unwrap();
    assert!(!salvaged.lost.is_empty());
    let store = open(&saved);
    let rows = store.read().scan(&COLD, Scan::all()).unwrap();
    let lost = content.len() - rows.len();
    assert!((1..40).contains(&lost), "{lost} of {} rows lost: {:?}", content.len(), salvaged.lost);
    for (key, cell) in rows {
        assert_eq!(content.get(&(1, key)), Some(&cell.0));
    }
    close(store);
    assert!(fs::read_to_string(saved.join("SALVAGE")).unwrap().contains("cold"));
}

#[test]
fn salvage_keeps_the_state_before_a_damaged_place_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = open(&data);
    fill(&store, 0..100, 400);
    close(store);
    // Neither tables nor checkpoints: only the log, with a hole.
    fs::remove_dir_all(data.join("live")).unwrap();
    fs::remove_dir_all(data.join("checkpoints")).unwrap();
    let segment = data.join("wal/0000000000000001.log");
    flip(&segment, 30_000, 0x10);
    match Store::open(options(&data), ALL).err() {
        Some(OpenError::Damaged { offset, .. }) => assert!((28_000..=30_000).contains(&offset), "{offset}"),
        other => panic!("{other:?}"),
    }
    let saved = directory.path().join("saved");
    let salvaged = salvage(&data, &saved, &[], ALL, &mut |_, _| {}).unwrap();
    assert!((50..65).contains(&salvaged.lsn), "{}", salvaged.lsn);
    assert!(salvaged.lost[0].reason.contains("is lost"), "{:?}", salvaged.lost);
    let store = open(&saved);
    assert_eq!(store.read().scan(&COLD, Scan::all()).unwrap().len() as u64, salvaged.lsn);
    close(store);
}
