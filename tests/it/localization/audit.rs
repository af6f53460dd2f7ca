//! The audit chain from outside: listed, exported, verified; checkpoints, their key and their anchors; what is found of
//! chains that somebody wrote in, and of directories that somebody put back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use quintet_platform::clock::Clock;
use quintet_storage::bincode::{Decode, Encode};
use quintet_storage::{Abort, Failure, Family, Read as _, Row, Store, StoreOptions, Table, Timestamp, Uuid, WriteTx};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Appliance, Setup, quintet, say_skipped, shared, stderr, stdout};
use crate::support::contract::faults;

/// All that is shown of an event.
const MEMBERS: [&str; 10] = [
    "seq",
    "event_id",
    "occurred_at",
    "actor_kind",
    "actor_id",
    "action",
    "target_type",
    "target_id",
    "hash",
    "prev_hash",
];

fn numbers(page: &Value) -> Vec<u64> {
    page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

/// The hash that anybody would make of an event.
fn hash_of(event: &Value) -> String {
    let mut event = event.clone();
    event.as_object_mut().unwrap().remove("hash");
    // Members of this type are in their order.
    HEXLOWER.encode(&Sha256::digest(event.to_string().as_bytes()))
}

#[test]
fn events_are_listed_behind_a_number() {
    let desk = Desk::open(shared());
    let begin = desk.get("/v1/audit/events").expect(200);
    let before = begin["next_after_seq"].as_u64().unwrap();
    let project = desk.project();
    let path = format!("/v1/projects/{}", text(&project, "id"));
    desk.json("PATCH", &path, &json!({"name": "Other"})).expect(200);
    let page = desk.get(&format!("/v1/audit/events?after_seq={before}")).expect(200);
    assert_eq!(numbers(&page), [before + 1, before + 2, before + 3]);
    assert_eq!(page["next_after_seq"], before + 3);
    let actions: Vec<&str> =
        page["events"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["workspace.create", "project.create", "project.update"]);
    let document = desk.get("/openapi.json").json();
    let schema = json!({"$ref": "#/components/schemas/AuditEventPage"});
    assert_eq!(faults(&document, &schema, &page, "page"), Vec::<String>::new());
    let all = desk.get("/v1/audit/events?limit=500").expect(200);
    let mut prev_hash = json!("0".repeat(64));
    for event in all["events"].as_array().unwrap() {
        assert!(MEMBERS.iter().all(|name| event.get(name).is_some()), "{event}");
        assert_eq!(event["hash"], hash_of(event), "{event}");
        assert_eq!(event["prev_hash"], prev_hash, "{event}");
        prev_hash = event["hash"].clone();
    }
    // A page is as long as it may be, and behind the end there is none.
    let page = desk.get(&format!("/v1/audit/events?limit=2&after_seq={before}")).expect(200);
    assert_eq!((numbers(&page), &page["next_after_seq"]), (vec![before + 1, before + 2], &json!(before + 2)));
    let page = desk.get("/v1/audit/events?after_seq=9007199254740993").expect(200);
    assert_eq!(page, json!({"events": [], "next_after_seq": 9_007_199_254_740_993_u64}));
    // Others have a chain of their own.
    let other = Desk::open(shared());
    other.workspace();
    let page = other.get("/v1/audit/events").expect(200);
    let ids: Vec<&Value> = page["events"].as_array().unwrap().iter().map(|event| &event["event_id"]).collect();
    assert!(!all["events"].as_array().unwrap().iter().any(|event| ids.contains(&&event["event_id"])));
}

#[test]
fn parameters_and_permissions() {
    let desk = Desk::open(shared());
    let project = desk.project();
    let auditor = desk.template(shared(), "org_auditor", &json!({}));
    let stranger = desk.template(shared(), "project_manager", &json!({"project_id": project["id"]}));
    for path in
        ["/v1/audit/events", "/v1/audit/export?format=ndjson", "/v1/audit/export?format=cef", "/v1/audit/verify"]
    {
        assert_eq!(auditor.get(path).status, 200, "{path}");
        refused(&stranger.get(path), 403, "forbidden");
        refused(
            &Desk { client: shared().stranger("localization"), tenant_id: desk.tenant_id.clone() }.get(path),
            401,
            "unauthenticated",
        );
        let separator = if path.contains('?') { '&' } else { '?' };
        // What the query says is judged before what the caller may.
        refused(&stranger.get(&format!("{path}{separator}colour=red")), 400, "unknown_parameter");
        assert_eq!(desk.send("HEAD", path, &[], b"").status, 200, "{path}");
        refused(&desk.send("DELETE", path, &[], b""), 405, "method_not_allowed");
    }
    for (path, field) in [
        ("events?limit=0", "limit"),
        ("events?limit=501", "limit"),
        ("events?limit=x", "limit"),
        ("events?after_seq=-1", "after_seq"),
        ("events?after_seq=1.5", "after_seq"),
        ("events?after_seq=9223372036854775808", "after_seq"),
        ("export", "format"),
        ("export?format=", "format"),
        ("export?format=NDJSON", "format"),
        ("export?format=json", "format"),
        ("export?format=cef&from_seq=0", "from_seq"),
        ("export?format=cef&to_seq=0", "to_seq"),
        ("export?format=cef&to_seq=last", "to_seq"),
        ("export?format=cef&format=cef", "format"),
    ] {
        let problem = refused(&stranger.get(&format!("/v1/audit/{path}")), 400, "invalid_parameter");
        assert_eq!(problem["field"], field, "{path}");
    }
    refused(&desk.get("/v1/audit"), 404, "not_found");
}

#[test]
fn a_range_is_exported() {
    let desk = Desk::open(shared());
    desk.project();
    let all = desk.get("/v1/audit/events").expect(200);
    let head = all["next_after_seq"].as_u64().unwrap();
    let export = |query: &str| desk.get(&format!("/v1/audit/export?format={query}"));
    let answer = export("ndjson");
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"));
    let lines: Vec<Value> = answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&lines, all["events"].as_array().unwrap(), "as they are listed");
    assert!(answer.text.ends_with('\n'));
    for (query, expected) in [
        (format!("from_seq={head}"), vec![head]),
        ("to_seq=1".into(), vec![1]),
        ("from_seq=2&to_seq=2".into(), vec![2]),
        (format!("from_seq={head}&to_seq=99999"), vec![head]),
        ("from_seq=2&to_seq=1".into(), vec![]),
        ("from_seq=99999".into(), vec![]),
    ] {
        let answer = export(&format!("ndjson&{query}"));
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
        assert_eq!(answer.text.lines().map(of).collect::<Vec<_>>(), expected, "{query}");
    }
    let answer = export("cef&from_seq=1&to_seq=2");
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain"));
    let expected: Vec<String> = all["events"].as_array().unwrap()[..2]
        .iter()
        .map(|event| {
            let action = text(event, "action");
            let at = quintet_platform::clock::parse_rfc3339(&text(event, "occurred_at")).unwrap();
            format!(
                "CEF:0|quintet|localization|{}|{action}|{action}|3|rt={} suser={} externalId={} cs1Label=hash cs1={} \
                 cs2Label=prev_hash cs2={} cn1Label=seq cn1={}",
                env!("CARGO_PKG_VERSION"),
                at.as_micros() / 1_000,
                text(event, "actor_id"),
                text(event, "event_id"),
                text(event, "hash"),
                text(event, "prev_hash"),
                event["seq"],
            )
        })
        .collect();
    assert_eq!(answer.text.lines().collect::<Vec<_>>(), expected);
}

