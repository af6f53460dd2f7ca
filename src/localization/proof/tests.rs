//! Checkpoints by the clock, anchors in a file, what is found when a directory is put back, exports, and crashes between
//! any two steps.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::clock::Clock;
use quintet_platform::jobs::Job as _;
use quintet_platform::json::{Limits, parse, to_canonical};
use quintet_platform::secrets::{Secret, digest};
use quintet_storage::{Abort, Store, Timestamp, Uuid, WriteTx};
use quintet_support::{OpenStore, rehearsal_of_a_room};
use tempfile::TempDir;

use super::export::{Export, Format};
use super::{Checkpointing, audit_standing, prepare};
use crate::audit::{
    self, AnchorCheck, AnchorFile, ChainCheck, Checkpoint, Event, checkpoints_after, make_key, note_anchored,
    public_key, unanchored, verify_anchors, write_checkpoints,
};
use crate::context::{Context, Settings};
use crate::refusal::Refusal;
use crate::testing::{OTHER, TENANT, actor, bench};

const START_MICROS: i64 = 1_700_000_000_000_000;

/// A room whose checkpoints are made by its clock, and anchored in a file.
struct Room {
    store: OpenStore,
    clock: Clock,
    context: Context,
    file: PathBuf,
    _directories: (TempDir, TempDir),
}

impl Room {
    fn open() -> Room {
        let (directory, store, clock) = rehearsal_of_a_room(crate::TABLES, START_MICROS);
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().join("anchors");
        let foundation = Foundation::new(Store::clone(&store), clock.clone(), Authority::Embedded);
        let settings = Settings { anchor_file: Some(file.clone()), ..Settings::default() };
        let context = Context::with(foundation, settings);
        crate::due_work(&context).into_iter().for_each(|work| clock.register(work));
        clock.attend(&store);
        Room { store, clock, context, file, _directories: (directory, outside) }
    }

    async fn record(&self, count: u64) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let written = self.store.write(deadline, move |tx, now| write_events(tx, now, count));
        written.await.unwrap();
    }

    fn checkpoints(&self) -> Vec<u64> {
        let found = checkpoints_after(&self.store.read(), TENANT, 0, u64::MAX, 100).unwrap();
        found.into_iter().map(|(seq, _)| seq).collect()
    }

    fn anchors(&self) -> AnchorFile {
        AnchorFile::at(&self.file)
    }

    fn faults(&self) -> Vec<String> {
        let (file, read) = (self.anchors(), self.store.read());
        let mut faults = audit::verify(&read).unwrap();
        faults.extend(verify_anchors(&read, &file, file.bytes().unwrap()).unwrap());
        faults
    }
}

