//! AI translate from outside, against a scripted engine on loopback.

use std::time::{Duration, Instant};

use quintet_support::engine::{Asked, Reply, ScriptedEngine};
use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::members::key_of;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};
use crate::support::receiver::Receiver;

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
/// What the engine is called with, and nobody else may see.
const SECRET: &str = "sk-engine-secret";

/// An appliance with a scripted engine.
fn with_engine(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Appliance, ScriptedEngine) {
    let engine = ScriptedEngine::open(script);
    let appliance = Setup::new()
        .rehearsal()
        .env("QUINTET_AI__URL", engine.url())
        .env("QUINTET_AI__MODEL", "scribe")
        .env("QUINTET_AI__API_KEY", SECRET)
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")
        .start();
    (appliance, engine)
}

/// Says everything in what passes for German.
fn german(asked: &Asked) -> Reply {
    asked.translated(&["one", "other"], |source| format!("{} (de)", source.as_str().unwrap()))
}

fn translate(shelf: &Shelf, desk: &Desk, body: &Value) -> Answer {
    desk.post(&shelf.path("/translate"), body)
}

#[test]
fn the_engine_is_told_what_there_is_to_know_and_its_drafts_are_judged() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let content = json!({
        "shop": {"order": "Order now at Quintet", "hello": "Hello {name}"},
        "legal": {"terms": "Terms of service"},
        "files_one": "A file", "files_other": "{{count}} files",
    });
    let file_id = shelf.json("a.json", &content);
    let put = |path: &str, body: &Value| shelf.desk.json("PUT", &shelf.path(path), body).expect(200);
    let legal = json!({"legal_prefixes": ["legal."]});
    shelf.desk.json("PATCH", &shelf.path(""), &legal).expect(200);
    put(
        &format!("/files/{file_id}/context"),
        &json!({"keys": [
            {"path": "shop.order", "context": "On a button", "min_length": 3, "max_length": 40},
            {"path": "shop.hello", "max_length": 5},
        ]}),
    );
    for entry in [
        json!({"kind": "term", "source": "order", "target": "Bestellung", "locale": "de"}),
        json!({"kind": "term", "source": "order", "target": "commande", "locale": "fr"}),
        json!({"kind": "term", "source": "invoice", "target": "Rechnung", "locale": "de"}),
        json!({"kind": "dnt", "source": "Quintet"}),
        json!({"kind": "forbidden", "target": "billig", "locale": "de"}),
    ] {
        shelf.desk.post(&shelf.path("/glossary"), &entry).expect(201);
    }
    for (locale, scope, text) in [
        ("*", "default", "Be brief."),
        ("de", "default", "Say Sie."),
        ("fr", "default", "Vous."),
        ("de", "legal", "Be exact."),
    ] {
        put("/style", &json!({"locale": locale, "scope": scope, "text": text}));
    }
    let receiver = Receiver::start();
    let endpoint = json!({"url": receiver.url(204, "drafts"), "events": ["translation"]});
    shelf.desk.post("/v1/webhooks", &endpoint).expect(201);
    let answer = translate(&shelf, &shelf.desk, &json!({"file": file_id, "locale": "de-at"})).expect(200);
    let told = receiver.wait("drafts", 1)[0].body();
    let data = &told["data"];
    assert_eq!((&data["cause"], &data["count"], &data["locale"]), (&json!("drafted"), &json!(3), &json!("de-AT")));
    assert_eq!((&answer["file"], &answer["locale"]), (&json!(file_id), &json!("de-AT")));
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(3), &json!(0)), "{answer}");
    // One says more than its key may, which is stored nowhere.
    let hello = shelf.key_id("shop.hello");
    assert_eq!(answer["failed"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["failed"][0]["key_id"], hello);
    let check = &answer["failed"][0]["checks"][0];
    assert_eq!((&check["check"], &check["blocking"], &check["status"]), (&json!("Q16"), &json!(true), &json!("fail")));
    assert_eq!(shelf.translation(&hello, "de-AT")["state"], "untranslated");
    let order = shelf.translation(&shelf.key_id("shop.order"), "de-AT");
    assert_eq!((&order["text"], &order["origin"]), (&json!("Order now at Quintet (de)"), &json!("ai")));
    assert_eq!((&order["state"], &order["revision"]), (&json!("draft"), &json!(1)));
    let me = shelf.desk.get("/v1/me").expect(200);
    assert_eq!(order["updated_by"], me["principal_id"]);

    // Texts, plurals and legal texts are asked for apart.
    let asked = engine.asked();
    assert_eq!(asked.len(), 3);
    let of = |path: &str| {
        let has = |asked: &&Asked| asked.items().iter().any(|item| item["path"] == path);
        asked.iter().find(has).unwrap()
    };
    let shop = of("shop.order");
    assert!(shop.head.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{}", shop.head);
    assert_eq!((&shop.body["model"], &shop.body["response_format"]["type"]), (&json!("scribe"), &json!("json_schema")));
    let told = shop.told();
    assert_eq!((&told["source_locale"], &told["target_locale"]), (&json!("en"), &json!("de-AT")));
    assert_eq!(told["style"], json!(["Be brief.", "Say Sie."]));
    assert_eq!(told["glossary"], json!([{"source": "order", "target": "Bestellung"}]));
    assert_eq!(told["do_not_translate"], json!(["Quintet"]));
    assert_eq!(told["forbidden"], json!(["billig"]));
    let item = told["items"].as_array().unwrap().iter().find(|item| item["path"] == "shop.order").unwrap();
    assert_eq!(item["context"], "On a button");
    assert_eq!((&item["min_length"], &item["max_length"]), (&json!(3), &json!(40)));
    let legal = of("legal.terms");
    assert_eq!((legal.items().len(), &legal.told()["style"]), (1, &json!(["Be brief.", "Say Sie.", "Be exact."])));
    assert_eq!(legal.told()["glossary"], json!([]), "a term is sent where its source stands");
    assert_eq!(of("files").items()[0]["forms"], json!({"one": "A file", "other": "{{count}} files"}));
    assert!(!appliance.log().contains(SECRET), "the engine's key is in the log");
    assert!(!appliance.log().contains("Order now"), "a text is in the log");
    drop(appliance);
}

#[test]
fn what_drafts_must_not_say_they_do_not() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"greet": "Hello {name}", "link": "See <b>here</b>", "plain": "Plain"}));
    shelf.desk.post(&shelf.path("/glossary"), &json!({"kind": "forbidden", "target": "billig"})).expect(201);
    let replies =
        [("greet", "Hallo", "Q01"), ("link", "Siehe <script>hier</script>", "Q03"), ("plain", "Billig!", "Q11")];
    engine.follow(move |asked: &Asked| {
        let says = |item: &Value| replies.iter().find(|(path, ..)| item["path"] == *path).unwrap().1;
        let all = asked.items().iter().map(|item| json!({"id": item["id"], "text": says(item)})).collect::<Vec<_>>();
        Reply::says(&format!("```json\n{}\n```", json!({ "translations": all })))
    });
    let answer = translate(&shelf, &shelf.desk, &json!({"file": file_id, "locale": "de"})).expect(200);
    assert_eq!((&answer["drafted"], &answer["remaining"]), (&json!(0), &json!(0)));
    for (path, _, check) in replies {
        let key_id = shelf.key_id(path);
        let failed = answer["failed"].as_array().unwrap().iter().find(|one| one["key_id"] == key_id).unwrap();
        assert_eq!(failed["checks"][0]["check"], check, "{answer}");
        assert_eq!(shelf.translation(&key_id, "de")["state"], "untranslated");
    }
}