/// A rehearsal whose checkpoints are anchored in a file beside its directory.
struct Anchored {
    parent: tempfile::TempDir,
}

impl Anchored {
    fn new() -> Anchored {
        Anchored { parent: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    fn setup(&self, anchors: &str) -> Setup {
        let file = self.path(anchors);
        Setup::new().on(&self.path("data")).rehearsal().env("QUINTET_AUDIT__ANCHOR_FILE", file.to_str().unwrap())
    }

    fn start(&self) -> Appliance {
        self.setup("anchors").start()
    }

    fn copy(&self, from: &str, to: &str) {
        let copied = Command::new("cp").arg("-a").arg(self.path(from)).arg(self.path(to)).status().unwrap();
        assert!(copied.success());
    }

    /// `quintet verify` with an anchor file.
    fn verify(&self, anchors: &str, data: &str) -> Output {
        let file = self.path(anchors);
        let mut command = quintet();
        command
            .arg("verify")
            .arg("--data")
            .arg(self.path(data))
            .env("QUINTET_AUDIT__ANCHOR_FILE", file)
            .output()
            .unwrap()
    }
}

fn advance(appliance: &Appliance, seconds: &str) {
    appliance.cli_json(&["clock", "advance", seconds]);
}

fn verified(desk: &Desk) -> Value {
    let found = desk.get("/v1/audit/verify").expect(200);
    let document = desk.get("/openapi.json").json();
    let schema = json!({"$ref": "#/components/schemas/AuditVerify"});
    assert_eq!(faults(&document, &schema, &found, "found"), Vec::<String>::new());
    found
}

fn kinds(found: &Value) -> Vec<(String, u64)> {
    let breaks = found["breaks"].as_array().unwrap().iter();
    breaks.map(|one| (text(one, "kind"), one["seq"].as_u64().unwrap())).collect()
}

#[test]
fn checkpoints_are_made_by_the_hour_and_anchored() {
    let place = Anchored::new();
    let appliance = place.start();
    let desk = Desk::open(&appliance);
    desk.project();
    let head = desk.get("/v1/audit/events").expect(200)["next_after_seq"].as_u64().unwrap();
    let nothing_yet = json!({
        "events": head, "breaks": [], "checkpoints_verified": 0, "anchors_verified": 0, "head_seq": head,
        "residual_tail": head,
    });
    assert_eq!(verified(&desk), nothing_yet);
    advance(&appliance, "3600");
    desk.workspace();
    let found = verified(&desk);
    assert_eq!((&found["checkpoints_verified"], &found["anchors_verified"]), (&json!(1), &json!(1)));
    assert_eq!((&found["residual_tail"], &found["breaks"]), (&json!(1), &json!([])));
    // The export ends with what the file has.
    let export = desk.get("/v1/audit/export?format=ndjson").text;
    let anchors = fs::read_to_string(place.path("anchors")).unwrap();
    assert_eq!(export.lines().last(), anchors.lines().next());
    let checkpoint: Value = serde_json::from_str(export.lines().last().unwrap()).unwrap();
    let key = appliance.cli_json(&["audit", "key"]);
    let hash = &desk.get(&format!("/v1/audit/events?after_seq={}&limit=1", head - 1)).expect(200)["events"][0]["hash"];
    let point = &checkpoint["checkpoint"];
    assert_eq!((&point["seq"], &point["hash"], &point["key_id"]), (&json!(head), hash, &key["key_id"]));
    assert_eq!(point["tenant_id"], desk.tenant_id.as_str());
    let none = desk.get(&format!("/v1/audit/export?format=ndjson&to_seq={}", head - 1)).text;
    assert!(!none.contains("checkpoint"), "{none}");
    let cef = desk.get(&format!("/v1/audit/export?format=cef&from_seq={head}&to_seq={head}")).text;
    assert!(cef.lines().nth(1).is_some_and(|line| line.contains("|checkpoint|checkpoint|3|rt=")), "{cef}");
    // Another tenant is none of it.
    let other = Desk::open(&appliance);
    let found = verified(&other);
    assert_eq!((&found["anchors_verified"], &found["checkpoints_verified"]), (&json!(0), &json!(0)));
    let out = place.verify("anchors", "data");
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stdout(&out).contains("anchors"), "{}", stdout(&out));
}

#[test]
fn the_key_is_made_once_and_told_to_whoever_runs_the_appliance() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let made = quintet().arg("init").arg("--data").arg(&data).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let appliance = Setup::new().on(&data).start();
    let key = appliance.cli_json(&["audit", "key"]);
    let public = text(&key, "public_key");
    let bytes = HEXLOWER.decode(public.as_bytes()).unwrap();
    assert_eq!(text(&key, "key_id"), HEXLOWER.encode(&Sha256::digest(&bytes))[..16]);
    let pem = stdout(&appliance.cli(&["audit", "key"]));
    assert_eq!(pem, text(&key, "pem"));
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA"), "{pem}");
    // It was there before the first start.
    let made_at = text(&key, "made_at");
    assert!(made_at < text(&appliance.cli_json(&["status"]), "started_at"), "{made_at}");
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).start();
    assert_eq!(appliance.cli_json(&["audit", "key"]), key);
    let other = Setup::new().start();
    assert_ne!(other.cli_json(&["audit", "key"])["public_key"], key["public_key"]);
}