fn write_events(tx: &mut WriteTx<'_>, now: Timestamp, count: u64) -> Result<(), Abort<Refusal>> {
    for number in 0..count {
        let event = Event::about("test", "thing", Uuid::from_u128(7)).with([("number", number.into())]);
        audit::record(tx, now, &actor(TENANT), event)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_comes_after_an_hour_or_a_thousand_events() {
    let room = Room::open();
    room.record(3).await;
    room.clock.advance(3_599).await.unwrap();
    assert_eq!(room.checkpoints(), Vec::<u64>::new(), "an hour has not passed since the first event");
    room.clock.advance(1).await.unwrap();
    assert_eq!(room.checkpoints(), [3]);
    room.clock.advance(86_400).await.unwrap();
    assert_eq!(room.checkpoints(), [3], "nothing new has come");
    room.record(1).await;
    room.clock.advance(0).await.unwrap();
    assert_eq!(room.checkpoints(), [3, 4], "more than an hour has passed since the last one");
    room.record(999).await;
    room.clock.advance(0).await.unwrap();
    assert_eq!(room.checkpoints(), [3, 4]);
    room.record(1).await;
    room.clock.advance(0).await.unwrap();
    assert_eq!(room.checkpoints(), [3, 4, 1_004], "a thousand are new");
    room.record(1).await;
    room.clock.advance(3_600).await.unwrap();
    assert_eq!(room.checkpoints(), [3, 4, 1_004, 1_005]);
    let lines = fs::read_to_string(&room.file).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert_eq!(room.faults(), Vec::<String>::new());
    assert_eq!(audit_standing(&room.context).unwrap().waiting, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_written_is_told_and_tried_again() {
    let room = Room::open();
    fs::create_dir(&room.file).unwrap();
    room.record(1).await;
    room.clock.advance(3_600).await.unwrap();
    let standing = audit_standing(&room.context).unwrap();
    assert_eq!((room.checkpoints(), standing.waiting), (vec![1], 1));
    assert!(standing.complaint.is_some());
    fs::remove_dir(&room.file).unwrap();
    // Nothing is wrong with what is still to be written.
    assert_eq!(room.faults(), Vec::<String>::new());
    room.clock.advance(86_400).await.unwrap();
    let standing = audit_standing(&room.context).unwrap();
    assert_eq!((standing.waiting, standing.complaint), (0, None));
    assert_eq!(fs::read_to_string(&room.file).unwrap().lines().count(), 1);
    assert_eq!(room.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_of_an_older_directory_are_taken_up() {
    let room = Room::open();
    room.record(2).await;
    // As before there were checkpoints: nothing is in the agenda.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let forgotten = room.store.write(deadline, |tx, _| Ok::<_, Abort<Refusal>>(audit::forget_due(tx, TENANT)?));
    forgotten.await.unwrap();
    prepare(&room.store).unwrap();
    room.clock.advance(0).await.unwrap();
    assert_eq!(room.checkpoints(), [2]);
    let key = public_key(&room.store.read()).unwrap();
    prepare(&room.store).unwrap();
    assert_eq!(public_key(&room.store.read()).unwrap(), key, "there is one key, for good");
    assert_eq!(room.faults(), Vec::<String>::new());
}

/// A bench with a key and checkpoints after the third and the fifth of six events, anchored in a file.
struct Anchored {
    bench: crate::testing::Bench,
    file: AnchorFile,
    directory: TempDir,
}

impl Anchored {
    fn new() -> Anchored {
        let bench = bench();
        let directory = tempfile::tempdir().unwrap();
        let file = AnchorFile::at(&directory.path().join("anchors"));
        bench.run(|tx, now| Ok(make_key(tx, now, &Secret::new([9; 32]))?)).unwrap();
        let anchored = Anchored { bench, file, directory };
        anchored.record(3);
        anchored.checkpoint();
        anchored.record(2);
        anchored.checkpoint();
        anchored.record(1);
        anchored
    }

    fn record(&self, count: u64) {
        self.bench.run(move |tx, now| write_events(tx, now, count)).unwrap();
    }

    /// Every step but the last, which notes what is on the disk.
    fn checkpoint_unnoted(&self) -> Vec<Checkpoint> {
        self.bench.clock.advance(3_600);
        let name = self.file.name().to_owned();
        self.bench.run(move |tx, now| Ok(write_checkpoints(tx, now, Some(&name), 10)?)).unwrap();
        let some = unanchored(&self.bench.store.read(), 10).unwrap();
        self.file.append(&some).unwrap();
        some
    }

    fn checkpoint(&self) {
        let keys: Vec<_> = self.checkpoint_unnoted().iter().map(|one| (one.tenant_id, one.seq)).collect();
        let name = self.file.name().to_owned();
        self.bench.run(move |tx, _| Ok(note_anchored(tx, &name, &keys)?)).unwrap();
    }

    fn faults(&self) -> Vec<String> {
        let bytes = self.file.bytes().unwrap();
        verify_anchors(&self.bench.store.read(), &self.file, bytes).unwrap()
    }

    /// What is told over HTTP: kinds and numbers.
    fn breaks(&self) -> Vec<(&'static str, u64)> {
        let read = self.bench.store.read();
        let mut chain = ChainCheck::begin(&read, TENANT).unwrap();
        while !chain.step(&read).unwrap() {}
        let bytes = self.file.bytes().unwrap();
        let mut anchors = AnchorCheck::begin(&read, self.file.clone(), Some(TENANT), bytes).unwrap();
        while !anchors.step(&read).unwrap() {}
        let of_anchors = anchors.breaks().into_iter().map(|(_, one)| one);
        chain.found.breaks.0.iter().chain(of_anchors).map(|one| (one.kind.name(), one.seq)).collect()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    /// What the file says.
    fn line_by_line(&self) -> Vec<(u64, String)> {
        let text = fs::read_to_string(self.path()).unwrap();
        let of = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            let point = &json["checkpoint"];
            (point["seq"].as_u64().unwrap(), point["hash"].as_str().unwrap().to_owned())
        };
        text.lines().map(of).collect()
    }
}

#[test]
fn what_nobody_touched_is_sound() {
    let anchored = Anchored::new();
    assert_eq!((anchored.faults(), anchored.breaks()), (vec![], vec![]));
    assert_eq!(audit::verify(&anchored.bench.store.read()), Ok(vec![]));
}

#[test]
fn a_directory_that_was_put_back_is_found() {
    let anchored = Anchored::new();
    let older = quintet_support::copy_of(anchored.bench.directory());
    anchored.record(2);
    anchored.checkpoint();
    let now = anchored.bench.now();
    let Anchored { bench: newer, file, directory } = anchored;
    let back = Anchored { bench: newer.of_copy(older, now), file, directory };
    let faults = back.faults();
    assert!(
        faults.iter().any(|one| one.contains("event 8: is anchored, and the chain ends with event 6")),
        "{faults:?}"
    );
    assert_eq!(back.breaks(), [("anchor", 8)]);
    // A copy that is older by rights.
    let read = back.bench.store.read();
    assert_eq!(verify_anchors(&read, &back.file, 0), Ok(vec![]));
    // It goes on, and past the place, with other events.
    back.bench.clock.advance(5);
    back.record(4);
    assert_eq!(back.breaks(), [("anchor", 8)], "the events there are others");
    back.checkpoint();
    assert_eq!(back.breaks(), [("anchor", 8)], "the finding stays");
    // Under a new file nothing is held against it.
    let renamed = Anchored { file: AnchorFile::at(&back.path().with_extension("new")), ..back };
    assert_eq!(renamed.breaks(), []);
    renamed.record(1);
    renamed.checkpoint();
    assert_eq!((renamed.breaks(), renamed.file.bytes().unwrap() > 0), (vec![], true));
}

#[test]
fn anchors_that_are_missing_or_forged_are_found() {
    let anchored = Anchored::new();
    let lines = fs::read_to_string(anchored.path()).unwrap();
    let (first, second) = lines.split_once('\n').unwrap();
    let at = first.find("\"hash\":\"").unwrap() + 8;
    let digit = if first[at..].starts_with('0') { "1" } else { "0" };
    let other_hash = [&first[..at], digit, &first[at + 1..]].concat();
    /// What is done, by which line of the file, and which breaks are found.
    type Case<'a> = (&'a str, String, &'a [(&'a str, u64)]);
    let cases: &[Case<'_>] = &[
        ("the first is gone", second.to_owned(), &[("anchor", 3)]),
        ("all are gone", String::new(), &[("anchor", 3), ("anchor", 5)]),
        ("what is no anchor is passed over", format!("{first}\n\n{{\"x\":1}}\nnull\n\u{1}\n{second}"), &[]),
        ("twice is as good as once", format!("{lines}{lines}"), &[]),
        ("the last has no end", lines.trim_end().to_owned(), &[("anchor", 5)]),
        ("another hash", format!("{other_hash}\n{second}"), &[("anchor", 3), ("anchor", 3)]),
        ("another instant", lines.replacen("2023-11-14T23", "2023-11-14T22", 1), &[("anchor", 3), ("anchor", 3)]),
        ("above the head", lines.replacen("\"seq\":5", "\"seq\":7", 1), &[("anchor", 5), ("anchor", 7)]),
        ("of no event that has one", lines.replacen("\"seq\":5", "\"seq\":4", 1), &[("anchor", 4), ("anchor", 5)]),
    ];
    for (what, text, expected) in cases {
        fs::write(anchored.path(), text).unwrap();
        let mut found = anchored.breaks();
        found.sort_unstable();
        assert_eq!(found, *expected, "{what}");
    }
    fs::remove_file(anchored.path()).unwrap();
    assert_eq!(anchored.breaks(), [("anchor", 3), ("anchor", 5)]);
    fs::create_dir(anchored.path()).unwrap();
    assert_eq!(anchored.breaks(), [("anchor", 0)], "it cannot be read");
}

#[test]
fn a_crash_between_any_two_steps_leaves_nothing_wrong() {
    let anchored = Anchored::new();
    // The checkpoint is there, its anchor is not.
    anchored.bench.clock.advance(3_600);
    let name = anchored.file.name().to_owned();
    anchored.bench.run(move |tx, now| Ok(write_checkpoints(tx, now, Some(&name), 10)?)).unwrap();
    assert_eq!((anchored.faults(), anchored.breaks()), (vec![], vec![]));
    // A part of the anchor is.
    let line = unanchored(&anchored.bench.store.read(), 10).unwrap()[0].line();
    let before = fs::read_to_string(anchored.path()).unwrap();
    for length in [1, 20, line.len() - 1, line.len()] {
        fs::write(anchored.path(), format!("{before}{}", &line[..length])).unwrap();
        assert_eq!((anchored.faults(), anchored.breaks()), (vec![], vec![]), "{length}");
        let some = unanchored(&anchored.bench.store.read(), 10).unwrap();
        assert_eq!(some.len(), 1);
        anchored.file.append(&some).unwrap();
        // All of it is, and nobody has noted that.
        assert_eq!((anchored.faults(), anchored.breaks()), (vec![], vec![]), "{length}");
    }
    anchored.checkpoint();
    assert_eq!((anchored.faults(), anchored.breaks()), (vec![], vec![]));
    assert_eq!(unanchored(&anchored.bench.store.read(), 10), Ok(vec![]));
}

#[test]
fn what_is_written_while_somebody_looks_is_nothing_wrong() {
    let anchored = Anchored::new();
    let bytes = anchored.file.bytes().unwrap();
    let mut check =
        AnchorCheck::begin(&anchored.bench.store.read(), anchored.file.clone(), Some(TENANT), bytes).unwrap();
    // The event is older than the look, its checkpoint and its anchor are newer; then come newer events, too.
    anchored.checkpoint();
    anchored.record(1);
    anchored.checkpoint();
    while !check.step(&anchored.bench.store.read()).unwrap() {}
    assert_eq!(check.breaks(), []);
    let mut check =
        AnchorCheck::begin(&anchored.bench.store.read(), anchored.file.clone(), Some(TENANT), bytes).unwrap();
    assert!(!check.step(&anchored.bench.store.read()).unwrap());
    anchored.record(1);
    anchored.checkpoint();
    while !check.step(&anchored.bench.store.read()).unwrap() {}
    assert_eq!((check.breaks(), check.verified()), (vec![], 4));
}

/// Whatever happens to a directory, what is found of it is what an operator would say who has written down every anchor.
#[test]
fn directories_that_are_put_back_at_random_are_found_exactly() {
    let seed = std::env::var("QUINTET_AUDIT_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("QUINTET_AUDIT_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..5 {
        let mut now = Anchored::new();
        // What was written into the file: each event that was signed, with its hash.
        let mut noted: Vec<(u64, String)> = now.line_by_line();
        let mut older: Vec<TempDir> = Vec::new();
        for _ in 0..25 {
            match random.u8(..10) {
                0..4 => now.record(random.u64(1..4)),
                4..6 => now.checkpoint(),
                // A crash before it is noted that the anchor is there.
                6 => drop(now.checkpoint_unnoted()),
                7..9 => older.push(quintet_support::copy_of(now.bench.directory())),
                _ if older.is_empty() => {}
                _ => {
                    let place = random.usize(..older.len());
                    let (at, copy) = (now.bench.now(), quintet_support::copy_of(older[place].path()));
                    let Anchored { bench, file, directory } = now;
                    now = Anchored { bench: bench.of_copy(copy, at), file, directory };
                    now.bench.clock.advance(1);
                }
            }
            noted = now.line_by_line();
            let mut expected: Vec<(&str, u64)> = Vec::new();
            for (seq, hash) in &noted {
                let event = audit::events_after(&now.bench.store.read(), TENANT, seq - 1, 1).unwrap();
                let fits = event.first().is_some_and(|(_, row)| data_encoding::HEXLOWER.encode(&row.hash) == *hash);
                let signed = checkpoints_after(&now.bench.store.read(), TENANT, seq - 1, *seq, 1).unwrap();
                match (fits, !signed.is_empty()) {
                    (false, _) => expected.push(("anchor", *seq)),
                    // Put back to between the event and its signature.
                    (true, false) => expected.push(("checkpoint", *seq)),
                    (true, true) => {}
                }
            }
            let mut breaks = now.breaks();
            breaks.sort_unstable();
            expected.sort_unstable();
            assert_eq!(breaks, expected, "seed {seed}");
        }
        assert!(!noted.is_empty());
    }
}

#[test]
fn checkpoints_are_signed_over_canonical_json() {
    let anchored = Anchored::new();
    let read = anchored.bench.store.read();
    let key = public_key(&read).unwrap().unwrap();
    let (seq, row) = checkpoints_after(&read, TENANT, 0, 3, 9).unwrap().remove(0);
    let checkpoint = Checkpoint::of(TENANT, seq, &row);
    let hash = data_encoding::HEXLOWER.encode(&row.hash);
    assert_eq!(
        checkpoint.signed_text(),
        format!(r#"{{"at":"2023-11-14T23:13:20.000000Z","hash":"{hash}","seq":3,"tenant_id":"{}"}}"#, TENANT.0)
    );
    assert!(key.has_signed(&checkpoint.signed_text(), &row.signature));
    assert!(!key.has_signed(&checkpoint.signed_text().replace(":3,", ":4,"), &row.signature));
    let public = data_encoding::HEXLOWER.decode(key.text().as_bytes()).unwrap();
    assert_eq!(key.id_text(), data_encoding::HEXLOWER.encode(&digest(&public))[..16]);
    assert_eq!(checkpoint.line(), fs::read_to_string(anchored.path()).unwrap().lines().next().unwrap());
    let json = parse(checkpoint.line().as_bytes(), Limits::default()).unwrap();
    assert_eq!(to_canonical(&json), checkpoint.line());
}

fn exported(anchored: &Anchored, format: Format, from: u64, to: u64) -> String {
    let mut export = Export::of(TENANT, format, from, to);
    let mut text = String::new();
    while let Some(piece) = export.next(&anchored.bench.store.read()).unwrap() {
        assert!(!piece.is_empty());
        text.push_str(&piece);
    }
    text
}

#[test]
fn exports_have_the_range_and_its_checkpoints() {
    let anchored = Anchored::new();
    let numbers = |from, to| {
        let text = exported(&anchored, Format::Ndjson, from, to);
        let number = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            match json.get("checkpoint") {
                Some(checkpoint) => format!("c{}", checkpoint["seq"]),
                None => json["seq"].to_string(),
            }
        };
        text.lines().map(number).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(numbers(1, 6), "1 2 3 4 5 6 c3 c5");
    assert_eq!(numbers(3, 4), "3 4 c3");
    assert_eq!(numbers(4, 5), "4 5 c5");
    assert_eq!((numbers(5, 4), numbers(7, 9), numbers(1, 0)), (String::new(), String::new(), String::new()));
    let cef = exported(&anchored, Format::Cef, 3, 3);
    let lines: Vec<&str> = cef.lines().collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(lines.len(), 2);
    let begin =
        format!("CEF:0|quintet|localization|{version}|test|test|3|rt=1700000000000 suser={}", Uuid::from_u128(0xabc));
    assert!(lines[0].starts_with(&begin) && lines[0].ends_with(" cn1Label=seq cn1=3"), "{cef}");
    assert!(lines[1].contains("|checkpoint|checkpoint|3|rt=1700003600000 cs1Label=hash cs1="), "{cef}");
    anchored.record(700);
    assert_eq!(numbers(1, 706).split(' ').count(), 708);
    assert_eq!(numbers(2, 251).split(' ').count(), 252);
}

#[test]
fn nobody_gets_anothers_part() {
    let anchored = Anchored::new();
    let read = anchored.bench.store.read();
    assert_eq!(Export::of(OTHER, Format::Ndjson, 1, u64::MAX).next(&read), Ok(None));
    let mut check = AnchorCheck::begin(&read, anchored.file.clone(), Some(OTHER), u64::MAX).unwrap();
    while !check.step(&read).unwrap() {}
    assert_eq!((check.breaks(), check.verified()), (vec![], 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_nothing_waits() {
    let (_directory, store, clock) = rehearsal_of_a_room(crate::TABLES, START_MICROS);
    let context = Context::new(Foundation::new(Store::clone(&store), clock.clone(), Authority::Embedded));
    let job = Arc::new(Checkpointing::new(context.clone()));
    clock.register(Arc::new(quintet_platform::jobs::Sweep(Arc::clone(&job))));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    store.write(deadline, |tx, now| write_events(tx, now, 1)).await.unwrap();
    clock.advance(3_600).await.unwrap();
    assert_eq!(checkpoints_after(&store.read(), TENANT, 0, 9, 9).unwrap().len(), 1);
    assert_eq!(unanchored(&store.read(), 9), Ok(vec![]));
    assert_eq!(job.next_due(), Ok(None));
    assert_eq!(audit_standing(&context).unwrap(), super::AuditStanding::default());
}
