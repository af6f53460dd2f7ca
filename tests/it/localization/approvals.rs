//! Approval requests from outside: which translations they are for, in which order they are refused, what becomes of their
//! items, and kills in the middle of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::localization::decisions::{Batch, Service, tell};
use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, rounds, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn ask(shelf: &Shelf, body: &Value) -> Answer {
    shelf.desk.post(&shelf.path("/approval-requests"), body)
}

#[test]
fn requests_are_judged_in_order() {
    let appliance = shared();
    let batch = Batch::open(appliance, 1);
    let shelf = &batch.shelf;
    let path = shelf.path("/approval-requests");
    let good = json!({"file": batch.file_id, "locale": "de"});
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let stranger = Desk { client: appliance.stranger("localization"), tenant_id: shelf.desk.tenant_id.clone() };
    refused(&stranger.post(&path, &json!([])), 401, "unauthenticated");
    refused(&shelf.desk.post(&format!("{path}?x=1"), &json!([])), 400, "unknown_parameter");
    let headers = [("content-type", "application/json")];
    refused(&shelf.desk.send("POST", &path, &headers, b"[]"), 400, "invalid_parameter");
    refused(&ask(shelf, &json!([])), 400, "invalid_body");
    refused(&ask(shelf, &json!({"file": 7, "x": 1})), 400, "unknown_field");
    for (name, wrong) in [
        ("file", json!("x")),
        ("locale", json!("")),
        ("locale", json!("x".repeat(256))),
        ("review_url", json!("http://a.example")),
        ("review_url", json!("https://a b")),
        ("review_url", json!("https://a/\u{202e}")),
        ("review_url", json!("https://you@a.example/")),
        ("review_url", Value::Null),
        ("review_url", json!(format!("https://a.example/{}", "x".repeat(2040)))),
    ] {
        let body = refused(&ask(shelf, &with(name, wrong)), 400, "invalid_field");
        assert_eq!(body["field"], name);
    }
    let elsewhere = format!("/v1/projects/{NOBODY}/approval-requests");
    let viewer = shelf.desk.template(appliance, "translator", &json!({"project_id": shelf.project_id}));
    refused(&viewer.post(&elsewhere, &good), 404, "not_found");
    refused(&viewer.post(&path, &with("file", json!(NOBODY))), 403, "forbidden");
    refused(&ask(shelf, &json!({"file": NOBODY, "locale": "-"})), 404, "not_found");
    refused(&ask(shelf, &with("locale", json!("-"))), 422, "locale_ill_formed");
    refused(&ask(shelf, &with("locale", json!("fr"))), 409, "nothing_to_approve");
    let key = fresh_key();
    let request = batch.ask_under(&key).expect(201);
    batch.draft("k000", "Anderes");
    batch.step("k000", "review");
    batch.step("k000", "approve");
    // Nothing is left to approve, and one is open: that is told first.
    refused(&batch.ask(), 409, "approval_pending");
    let repeated = batch.ask_under(&key);
    assert_eq!((repeated.expect(201), repeated.header("idempotent-replayed")), (request.clone(), "true"));
    let other = shelf.desk.json_under(&key, "POST", &path, &with("locale", json!("fr")));
    refused(&other, 422, "idempotency_key_reused");
    // Reading.
    let place = format!("/v1/approval-requests/{}", text(&request, "id"));
    refused(&shelf.desk.get(&format!("/v1/approval-requests/{NOBODY}")), 404, "not_found");
    refused(&Desk::open(appliance).get(&place), 404, "not_found");
    let nobody = shelf.desk.template(appliance, "org_billing", &json!({}));
    refused(&nobody.get(&place), 403, "forbidden");
    assert_eq!(viewer.get(&place).expect(200)["review_url"], Value::Null);
    appliance.cli_json(&["decision", "cancel", &text(&request, "decision_id")]);
    assert_eq!(batch.wait(&request, "cancelled")["items"][0]["outcome"], "unchanged");
    refused(&batch.ask(), 409, "nothing_to_approve");
}

