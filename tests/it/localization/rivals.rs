//! What one caller does to others who are at it at the same time: nothing.

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{refused, text};
use crate::support::appliance::{Setup, shared};

/// A JSON file of keys `k0`, `k1`, … from one number to another, whose texts begin so.
fn keys(numbers: std::ops::Range<usize>, begin: &str) -> Vec<u8> {
    let members: Vec<String> = numbers.map(|number| format!("\"k{number}\":\"{begin} {number}\"")).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// Runs `other` again and again on so many threads beside `work`, whose outcome it is.
fn beside<T>(threads: usize, other: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    other();
                }
            });
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn one_reader_of_keys_that_are_gone_stops_nobody() {
    const GONE: usize = 400_000;
    let appliance = Setup::new().start();
    let shelf = Shelf::open(&appliance);
    for first in [0, GONE / 2] {
        shelf.upload("kind=json&path=a.json", &keys(first..first + GONE / 2, "text")).expect(201);
    }
    shelf.upload("kind=json&path=a.json", &keys(GONE..GONE + 1, "last")).expect(201);
    let viewer = shelf.desk.template(&appliance, "viewer", &json!({}));
    let path = shelf.path("/keys");
    let read = || drop(viewer.get(&path).expect(200));
    let ledger = appliance.stranger("ledger");
    let longest = beside(8, read, || {
        let begun = Instant::now();
        let mut longest = Duration::ZERO;
        while begun.elapsed() < Duration::from_secs(4) {
            let asked = Instant::now();
            ledger.get("/healthz").expect(200);
            longest = longest.max(asked.elapsed());
        }
        longest
    });
    assert!(longest < Duration::from_secs(2), "somebody else waited for {longest:?}");
    // And the one key there is is found.
    let page = viewer.get(&path).expect(200);
    assert_eq!((page["keys"].as_array().unwrap().len(), &page["next_cursor"]), (1, &Value::Null));
    assert_eq!(page["keys"][0]["source"], format!("last {GONE}"));
}

#[test]
fn an_upload_gets_through_beside_those_who_translate_without_a_pause() {
    const KEYS: usize = 20_000;
    const LOCALES: [&str; 8] = ["de", "fr", "es", "it", "pl", "pt", "nl", "sv"];
    let shelf = Shelf::open(shared());
    let imported = shelf.upload("kind=json&path=a.json", &keys(0..KEYS, "one")).expect(201);
    let file_id = text(&imported, "file_id");
    let listed = shelf.desk.get(&shelf.path("/keys?limit=500")).expect(200);
    let key_ids: Vec<String> = listed["keys"].as_array().unwrap().iter().map(|key| text(key, "id")).collect();
    let (begun, in_german) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let translate = || {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        let (key_id, locale) = (&key_ids[number / LOCALES.len() % key_ids.len()], LOCALES[number % LOCALES.len()]);
        let answer = shelf.translate(key_id, locale, &json!({"text": number.to_string()}));
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        in_german.fetch_add(usize::from(locale == "de"), Ordering::Relaxed);
    };
    beside(LOCALES.len(), translate, || {
        while begun.load(Ordering::Relaxed) < 200 * LOCALES.len() {
            std::thread::sleep(Duration::from_millis(10));
        }
        for version in 2..=5 {
            let changed = keys(0..KEYS, &version.to_string());
            assert_eq!(shelf.upload("kind=json&path=a.json", &changed).expect(201)["version"], version);
        }
    });
    // The revision counts the version, each writing, and each outdating, once.
    let counted = || {
        let metadata = shelf.export(&file_id, "?locale=de&metadata=true").expect(200);
        let entries = metadata["entries"].as_array().unwrap();
        let outdated = entries.iter().filter(|entry| entry["status"] == "outdated").count() as u64;
        (metadata["revision"].as_u64().unwrap(), outdated)
    };
    let (revision, outdated) = counted();
    let writings = in_german.into_inner() as u64;
    assert!(revision >= 5 + writings + outdated, "{revision} after {writings} writings, {outdated} are outdated");
    for key_id in &key_ids[..10] {
        shelf.translate(key_id, "de", &json!({"text": "anew"})).expect(200);
    }
    let (anew, left) = counted();
    assert_eq!(anew, revision + 10, "one that was outdated stays counted when it is written anew");
    shelf.upload("kind=json&path=a.json", &keys(0..KEYS, "last")).expect(201);
    let (last, all) = counted();
    assert!(left + 10 <= all, "{left} were outdated, and {all} are");
    assert_eq!(last, anew + 1 + (all - left), "none is outdated twice");
}

#[test]
fn a_source_locale_and_a_first_rails_file_agree() {
    let body: Vec<u8> = {
        let lines: String = (0..120_000).map(|number| format!("  k{number}: text {number}\n")).collect();
        format!("en:\n{lines}").into_bytes()
    };
    for round in 0..4 {
        let shelf = Shelf::open(shared());
        let path = shelf.path("/source-locale");
        let (uploaded, set) = std::thread::scope(|scope| {
            let upload = scope.spawn(|| shelf.upload("kind=yaml&profile=rails&path=en.yml", &body));
            // Within the time that the file takes to be read.
            std::thread::sleep(Duration::from_millis(150 + 150 * round));
            let set = shelf.desk.put_if_match(&path, "\"s0\"", &json!({"source_locale": "it"}));
            (upload.join().unwrap(), set)
        });
        match (uploaded.status, set.status) {
            (201, 409) => drop(refused(&set, 409, "conflict")),
            (422, 200) => {
                let problem = refused(&uploaded, 422, "key_invalid");
                assert_eq!((&problem["line"], &problem["column"]), (&json!(1), &json!(1)));
            }
            _ => panic!("a file with root en was answered {uploaded:?}, and source locale it {set:?}"),
        }
    }
}

/// Megabytes that a process keeps in memory of its own.
fn resident_mebibytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn answers_that_nobody_reads_are_not_kept() {
    let appliance = Setup::new().start();
    let shelf = Shelf::open(&appliance);
    // Some 8 MiB a piece: 250 of them whole would be 2 GiB.
    let imported = shelf.upload("kind=json&path=a.json", &keys(0..100_000, &"text ".repeat(13))).expect(201);
    let path = shelf.path(&format!("/files/{}/export", text(&imported, "file_id")));
    let (_, key) = appliance.key(&shelf.desk.tenant_id, &[]);
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nl10n-tenant: {}\r\n\r\n",
        shelf.desk.tenant_id
    );
    let before = resident_mebibytes(appliance.pid());
    let ask = || {
        let mut socket = appliance.connect("localization").unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        socket
    };
    // Some read nearly all of it and then stop; most do not even begin.
    let stopped: Vec<_> = (0..60)
        .map(|_| {
            let mut socket = ask();
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            let mut part = vec![0; 64 << 10];
            let mut left = 7_500_000_usize;
            while let Ok(length @ 1..) = socket.read(&mut part) {
                left = left.saturating_sub(length);
                if left == 0 {
                    break;
                }
            }
            socket
        })
        .collect();
    let unread: Vec<_> = (0..250).map(|_| ask()).collect();
    let mut most = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(12) {
        most = most.max(resident_mebibytes(appliance.pid()));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(most < before + 400, "310 answers that nobody reads take {most} MiB; {before} before");
    // Whoever reads gets his whole.
    let whole = shelf.export(&text(&imported, "file_id"), "");
    assert_eq!(whole.status, 200);
    assert!(whole.text.len() > 8_000_000, "{}", whole.text.len());
    drop((stopped, unread));
}
