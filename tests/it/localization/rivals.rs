//! What one caller does to others who are at it at the same time: nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};

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

/// An upload of a rails file that has arrived but for its last byte, so that it is known when the server can begin to read
/// it: it looks at the project only once the file is whole.
struct Held {
    shelf: Shelf,
    socket: TcpStream,
    last: u8,
}

impl Held {
    fn open(appliance: &Appliance, body: &[u8]) -> Held {
        let shelf = Shelf::open(appliance);
        let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
        let (last, most) = body.split_last().unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {api_key}\r\n\
             l10n-tenant: {}\r\nidempotency-key: {}\r\ncontent-type: application/octet-stream\r\n\
             content-length: {}\r\n\r\n",
            shelf.path("/files?kind=yaml&profile=rails&path=en.yml"),
            shelf.desk.tenant_id,
            fresh_key(),
            body.len()
        );
        let mut socket = appliance.connect("localization").unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(most).unwrap();
        Held { shelf, socket, last: *last }
    }

    /// Lets the last byte go; what is answered, and when.
    fn go(&self) -> (Answer, Instant) {
        let mut socket = &self.socket;
        socket.write_all(&[self.last]).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let answered = Instant::now();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let headers = fields.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        (Answer { status, headers, text: body.to_owned(), bytes: body.as_bytes().to_vec() }, answered)
    }
}

#[test]
fn a_source_locale_and_a_first_rails_file_agree() {
    /// When the locale is set, in parts of the time that a file takes; again and again, for a busy machine may be late.
    const MOMENTS: [f64; 5] = [0.5, 0.3, 0.7, 0.2, 0.6];
    const ROUNDS_MAX: usize = 20;
    let body: Vec<u8> = {
        let lines: String = (0..120_000).map(|number| format!("  k{number}: text {number}\n")).collect();
        format!("en:\n{lines}").into_bytes()
    };
    let alone = Held::open(shared(), &body);
    let begun = Instant::now();
    let (uploaded, answered) = alone.go();
    assert_eq!(uploaded.status, 201, "{uploaded:?}");
    let takes = answered - begun;
    let mut told = Vec::new();
    // A file that was too late is refused at its first line, at once. One that goes on being read while the locale is
    // set, and is refused at its end, is what this is about.
    let is_beside = MOMENTS.iter().cycle().take(ROUNDS_MAX).any(|moment| {
        let held = Held::open(shared(), &body);
        let (desk, path) = (&held.shelf.desk, held.shelf.path("/source-locale"));
        let ((uploaded, answered), set, was_set) = std::thread::scope(|scope| {
            let upload = scope.spawn(|| held.go());
            std::thread::sleep(takes.mul_f64(*moment));
            let set = desk.put_if_match(&path, "\"s0\"", &json!({"source_locale": "it"}));
            let was_set = Instant::now();
            (upload.join().unwrap(), set, was_set)
        });
        let went_on = answered.saturating_duration_since(was_set);
        told.push((uploaded.status, went_on));
        match (uploaded.status, set.status) {
            (201, 409) => drop(refused(&set, 409, "conflict")),
            (422, 200) => {
                let problem = refused(&uploaded, 422, "key_invalid");
                assert_eq!((&problem["line"], &problem["column"]), (&json!(1), &json!(1)));
            }
            _ => panic!("a file with root en was answered {uploaded:?}, and source locale it {set:?}"),
        }
        uploaded.status == 422 && went_on > takes / 4
    });
    assert!(is_beside, "no locale was set while a file was read, which takes {takes:?}: {told:?}");
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
