//! Lists and figures of translations from outside, held against a recount through other routes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
const STATES: [&str; 6] = ["untranslated", "draft", "needs_attention", "reviewed", "approved", "outdated"];

fn list(shelf: &Shelf, query: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = shelf.desk.get(&shelf.path(&format!("/translations?limit=3{query}{cursor}"))).expect(200);
        let own = page["translations"].as_array().unwrap();
        assert!(own.len() <= 3);
        items.extend(own.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

/// Paths and locales of a list.
fn places(shelf: &Shelf, query: &str) -> Vec<String> {
    list(shelf, query).iter().map(|item| format!("{} {}", text(item, "path"), text(item, "locale"))).collect()
}

fn stats(shelf: &Shelf) -> Value {
    shelf.desk.get(&shelf.path("/stats")).expect(200)
}

fn step(shelf: &Shelf, key_id: &str, locale: &str, action: &str) {
    let path = format!("/v1/keys/{key_id}/translations/{locale}/transition");
    shelf.desk.post(&path, &json!({"action": action})).expect(200);
}

fn words(source: &str) -> u64 {
    source.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).count() as u64
}

/// The figures of a locale, counted by reading each key's translation and what the checks say of it now.
fn recount(shelf: &Shelf, locale: &str) -> Value {
    let mut states: BTreeMap<&str, u64> = STATES.iter().map(|state| (*state, 0)).collect();
    let mut checks: BTreeMap<String, u64> = BTreeMap::new();
    let (mut keys, mut all_words, mut approved_words, mut blocking, mut other) = (0, 0, 0, 0, 0);
    for key in shelf.keys().values() {
        let source = key["source"].as_str().unwrap_or_else(|| key["forms"]["other"].as_str().unwrap());
        keys += 1;
        all_words += words(source);
        let key_id = text(key, "id");
        let state = text(&shelf.translation(&key_id, locale), "state");
        *states.get_mut(state.as_str()).unwrap() += 1;
        if state == "approved" {
            approved_words += words(source);
        }
        let told = shelf.desk.get(&format!("/v1/keys/{key_id}/annotations/{locale}")).expect(200);
        let failed: Vec<String> = told["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["status"] == "fail")
            .map(|check| text(check, "check"))
            .collect();
        for check in &failed {
            *checks.entry(check.clone()).or_default() += 1;
        }
        let blocks = !told["blocking_failed"].as_array().unwrap().is_empty();
        blocking += u64::from(blocks);
        other += u64::from(!blocks && !failed.is_empty());
    }
    json!({
        "locale": locale, "keys": keys, "words": all_words, "states": states, "approved_words": approved_words,
        "failing": {"blocking": blocking, "other": other, "checks": checks},
    })
}

/// The figures are those of a recount, over all files and file by file.
#[track_caller]
fn check(shelf: &Shelf, locale: &str) -> Value {
    let all = stats(shelf);
    let found = all["locales"].as_array().unwrap().iter().find(|one| one["locale"] == locale).unwrap().clone();
    let expected = recount(shelf, locale);
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} of {found}");
    }
    assert_eq!((&all["keys"], &all["words"]), (&expected["keys"], &expected["words"]));
    for state in STATES {
        let of_files = found["files"].as_array().unwrap().iter().map(|file| file["states"][state].as_u64().unwrap());
        assert_eq!(of_files.sum::<u64>(), found["states"][state].as_u64().unwrap(), "{state}");
        let listed = list(shelf, &format!("&locale={locale}&state={state}")).len() as u64;
        assert_eq!(listed, found["states"][state].as_u64().unwrap(), "{state}");
    }
    for (check, count) in found["failing"]["checks"].as_object().unwrap() {
        assert_eq!(list(shelf, &format!("&locale={locale}&check={check}")).len() as u64, count.as_u64().unwrap());
    }
    found
}

