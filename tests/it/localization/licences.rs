//! Licences, the policy switch and approval by policy from outside.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::localization::decisions::{Batch, Service, advance, tell};
use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn sample(locale: &str, corrections: u64, meaning_errors: u64) -> Value {
    json!({
        "locale": locale, "sample_size": 300, "corrections": corrections, "meaning_errors": meaning_errors, "sample_ref": "report 7",
    })
}

fn request(shelf: &Shelf, body: &Value) -> Answer {
    shelf.desk.post(&shelf.path("/licences"), body)
}

fn licences(shelf: &Shelf) -> Vec<Value> {
    shelf.desk.get(&shelf.path("/licences")).expect(200)["licences"].as_array().unwrap().clone()
}

fn state(shelf: &Shelf, licence: &Value) -> String {
    let own = licences(shelf).into_iter().find(|one| one["id"] == licence["id"]).unwrap();
    text(&own, "state")
}

#[track_caller]
fn wait(shelf: &Shelf, licence: &Value, wanted: &str) -> Value {
    let began = Instant::now();
    loop {
        let own = licences(shelf).into_iter().find(|one| one["id"] == licence["id"]).unwrap();
        if own["state"] == wanted {
            return own;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{wanted} is waited for: {own}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Gives a licence for German.
fn license(appliance: &Appliance, shelf: &Shelf) -> Value {
    let licence = request(shelf, &sample("de", 0, 0)).expect(201);
    appliance.cli_json(&["decision", "approve", &text(&licence, "decision_id"), "--by", "ada"]);
    wait(shelf, &licence, "active")
}

/// Makes keys prose, or something else.
fn classify(shelf: &Shelf, file_id: &str, classes: &[(&str, &str)]) {
    let keys: Vec<Value> = classes.iter().map(|(path, class)| json!({"path": path, "class": class})).collect();
    shelf.desk.json("PUT", &shelf.path(&format!("/files/{file_id}/context")), &json!({"keys": keys})).expect(200);
}

fn content(texts: &[(&str, String)]) -> Value {
    json!(texts.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).collect::<BTreeMap<_, _>>())
}

#[test]
fn licences_are_judged_in_order() {
    let appliance = shared();
    let shelf = Shelf::open(appliance);
    let path = shelf.path("/licences");
    refused(&request(&shelf, &json!([])), 400, "invalid_body");
    refused(&request(&shelf, &json!({"x": 1})), 400, "unknown_field");
    let with = |name: &str, value: Value| {
        let mut body = sample("de", 0, 0);
        body[name] = value;
        body
    };
    for (name, wrong) in [
        ("sample_size", json!(299)),
        ("sample_size", json!(100_001)),
        ("sample_size", json!("300")),
        ("corrections", json!(-1)),
        ("corrections", json!(1.5)),
        ("meaning_errors", Value::Null),
        ("sample_ref", json!("")),
        ("sample_ref", json!("x".repeat(501))),
        ("locale", json!("")),
    ] {
        assert_eq!(refused(&request(&shelf, &with(name, wrong)), 400, "invalid_field")["field"], name);
    }
    refused(&shelf.desk.send("POST", &path, &[("content-type", "application/json")], b"{}"), 400, "invalid_parameter");
    let viewer = shelf.desk.template(appliance, "viewer", &json!({"project_id": shelf.project_id}));
    refused(&viewer.post(&format!("/v1/projects/{NOBODY}/licences"), &sample("de", 0, 0)), 404, "not_found");
    refused(&viewer.post(&path, &sample("-", 0, 301)), 403, "forbidden");
    refused(&request(&shelf, &sample("de", 301, 0)), 422, "sample_invalid");
    refused(&request(&shelf, &sample("de", 0, 301)), 422, "sample_invalid");
    refused(&request(&shelf, &sample("-", 0, 0)), 422, "locale_ill_formed");
    assert_eq!(licences(&shelf), Vec::<Value>::new(), "nothing was recorded");
    let key = fresh_key();
    let first = shelf.desk.json_under(&key, "POST", &path, &sample("de", 15, 0)).expect(201);
    assert_eq!((&first["state"], &first["approval_request_id"]), (&json!("requested"), &first["id"]));
    assert_eq!(shelf.desk.json_under(&key, "POST", &path, &sample("de", 15, 0)).expect(201), first);
    refused(&request(&shelf, &sample("de", 0, 0)), 409, "licence_pending");
    // A failing sample is recorded beside it, and ends nothing that is not active.
    let failed = request(&shelf, &sample("de", 16, 0)).expect(201);
    assert_eq!((&failed["state"], &failed["decision_id"]), (&json!("sample_failed"), &Value::Null));
    assert_eq!((&failed["approval_request_id"], &failed["expires_at"]), (&Value::Null, &Value::Null));
    assert_eq!(state(&shelf, &first), "requested");
    assert_eq!(request(&shelf, &sample("fr", 0, 1)).expect(201)["state"], "sample_failed");
    let shown = appliance.cli_json(&["decision", "show", &text(&first, "decision_id")]);
    let action = json!({
        "project": shelf.project_id, "locale": "de", "sample_size": 300, "corrections": 15, "meaning_errors": 0, "sample_ref": "report 7",
    });
    assert_eq!((&shown["action"], &shown["context"]), (&action, &json!({"items": []})));
    assert_eq!(shown["subject"], json!({"type": "licence", "id": first["id"], "tenant_id": shelf.desk.tenant_id}));
    appliance.cli_json(&["decision", "cancel", &text(&first, "decision_id")]);
    wait(&shelf, &first, "refused");
    assert_eq!(licences(&shelf).len(), 3);
    refused(&viewer.get(&format!("/v1/projects/{NOBODY}/licences")), 404, "not_found");
    assert_eq!(viewer.get(&path).expect(200)["licences"].as_array().unwrap().len(), 3);
}

/// Every arrow of the table of states but those that change with time or keys.
#[test]
fn every_decision_makes_of_a_licence_what_the_table_says() {
    let service = Service::open();
    let appliance = service.setup().start();
    let shelf = Shelf::open(&appliance);
    for (status, wanted) in [
        ("rejected", "refused"),
        ("changes_requested", "refused"),
        ("timed_out", "refused"),
        ("cancelled", "refused"),
        ("approved", "active"),
    ] {
        let licence = request(&shelf, &sample("de", 0, 0)).expect(201);
        let decision_id = text(&licence, "decision_id");
        refused(&tell(&appliance, &decision_id, &fresh_key()), 503, "decision_unavailable");
        service.decide(&decision_id, status, "ada", None);
        assert_eq!(tell(&appliance, &decision_id, &fresh_key()).expect(200), json!({}));
        assert_eq!(state(&shelf, &licence), wanted, "{status}");
    }
    let active = licences(&shelf)[0].clone();
    // Another one takes its place; a sample that fails ends it.
    let next = request(&shelf, &sample("de", 0, 0)).expect(201);
    assert_eq!(state(&shelf, &active), "active");
    service.decide(&text(&next, "decision_id"), "approved", "bob", None);
    tell(&appliance, &text(&next, "decision_id"), &fresh_key()).expect(200);
    let find = |licence: &Value| licences(&shelf).into_iter().find(|one| one["id"] == licence["id"]).unwrap();
    let replaced = find(&active);
    assert_eq!((&replaced["state"], &replaced["lapse_reason"]), (&json!("lapsed"), &json!("replaced")));
    assert!(replaced["lapsed_at"].is_string());
    request(&shelf, &sample("de", 0, 1)).expect(201);
    let ended = find(&next);
    assert_eq!((&ended["state"], &ended["lapse_reason"]), (&json!("lapsed"), &json!("sample_failed")));
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_licence_ends_after_thirty_days() {
    let appliance = Setup::new().rehearsal().start();
    let shelf = Shelf::open(&appliance);
    let licence = license(&appliance, &shelf);
    let instant =
        |name: &str| quintet_platform::clock::parse_rfc3339(&text(&licence, name)).unwrap().as_micros() / 1_000_000;
    assert_eq!(instant("expires_at") - instant("decided_at"), 30 * 86_400);
    advance(&appliance, 30 * 86_400 - 1);
    assert_eq!(state(&shelf, &licence), "active");
    advance(&appliance, 1);
    let ended = licences(&shelf)[0].clone();
    assert_eq!((&ended["state"], &ended["lapse_reason"]), (&json!("lapsed"), &json!("expired")));
    assert_eq!(ended["lapsed_at"], licence["expires_at"], "to the second");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_licence_ends_when_more_than_a_tenth_of_its_prose_has_changed() {
    let appliance = shared();
    let shelf = Shelf::open(appliance);
    let names: Vec<String> = (0..22).map(|n| format!("k{n:02}")).collect();
    let texts = |changed: &[usize], version: u32| -> Vec<(&str, String)> {
        let mark = |n: usize| if changed.contains(&n) { version } else { 0 };
        names.iter().enumerate().map(|(n, name)| (name.as_str(), format!("Text {n} {}", mark(n)))).collect()
    };
    let file_id = shelf.json("a.json", &content(&texts(&[], 0)));
    let classes: Vec<(&str, &str)> = names[..20].iter().map(|name| (name.as_str(), "prose")).collect();
    classify(&shelf, &file_id, &classes);
    shelf.desk.json("PATCH", &shelf.path(""), &json!({"legal_prefixes": ["k19"]})).expect(200);
    // What was uploaded before the decision does not count.
    shelf.json("a.json", &content(&texts(&[0, 1, 2, 3, 4], 1)));
    let licence = license(appliance, &shelf);
    assert_eq!((&licence["prose_keys"], &licence["prose_changed_since_grant"]), (&json!(19), &json!(0)));
    let own = || licences(&shelf).into_iter().find(|one| one["id"] == licence["id"]).unwrap();
    let upload = |changed: &[usize], version: u32| {
        let mut all = texts(&[0, 1, 2, 3, 4], 1);
        for (n, (_, text)) in all.iter_mut().enumerate() {
            if changed.contains(&n) {
                *text = format!("Text {n} {version}");
            }
        }
        shelf.json("a.json", &content(&all));
    };
    // 19 is legal, 20 and 21 are no prose: they do not count. Each counts once, however often it changes.
    upload(&[0, 19, 20, 21], 2);
    assert_eq!(own()["prose_changed_since_grant"], json!(1));
    upload(&[0, 19, 20, 21], 3);
    assert_eq!((&own()["prose_changed_since_grant"], &own()["state"]), (&json!(1), &json!("active")));
    // Back as it was is changed all the same; 1 of 19 is no more than a tenth, 2 are.
    upload(&[], 0);
    assert_eq!((&own()["prose_changed_since_grant"], &own()["state"]), (&json!(1), &json!("active")));
    // One that was changed before becomes prose: that is judged at once, too.
    classify(&shelf, &file_id, &[("k20", "prose")]);
    let ended = own();
    assert_eq!((&ended["state"], &ended["lapse_reason"]), (&json!("lapsed"), &json!("changed")));
    assert_eq!(ended["prose_changed_since_grant"], json!(2));
    let body = json!({"file": file_id, "locale": "de"});
    refused(&shelf.desk.post(&shelf.path("/policy-approve"), &body), 409, "policy_unlicensed");
}

#[test]
fn policy_approves_prose_and_counts_every_key_once() {
    let appliance = shared();
    let paths = ["claim", "draft", "fails", "legal.prose", "outdated", "reviewed", "approved", "untranslated", "none"];
    let shelf = Shelf::open(appliance);
    let source = |path: &str| if path == "fails" { "Hello {x}".to_owned() } else { format!("Text {path}") };
    let file_id = shelf.json("a.json", &content(&paths.map(|path| (path, source(path)))));
    let keys = shelf.keys().into_iter().map(|(path, key)| (path, text(&key, "id"))).collect();
    let batch = Batch { shelf, file_id: file_id.clone(), keys };
    let shelf = &batch.shelf;
    let prose: Vec<(&str, &str)> =
        paths.iter().filter(|path| !["claim", "none"].contains(path)).map(|path| (*path, "prose")).collect();
    classify(shelf, &file_id, &[&prose[..], &[("claim", "claim")]].concat());
    shelf.desk.json("PATCH", &shelf.path(""), &json!({"legal_prefixes": ["legal."]})).expect(200);
    for path in ["claim", "draft", "fails", "legal.prose", "outdated", "reviewed", "approved", "none"] {
        batch.draft(path, "Wort");
    }
    for path in ["reviewed", "approved"] {
        batch.step(path, "review");
    }
    batch.step("approved", "approve");
    let mut changed = content(&paths.map(|path| (path, source(path))));
    changed["outdated"] = json!("Another");
    shelf.json("a.json", &changed);
    let path = shelf.path("/policy-approve");
    let body = json!({"file": file_id, "locale": "DE"});
    refused(&shelf.desk.post(&path, &json!({})), 400, "invalid_field");
    refused(&shelf.desk.post(&path, &json!({"file": file_id, "locale": "de", "x": 1})), 400, "unknown_field");
    refused(&shelf.desk.post(&path, &json!({"file": NOBODY, "locale": "-"})), 404, "not_found");
    refused(&shelf.desk.post(&path, &json!({"file": file_id, "locale": "-"})), 422, "locale_ill_formed");
    let viewer = shelf.desk.template(appliance, "viewer", &json!({"project_id": shelf.project_id}));
    refused(&viewer.post(&path, &body), 403, "forbidden");
    refused(&shelf.desk.post(&path, &body), 409, "policy_unlicensed");
    let set = |enabled: bool| {
        shelf.desk.json("PUT", &shelf.path("/policy"), &json!({"locale": "DE", "enabled": enabled})).expect(200)
    };
    assert_eq!(set(false), json!({"locale": "de", "enabled": false}));
    refused(&shelf.desk.post(&path, &body), 409, "policy_unlicensed");
    let licence = license(appliance, shelf);
    refused(&shelf.desk.post(&path, &body), 409, "policy_disabled");
    set(true);
    let before = batch.revision();
    let key = fresh_key();
    let done = shelf.desk.json_under(&key, "POST", &path, &body).expect(200);
    assert_eq!((&done["approved"], &done["licence"], &done["locale"]), (&json!(2), &licence["id"], &json!("de")));
    assert_eq!(done["skipped"], json!({"class": 2, "legal": 1, "state": 3, "qa": 1}));
    assert_eq!(batch.revision(), before + 2, "one for each that was approved");
    for (path, wanted) in
        [("draft", "approved"), ("reviewed", "approved"), ("claim", "draft"), ("legal.prose", "draft")]
    {
        assert_eq!(batch.state(path), wanted, "{path}");
    }
    let list = shelf.desk.get(&shelf.path("/translations?locale=de&state=approved")).expect(200);
    let labels: Vec<&Value> =
        list["translations"].as_array().unwrap().iter().map(|one| &one["approval"]["approved_by_label"]).collect();
    let label = json!(format!("policy:{}@1", text(&licence, "id")));
    assert_eq!(labels.iter().filter(|one| ***one == label).count(), 2, "{labels:?}");
    let repeated = shelf.desk.json_under(&key, "POST", &path, &body);
    assert_eq!((repeated.expect(200), repeated.header("idempotent-replayed")), (done.clone(), "true"));
    // Under another key nothing is left, in another evaluation.
    let again = shelf.desk.post(&path, &body).expect(200);
    assert_eq!((&again["approved"], &again["skipped"]["state"]), (&json!(0), &json!(5)));
    assert_ne!(again["evaluation_id"], done["evaluation_id"]);
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn the_licence_that_holds_is_shown_however_many_came_after_it() {
    let appliance = Setup::new().start();
    let shelf = Shelf::open(&appliance);
    let licence = license(&appliance, &shelf);
    for _ in 0..1_001 {
        request(&shelf, &sample("fr", 0, 1)).expect(201);
    }
    let shown = licences(&shelf);
    assert_eq!(shown.len(), 1_001);
    assert_eq!(shown.last(), Some(&licence));
    assert!(shown[..1_000].iter().all(|one| one["state"] == "sample_failed"));
}

#[test]
fn the_switch_wants_its_permission_and_its_body() {
    let appliance = shared();
    let shelf = Shelf::open(appliance);
    let path = shelf.path("/policy");
    refused(&shelf.desk.json("PUT", &path, &json!({"locale": "de"})), 400, "invalid_field");
    refused(&shelf.desk.json("PUT", &path, &json!({"locale": "de", "enabled": "no"})), 400, "invalid_field");
    refused(&shelf.desk.json("PUT", &path, &json!({"locale": "-", "enabled": true})), 422, "locale_ill_formed");
    let publisher = shelf.desk.template(appliance, "publisher", &json!({"project_id": shelf.project_id}));
    refused(&publisher.json("PUT", &path, &json!({"locale": "de", "enabled": true})), 403, "forbidden");
}

/// More keys than several parts have, and a kill in the middle: a repeat under the same key goes on.
#[test]
fn a_policy_approval_that_was_cut_off_goes_on_under_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let shelf = Shelf::open(&appliance);
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    // The same caller from the beginning: keys of requests are a principal's own.
    let desk = Desk { client: appliance.client("localization", &api_key), tenant_id: shelf.desk.tenant_id.clone() };
    let shelf = Shelf { desk, ..shelf };
    const KEYS: usize = 3000;
    let content: BTreeMap<String, String> = (0..KEYS).map(|n| (format!("k{n:04}"), format!("Text {n}"))).collect();
    let file_id = shelf.json("a.json", &json!(content));
    for from in (0..KEYS).step_by(1000) {
        let names: Vec<String> = (from..from + 1000).map(|n| format!("k{n:04}")).collect();
        classify(&shelf, &file_id, &names.iter().map(|name| (name.as_str(), "prose")).collect::<Vec<_>>());
    }
    let xliff = shelf.desk.get(&shelf.path(&format!("/files/{file_id}/xliff?locale=de"))).text;
    let xliff = xliff.replace("</source>", "</source><target xml:space=\"preserve\">Wort</target>");
    let headers = [("content-type", "application/xliff+xml"), ("idempotency-key", "x1")];
    let imported = shelf.desk.send("POST", &shelf.path(&format!("/files/{file_id}/xliff")), &headers, xliff.as_bytes());
    assert_eq!(imported.expect(200)["written"], json!(KEYS));
    let licence = license(&appliance, &shelf);
    let body = json!({"file": file_id, "locale": "de"}).to_string();
    let path = shelf.path("/policy-approve");
    let send = |desk: &Desk| {
        let headers = [
            ("l10n-tenant", desk.tenant_id.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "policy-1"),
        ];
        desk.client.try_send("POST", &path, &headers, body.as_bytes())
    };
    let tenant_id = shelf.desk.tenant_id.clone();
    let mut shelf = shelf;
    let mut done = None;
    for round in 0..12_u64 {
        let finished = std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(&shelf.desk).ok().filter(|answer| answer.status == 200));
            std::thread::sleep(Duration::from_millis(60 + 60 * round));
            appliance.kill();
            sending.join().unwrap()
        });
        appliance = Setup::new().on(&data).start();
        let client = appliance.client("localization", &api_key);
        shelf = Shelf { desk: Desk { client, tenant_id: tenant_id.clone() }, ..shelf };
        if let Some(answer) = finished {
            done = Some(answer.json());
            break;
        }
    }
    let done = done.unwrap_or_else(|| send(&shelf.desk).unwrap().expect(200));
    assert_eq!((&done["approved"], &done["licence"]), (&json!(KEYS), &licence["id"]), "{done}");
    assert_eq!(send(&shelf.desk).unwrap().expect(200), done);
    let exported = shelf.export(&file_id, "?locale=de");
    assert_eq!(exported.header("etag"), format!("\"r{}\"", 1 + 2 * KEYS), "each was written once and approved once");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
    assert_eq!(appliance.stop(), Some(0));
}
