//! What tests of the parts share, and whole calls against a scripted engine.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service};
use quintet_platform::chat::ChatEngine;
use quintet_platform::egress::Egress;
use quintet_platform::secrets::Secret;
use quintet_storage::Uuid;
use quintet_support::engine::{Asked, Reply, ScriptedEngine};
use quintet_support::tenant_and_key;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::model::{Candidate, Item};
use super::tables::{FAILED_DRAFTS, FailedDraft, FailedDraftsRow};
use crate::access::KEY_PERMISSIONS;
use crate::audit;
use crate::content::{FileId, Key, KeyEntry, KeyId, Source};
use crate::context::{Context, Settings};
use crate::engine::Engine;
use crate::model::TenantId;
use crate::quality::Limits;
use crate::routes;
use crate::spaces::ProjectId;
use crate::testing::{TENANT, furnished};

/// An item of the engine: a text, or a plural with the forms of English; legal below `legal.`.
pub(super) fn item(number: u64, path: &str, is_plural: bool) -> Item {
    let source = match is_plural {
        false => Source::Text(format!("text {number}")),
        true => Source::Forms(vec![(1, format!("one of {number}")), (5, format!("some of {number}"))]),
    };
    let entry = KeyEntry { number, path: path.to_owned(), source, source_version: 1, is_obsolete: false };
    let key = Key {
        project_id: ProjectId(Uuid::from_u128(1)),
        file_id: FileId(Uuid::from_u128(2)),
        file_version: 1,
        key_id: KeyId(Uuid::from_u128(u128::from(number))),
        entry,
    };
    let is_legal = path.starts_with("legal.");
    let candidate = Candidate { key, revision: 0, context: None, limits: Limits::default(), is_legal };
    Item { candidate, memory: Vec::new() }
}

/// A tenant with a project, a file in it and an engine.
struct Room {
    context: Context,
    engine: ScriptedEngine,
    tenant_id: Uuid,
    api_key: String,
    project: String,
    file: String,
    _directory: tempfile::TempDir,
}

impl Drop for Room {
    fn drop(&mut self) {
        let found = crate::verify(&self.context.store.read()).unwrap();
        if !std::thread::panicking() {
            assert_eq!(found, [""; 0]);
        }
        self.context.store.shutdown();
    }
}