#[test]
fn an_engine_that_gives_nothing_of_use_changes_nothing() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let body = json!({"file": file_id, "locale": "de"});
    let gzip = Reply::Answers(200, vec![("content-encoding".into(), "gzip".into())], vec![0x1f, 0x8b, 8, 0]);
    let elsewhere = Reply::status(307, "").with("location", "http://127.0.0.1:9/v1/chat/completions");
    for (reply, requests) in [
        (Reply::status(401, ""), 1),
        (Reply::status(400, ""), 2),
        (elsewhere, 1),
        (Reply::status(500, ""), 2),
        (Reply::status(200, "<html>").with("content-type", "text/html"), 2),
        (Reply::status(200, &"[".repeat(900_000)), 2),
        (Reply::status(200, &"x".repeat(3 << 20)), 2),
        (gzip, 2),
        (Reply::Gone, 2),
    ] {
        let told = reply.clone();
        engine.follow(move |_| told.clone());
        let answer = translate(&shelf, &shelf.desk, &body);
        let problem = refused(&answer, 503, "ai_unavailable");
        assert_eq!(answer.header("retry-after"), "30");
        assert!(!problem.to_string().contains(SECRET));
        assert_eq!(engine.asked().len(), requests, "{reply:.100?}");
    }
    assert_eq!(shelf.translation(&shelf.key_id("a"), "de")["state"], "untranslated");
    assert!(!appliance.log().contains(SECRET));
    engine.follow(german);
    assert_eq!(translate(&shelf, &shelf.desk, &body).expect(200)["drafted"], 1);
}