/// A project with two files and translations into two locales.
fn furnished() -> Shelf {
    let shelf = Shelf::open(shared());
    shelf.json(
        "a.json",
        &json!({"hello": "Hello {name}", "save": "Save the file", "n_one": "one", "n_other": "{n} files"}),
    );
    shelf.json("b.json", &json!({"greet": "Straße", "quit": "Quit"}));
    let key = |path: &str| shelf.key_id(path);
    shelf.translate(&key("save"), "de", &json!({"text": "Datei sichern"})).expect(201);
    shelf.translate(&key("save"), "fr", &json!({"text": "Enregistrer"})).expect(201);
    shelf.translate(&key("quit"), "de", &json!({"text": "ENDE"})).expect(201);
    shelf.translate(&key("n"), "de", &json!({"forms": {"one": "eins", "other": "{n} Dateien"}})).expect(201);
    shelf
}

#[test]
fn translations_are_listed_and_filtered() {
    let shelf = furnished();
    let all = list(&shelf, "");
    let mut sorted = all.clone();
    sorted.sort_by_key(|item| (text(item, "key_id"), text(item, "locale")));
    assert_eq!(all, sorted);
    assert_eq!(all.len(), 4);
    let saved = all.iter().find(|item| item["path"] == "save" && item["locale"] == "de").unwrap();
    let single = shelf.translation(&shelf.key_id("save"), "de");
    for (name, value) in single.as_object().unwrap() {
        assert_eq!(&saved[name], value, "{name}");
    }
    assert_eq!((&saved["source"], &saved["source_forms"]), (&json!("Save the file"), &Value::Null));
    assert_eq!((&saved["failed"], &saved["approval"]), (&json!([]), &Value::Null));
    let plural = all.iter().find(|item| item["path"] == "n").unwrap();
    assert_eq!(plural["source_forms"], json!({"one": "one", "other": "{n} files"}));
    assert_eq!(plural["forms"], json!({"one": "eins", "other": "{n} Dateien"}));
    // With a locale, every active key.
    let german = list(&shelf, "&locale=DE");
    assert_eq!(german.len(), 5);
    let missing: Vec<&Value> = german.iter().filter(|item| item["state"] == "untranslated").collect();
    assert_eq!(missing.len(), 2);
    assert!(missing.iter().all(|item| item["revision"] == 0 && item["text"].is_null() && item["updated_at"].is_null()));
    assert_eq!(list(&shelf, "&locale=it&state=untranslated").len(), 5);
    let places = |query: &str| {
        let mut places = places(&shelf, query);
        places.sort();
        places
    };
    assert_eq!(places("&state=draft&locale=fr"), ["save fr"]);
    let file_id = text(saved, "file_id");
    assert_eq!(places(&format!("&file={file_id}&locale=fr")), ["hello fr", "n fr", "save fr"]);
    // Text is sought in path, source and target, whatever its case.
    assert_eq!(places("&q=SAVE"), ["save de", "save fr"]);
    assert_eq!(places("&q=sichern"), ["save de"]);
    assert_eq!(places("&q=ende"), ["quit de"]);
    assert_eq!(places("&q=STRASSE&locale=it"), ["greet it"]);
    assert_eq!(places("&q=dateien&state=draft"), ["n de"]);
    assert_eq!(places("&q=nowhere"), Vec::<String>::new());
    // What was approved, by whom and when.
    let quit = shelf.key_id("quit");
    step(&shelf, &quit, "de", "review");
    step(&shelf, &quit, "de", "approve");
    let approved = list(&shelf, "&state=approved").remove(0);
    let me = shelf.desk.get("/v1/me").expect(200);
    assert_eq!(approved["approval"]["approved_by"], me["principal_id"]);
    assert_eq!(approved["approval"]["approved_by_label"], Value::Null);
    assert!(approved["approval"]["approved_at"].is_string());
}