impl Room {
    async fn open(content: &Value) -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let engine = ScriptedEngine::open(german);
        let egress = Egress::new(|address| address.is_loopback());
        let own = Engine::new(ChatEngine::new(egress, engine.url(), "scribe", &Secret::default()).unwrap());
        let settings = Settings { engine: Some(own), ..Settings::default() };
        let context = Context::with(Foundation::new(store, clock, Authority::Embedded), settings);
        let (tenant_id, api_key) = tenant_and_key(&context.store, Service::Localization, KEY_PERMISSIONS);
        let (project, file) = (String::new(), String::new());
        let mut room = Room { context, engine, tenant_id, api_key, project, file, _directory: directory };
        let id = |value: &Value, name: &str| value[name].as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
        let workspace = room.sent("POST", "/v1/workspaces", &json!({"slug": "first", "name": "n"}), 201).await;
        let wish = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "n", "source_locale": "en"});
        room.project = id(&room.sent("POST", "/v1/projects", &wish, 201).await, "id");
        room.file = id(&room.upload(content).await, "file_id");
        room
    }

    async fn upload(&self, content: &Value) -> Value {
        let path = format!("/v1/projects/{}/files?kind=json&path=a.json", self.project);
        self.sent("POST", &path, content, 201).await
    }

    async fn send(&self, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", self.tenant_id.to_string())
            .header("content-type", "application/json")
            .header("idempotency-key", key);
        let answer = routes(self.context.clone()).oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn sent(&self, method: &str, path: &str, body: &Value, status: u16) -> Value {
        let (found, answer) = self.send(&fresh(), method, path, body).await;
        assert_eq!(found, status, "{method} {path}: {answer}");
        answer
    }

    /// A call into a locale, with more members.
    async fn translate(&self, locale: &str, more: &Value) -> (u16, Value) {
        self.translate_under(&fresh(), locale, more).await
    }

    async fn translate_under(&self, key: &str, locale: &str, more: &Value) -> (u16, Value) {
        let mut body = json!({"file": self.file, "locale": locale});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(key, "POST", &format!("/v1/projects/{}/translate", self.project), &body).await
    }

    /// The active keys, in the order of their ids: path and id.
    async fn keys(&self) -> Vec<(String, String)> {
        let keys = self.sent("GET", &format!("/v1/projects/{}/keys?limit=500", self.project), &Value::Null, 200).await;
        let text = |key: &Value, name: &str| key[name].as_str().unwrap().to_owned();
        keys["keys"].as_array().unwrap().iter().map(|key| (text(key, "path"), text(key, "id"))).collect()
    }

    async fn key_id(&self, path: &str) -> String {
        self.keys().await.into_iter().find(|(known, _)| known == path).unwrap().1
    }

    async fn translation(&self, path: &str, locale: &str) -> Value {
        let key_id = self.key_id(path).await;
        self.sent("GET", &format!("/v1/keys/{key_id}/translations/{locale}"), &Value::Null, 200).await
    }

    async fn put(&self, path: &str, locale: &str, text: &str) {
        let path = format!("/v1/keys/{}/translations/{locale}", self.key_id(path).await);
        let (status, answer) = self.send(&fresh(), "PUT", &path, &json!({"text": text})).await;
        assert!(status < 300, "{answer}");
    }

    /// How many events of an action there are.
    fn events(&self, action: &str) -> usize {
        let all = audit::events_after(&self.context.store.read(), TenantId(self.tenant_id), 0, 1000).unwrap();
        all.iter().filter(|(_, row)| row.action == action).count()
    }
}

fn fresh() -> String {
    Uuid::from_u128(fastrand::u128(..)).to_string()
}

/// Says everything in what passes for German.
fn german(asked: &Asked) -> Reply {
    asked.translated(&["one", "other"], |source| format!("{} auf Deutsch", source.as_str().unwrap()))
}

fn many(count: usize) -> Value {
    Value::Object((0..count).map(|number| (format!("k{number:04}"), json!(format!("Text {number}")))).collect())
}

#[tokio::test]
async fn what_is_not_translated_is_drafted() {
    let content = json!({"greeting": "Hello", "bye": "Bye", "files_one": "A file", "files_other": "{{count}} files"});
    let room = Room::open(&content).await;
    room.put("bye", "de", "Tschüs").await;
    let (status, answer) = room.translate("DE", &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer, json!({"file": room.file, "locale": "de", "drafted": 2, "failed": [], "remaining": 0}));
    let greeting = room.translation("greeting", "de").await;
    assert_eq!((&greeting["text"], &greeting["state"]), (&json!("Hello auf Deutsch"), &json!("draft")));
    assert_eq!((&greeting["origin"], &greeting["revision"]), (&json!("ai"), &json!(1)));
    let files = room.translation("files", "de").await;
    assert_eq!(files["forms"], json!({"one": "A file auf Deutsch", "other": "{{count}} files auf Deutsch"}));
    assert_eq!(room.translation("bye", "de").await["text"], "Tschüs");
    assert_eq!(room.events("translation"), 3);
    // Texts and plurals are asked for apart.
    let asked = room.engine.asked();
    assert_eq!(asked.iter().map(|asked| asked.items().len()).collect::<Vec<_>>(), [1, 1]);
    let (_, again) = room.translate("de", &json!({})).await;
    assert_eq!((&again["drafted"], &again["remaining"]), (&json!(0), &json!(0)));
    assert_eq!(room.engine.asked().len(), 2, "nothing is left to be asked for");
}

