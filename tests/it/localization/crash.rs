//! kill -9 of the real binary during uploads and translations: nothing that was answered is lost, nothing is half there, and
//! whoever asked for it is told of all that happened and of nothing else.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, text};
use crate::support::appliance::{Appliance, Setup, fresh_key, rounds};
use crate::support::receiver::{Arrived, Receiver};

/// Files that are uploaded again and again, each by a caller of its own, and keys of a file that nobody uploads, whose
/// translations are written again and again.
const UPLOADERS: usize = 3;
const TRANSLATORS: usize = 3;
/// Keys of an uploaded file: more than a page of a catalogue, and than one transaction of its chunks.
const KEYS: usize = 3000;

/// Version `version` of a file: every key says so, and one key more with each.
fn content(version: usize) -> String {
    let mut members: Vec<String> =
        (0..KEYS).map(|n| format!("\"key.{n}\":\"{version} of {n} {}\"", "x".repeat(120))).collect();
    members.extend((0..version).map(|n| format!("\"more.{n}\":\"\"")));
    format!("{{{}}}", members.join(",\n"))
}

/// How often each caller was answered so far.
#[derive(Clone, Debug, Default)]
struct Acknowledged {
    versions: [usize; UPLOADERS],
    revisions: [usize; TRANSLATORS],
}

/// Works until the appliance is gone.
fn work(appliance: Appliance, shelf: &Shelf, keys: &[String], known: &mut Acknowledged, patience: Duration) {
    let stop = AtomicBool::new(false);
    let stop = &stop;
    let (versions, revisions) = std::thread::scope(|scope| {
        let uploaders: Vec<_> = (0..UPLOADERS)
            .map(|n| {
                let mut version = known.versions[n];
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let path = shelf.path(&format!("/files?kind=json&path=file{n}.json"));
                        let body = content(version + 1);
                        match shelf.desk.try_send("POST", &path, body.as_bytes()) {
                            Some(answer) if answer.status == 201 => {
                                version = answer.json()["version"].as_u64().unwrap() as usize
                            }
                            _ => break,
                        }
                    }
                    version
                })
            })
            .collect();
        let translators: Vec<_> = (0..TRANSLATORS)
            .map(|n| {
                let mut revision = known.revisions[n];
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let path = format!("/v1/keys/{}/translations/de", keys[n]);
                        let body = json!({"text": format!("revision {}", revision + 1)}).to_string();
                        match shelf.desk.try_send("PUT", &path, body.as_bytes()) {
                            Some(answer) if answer.status < 300 => {
                                revision = answer.json()["revision"].as_u64().unwrap() as usize
                            }
                            _ => break,
                        }
                    }
                    revision
                })
            })
            .collect();
        std::thread::sleep(patience);
        appliance.kill();
        stop.store(true, Ordering::SeqCst);
        let versions: Vec<usize> = uploaders.into_iter().map(|thread| thread.join().unwrap()).collect();
        let revisions: Vec<usize> = translators.into_iter().map(|thread| thread.join().unwrap()).collect();
        (versions, revisions)
    });
    known.versions.copy_from_slice(&versions);
    known.revisions.copy_from_slice(&revisions);
}

/// Holds what is there against what was answered: that, or what was under way as a whole.
fn audit(shelf: &Shelf, keys: &[String], known: &mut Acknowledged, round: usize) {
    let files = shelf.desk.get(&shelf.path("/files")).expect(200)["files"].clone();
    for n in 0..UPLOADERS {
        let name = format!("file{n}.json");
        let Some(file) = files.as_array().unwrap().iter().find(|file| file["path"] == *name) else {
            assert_eq!(known.versions[n], 0, "round {round}: {name} is gone");
            continue;
        };
        let version = file["version"].as_u64().unwrap() as usize;
        let answered = known.versions[n];
        assert!(version == answered || version == answered + 1, "round {round}: {name}: {version} after {answered}");
        assert_eq!(file["keys"], json!(KEYS + version), "round {round}: {name}");
        let exported = shelf.export(&text(file, "file_id"), "");
        assert_eq!(exported.text, content(version), "round {round}: {name}");
        known.versions[n] = version;
    }
    for (n, key) in keys.iter().enumerate() {
        let translation = shelf.translation(key, "de");
        let revision = translation["revision"].as_u64().unwrap() as usize;
        let answered = known.revisions[n];
        assert!(revision == answered || revision == answered + 1, "round {round}: {revision} after {answered}");
        let expected = if revision == 0 { Value::Null } else { json!(format!("revision {revision}")) };
        assert_eq!(translation["text"], expected, "round {round}");
        known.revisions[n] = revision;
    }
}

#[test]
fn nothing_answered_is_lost_and_nothing_is_half_there() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let setup = || Setup::new().on(&data).env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8");
    let (mut appliance, receiver) = (setup().start(), Receiver::start());
    let mut shelf = Shelf::open(&appliance);
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    shelf.json("translated.json", &json!({"a": "A", "b": "B", "c": "C"}));
    let endpoint = json!({"url": receiver.url(204, "told"), "events": ["*"]});
    shelf.desk.post("/v1/webhooks", &endpoint).expect(201);
    let keys = ["a", "b", "c"].map(|path| shelf.key_id(path));
    let mut known = Acknowledged::default();
    for round in 0..rounds {
        work(appliance, &shelf, &keys, &mut known, Duration::from_millis(700 + 131 * (round as u64 % 7)));
        appliance = setup().start();
        let client = appliance.client("localization", &api_key);
        shelf = Shelf { desk: Desk { client, tenant_id: shelf.desk.tenant_id.clone() }, ..shelf };
        audit(&shelf, &keys, &mut known, round);
        assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0), "round {round}");
    }
    let all = known.versions.iter().sum::<usize>() + known.revisions.iter().sum::<usize>();
    assert!(all > rounds * 3, "only {known:?} in {rounds} rounds");
    wait_until_told(&receiver, &keys, &known);
    assert_eq!(appliance.stop(), Some(0));
}