#[test]
fn an_engine_that_is_busy_or_without_response_format_is_asked_again() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "c": "C"}));
    let body = json!({"file": file_id, "locale": "de", "batch": 1});
    let begun = Instant::now();
    let count = std::sync::atomic::AtomicUsize::new(0);
    engine.follow(move |asked: &Asked| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::status(429, "").with("retry-after", "2"),
        _ => german(asked),
    });
    assert_eq!(translate(&shelf, &shelf.desk, &body).expect(200)["drafted"], 1);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    engine.follow(|asked: &Asked| match asked.body.get("response_format") {
        Some(_) => Reply::status(400, r#"{"error": "unknown parameter"}"#),
        None => german(asked),
    });
    assert_eq!(translate(&shelf, &shelf.desk, &body).expect(200)["drafted"], 1);
    assert_eq!(engine.asked().len(), 2);
    // For an hour it is spared that.
    assert!(appliance.cli(&["clock", "advance", "3000"]).status.success());
    assert_eq!(translate(&shelf, &shelf.desk, &body).expect(200)["drafted"], 1);
    assert_eq!(engine.asked().len(), 3);
    assert!(appliance.cli(&["clock", "advance", "700"]).status.success());
    shelf.json("b.json", &json!({"x": "X"}));
    let again = json!({"file": file_id, "locale": "fr", "batch": 1});
    assert_eq!(translate(&shelf, &shelf.desk, &again).expect(200)["drafted"], 1);
    assert_eq!(engine.asked().len(), 5);
}

#[test]
fn an_engine_is_asked_once_for_a_repeat_and_not_beside_the_first() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B"}));
    let body = json!({"file": file_id, "locale": "de", "batch": 1});
    engine.follow(|asked: &Asked| Reply::Late(Duration::from_millis(500), Box::new(german(asked))));
    let (key, path) = (fresh_key(), shelf.path("/translate"));
    let answers = std::thread::scope(|scope| {
        let first = scope.spawn(|| shelf.desk.json_under(&key, "POST", &path, &body));
        engine.wait_for(1);
        refused(&shelf.desk.json_under(&key, "POST", &path, &body), 409, "idempotency_in_progress");
        first.join().unwrap().expect(200)
    });
    assert_eq!(shelf.desk.json_under(&key, "POST", &path, &body).expect(200), answers);
    assert_eq!(engine.asked().len(), 1);
    let other = json!({"file": file_id, "locale": "fr", "batch": 1});
    refused(&shelf.desk.json_under(&key, "POST", &path, &other), 422, "idempotency_key_reused");
    let headers = [("content-type", "application/json")];
    refused(&shelf.desk.send("POST", &path, &headers, body.to_string().as_bytes()), 400, "invalid_parameter");
    drop(appliance);
}

#[test]
fn who_may_have_drafts_made_of_what() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "c": "C", "d": "D"}));
    let body = |locale: &str| json!({"file": file_id, "locale": locale, "batch": 1});
    let at = json!({"project_id": shelf.project_id});
    let german_only = json!({"project_id": shelf.project_id, "locale": "de"});
    for (template, scope, de, fr) in [
        ("viewer", &at, 403, 403),
        ("reviewer", &german_only, 200, 403),
        ("translator", &german_only, 200, 403),
        ("ci", &at, 403, 403),
        ("terminologist", &at, 403, 403),
        ("publisher", &at, 200, 200),
        ("runner", &at, 200, 200),
    ] {
        let desk = shelf.desk.template(&appliance, template, scope);
        for (locale, status) in [("de", de), ("fr", fr)] {
            let answer = translate(&shelf, &desk, &body(locale));
            match status {
                200 => drop(answer.expect(200)),
                _ => drop(refused(&answer, 403, "forbidden")),
            }
        }
    }
    // One fault after another: things of the path, the permission, things of the body, what it says.
    let viewer = shelf.desk.template(&appliance, "viewer", &at);
    let runner = shelf.desk.template(&appliance, "runner", &at);
    let translator = shelf.desk.template(&appliance, "translator", &german_only);
    let requests = engine.asked().len();
    let nowhere = format!("/v1/projects/{NOBODY}/translate");
    refused(&viewer.post(&nowhere, &body("zh")), 404, "not_found");
    let no_file = json!({"file": NOBODY, "locale": "zh"});
    refused(&translate(&shelf, &viewer, &no_file), 403, "forbidden");
    refused(&translate(&shelf, &translator, &json!({"file": NOBODY, "locale": "zh"})), 403, "forbidden");
    refused(&translate(&shelf, &runner, &no_file), 404, "not_found");
    let no_key = json!({"file": file_id, "locale": "zh", "keys": [shelf.key_id("a"), NOBODY]});
    refused(&translate(&shelf, &runner, &no_key), 404, "not_found");
    shelf.json("other.json", &json!({"elsewhere": "E"}));
    let elsewhere = json!({"file": file_id, "locale": "zh", "keys": [shelf.key_id("elsewhere")]});
    refused(&translate(&shelf, &runner, &elsewhere), 404, "not_found");
    refused(&translate(&shelf, &runner, &body("zh")), 422, "locale_script_required");
    for (member, value) in [
        ("file", json!("x")),
        ("locale", json!("")),
        ("locale", json!("x".repeat(256))),
        ("batch", json!(0)),
        ("batch", json!(201)),
        ("batch", json!("1")),
        ("drafted_before", json!("yesterday")),
        ("keys", json!([])),
        ("keys", json!([7])),
        ("keys", json!(vec![NOBODY; 201])),
        ("from_memory", json!(74)),
        ("from_memory", json!(101)),
    ] {
        let mut wrong = body("zh");
        wrong[member] = value;
        assert_eq!(refused(&translate(&shelf, &viewer, &wrong), 400, "invalid_field")["field"], member, "{wrong}");
    }
    refused(&translate(&shelf, &viewer, &json!({"file": 1, "colour": 2})), 400, "unknown_field");
    // Another tenant's things are as good as none.
    let stranger = Desk::open(&appliance);
    refused(&translate(&shelf, &stranger, &body("de")), 404, "not_found");
    let own = Shelf::open(&appliance);
    refused(&own.desk.post(&own.path("/translate"), &body("de")), 404, "not_found");
    assert_eq!(engine.asked().len(), requests, "nobody was asked for any of that");
}

