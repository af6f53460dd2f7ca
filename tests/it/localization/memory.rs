//! The translation memory: what was approved is suggested at once, to the whole tenant and to nobody else.

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn suggestions(desk: &Desk, key_id: &str, locale: &str) -> Vec<Value> {
    let answer = desk.get(&format!("/v1/keys/{key_id}/suggestions/{locale}")).expect(200);
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    answer["suggestions"].as_array().unwrap().clone()
}

/// Score, way and target of each.
fn told(desk: &Desk, key_id: &str, locale: &str) -> Vec<(u64, String, String)> {
    let one = |one: &Value| (one["score"].as_u64().unwrap(), text(one, "match"), text(one, "target"));
    suggestions(desk, key_id, locale).iter().map(one).collect()
}

fn found(score: u64, way: &str, target: &str) -> (u64, String, String) {
    (score, way.to_owned(), target.to_owned())
}

/// Uploads keys of their own path; their ids, in the order of the sources.
fn keys(shelf: &Shelf, file: &str, sources: &[&str]) -> Vec<String> {
    let members: serde_json::Map<String, Value> =
        sources.iter().enumerate().map(|(place, source)| (format!("{file}{place}"), json!(source))).collect();
    shelf.json(&format!("{file}.json"), &Value::Object(members));
    let known = shelf.keys();
    (0..sources.len()).map(|place| text(&known[&format!("{file}{place}")], "id")).collect()
}

fn steps(shelf: &Shelf, key_id: &str, locale: &str, actions: &[&str]) {
    for action in actions {
        let path = format!("/v1/keys/{key_id}/translations/{locale}/transition");
        shelf.desk.post(&path, &json!({"action": action})).expect(200);
    }
}

fn approve(shelf: &Shelf, key_id: &str, locale: &str, body: &Value) {
    shelf.translate(key_id, locale, body);
    steps(shelf, key_id, locale, &["review", "approve"]);
}

#[test]
fn what_was_approved_is_suggested_at_once_and_stays() {
    let shelf = Shelf::open(shared());
    let desk = &shelf.desk;
    let ids = keys(&shelf, "a", &["Open the file", "Open the files", "Open that file", "Close"]);
    shelf.translate(&ids[0], "de", &json!({"text": "Datei öffnen"})).expect(201);
    steps(&shelf, &ids[0], "de", &["review"]);
    assert!(suggestions(desk, &ids[0], "de").is_empty(), "nothing is approved yet");
    steps(&shelf, &ids[0], "de", &["approve"]);
    let expected = json!({
        "score": 100, "match": "exact", "source": "Open the file", "target": "Datei öffnen", "origin": "human",
    });
    assert_eq!(suggestions(desk, &ids[0], "de"), [expected]);
    // 14 characters, one of them different: 92.
    assert_eq!(told(desk, &ids[1], "de"), [found(92, "fuzzy", "Datei öffnen")]);
    assert!(suggestions(desk, &ids[3], "de").is_empty());
    assert!(suggestions(desk, &ids[0], "de-AT").is_empty(), "the tag is exact");
    // Revoking, rejecting and rewriting leave it.
    steps(&shelf, &ids[0], "de", &["revoke", "reject"]);
    shelf.translate(&ids[0], "de", &json!({"text": "Öffne die Datei"})).expect(200);
    assert_eq!(told(desk, &ids[0], "de"), [found(100, "exact", "Datei öffnen")]);
    steps(&shelf, &ids[0], "de", &["review", "approve"]);
    assert_eq!(told(desk, &ids[0], "de"), [found(100, "exact", "Öffne die Datei")], "the last one is what it says");
    approve(&shelf, &ids[2], "de", &json!({"text": "Jene Datei öffnen"}));
    let expected = [found(92, "fuzzy", "Öffne die Datei"), found(78, "fuzzy", "Jene Datei öffnen")];
    assert_eq!(told(desk, &ids[1], "de"), expected);
}