/// Whatever happened is told, if perhaps twice, and nothing else.
fn wait_until_told(receiver: &Receiver, keys: &[String], known: &Acknowledged) {
    let revisions =
        keys.iter().zip(known.revisions).flat_map(|(key, last)| (1..=last).map(move |one| (key.clone(), one)));
    let expected: BTreeSet<(String, usize)> = revisions.collect();
    let uploads = known.versions.iter().sum::<usize>();
    let began = Instant::now();
    loop {
        let bodies: Vec<Value> = receiver.at("told").iter().map(Arrived::body).collect();
        let of = |name: &str| bodies.iter().filter(|body| body["event_type"] == name).collect::<Vec<_>>();
        let told = of("translation").into_iter().map(|body| {
            let key = &body["data"]["keys"][0];
            (text(key, "key_id"), key["revision"].as_u64().unwrap() as usize)
        });
        let told: BTreeSet<(String, usize)> = told.collect();
        assert!(told.is_subset(&expected), "told of what did not happen: {:?}", told.difference(&expected));
        let imports: BTreeSet<String> = of("import").into_iter().map(|body| text(body, "event_id")).collect();
        assert!(imports.len() <= uploads, "{} of {uploads} uploads", imports.len());
        if told == expected && imports.len() == uploads {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{} of {}", told.len(), expected.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Desk {
    /// A request under a fresh Idempotency-Key to an appliance that may go away meanwhile; `None` if no answer came.
    fn try_send(&self, method: &str, path: &str, body: &[u8]) -> Option<crate::support::appliance::Answer> {
        let key = fresh_key();
        let headers = [
            ("l10n-tenant", self.tenant_id.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", key.as_str()),
        ];
        self.client.try_send(method, path, &headers, body).ok()
    }
}

/// Callers that make releases.
const MAKERS: usize = 3;

/// A release under a key: what was answered, if anything was.
type Made = (String, Option<Value>);

/// Makes releases, each under a fresh key, until the appliance is gone: so long after the first was made.
fn make_releases(appliance: Appliance, shelf: &Shelf, patience: Duration) -> Vec<Made> {
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut made = Vec::new();
                    loop {
                        let key = fresh_key();
                        let tenant = ("l10n-tenant", shelf.desk.tenant_id.as_str());
                        let headers = [tenant, ("idempotency-key", key.as_str())];
                        let answer = shelf.desk.client.try_send("POST", &shelf.path("/releases"), &headers, b"").ok();
                        let told = answer.filter(|answer| answer.status == 201).map(|answer| answer.json());
                        let is_over = told.is_none();
                        answered.fetch_add(1, Ordering::SeqCst);
                        made.push((key, told));
                        if is_over {
                            return made;
                        }
                    }
                })
            })
            .collect();
        while answered.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(patience);
        appliance.kill();
        makers.into_iter().flat_map(|maker| maker.join().unwrap()).collect()
    })
}

/// kill -9 while releases are made: each that was answered is there, each under whose key no answer came is made when it is
/// asked for again, once, and nothing is stuck.
#[test]
fn a_release_that_was_cut_off_is_made_under_the_same_key() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let mut shelf = Shelf::open(&appliance);
    // A key of requests is its caller's own, and the same one asks again.
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    let client = appliance.client("localization", &api_key);
    shelf = Shelf { desk: Desk { client, tenant_id: shelf.desk.tenant_id.clone() }, ..shelf };
    shelf.upload("kind=json&path=a.json", content(1).as_bytes()).expect(201);
    shelf.json("b.json", &json!({"b": "B"}));
    for locale in ["de", "fr", "it"] {
        shelf.approve(&shelf.key_id("b"), locale, &json!({"text": locale}));
    }
    let (mut all, mut answered) = (0, 0);
    for round in 0..rounds {
        let made = make_releases(appliance, &shelf, Duration::from_millis(37 * (round as u64 % 16)));
        appliance = Setup::new().on(&data).start();
        let client = appliance.client("localization", &api_key);
        shelf = Shelf { desk: Desk { client, tenant_id: shelf.desk.tenant_id.clone() }, ..shelf };
        all += made.len();
        for (key, told) in made {
            answered += usize::from(told.is_some());
            let again = shelf.release_under(&key).expect(201);
            if let Some(told) = told {
                assert_eq!(again, told, "round {round}: what was answered is what is there");
            }
            let archive = shelf.archive(&again, &[]);
            let sha256 = data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(&archive.bytes));
            assert_eq!((archive.status, json!(sha256)), (200, again["sha256"].clone()), "round {round}");
        }
        let listed = shelf.desk.get(&shelf.path("/releases?limit=500")).expect(200);
        assert_eq!(listed["releases"].as_array().unwrap().len(), all, "round {round}: one for each key");
        assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0), "round {round}");
    }
    assert!(answered >= rounds, "only {answered} of {all} in {rounds} rounds");
    assert_eq!(appliance.stop(), Some(0));
}