#[test]
fn without_an_engine_it_is_told_behind_everything_else() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let body = |locale: &str| json!({"file": file_id, "locale": locale});
    let viewer = shelf.desk.template(shared(), "viewer", &json!({}));
    refused(&translate(&shelf, &viewer, &body("de")), 403, "forbidden");
    refused(&translate(&shelf, &shelf.desk, &json!({"file": NOBODY, "locale": "de"})), 404, "not_found");
    refused(&translate(&shelf, &shelf.desk, &body("zh")), 422, "locale_script_required");
    let answer = translate(&shelf, &shelf.desk, &body("de"));
    refused(&answer, 503, "ai_unavailable");
    assert_eq!(answer.header("retry-after"), "30");
    let from_memory = json!({"file": file_id, "locale": "de", "from_memory": 100});
    refused(&translate(&shelf, &shelf.desk, &from_memory), 503, "ai_unavailable");
    assert_eq!(text(&shelf.translation(&shelf.key_id("a"), "de"), "state"), "untranslated");
}

#[test]
fn an_engine_that_must_not_be_called_is_not() {
    let engine = ScriptedEngine::open(german);
    let appliance =
        Setup::new().env("QUINTET_AI__URL", engine.url()).env("QUINTET_EGRESS__ALLOW_PRIVATE", "10.0.0.0/8").start();
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    refused(&translate(&shelf, &shelf.desk, &json!({"file": file_id, "locale": "de"})), 503, "ai_unavailable");
    assert_eq!(engine.asked().len(), 0);
}

#[test]
fn who_may_not_any_more_when_the_engine_is_done_has_no_drafts() {
    let (appliance, engine) = with_engine(german);
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "Plain"}));
    let account = shelf.desk.post("/v1/service-accounts", &json!({"label": "runner"})).expect(201);
    let wish = json!({"principal_id": account["id"], "template": "runner"});
    let grant = shelf.desk.post("/v1/grants", &wish).expect(201);
    let runner = key_of(&shelf.desk, &format!("/v1/service-accounts/{}", text(&account, "id")));
    // The permission ends, the key does not.
    let (owner, tenant_id) = (shelf.desk.client.clone(), shelf.desk.tenant_id.clone());
    let ending = format!("/v1/grants/{}", text(&grant, "id"));
    engine.follow(move |asked: &Asked| {
        owner.send("DELETE", &ending, &[("l10n-tenant", &tenant_id)], b"").expect(200);
        german(asked)
    });
    refused(&translate(&shelf, &runner, &json!({"file": file_id, "locale": "de"})), 403, "forbidden");
    assert_eq!(engine.asked().len(), 1);
    assert_eq!(shelf.translation(&shelf.key_id("a"), "de")["state"], "untranslated");
    assert_eq!(runner.get("/v1/me").expect(200)["permissions"], json!([]));
}