#[tokio::test]
async fn a_call_takes_a_batch_and_says_what_remains() {
    let room = Room::open(&many(70)).await;
    let (_, answer) = room.translate("de", &json!({})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(50), &json!(20)));
    assert_eq!(room.engine.asked().iter().map(|asked| asked.items().len()).collect::<Vec<_>>(), [25, 25]);
    let (_, answer) = room.translate("de", &json!({"batch": 1})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(1), &json!(19)));
    // In the order of ids.
    let (keys, mut states) = (room.keys().await, Vec::new());
    for (path, _) in &keys {
        states.push(room.translation(path, "de").await["state"] == "draft");
    }
    assert!(states[..51].iter().all(|is_draft| *is_draft) && !states[51..].iter().any(|is_draft| *is_draft));
    let wanted = [&keys[60].1, &keys[55].1, &keys[0].1];
    let (_, answer) = room.translate("de", &json!({"keys": wanted})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(2), &json!(0)), "the first has a draft");
    let (_, answer) = room.translate("de", &json!({"keys": [keys[57].1, keys[58].1], "batch": 1})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn long_sources_are_left_for_another_call_and_endless_ones_are_not_asked_for() {
    let mut content = json!({"endless": "x".repeat(70_000)});
    for number in 0..12 {
        content[format!("long{number:02}")] = json!("y ".repeat(15_000));
    }
    let room = Room::open(&content).await;
    let endless = room.key_id("endless").await;
    let (_, answer) = room.translate("de", &json!({})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(8), &json!(4)), "{answer}");
    assert_eq!(answer["failed"], json!([{"key_id": endless, "checks": []}]));
    assert_eq!(room.engine.asked().len(), 8);
    let (_, answer) = room.translate("de", &json!({})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(4), &json!(0)), "{answer}");
}

#[tokio::test]
async fn outdated_ones_and_old_drafts_of_the_engine_are_drafted_anew() {
    let room = Room::open(&json!({"a": "A", "b": "B", "c": "C"})).await;
    room.translate("de", &json!({})).await;
    room.put("b", "de", "von Hand").await;
    room.upload(&json!({"a": "A", "b": "B", "c": "C, changed"})).await;
    let (_, answer) = room.translate("de", &json!({})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(1), &json!(0)), "the outdated one");
    assert_eq!(room.translation("c", "de").await["text"], "C, changed auf Deutsch");
    let (_, answer) = room.translate("de", &json!({"drafted_before": "2001-01-01T00:00:00Z"})).await;
    assert_eq!(answer["drafted"], 0);
    let (_, answer) = room.translate("de", &json!({"drafted_before": "2999-01-01T00:00:00+01:00"})).await;
    assert_eq!(answer["drafted"], 2, "those that the engine wrote");
    assert_eq!(
        (room.translation("a", "de").await["revision"].clone(), room.translation("b", "de").await["revision"].clone()),
        (json!(2), json!(2))
    );
    assert_eq!(room.translation("b", "de").await["text"], "von Hand");
}