#[test]
fn the_best_five_the_latest_first() {
    let shelf = Shelf::open(shared());
    let ids = keys(
        &shelf,
        "m",
        &["Message 1", "Message 2", "Message 3", "Message 4", "Message 5", "Message 6", "Message 10"],
    );
    for (place, id) in ids.iter().enumerate() {
        approve(&shelf, id, "fr", &json!({"text": format!("Message {place}")}));
    }
    let all = told(&shelf.desk, &ids[0], "fr");
    let expected = [
        found(100, "exact", "Message 0"),
        found(90, "fuzzy", "Message 6"),
        found(88, "fuzzy", "Message 5"),
        found(88, "fuzzy", "Message 4"),
        found(88, "fuzzy", "Message 3"),
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_plural_asks_and_answers_with_the_form_for_others() {
    let shelf = Shelf::open(shared());
    shelf.json("p.json", &json!({"n_one": "{{count}} new message", "n_other": "{{count}} new messages"}));
    let plural = shelf.key_id("n");
    approve(
        &shelf,
        &plural,
        "pl",
        &json!({"forms": {
            "one": "{{count}} nowa wiadomość", "few": "{{count}} nowe wiadomości",
            "many": "{{count}} nowych wiadomości", "other": "{{count}} nowej wiadomości",
        }}),
    );
    assert_eq!(told(&shelf.desk, &plural, "pl"), [found(100, "exact", "{{count}} nowej wiadomości")]);
    let ids = keys(&shelf, "t", &["{{count}} new messages", "{{count}} new message"]);
    assert_eq!(told(&shelf.desk, &ids[0], "pl"), [found(100, "exact", "{{count}} nowej wiadomości")]);
    assert_eq!(told(&shelf.desk, &ids[1], "pl"), [found(95, "fuzzy", "{{count}} nowej wiadomości")]);
}

#[test]
fn the_whole_tenant_is_asked_and_no_other() {
    let shelf = Shelf::open(shared());
    let ids = keys(&shelf, "a", &["Delete everything"]);
    approve(&shelf, &ids[0], "de", &json!({"text": "Alles löschen"}));
    let project_id = text(&shelf.desk.project(), "id");
    let sister = Shelf { desk: Desk::of(shared(), &shelf.desk.tenant_id, &[]), project_id };
    let of_sister = keys(&sister, "b", &["Delete everything"]);
    assert_eq!(told(&sister.desk, &of_sister[0], "de"), [found(100, "exact", "Alles löschen")]);
    let stranger = Shelf::open(shared());
    let of_stranger = keys(&stranger, "c", &["Delete everything"]);
    assert!(suggestions(&stranger.desk, &of_stranger[0], "de").is_empty());
    refused(&stranger.desk.get(&format!("/v1/keys/{}/suggestions/de", ids[0])), 404, "not_found");
}

#[test]
fn asking_is_judged_in_order() {
    let shelf = Shelf::open(shared());
    let ids = keys(&shelf, "a", &["Save"]);
    let at = |key: &str, locale: &str| format!("/v1/keys/{key}/suggestions/{locale}");
    let other = text(&shelf.desk.project(), "id");
    let elsewhere = shelf.desk.template(shared(), "viewer", &json!({"project_id": other}));
    refused(&elsewhere.get(&format!("{}?limit=3", at(NOBODY, "zh"))), 400, "unknown_parameter");
    refused(&elsewhere.get(&at(NOBODY, "zh")), 422, "locale_script_required");
    refused(&elsewhere.get(&at(NOBODY, "de-x-a2345678-a2345678-a2345678-a2345678-a2345678")), 422, "locale_too_long");
    refused(&elsewhere.get(&at(NOBODY, "de")), 404, "not_found");
    refused(&elsewhere.get(&at(&ids[0], "de")), 403, "forbidden");
    let viewer = shelf.desk.template(shared(), "viewer", &json!({"project_id": shelf.project_id}));
    assert!(suggestions(&viewer, &ids[0], "de").is_empty());
    let head = viewer.send("HEAD", &at(&ids[0], "de"), &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[test]
fn it_survives_restarts_and_verify_knows_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).rehearsal().start();
    let shelf = Shelf::open(&appliance);
    let ids = keys(&shelf, "a", &["Print the page", "Print the pages", "x"]);
    approve(&shelf, &ids[0], "de", &json!({"text": "Seite drucken"}));
    let expected = [found(93, "fuzzy", "Seite drucken")];
    assert_eq!(told(&shelf.desk, &ids[1], "de"), expected);
    assert!(appliance.cli(&["verify"]).status.success());
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).rehearsal().start();
    let desk = Desk { client: appliance.client("localization", &api_key), tenant_id: shelf.desk.tenant_id.clone() };
    assert_eq!(told(&desk, &ids[1], "de"), expected);
    appliance.cli_json(&["core", "fail", "registry"]);
    refused(&desk.get(&format!("/v1/keys/{}/suggestions/-", ids[1])), 503, "language_core_unavailable");
    appliance.cli_json(&["core", "restore", "registry"]);
    assert_eq!(told(&desk, &ids[1], "de"), expected);
}