/// The script of the manual.
fn script() -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/manual/localization.md")).unwrap();
    let (_, script) = page.split_once("cat >check-export.py <<'END'\n").unwrap();
    script.split_once("\nEND\n").unwrap().0.to_owned()
}

#[test]
fn the_script_of_the_manual_checks_an_export() {
    if ["python3", "openssl"].iter().any(|name| Command::new(name).arg("version").output().is_err()) {
        say_skipped("there is no python3 or openssl to check an export with");
        return;
    }
    let appliance = Setup::new().rehearsal().start();
    let desk = Desk::open(&appliance);
    desk.project();
    advance(&appliance, "3600");
    desk.project();
    advance(&appliance, "3600");
    desk.workspace();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("check.py"), script()).unwrap();
    fs::write(path("audit.pem"), stdout(&appliance.cli(&["audit", "key"]))).unwrap();
    fs::write(path("other.pem"), stdout(&Setup::new().start().cli(&["audit", "key"]))).unwrap();
    let check = |key: &str, export: &str| {
        fs::write(path("export.ndjson"), export).unwrap();
        let mut command = Command::new("python3");
        command.arg(path("check.py")).arg(path(key)).arg(path("export.ndjson")).output().unwrap()
    };
    let export = desk.get("/v1/audit/export?format=ndjson").text;
    let events = export.lines().count() - 2;
    let signed = events - 1;
    let sound = check("audit.pem", &export);
    assert_eq!(
        stdout(&sound),
        format!("{events} events and 2 checkpoints are sound; the last that is signed: {signed}\n"),
        "{}",
        stderr(&sound)
    );
    let part = desk.get("/v1/audit/export?format=ndjson&from_seq=3").text;
    assert_eq!(check("audit.pem", &part).status.code(), Some(0), "a part of it has no beginning");
    let lines: Vec<&str> = export.lines().collect();
    let without = |place: usize| {
        let mut lines = lines.clone();
        lines.remove(place);
        lines.join("\n")
    };
    let first = &lines[0];
    let forged = {
        let mut event: Value = serde_json::from_str(first).unwrap();
        event["actor_id"] = json!("ffffffff-ffff-ffff-ffff-ffffffffffff");
        event["hash"] = json!(hash_of(&event));
        std::iter::once(event.to_string())
            .chain(lines[1..].iter().map(ToString::to_string))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let forged_last = {
        let mut event: Value = serde_json::from_str(lines[signed - 1]).unwrap();
        event["target_id"] = json!("x");
        event["hash"] = json!(hash_of(&event));
        let mut all: Vec<String> = lines.iter().map(ToString::to_string).collect();
        all[signed - 1] = event.to_string();
        all.remove(events - 1);
        all.join("\n")
    };
    for (what, key, export, expected) in [
        (
            "a word is changed",
            "audit.pem",
            export.replacen("project.create", "project.delete", 1),
            "is not what its hash says",
        ),
        ("one is gone", "audit.pem", without(2), "does not continue event 2"),
        ("the first is gone and another takes its place", "audit.pem", forged, "does not continue event 1"),
        ("the last signed one is another", "audit.pem", forged_last, "the checkpoint of event"),
        ("another key", "other.pem", export.clone(), "the checkpoint of event"),
        (
            "another instant",
            "audit.pem",
            lines.join("\n").replace("\"checkpoint\":{\"at\":\"20", "\"checkpoint\":{\"at\":\"19"),
            "the checkpoint of event",
        ),
    ] {
        let out = check(key, &export);
        assert_eq!(out.status.code(), Some(1), "{what}: {}", stdout(&out));
        assert!(stderr(&out).contains(expected), "{what}: {}", stderr(&out));
    }
}