#[test]
fn a_batch_has_what_can_be_approved_and_nothing_else() {
    let shelf = Shelf::open(shared());
    let mut content = json!({
        "approved": "A", "draft": "B", "empty": "C", "fails {x}": "D {x}", "legal.a": "E", "outdated": "F", "reviewed": "G",
        "terms": "H", "untranslated": "I", "gone": "J",
    });
    let file_id = shelf.json("a.json", &content);
    let keys: std::collections::BTreeMap<String, String> =
        shelf.keys().into_iter().map(|(path, key)| (path, text(&key, "id"))).collect();
    let batch = Batch { shelf, file_id: file_id.clone(), keys };
    for path in ["approved", "draft", "legal.a", "outdated", "reviewed", "terms", "gone"] {
        batch.draft(path, "Wort");
    }
    batch.draft("fails {x}", "Wort");
    batch.draft("empty", " ");
    for path in ["reviewed", "approved"] {
        batch.step(path, "review");
    }
    batch.step("approved", "approve");
    let desk = &batch.shelf.desk;
    desk.json("PATCH", &batch.shelf.path(""), &json!({"legal_prefixes": ["legal."]})).expect(200);
    // Of class legal, which does not keep it out.
    let classes = json!({"keys": [{"path": "terms", "class": "legal"}]});
    desk.json("PUT", &batch.shelf.path(&format!("/files/{file_id}/context")), &classes).expect(200);
    content["outdated"] = json!("another");
    content.as_object_mut().unwrap().remove("gone");
    batch.shelf.json("a.json", &content);
    let request = batch.request(&batch.ask().expect(201));
    let mut named: Vec<&str> =
        request["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap()).collect();
    let ids: Vec<&str> =
        request["items"].as_array().unwrap().iter().map(|item| item["key_id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    named.sort_unstable();
    assert_eq!(named, ["draft", "reviewed", "terms"]);
    assert_eq!(request["file_revision"], json!(batch.revision()));
    shared().cli_json(&["decision", "cancel", &text(&request, "decision_id")]);
    batch.wait(&request, "cancelled");
}

#[test]
fn a_batch_has_two_hundred_and_what_fits() {
    let appliance = shared();
    let batch = Batch::open(appliance, 203);
    let request = batch.ask().expect(201);
    assert_eq!(request["item_count"], 200);
    appliance.cli_json(&["decision", "approve", &text(&request, "decision_id"), "--by", "ada"]);
    batch.wait(&request, "approved");
    let rest = batch.ask().expect(201);
    assert_eq!(rest["item_count"], 3, "the others come next");
    // Texts of 60 KB each: as many as fit into the largest context.
    let large = Shelf::open(appliance);
    let content: Value =
        (0..20).map(|n| (format!("k{n:03}"), json!("x".repeat(40_000)))).collect::<serde_json::Map<_, _>>().into();
    let file_id = large.json("large.json", &content);
    let keys = large.keys().into_iter().map(|(path, key)| (path, text(&key, "id"))).collect();
    let batch = Batch { shelf: large, file_id, keys };
    for n in 0..20 {
        batch.draft(&format!("k{n:03}"), &"y".repeat(60_000));
    }
    let request = batch.ask().expect(201);
    assert_eq!(request["item_count"], 10);
    appliance.cli_json(&["decision", "approve", &text(&request, "decision_id"), "--by", "ada"]);
    batch.wait(&request, "approved");
    assert_eq!(batch.ask().expect(201)["item_count"], 10);
}

/// What is done to a translation between a request and its decision, and what becomes of it.
type Case = (&'static str, fn(&Batch), [(&'static str, &'static str); 2]);

#[test]
fn what_changed_meanwhile_is_left_as_it_is() {
    let service = Service::open();
    let appliance = service.setup().start();
    let cases: [Case; 7] = [
        ("nothing", |_| {}, [("approved", "approved"), ("returned", "draft")]),
        ("reviewed", |batch| batch.step("k000", "review"), [("approved", "approved"), ("returned", "draft")]),
        (
            "written anew",
            |batch| batch.draft("k000", "Neues Wort"),
            [("skipped_changed", "draft"), ("skipped_changed", "draft")],
        ),
        (
            "written as it was",
            |batch| batch.draft("k000", "Wort 0"),
            [("skipped_changed", "draft"), ("skipped_changed", "draft")],
        ),
        (
            "approved by a reviewer",
            |batch| {
                batch.step("k000", "review");
                batch.step("k000", "approve");
            },
            [("unchanged", "approved"), ("unchanged", "approved")],
        ),
        (
            "another source",
            |batch| drop(batch.shelf.json("a.json", &json!({"k000": "Another 0", "k001": "Text 1"}))),
            [("skipped_changed", "outdated"), ("skipped_changed", "outdated")],
        ),
        (
            "its key is gone",
            |batch| drop(batch.shelf.json("a.json", &json!({"k001": "Text 1"}))),
            [("skipped_changed", "draft"), ("skipped_changed", "draft")],
        ),
    ];
    for (name, deed, expected) in cases {
        for (status, (outcome, state)) in ["approved", "rejected"].into_iter().zip(expected) {
            let batch = Batch::open(&appliance, 2);
            let request = batch.ask().expect(201);
            deed(&batch);
            let before = batch.revision();
            let decision_id = text(&request, "decision_id");
            service.decide(&decision_id, status, "ada", None);
            assert_eq!(tell(&appliance, &decision_id, &fresh_key()).expect(200), json!({}));
            let settled = batch.request(&request);
            assert_eq!(settled["items"][0]["outcome"], outcome, "{name}, {status}");
            assert_eq!(batch.state("k000"), state, "{name}, {status}");
            let other = if status == "approved" { ("approved", "approved") } else { ("returned", "draft") };
            assert_eq!(settled["items"][1]["outcome"], other.0, "{name}, {status}");
            assert_eq!(batch.state("k001"), other.1, "{name}, {status}");
            // Each translation that changed its state counts one.
            let moved = match (status, outcome, name) {
                ("approved", "approved", _) => 2,
                ("approved", ..) => 1,
                (_, "returned", "reviewed") => 1,
                _ => 0,
            };
            assert_eq!(batch.revision() - before, moved, "{name}, {status}");
        }
    }
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn an_approval_is_remembered_shown_and_removed() {
    let appliance = shared();
    let batch = Batch::open(appliance, 1);
    let request = batch.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    appliance.cli_json(&["decision", "approve", &decision_id, "--by", "ada"]);
    batch.wait(&request, "approved");
    let me = batch.shelf.desk.get("/v1/me").expect(200)["principal_id"].clone();
    let metadata = batch.shelf.export(&batch.file_id, "?locale=de&metadata=true").expect(200);
    let entry = &metadata["entries"][0];
    assert_eq!((&entry["status"], &entry["approvedBy"]), (&json!("approved"), &me), "who asked for it");
    assert!(entry["approvedAt"].is_string());
    let approval = || {
        batch.shelf.desk.get(&batch.shelf.path("/translations?locale=de")).expect(200)["translations"][0]["approval"]
            .clone()
    };
    assert_eq!(approval()["approval_ref"], json!(decision_id));
    // The memory has it at once.
    batch.shelf.json("b.json", &json!({"other": "Text 0"}));
    let other = batch.shelf.key_id("other");
    let suggested = batch.shelf.desk.get(&format!("/v1/keys/{other}/suggestions/de")).expect(200);
    assert_eq!(
        (&suggested["suggestions"][0]["target"], &suggested["suggestions"][0]["score"]),
        (&json!("Wort 0"), &json!(100))
    );
    batch.step("k000", "revoke");
    assert_eq!(approval(), Value::Null);
}

/// What was answered before the appliance was gone.
#[derive(Default)]
struct Known {
    requests: Vec<Value>,
    licences: Vec<Value>,
}

/// Sends a body; `None` once the appliance is gone.
fn try_json(batch: &Batch, method: &str, path: &str, body: &Value) -> Option<Answer> {
    let (desk, key) = (&batch.shelf.desk, fresh_key());
    let headers = [
        ("l10n-tenant", desk.tenant_id.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", key.as_str()),
    ];
    desk.client.try_send(method, path, &headers, body.to_string().as_bytes()).ok()
}

/// Requests for approvals and licences, and decisions about them, at once, until the appliance is gone.
fn work(appliance: Appliance, shelves: &[Batch], patience: Duration) -> Known {
    let stop = AtomicBool::new(false);
    let (stop, data) = (&stop, appliance.data().to_path_buf());
    std::thread::scope(|scope| {
        let asking: Vec<_> = shelves
            .iter()
            .map(|batch| {
                scope.spawn(move || {
                    let mut known = Known::default();
                    for round in 0.. {
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                        let path = |rest: &str| batch.shelf.path(rest);
                        let place = format!("/v1/keys/{}/translations/de", batch.keys["k000"]);
                        let text = format!("Wort {round} {}", fresh_key());
                        let wish = json!({"file": batch.file_id, "locale": "de"});
                        let Some(_) = try_json(batch, "PUT", &place, &json!({"text": text})) else { break };
                        let Some(asked) = try_json(batch, "POST", &path("/approval-requests"), &wish) else { break };
                        known.requests.extend(Some(asked).filter(|asked| asked.status == 201).map(|asked| asked.json()));
                        let sample = json!({
                            "locale": "de", "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "r",
                        });
                        let Some(asked) = try_json(batch, "POST", &path("/licences"), &sample) else { break };
                        known.licences.extend(Some(asked).filter(|asked| asked.status == 201).map(|asked| asked.json()));
                    }
                    known
                })
            })
            .collect();
        let deciding = scope.spawn(move || {
            let cli = |arguments: &[&str]| {
                crate::support::appliance::quintet().args(arguments).arg("--data").arg(&data).output().unwrap()
            };
            while !stop.load(Ordering::SeqCst) {
                let listed = cli(&["decision", "list", "--json"]);
                let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
                for (n, one) in listed["items"].as_array().into_iter().flatten().enumerate() {
                    let verb = if n % 3 == 2 { "request-changes" } else { "approve" };
                    cli(&["decision", verb, one["decision_id"].as_str().unwrap(), "--by", "ada"]);
                }
            }
        });
        std::thread::sleep(patience);
        appliance.kill();
        stop.store(true, Ordering::SeqCst);
        deciding.join().unwrap();
        let known = asking.into_iter().map(|thread| thread.join().unwrap());
        known.fold(Known::default(), |mut all, more| {
            all.requests.extend(more.requests);
            all.licences.extend(more.licences);
            all
        })
    })
}

/// `QUINTET_KILLS=N` makes more rounds.
#[test]
fn kill_9_leaves_no_approval_without_its_request_and_nothing_stuck() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let first = Batch::open(&appliance, 1);
    let (_, api_key) = appliance.key(&first.shelf.desk.tenant_id, &[]);
    let project_id = text(&first.shelf.desk.project(), "id");
    let desk =
        Desk { client: appliance.client("localization", &api_key), tenant_id: first.shelf.desk.tenant_id.clone() };
    let mut batches = vec![first, Batch::within(Shelf { desk, project_id }, "b.json", 1)];
    let (mut answered, mut licensed) = (0, 0);
    for round in 0..rounds {
        let known = work(appliance, &batches, Duration::from_millis(600 + 97 * (round as u64 % 11)));
        answered += known.requests.len();
        licensed += known.licences.len();
        appliance = Setup::new().on(&data).start();
        for batch in &mut batches {
            batch.shelf.desk.client = appliance.client("localization", &api_key);
        }
        // Whatever was answered is there; whatever is open is decided, and then settled.
        for request in &known.requests {
            let batch = batches.iter().find(|batch| request["project_id"] == *batch.shelf.project_id).unwrap();
            assert_ne!(batch.status(request), "failed", "round {round}");
        }
        let listed = |batch: &Batch| batch.shelf.desk.get(&batch.shelf.path("/licences")).expect(200);
        let lists: Vec<Value> = batches.iter().map(listed).collect();
        for licence in &known.licences {
            let is_there =
                |list: &Value| list["licences"].as_array().unwrap().iter().any(|one| one["id"] == licence["id"]);
            assert!(lists.iter().any(is_there), "round {round}: {licence}");
        }
        let began = std::time::Instant::now();
        let mut free = vec![false; batches.len()];
        while free.contains(&false) {
            for one in appliance.cli_json(&["decision", "list"])["items"].as_array().unwrap() {
                appliance.cli(&[
                    "decision",
                    "reject",
                    one["decision_id"].as_str().unwrap(),
                    "--by",
                    "ada",
                    "--reason",
                    "r",
                ]);
            }
            // Nothing is stuck: each file takes another request, and no licence of before waits.
            for (batch, is_free) in batches.iter().zip(&mut free).filter(|(_, is_free)| !**is_free) {
                batch.draft("k000", &format!("Wort {}", fresh_key()));
                let waits = |one: &Value| one["state"] == "requested";
                *is_free =
                    !listed(batch)["licences"].as_array().unwrap().iter().any(waits) && batch.ask().status == 201;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "round {round}: a request is stuck");
        }
        for one in appliance.cli_json(&["decision", "list"])["items"].as_array().unwrap() {
            appliance.cli(&["decision", "cancel", one["decision_id"].as_str().unwrap()]);
        }
        let verified = appliance.cli(&["verify"]);
        assert_eq!(verified.status.code(), Some(0), "round {round}: {}", String::from_utf8_lossy(&verified.stdout));
    }
    assert!(answered > rounds, "only {answered} requests in {rounds} rounds");
    assert!(licensed > rounds, "only {licensed} licences in {rounds} rounds");
    assert_eq!(appliance.stop(), Some(0));
}