#[tokio::test]
async fn an_engine_that_lies_stores_nothing_of_that() {
    let room =
        Room::open(&json!({"a": "A", "b": "B", "c": "C", "d": "D", "e": "E", "n_one": "one", "n_other": "some"})).await;
    let keys = room.keys().await;
    let stranger = fresh();
    room.engine.follow(move |asked: &Asked| {
        let ids: Vec<Value> = asked.items().iter().map(|item| item["id"].clone()).collect();
        let items = match asked.items()[0]["source"].is_string() {
            false => json!([{"id": ids[0], "forms": {"one": "x", "few": "y", "other": "z"}}]),
            true => json!([
                {"id": ids[0], "text": "gut", "origin": "human", "state": "approved"},
                {"id": ids[1], "text": "so"}, {"id": ids[1], "text": "oder so"},
                {"id": ids[2], "text": "x".repeat(65_537)},
                {"id": ids[3], "text": "nul \u{0}"},
                {"id": ids[4], "text": 5},
                {"id": stranger, "text": "fremd"}, {"text": "niemand"}, "nichts",
            ]),
        };
        Reply::says(&json!({"translations": items, "approve": true}).to_string())
    });
    let (status, answer) = room.translate("de", &json!({})).await;
    assert_eq!((status, &answer["drafted"]), (200, &json!(1)), "{answer}");
    let failed: Vec<(&Value, &Value)> =
        answer["failed"].as_array().unwrap().iter().map(|one| (&one["key_id"], &one["checks"])).collect();
    let texts: Vec<&(String, String)> = keys.iter().filter(|(path, _)| path != "n").collect();
    let mut expected: Vec<&String> = texts[1..].iter().map(|(_, id)| id).collect();
    expected.extend(keys.iter().filter(|(path, _)| path == "n").map(|(_, id)| id));
    expected.sort();
    assert_eq!(failed.iter().map(|(id, _)| id.as_str().unwrap()).collect::<Vec<_>>(), expected);
    assert!(failed.iter().all(|(_, checks)| **checks == json!([])), "{answer}");
    let good = room.translation(&texts[0].0, "de").await;
    assert_eq!((&good["text"], &good["origin"], &good["state"]), (&json!("gut"), &json!("ai"), &json!("draft")));
    assert_eq!(room.events("translation"), 1);
}

#[tokio::test]
async fn keys_that_failed_lately_come_last() {
    let room = Room::open(&many(6)).await;
    let paths: Vec<String> = room.keys().await.into_iter().map(|(path, _)| path).collect();
    let asked_for = |room: &Room| {
        let items = room
            .engine
            .asked()
            .into_iter()
            .flat_map(|asked| asked.items())
            .map(|item| item["path"].as_str().unwrap().to_owned());
        items.collect::<Vec<_>>()
    };
    let says_nothing = |_: &Asked| Reply::says(r#"{"translations": []}"#);
    for expected in [&paths[0..2], &paths[2..4], &paths[4..6], &paths[0..2], &paths[2..4]] {
        room.engine.follow(says_nothing);
        let (_, answer) = room.translate("de", &json!({"batch": 2})).await;
        assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(0), &json!(4)));
        assert_eq!(asked_for(&room), expected);
    }
    // In another locale nothing has failed, and what succeeds is forgotten.
    room.engine.follow(german);
    room.translate("de-AT", &json!({"batch": 1})).await;
    assert_eq!(asked_for(&room), paths[..1]);
    room.engine.follow(german);
    let (_, answer) = room.translate("de", &json!({"batch": 4})).await;
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(4), &json!(2)));
    assert_eq!(asked_for(&room), [&paths[4..6], &paths[0..2]].concat());
}

#[tokio::test]
async fn if_one_request_fails_nothing_is_stored() {
    let room = Room::open(&many(60)).await;
    room.engine.follow(|asked: &Asked| if asked.items().len() == 10 { Reply::status(401, "") } else { german(asked) });
    let key = fresh();
    let (status, problem) = room.translate_under(&key, "de", &json!({"batch": 60})).await;
    assert_eq!((status, &problem["code"]), (503, &json!("ai_unavailable")));
    assert_eq!(room.events("translation"), 0);
    assert!(room.engine.asked().len() <= 3);
    // It is not remembered: the same request under the same key goes on.
    room.engine.follow(german);
    let (status, answer) = room.translate_under(&key, "de", &json!({"batch": 60})).await;
    assert_eq!((status, &answer["drafted"]), (200, &json!(60)));
    assert_eq!(room.events("translation"), 60);
    let requests = room.engine.asked().len();
    let (status, again) = room.translate_under(&key, "de", &json!({"batch": 60})).await;
    assert_eq!((status, again), (200, answer), "a repeat is answered as before");
    assert_eq!(room.engine.asked().len(), requests, "and nobody is asked for it");
}