#[test]
fn a_directory_that_was_put_back_is_found() {
    let place = Anchored::new();
    let appliance = place.start();
    let desk = Desk::open(&appliance);
    let api_key = appliance.key(&desk.tenant_id, &[]).1;
    desk.project();
    advance(&appliance, "3600");
    let backup = place.path("backup");
    let made = appliance.cli(&["backup", "create", backup.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert_eq!(appliance.stop(), Some(0));
    place.copy("data", "older");
    let appliance = place.start();
    let desk = Desk { client: appliance.client("localization", &api_key), ..desk };
    desk.project();
    advance(&appliance, "3600");
    let head = verified(&desk)["head_seq"].as_u64().unwrap();
    assert_eq!(verified(&desk)["anchors_verified"], 2);
    assert_eq!(appliance.stop(), Some(0));
    let out = place.verify("anchors", "data");
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let out = place.verify("anchors", "backup");
    assert_eq!(out.status.code(), Some(0), "a backup is older by rights: {}", stderr(&out));

    fs::remove_dir_all(place.path("data")).unwrap();
    place.copy("older", "data");
    let out = place.verify("anchors", "data");
    assert_eq!(out.status.code(), Some(4), "{}", stdout(&out));
    assert!(stderr(&out).contains("is anchored, and the chain ends with event"), "{}", stderr(&out));
    assert!(stderr(&out).contains("audit.anchor_file"), "what to do is told: {}", stderr(&out));
    let appliance = place.start();
    let desk = Desk { client: appliance.client("localization", &api_key), ..desk };
    assert_eq!(kinds(&verified(&desk)), [("anchor".to_owned(), head)]);
    let running = appliance.cli(&["verify"]);
    assert_eq!(running.status.code(), Some(4), "the running one says where its anchors are: {}", stdout(&running));
    // Whoever goes on past the place does so with other events.
    (0..3).for_each(|_| drop(desk.project()));
    advance(&appliance, "3600");
    assert_eq!(kinds(&verified(&desk)), [("anchor".to_owned(), head)]);
    assert_eq!(appliance.stop(), Some(0));
    // The operator has put it back himself, and says so.
    let appliance = place.setup("new-anchors").start();
    let desk = Desk { client: appliance.client("localization", &api_key), ..desk };
    desk.project();
    advance(&appliance, "3600");
    let found = verified(&desk);
    assert_eq!((kinds(&found), &found["anchors_verified"]), (vec![], &json!(1)));
    assert_eq!(appliance.stop(), Some(0));
    assert_eq!(place.verify("new-anchors", "data").status.code(), Some(0));
}

#[test]
fn anchors_that_could_not_be_written_are_told_and_written_later() {
    let place = Anchored::new();
    fs::create_dir(place.path("anchors")).unwrap();
    let appliance = place.start();
    let desk = Desk::open(&appliance);
    let api_key = appliance.key(&desk.tenant_id, &[]).1;
    desk.project();
    advance(&appliance, "3600");
    let found = verified(&desk);
    assert_eq!(kinds(&found), [("anchor".to_owned(), 0)], "it cannot be read either");
    let status = appliance.cli_json(&["status"]);
    assert_eq!(status["audit"]["anchors_waiting"], 1);
    let warnings = status["warnings"].to_string();
    assert!(warnings.contains("Audit checkpoints cannot be anchored in"), "{warnings}");
    let metrics = appliance.stranger("operations").get("/metrics").text;
    for line in ["quintet_localization_anchors_waiting 1.0", "quintet_localization_anchors_failing 1.0"] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let doctor = appliance.cli(&["doctor"]);
    assert!(stdout(&doctor).contains("Audit checkpoints cannot be anchored in"), "{}", stdout(&doctor));
    appliance.kill();
    fs::remove_dir(place.path("anchors")).unwrap();
    let out = place.verify("anchors", "data");
    assert_eq!(out.status.code(), Some(0), "what is still to be written is not missing: {}", stderr(&out));
    // After the start it is written, and nothing needs to be due for that.
    let appliance = place.start();
    let desk = Desk { client: appliance.client("localization", &api_key), ..desk };
    advance(&appliance, "0");
    let found = verified(&desk);
    assert_eq!((kinds(&found), &found["anchors_verified"]), (vec![], &json!(1)));
    assert_eq!(appliance.cli_json(&["status"])["audit"]["anchors_waiting"], 0);
    // Whoever takes a line out of it is found.
    fs::write(place.path("anchors"), "").unwrap();
    let head = found["head_seq"].as_u64().unwrap();
    assert_eq!(kinds(&verified(&desk)), [("anchor".to_owned(), head)]);
}

/// Rows as they lie in the store, written to past the rules.
#[derive(Clone, Debug, Encode, Decode)]
#[bincode(crate = "quintet_storage::bincode")]
struct EventRow {
    event_id: [u8; 16],
    occurred_at: Timestamp,
    actor_kind: Kind,
    actor_id: [u8; 16],
    action: String,
    target_type: String,
    target_id: String,
    payload: String,
    request_id: String,
    prev_hash: [u8; 32],
    hash: [u8; 32],
}
impl Row for EventRow {}

#[derive(Clone, Copy, Debug, Encode, Decode)]
#[bincode(crate = "quintet_storage::bincode")]
enum Kind {
    System,
    Member,
    ServiceAccount,
}

const EVENTS: Table<(Uuid, u64), EventRow> =
    Table::new(0x0310, Family::named("localization"), "localization_audit_events");

/// For its keys alone.
const CHECKPOINTS: Table<(Uuid, u64), EventRow> =
    Table::new(0x0313, Family::named("localization"), "localization_audit_checkpoints");

/// Writes into a stopped directory of a rehearsal.
fn tamper(data: &Path, deed: impl FnOnce(&mut WriteTx<'_>) -> Result<(), Failure> + Send + 'static) {
    let options = StoreOptions { rehearsal: true, ..StoreOptions::new(data, Arc::new(Clock::system())) };
    let store = Store::open(options, quintet::app::TABLES).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let written: Result<(), Abort<std::convert::Infallible>> = store.write_blocking(deadline, |tx, _| Ok(deed(tx)?));
    written.unwrap();
    store.shutdown();
}

#[test]
fn whatever_is_done_to_a_chain_is_found() {
    let place = Anchored::new();
    let appliance = place.start();
    let desk = Desk::open(&appliance);
    let api_key = appliance.key(&desk.tenant_id, &[]).1;
    (0..3).for_each(|_| drop(desk.project()));
    advance(&appliance, "3600");
    desk.project();
    let head = verified(&desk)["head_seq"].as_u64().unwrap();
    let last_signed = head - 2;
    assert_eq!(appliance.stop(), Some(0));
    place.copy("data", "sound");
    let tenant_id: Uuid = desk.tenant_id.parse().unwrap();
    type Deed = fn(&mut WriteTx<'_>, Uuid, u64) -> Result<(), Failure>;
    let change: Deed = |tx, tenant_id, seq| {
        let mut row = tx.get(&EVENTS, &(tenant_id, seq))?.unwrap();
        (row.target_id, row.actor_kind) = ("another".into(), Kind::Member);
        tx.put(&EVENTS, &(tenant_id, seq), &row)
    };
    let remove: Deed = |tx, tenant_id, seq| {
        tx.delete(&EVENTS, &(tenant_id, seq));
        Ok(())
    };
    let rehash: Deed = |tx, tenant_id, seq| {
        let mut row = tx.get(&EVENTS, &(tenant_id, seq))?.unwrap();
        row.hash = [7; 32];
        tx.put(&EVENTS, &(tenant_id, seq), &row)
    };
    let add: Deed = |tx, tenant_id, seq| {
        let row = tx.get(&EVENTS, &(tenant_id, seq))?.unwrap();
        tx.put(&EVENTS, &(tenant_id, seq + 1), &EventRow { prev_hash: row.hash, ..row })
    };
    /// What was done, how, to which event, and which breaks are found.
    type Case = (&'static str, Deed, u64, Vec<(&'static str, u64)>);
    let forget: Deed = |tx, tenant_id, seq| {
        tx.delete(&CHECKPOINTS, &(tenant_id, seq));
        Ok(())
    };
    let cases: [Case; 7] = [
        // The head knows of it, and so does the anchor.
        ("a checkpoint removed", forget, last_signed, vec![("checkpoint", last_signed), ("checkpoint", last_signed)]),
        ("changed", change, 2, vec![("hash", 2)]),
        ("removed", remove, 2, vec![("gap", 3)]),
        ("the first removed", remove, 1, vec![("gap", 2)]),
        (
            "another hash",
            rehash,
            last_signed,
            vec![("hash", last_signed), ("link", last_signed + 1), ("checkpoint", last_signed)],
        ),
        ("the last removed", remove, head, vec![("head", head - 1)]),
        ("one more", add, head, vec![("head", head + 1)]),
    ];
    for (what, deed, seq, expected) in cases {
        fs::remove_dir_all(place.path("data")).unwrap();
        place.copy("sound", "data");
        tamper(&place.path("data"), move |tx| deed(tx, tenant_id, seq));
        let out = place.verify("anchors", "data");
        assert_eq!(out.status.code(), Some(4), "{what}: {}", stdout(&out));
        let appliance = place.start();
        let desk = Desk { client: appliance.client("localization", &api_key), tenant_id: desk.tenant_id.clone() };
        let found = verified(&desk);
        let expected: Vec<_> = expected.into_iter().map(|(kind, seq)| (kind.to_owned(), seq)).collect();
        assert_eq!(kinds(&found), expected, "{what}: {found}");
        // The events that are left are shown all the same.
        assert_eq!(desk.get("/v1/audit/events?limit=500").status, 200, "{what}");
        appliance.kill();
    }
}