#[test]
fn lists_refuse_what_they_cannot_be_asked() {
    let shelf = furnished();
    let get = |rest: &str| shelf.desk.get(&shelf.path(rest));
    for query in ["state=untranslated", "state=done", "check=Q13", "check=q01", "file=x", "q=", "limit=501", "cursor=x"]
    {
        refused(&get(&format!("/translations?{query}")), 400, "invalid_parameter");
    }
    refused(&get(&format!("/translations?q={}", "x".repeat(201))), 400, "invalid_parameter");
    refused(&get("/translations?colour=red"), 400, "unknown_parameter");
    refused(&get("/stats?colour=red"), 400, "unknown_parameter");
    refused(&get("/translations?locale=zh"), 422, "locale_script_required");
    refused(&get(&format!("/translations?file={NOBODY}")), 404, "not_found");
    refused(&get(&format!("/translations?file={NOBODY}&locale=zh")), 404, "not_found");
    let page = get("/translations?limit=1").expect(200);
    let cursor = text(&page, "next_cursor");
    refused(&get(&format!("/translations?limit=1&q=a&cursor={cursor}")), 400, "invalid_parameter");
    let nobody = shelf.desk.template(shared(), "org_billing", &json!({}));
    let stranger = Desk::open(shared());
    for rest in ["/translations", "/stats"] {
        refused(&nobody.get(&shelf.path(rest)), 403, "forbidden");
        refused(&stranger.get(&shelf.path(rest)), 404, "not_found");
        assert_eq!(shelf.desk.send("HEAD", &shelf.path(rest), &[], b"").status, 200);
    }
}

#[test]
fn figures_follow_every_change() {
    let shelf = furnished();
    let key = |path: &str| shelf.key_id(path);
    let found = check(&shelf, "de");
    assert_eq!((&found["states"]["draft"], &found["states"]["untranslated"]), (&json!(3), &json!(2)));
    step(&shelf, &key("save"), "de", "review");
    check(&shelf, "de");
    step(&shelf, &key("save"), "de", "approve");
    assert_eq!(check(&shelf, "de")["approved_words"], 3);
    // A draft that fails a blocking check, and one that fails another.
    shelf.translate(&key("hello"), "de", &json!({"text": ""})).expect(201);
    shelf.translate(&key("quit"), "de", &json!({"text": "Ende "})).expect(200);
    let found = check(&shelf, "de");
    assert_eq!((&found["failing"]["blocking"], &found["failing"]["other"]), (&json!(1), &json!(1)));
    // A limit comes and goes.
    let file_id = text(&list(&shelf, "&q=quit")[0], "file_id");
    let limit = |max: Value| {
        let body = json!({"keys": [{"path": "quit", "max_length": max}]});
        shelf.desk.json("PUT", &shelf.path(&format!("/files/{file_id}/context")), &body).expect(200);
        check(&shelf, "de")["failing"]["checks"]["Q16"].clone()
    };
    assert_eq!((limit(json!(2)), limit(json!(20))), (json!(1), Value::Null));
    // Words: what is missing, what is forbidden, what stays as it is.
    let entry = |body: Value| text(&shelf.desk.post(&shelf.path("/glossary"), &body).expect(201), "id");
    let term = entry(json!({"kind": "term", "locale": "de", "source": "file", "target": "Akte"}));
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q09"], 1);
    let forbidden = entry(json!({"kind": "forbidden", "target": "datei"}));
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q11"], 1);
    entry(json!({"kind": "dnt", "source": "Save"}));
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q10"], 1);
    check(&shelf, "fr");
    let other = json!({"kind": "term", "locale": "de", "source": "file", "target": "Datei"});
    shelf.desk.json("PUT", &shelf.path(&format!("/glossary/{term}")), &other).expect(200);
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q09"], Value::Null);
    let deleted = shelf.desk.send("DELETE", &shelf.path(&format!("/glossary/{forbidden}")), &[], b"");
    deleted.expect(200);
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q11"], Value::Null);
    shelf.translate(&key("quit"), "de", &json!({"text": "Hast du genug?"})).expect(200);
    let style = json!({"locale": "de", "scope": "default", "text": "Formal.", "register": "formal"});
    shelf.desk.json("PUT", &shelf.path("/style"), &style).expect(200);
    assert_eq!(check(&shelf, "de")["failing"]["checks"]["Q19"], 1);
    // An upload replaces a source, takes a key and brings it back.
    shelf.json("a.json", &json!({"hello": "Hello {name}", "n_one": "one", "n_other": "{n} documents"}));
    let found = check(&shelf, "de");
    assert_eq!((&found["keys"], &found["states"]["outdated"]), (&json!(4), &json!(1)));
    assert_eq!(found["approved_words"], 0);
    shelf.json("a.json", &json!({"hello": "Hello", "save": "Save the file", "n_one": "one", "n_other": "{n} files"}));
    let found = check(&shelf, "de");
    assert_eq!(found["approved_words"], 3);
    check(&shelf, "fr");
}