#[tokio::test]
async fn a_key_that_changed_meanwhile_is_left_as_it_is() {
    let room = Arc::new(Room::open(&json!({"a": "A", "b": "B", "c": "C", "d": "D"})).await);
    room.engine.follow(|asked: &Asked| Reply::Late(Duration::from_millis(700), Box::new(german(asked))));
    let call = tokio::spawn({
        let room = Arc::clone(&room);
        async move { room.translate("de", &json!({})).await }
    });
    let engine = room.engine.clone();
    tokio::task::spawn_blocking(move || engine.wait_for(1)).await.unwrap();
    room.put("a", "de", "von Hand").await;
    room.upload(&json!({"a": "A", "b": "B, changed", "d": "D"})).await;
    let (status, answer) = call.await.unwrap();
    assert_eq!(status, 200, "{answer}");
    assert_eq!((&answer["drafted"], &answer["failed"], &answer["remaining"]), (&json!(1), &json!([]), &json!(0)));
    assert_eq!(room.translation("a", "de").await["text"], "von Hand");
    assert_eq!(room.translation("b", "de").await["state"], "untranslated");
    assert_eq!(room.translation("d", "de").await["text"], "D auf Deutsch");
}

#[tokio::test]
async fn what_was_approved_before_is_drafted_first_where_that_is_asked_for() {
    let content = json!({
        "a": "Save the file now", "b": "Save the file now!", "c": "Nothing like it", "d": "Hello {name}",
        "n_one": "One file", "n_other": "Some files",
    });
    let room = Room::open(&content).await;
    let approve = async |path: &str, locale: &str, text: &Value| {
        let at = format!("/v1/keys/{}/translations/{locale}", room.key_id(path).await);
        room.sent("PUT", &at, text, 201).await;
        for action in ["review", "approve"] {
            room.sent("POST", &format!("{at}/transition"), &json!({"action": action}), 200).await;
        }
    };
    approve("a", "de", &json!({"text": "Die Datei jetzt speichern"})).await;
    approve("d", "de", &json!({"text": "Hallo {name}"})).await;
    approve("n", "ja", &json!({"forms": {"other": "ファイル"}})).await;
    let other = json!({
        "a": "Save the file now", "b": "Save the file now!", "c": "Nothing like it", "d": "Hello {names}",
        "n_one": "One file", "n_other": "Some files",
    });
    let path = format!("/v1/projects/{}/files?kind=json&path=b.json", room.project);
    let file = room.sent("POST", &path, &other, 201).await["file_id"].clone();
    let told = async |more: Value| {
        let mut body = json!({"file": file, "locale": "de"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        room.engine.follow(german);
        room.sent("POST", &format!("/v1/projects/{}/translate", room.project), &body, 200).await
    };
    let keys = room.sent("GET", &format!("/v1/projects/{}/keys", room.project), &Value::Null, 200).await;
    let found = async |path: &str, locale: &str| {
        let own = keys["keys"].as_array().unwrap().iter().find(|key| key["path"] == path && key["file_id"] == file);
        let at = format!("/v1/keys/{}/translations/{locale}", own.unwrap()["id"].as_str().unwrap());
        room.sent("GET", &at, &Value::Null, 200).await
    };
    // What is alike is told to the engine, unless it is to be taken.
    let answer = told(json!({"from_memory": 100, "batch": 200})).await;
    assert_eq!((&answer["drafted"], &answer["failed"]), (&json!(5), &json!([])), "{answer}");
    let a = found("a", "de").await;
    assert_eq!((&a["text"], &a["origin"]), (&json!("Die Datei jetzt speichern"), &json!("memory")));
    let b = found("b", "de").await;
    assert_eq!((&b["text"], &b["origin"]), (&json!("Save the file now! auf Deutsch"), &json!("ai")));
    let asked = room.engine.asked();
    let items: Vec<Value> = asked.iter().flat_map(|asked| asked.items()).collect();
    assert!(!items.iter().any(|item| item["path"] == "a"), "{items:?}");
    let like_b = &items.iter().find(|item| item["path"] == "b").unwrap()["memory"][0];
    assert_eq!((&like_b["source"], &like_b["score"]), (&json!("Save the file now"), &json!(94)));
    assert!(items.iter().find(|item| item["path"] == "c").unwrap().get("memory").is_none());
    // Fuzzy ones, too, but none that would fail a check that blocks.
    let answer = told(json!({"from_memory": 75, "drafted_before": "2999-01-01T00:00:00Z"})).await;
    assert_eq!(answer["drafted"], 4, "all but the one from the memory: {answer}");
    assert_eq!(found("b", "de").await["origin"], "memory");
    assert_eq!(found("d", "de").await["text"], "Hello {names} auf Deutsch");
    // Of a plural the memory has one form: enough where there is but one.
    let answer = told(json!({"locale": "ja", "from_memory": 100})).await;
    assert_eq!(answer["drafted"], 5);
    assert_eq!(found("n", "ja").await["forms"], json!({"other": "ファイル"}));
    assert_eq!(found("n", "ja").await["origin"], "memory");
}

#[tokio::test]
async fn without_an_engine_the_memory_is_enough_where_it_has_everything() {
    let room = Room::open(&json!({"a": "Save"})).await;
    let at = format!("/v1/keys/{}/translations/de", room.key_id("a").await);
    room.sent("PUT", &at, &json!({"text": "Speichern"}), 201).await;
    for action in ["review", "approve"] {
        room.sent("POST", &format!("{at}/transition"), &json!({"action": action}), 200).await;
    }
    let path = format!("/v1/projects/{}/files?kind=json&path=b.json", room.project);
    let upload = |content: Value| {
        let room = &room;
        let path = &path;
        async move { room.sent("POST", path, &content, 201).await }
    };
    let file = upload(json!({"a": "Save"})).await["file_id"].clone();
    let Room { context, tenant_id, api_key, project, .. } = &room;
    let foundation = Foundation::new(context.store.clone(), context.clock.clone(), Authority::Embedded);
    let bare = Context::new(foundation);
    let send = async |body: Value| {
        let request = http::Request::builder()
            .method("POST")
            .uri(format!("/v1/projects/{project}/translate"))
            .header("authorization", format!("Bearer {api_key}"))
            .header("l10n-tenant", tenant_id.to_string())
            .header("content-type", "application/json")
            .header("idempotency-key", fresh());
        let answer = routes(bare.clone()).oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
        (answer.status().as_u16(), answer.into_body().collect().await.unwrap().to_bytes())
    };
    let (status, answer) = send(json!({"file": file, "locale": "de", "from_memory": 90})).await;
    assert_eq!(status, 200, "{answer:?}");
    assert_eq!(serde_json::from_slice::<Value>(&answer).unwrap()["drafted"], 1);
    assert_eq!(send(json!({"file": file, "locale": "fr", "from_memory": 90})).await.0, 503, "the rest needs one");
    assert_eq!(send(json!({"file": file, "locale": "de"})).await.0, 503);
}

#[test]
fn what_is_remembered_of_failures_agrees_with_the_files() {
    let (bench, _, _) = furnished();
    let place = (TENANT, FileId(Uuid::from_u128(9)), "de".to_owned());
    let failed = vec![FailedDraft { number: 3, at: bench.now() }];
    let row = FailedDraftsRow { failed };
    bench.run(move |tx, _| Ok(tx.put(&FAILED_DRAFTS, &place, &row)?)).unwrap();
    let findings = crate::verify(&bench.store.read()).unwrap();
    assert_eq!(findings, [format!("failed drafts of file {} in de: there is no such file", Uuid::from_u128(9))]);
}