/// A set of target locales says `zh-Hant-TW` where translations say `zh-TW`.
#[test]
fn target_locales_are_told_under_the_tags_of_their_translations() {
    let shelf = furnished();
    let locales = json!({"locales": ["pt", "zh-TW", "de-AT"]});
    shelf.desk.put_if_match(&shelf.path("/locales"), "\"v0\"", &locales).expect(200);
    let told = || -> Vec<String> {
        let all = stats(&shelf);
        all["locales"].as_array().unwrap().iter().map(|one| text(one, "locale")).collect()
    };
    assert_eq!(told(), ["de-AT", "de", "fr", "pt", "zh-Hant-TW"]);
    shelf.translate(&shelf.key_id("quit"), "zh-TW", &json!({"text": "離開"})).expect(201);
    assert_eq!(told(), ["de-AT", "de", "fr", "pt", "zh-TW"]);
    check(&shelf, "zh-TW");
    let none = stats(&shelf)["locales"][3].clone();
    assert_eq!((&none["locale"], &none["states"]["untranslated"]), (&json!("pt"), &json!(5)));
    assert_eq!(none["failing"], json!({"blocking": 0, "other": 0, "checks": {}}));
    let empty = Shelf::open(shared());
    assert_eq!(stats(&empty), json!({"project_id": empty.project_id, "keys": 0, "words": 0, "locales": []}));
}

/// kill -9 while translations are judged anew: what is left is done after the start.
#[test]
fn a_pass_that_was_killed_goes_on() {
    const KEYS: usize = 400;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let mut shelf = Shelf::open(&appliance);
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    let content = |version: usize| -> Value {
        (0..KEYS).map(|at| (format!("key.{at:03}"), json!(format!("{version} of {at}")))).collect()
    };
    shelf.json("a.json", &content(0));
    for key in shelf.keys().values() {
        shelf.translate(&text(key, "id"), "de", &json!({"text": "Text"})).expect(201);
    }
    for round in 1..4 {
        std::thread::scope(|scope| {
            let (shelf, bytes) = (&shelf, content(round).to_string());
            let path = shelf.path("/files?kind=json&path=a.json");
            let upload = scope.spawn(move || {
                let key = fresh_key();
                let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
                let tenant = [("l10n-tenant", shelf.desk.tenant_id.as_str())];
                shelf.desk.client.try_send("POST", &path, &[&tenant[..], &headers].concat(), bytes.as_bytes())
            });
            std::thread::sleep(Duration::from_millis(15 * round as u64));
            appliance.kill();
            drop(upload.join());
        });
        appliance = Setup::new().on(&data).start();
        let client = appliance.client("localization", &api_key);
        shelf = Shelf { desk: Desk { client, tenant_id: shelf.desk.tenant_id.clone() }, ..shelf };
        let german = stats(&shelf)["locales"][0].clone();
        let file = shelf.desk.get(&shelf.path("/files")).expect(200)["files"][0].clone();
        let expected = if file["version"] == 1 { "draft" } else { "outdated" };
        assert_eq!(german["states"][expected], KEYS, "round {round}: {german}");
        assert_eq!(list(&shelf, "&check=Q08").len() as u64, german["failing"]["checks"]["Q08"].as_u64().unwrap());
        assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0), "round {round}");
    }
    assert_eq!(appliance.stop(), Some(0));
}
