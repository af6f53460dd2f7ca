//! Outbound webhooks: what is told of what happens, and how it is signed; what many changes at once come to; endpoints and
//! deliveries; and that nothing is told of what did not happen.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};

use crate::localization::decisions::{Batch, advance};
use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, stderr};
use crate::support::receiver::{Arrived, Receiver, WRONG_URLS, is_signed, wrong_endpoints};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// An appliance that may call this machine, under a clock that is told.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start());

impl Desk {
    fn webhook(&self, url: &str, events: &[&str]) -> Value {
        self.post("/v1/webhooks", &json!({"url": url, "events": events})).expect(201)
    }

    fn patch_webhook(&self, id: &str, change: &Value) -> Value {
        self.json("PATCH", &format!("/v1/webhooks/{id}"), change).expect(200)
    }

    /// A request without a body.
    fn poke(&self, path: &str) -> Answer {
        self.poke_under(&fresh_key(), path)
    }

    fn poke_under(&self, key: &str, path: &str) -> Answer {
        self.send("POST", path, &[("idempotency-key", key)], b"")
    }

    fn deliveries(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("/v1/webhooks/deliveries?{query}")).expect(200);
        page["deliveries"].as_array().unwrap().clone()
    }

    fn me(&self) -> String {
        text(&self.get("/v1/me").expect(200), "principal_id")
    }
}

fn id_of(endpoint: &Value) -> String {
    text(endpoint, "endpoint_id")
}

fn key_of(endpoint: &Value) -> Vec<u8> {
    HEXLOWER.decode(text(endpoint, "secret").as_bytes()).unwrap()
}

fn events(told: &[Arrived]) -> Vec<&str> {
    told.iter().map(|one| one.header("x-svc-event")).collect()
}

/// What arrived, in the order in which it happened.
fn in_order(receiver: &Receiver, name: &str, count: usize) -> Vec<Arrived> {
    let mut told = receiver.wait(name, count);
    told.sort_by_key(|one| one.header("x-svc-delivery").parse::<u64>().unwrap());
    told
}

/// What is told of things that happened, to the byte: the kind of thing, its id, and the data but for who did it.
fn expect(told: &Arrived, event: &str, (kind, id): (&str, &str), data: &str, actor: (&str, &str), endpoint: &Value) {
    let body = told.body();
    let (event_id, at, number) = (text(&body, "event_id"), text(&body, "occurred_at"), told.header("x-svc-delivery"));
    let (tenant, endpoint) = (text(&body, "tenant_id"), id_of(endpoint));
    let (actor_kind, actor_id) = actor;
    let expected = format!(
        r#"{{"event_id":"{event_id}","event_type":"{event}","occurred_at":"{at}","tenant_id":"{tenant}","resource":{{"type":"{kind}","id":"{id}"}},"data":{{{data},"actor_kind":"{actor_kind}","actor_id":"{actor_id}"}},"delivery":{{"delivery_id":{number},"attempt":1,"endpoint_id":"{endpoint}"}},"truncated":false}}"#
    );
    assert_eq!(String::from_utf8_lossy(&told.raw), expected);
    let heads = ["x-svc-event", "x-svc-event-id", "x-svc-attempt", "content-type"].map(|name| told.header(name));
    assert_eq!(heads, [event, event_id.as_str(), "1", "application/json"]);
    assert!(told.header("user-agent").starts_with("quintet/"));
}

/// Every event from what causes it, all of its members, signed both ways.
#[test]
fn an_endpoint_is_told_of_every_event_that_it_asks_for() {
    let (batch, receiver) = (Batch::open(&APPLIANCE, 0), Receiver::start());
    let (shelf, desk) = (&batch.shelf, &batch.shelf.desk);
    let all = desk.webhook(&receiver.url(204, "all"), &["*", "import"]);
    desk.webhook(&receiver.url(200, "imports"), &["import"]);
    desk.webhook(&receiver.url(200, "none"), &["webhook.endpoint_degraded"]);
    let imported = shelf.upload("kind=json&path=k.json", br#"{"k": "Text"}"#).expect(201);
    let file = text(&imported, "file_id");
    let key = shelf.key_id("k");
    shelf.translate(&key, "DE", &json!({"text": "Geheimes Wort"})).expect(201);
    let step = |action: &str| {
        desk.post(&format!("/v1/keys/{key}/translations/de/transition"), &json!({"action": action})).expect(200)
    };
    step("review");
    let asked = desk.post(&shelf.path("/approval-requests"), &json!({"file": file, "locale": "de"})).expect(201);
    let decision = text(&asked, "decision_id");
    APPLIANCE.cli_json(&["decision", "approve", &decision, "--by", "ada"]);
    batch.wait(&asked, "approved");
    let release = desk.poke(&shelf.path("/releases")).expect(201);
    let release_id = text(&release, "id");
    for _ in 0..2 {
        desk.poke(&format!("/v1/releases/{release_id}/withdraw")).expect(200);
    }
    advance(&APPLIANCE, 1);
    let told = in_order(&receiver, "all", 7);
    let names =
        ["import", "translation", "translation", "translation", "approval_request.settled", "release", "release"];
    assert_eq!(events(&told), names);
    let project = &shelf.project_id;
    let me = desk.me();
    let (by_me, by_none) = (("service_account", me.as_str()), ("system", "00000000-0000-0000-0000-000000000000"));
    let sha256 = text(&imported, "sha256");
    let data = format!(
        r#""project_id":"{project}","file_id":"{file}","version":1,"sha256":"{sha256}","keys":1,"added":1,"changed":0,"obsoleted":0,"restored":0"#
    );
    expect(&told[0], "import", ("file", &file), &data, by_me, &all);
    let changed = |cause: &str, reference: &str, from: &str, to: &str| {
        format!(
            r#""project_id":"{project}","file_id":"{file}","locale":"de","cause":"{cause}","approval_ref":{reference},"count":1,"keys":[{{"key_id":"{key}","revision":1,"from":"{from}","to":"{to}"}}]"#
        )
    };
    let of_file = ("file", file.as_str());
    expect(&told[1], "translation", of_file, &changed("written", "null", "untranslated", "draft"), by_me, &all);
    expect(&told[2], "translation", of_file, &changed("transition", "null", "draft", "reviewed"), by_me, &all);
    let reference = format!("\"{decision}\"");
    expect(&told[3], "translation", of_file, &changed("decision", &reference, "reviewed", "approved"), by_none, &all);
    let request = text(&asked, "id");
    let data = format!(
        r#""approval_request_id":"{request}","project_id":"{project}","file_id":"{file}","locale":"de","status":"approved","decision_id":"{decision}","item_count":1,"approved":1,"returned":0,"skipped_changed":0,"unchanged":0"#
    );
    expect(&told[4], "approval_request.settled", ("approval_request", &request), &data, by_none, &all);
    let (sha256, size) = (text(&release, "sha256"), &release["size"]);
    for (told, action) in told[5..].iter().zip(["created", "withdrawn"]) {
        let data = format!(
            r#""release_id":"{release_id}","project_id":"{project}","action":"{action}","sha256":"{sha256}","size":{size},"files":{},"locales":1,"entries":{}"#,
            release["files"], release["entries"]
        );
        expect(told, "release", ("release", &release_id), &data, by_me, &all);
    }
    let secret = key_of(&all);
    assert_eq!(secret.len(), 32);
    assert!(told.iter().all(|one| is_signed(one, &secret)));
    assert_eq!(all["standard_webhooks_secret"], format!("whsec_{}", BASE64.encode(&secret)));
    assert_eq!(all["events"], json!(["*", "import"]));
    assert!(told.iter().all(|one| !String::from_utf8_lossy(&one.raw).contains("Geheim")), "no text is told");
    assert_eq!((events(&receiver.wait("imports", 1)), receiver.at("none").len()), (vec!["import"], 0));
    assert_eq!(desk.deliveries(&format!("resource_id={file}&endpoint_id={}", id_of(&all))).len(), 4);
    assert!(!APPLIANCE.log().contains(all["secret"].as_str().unwrap()), "a secret is in the log");
}

/// A document, a licence's evaluation: one event for what one transaction changes, not one for each translation.
#[test]
fn many_translations_at_once_are_few_events() {
    let (shelf, receiver) = (Shelf::open(&APPLIANCE), Receiver::start());
    let content: BTreeMap<String, String> = (0..150).map(|n| (format!("k{n:03}"), format!("Text {n}"))).collect();
    let file = shelf.json("many.json", &json!(content));
    let told_of = shelf.desk.webhook(&receiver.url(204, "many"), &["translation"]);
    let units: String = shelf
        .keys()
        .values()
        .map(|key| {
            let (id, source) = (text(key, "id"), text(key, "source"));
            format!("<trans-unit id=\"{id}\"><source>{source}</source><target>Wort {source}</target></trans-unit>")
        })
        .collect();
    let document = format!(
        "<xliff version=\"1.2\" xmlns=\"urn:oasis:names:tc:xliff:document:1.2\"><file original=\"many.json\" \
         source-language=\"en\" target-language=\"de\" datatype=\"plaintext\"><body>{units}</body></file></xliff>"
    );
    let key = fresh_key();
    let headers = [("content-type", "application/xliff+xml"), ("idempotency-key", key.as_str())];
    let path = shelf.path(&format!("/files/{file}/xliff"));
    let report = shelf.desk.send("POST", &path, &headers, document.as_bytes()).expect(200);
    assert_eq!(report["written"], 150, "{report}");
    let classes: Vec<Value> = content.keys().map(|path| json!({"path": path, "class": "prose"})).collect();
    shelf.desk.json("PUT", &shelf.path(&format!("/files/{file}/context")), &json!({"keys": classes})).expect(200);
    let sample = json!({"locale": "de", "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "r"});
    let licence = shelf.desk.post(&shelf.path("/licences"), &sample).expect(201);
    APPLIANCE.cli_json(&["decision", "approve", &text(&licence, "decision_id"), "--by", "ada"]);
    advance(&APPLIANCE, 1);
    let body = json!({"file": file, "locale": "de"});
    let began = std::time::Instant::now();
    let approved = loop {
        let answer = shelf.desk.post(&shelf.path("/policy-approve"), &body);
        if answer.status == 200 {
            break answer.json();
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{answer:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert_eq!(approved["approved"], 150, "{approved}");
    advance(&APPLIANCE, 1);
    let told: Vec<Value> = receiver.wait("many", 2).iter().map(Arrived::body).collect();
    let of = |cause: &str| {
        let all: Vec<&Value> = told.iter().filter(|body| body["data"]["cause"] == cause).collect();
        let keys: usize = all.iter().map(|body| body["data"]["keys"].as_array().unwrap().len()).sum();
        let count: u64 = all.iter().map(|body| body["data"]["count"].as_u64().unwrap()).sum();
        (all, keys, count)
    };
    let (imported, keys, count) = of("imported");
    assert!((keys, count) == (150, 150) && imported.len() <= 3, "{} events of {keys} keys", imported.len());
    let (policy, keys, count) = of("policy");
    assert!((keys, count) == (150, 150) && policy.len() <= 3, "{} events of {keys} keys", policy.len());
    assert!(policy.iter().all(|body| body["data"]["approval_ref"] == approved["evaluation_id"]));
    assert!(told.iter().all(|body| body["truncated"] == false));
    assert_eq!(shelf.desk.get(&format!("/v1/webhooks/{}", id_of(&told_of))).expect(200)["consecutive_failures"], 0);
}

#[test]
fn endpoints_are_listed_changed_rotated_and_deleted() {
    let (shelf, receiver) = (Shelf::open(&APPLIANCE), Receiver::start());
    let desk = &shelf.desk;
    let body = json!({"url": receiver.url(204, "a"), "events": ["import"], "secret": "sesame", "description": "d"});
    let made = desk.post("/v1/webhooks", &body).expect(201);
    assert_eq!((&made["secret"], &made["secret_origin"]), (&Value::Null, &json!("supplied")));
    assert_eq!(made["standard_webhooks_secret"], format!("whsec_{}", BASE64.encode(b"sesame")));
    let id = id_of(&made);
    let path = format!("/v1/webhooks/{id}");
    let record = desk.get(&path).expect(200);
    assert!(record.get("secret").is_none() && record.get("standard_webhooks_secret").is_none());
    shelf.json("a.json", &json!({"a": "A"}));
    advance(&APPLIANCE, 1);
    assert!(is_signed(&receiver.wait("a", 1)[0], b"sesame"), "what a caller supplies signs as it stands");
    let off = desk.patch_webhook(&id, &json!({"active": false, "description": null}));
    let standing = [&off["active"], &off["disabled_reason"], &off["description"]];
    assert_eq!(standing, [&json!(false), &json!("manual"), &Value::Null]);
    shelf.json("b.json", &json!({"b": "B"}));
    refused(&desk.poke(&format!("{path}/test")), 409, "conflict");
    let moved = json!({"active": true, "url": receiver.url(204, "b"), "secret": "open", "events": ["release"]});
    desk.patch_webhook(&id, &moved);
    shelf.json("c.json", &json!({"c": "C"}));
    let release = desk.poke(&shelf.path("/releases")).expect(201);
    advance(&APPLIANCE, 1);
    let told = receiver.wait("b", 1);
    assert_eq!((told[0].body()["resource"]["id"].clone(), told.len()), (release["id"].clone(), 1));
    assert!(is_signed(&told[0], b"open") && receiver.at("a").len() == 1);
    let rotated = desk.poke(&format!("{path}/rotate-secret")).expect(200);
    assert_eq!(rotated["secret_origin"], "generated");
    let test = desk.poke(&format!("{path}/test")).expect(202);
    assert_eq!((&test["event_type"], &test["max_attempts"]), (&json!("webhook.test"), &json!(1)));
    assert!(is_signed(&in_order(&receiver, "b", 2)[1], &key_of(&rotated)));
    let listed = desk.get("/v1/webhooks?limit=1").expect(200);
    assert_eq!((&listed["webhooks"][0]["endpoint_id"], &listed["next_cursor"]), (&json!(id), &Value::Null));
    let other = desk.webhook(&receiver.url(204, "c"), &["*"]);
    let first = desk.get("/v1/webhooks?limit=1").expect(200);
    assert_eq!(first["webhooks"][0]["endpoint_id"], other["endpoint_id"], "newest first");
    let cursor = text(&first, "next_cursor");
    let second = desk.get(&format!("/v1/webhooks?limit=1&cursor={cursor}")).expect(200);
    assert_eq!((&second["webhooks"][0]["endpoint_id"], &second["next_cursor"]), (&json!(id), &Value::Null));
    let gone = desk.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!(gone, json!({"endpoint_id": id, "deleted": true}));
    refused(&desk.get(&path), 404, "not_found");
    refused(&desk.send("DELETE", &path, &[], b""), 404, "not_found");
    assert!(desk.deliveries("").iter().all(|one| one["endpoint_id"] != json!(id)), "they go with it");
    let chain = desk.get("/v1/audit/events?limit=500").expect(200);
    let actions: Vec<&str> =
        chain["events"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    let own: Vec<&&str> = actions.iter().filter(|action| action.starts_with("webhook.")).collect();
    let all = ["webhook.create", "webhook.update", "webhook.update", "webhook.rotate_secret", "webhook.test"];
    assert_eq!(own, all.iter().chain(&["webhook.create", "webhook.delete"]).collect::<Vec<_>>());
    assert!(!chain.to_string().contains("/204/"), "addresses are not in the chain");
}

/// Nobody sees another tenant's endpoints, and nobody manages them without being let.
#[test]
fn endpoints_are_their_tenants_and_their_managers() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let made = desk.webhook(&receiver.url(204, "a"), &["*"]);
    desk.poke(&format!("/v1/webhooks/{}/test", id_of(&made))).expect(202);
    advance(&APPLIANCE, 1);
    let stranger = Desk::open(&APPLIANCE);
    let viewer = desk.template(&APPLIANCE, "viewer", &json!({}));
    let manager = desk.template(&APPLIANCE, "member_manager", &json!({}));
    let path = format!("/v1/webhooks/{}", id_of(&made));
    for (method, path, body) in [
        ("GET", path.clone(), Value::Null),
        ("PATCH", path.clone(), json!({"active": true})),
        ("POST", format!("{path}/test"), Value::Null),
        ("POST", format!("{path}/rotate-secret"), Value::Null),
        ("GET", format!("{path}/deliveries"), Value::Null),
        ("POST", "/v1/webhooks/deliveries/1/redeliver".to_owned(), Value::Null),
        ("DELETE", path.clone(), Value::Null),
    ] {
        let send = |desk: &Desk, path: &str| match body {
            Value::Null => desk.send(method, path, &[], b""),
            _ => desk.json(method, path, &body),
        };
        refused(&send(&stranger, &path), 404, "not_found");
        refused(&send(&viewer, &path), 403, "forbidden");
        let absent = path.replace(&id_of(&made), NOBODY).replace("/1/", "/999/");
        refused(&send(&viewer, &absent), 403, "forbidden");
        refused(&send(&desk, &absent), 404, "not_found");
        refused(&send(&desk, &path.replace(&id_of(&made), "x").replace("/1/", "/01/")), 404, "not_found");
    }
    refused(&viewer.get("/v1/webhooks"), 403, "forbidden");
    refused(&viewer.get("/v1/webhooks/deliveries"), 403, "forbidden");
    let body = json!({"url": receiver.url(204, "b"), "events": ["*"]});
    refused(&viewer.post("/v1/webhooks", &body), 403, "forbidden");
    assert_eq!(stranger.get("/v1/webhooks").expect(200), json!({"webhooks": [], "next_cursor": null}));
    assert_eq!(stranger.deliveries("").len(), 0);
    assert_eq!(manager.get("/v1/webhooks").expect(200)["webhooks"].as_array().unwrap().len(), 1);
    manager.post("/v1/webhooks", &body).expect(201);
}

#[test]
fn endpoints_that_are_wrong_are_refused_and_change_nothing() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let url = receiver.url(204, "x");
    let own = [
        (json!({"url": url, "events": ["release.withdrawn"]}), "events"),
        (json!({"url": url, "events": ["run.exited"]}), "events"),
    ];
    for (body, field) in wrong_endpoints(&url).into_iter().chain(own) {
        let problem = refused(&desk.post("/v1/webhooks", &body), 400, "invalid_field");
        assert_eq!(problem["field"], field, "{body}");
    }
    let unknown = json!({"url": 5, "events": ["*"], "sekret": "x"});
    refused(&desk.post("/v1/webhooks", &unknown), 400, "unknown_field");
    refused(&desk.post("/v1/webhooks", &json!([])), 400, "invalid_body");
    for wrong in WRONG_URLS {
        let body = json!({"url": wrong, "events": ["*"]});
        let problem = refused(&desk.post("/v1/webhooks", &body), 422, "url_not_allowed");
        assert_eq!(problem["field"], "url", "{wrong}");
        assert!(!problem.to_string().contains("169.254"), "{problem}");
    }
    assert_eq!(desk.get("/v1/webhooks").expect(200)["webhooks"], json!([]));
    let key = fresh_key();
    let body = json!({"url": url, "events": ["import"]});
    let made = desk.json_under(&key, "POST", "/v1/webhooks", &body).expect(201);
    let path = format!("/v1/webhooks/{}", id_of(&made));
    for body in [json!({"active": null}), json!({"url": null}), json!({"secret": null}), json!({"events": []})] {
        refused(&desk.json("PATCH", &path, &body), 400, "invalid_field");
    }
    refused(&desk.json("PATCH", &path, &json!({"url": "https://10.0.0.1/"})), 422, "url_not_allowed");
    let mut repeated = made.clone();
    repeated["secret"] = Value::Null;
    repeated["standard_webhooks_secret"] = Value::Null;
    assert_eq!(desk.json_under(&key, "POST", "/v1/webhooks", &body).expect(201), repeated, "a secret is told once");
    let other = json!({"url": url, "events": ["release"]});
    refused(&desk.json_under(&key, "POST", "/v1/webhooks", &other), 422, "idempotency_key_reused");
    let key = fresh_key();
    let rotated = desk.poke_under(&key, &format!("{path}/rotate-secret")).expect(200);
    assert!(rotated["secret"].is_string());
    let again = desk.poke_under(&key, &format!("{path}/rotate-secret")).expect(200);
    assert_eq!((&again["secret"], &again["updated_at"]), (&Value::Null, &rotated["updated_at"]));
    let mut record = desk.get(&path).expect(200);
    for name in ["secret", "standard_webhooks_secret"] {
        record[name] = rotated[name].clone();
    }
    assert_eq!(record, rotated, "nothing else was changed");
    for query in ["state=dead", "x=1"] {
        refused(&desk.get(&format!("/v1/webhooks/deliveries?{query}")), 400, "unknown_parameter");
    }
    for query in ["state_filter=gone", "limit=501", "since=-1", "endpoint_id=x", "resource_id=x"] {
        refused(&desk.get(&format!("/v1/webhooks/deliveries?{query}")), 400, "invalid_parameter");
    }
    for _ in 1..20 {
        desk.webhook(&url, &["import"]);
    }
    refused(&desk.post("/v1/webhooks", &body), 409, "conflict");
}

#[test]
fn deliveries_that_fail_are_tried_again_and_can_be_sent_once_more() {
    let (shelf, receiver) = (Shelf::open(&APPLIANCE), Receiver::start());
    let desk = &shelf.desk;
    let id = id_of(&desk.webhook(&receiver.url(503, "shut"), &["import"]));
    desk.webhook(&receiver.url(204, "watch"), &["webhook.endpoint_degraded"]);
    shelf.json("a.json", &json!({"a": "A"}));
    advance(&APPLIANCE, 1);
    let path = format!("/v1/webhooks/{id}/deliveries");
    desk.patch_webhook(&id, &json!({}));
    let waiting = desk.get(&path).expect(200)["deliveries"][0].clone();
    assert_eq!((&waiting["state"], &waiting["attempt"]), (&json!("pending"), &json!(1)));
    assert_eq!((&waiting["last_status_code"], &waiting["last_error"]), (&json!(503), &json!("bad_status")));
    let again = format!("/v1/webhooks/deliveries/{}/redeliver", waiting["delivery_id"]);
    refused(&desk.poke(&again), 409, "conflict");
    advance(&APPLIANCE, 3600);
    let told = receiver.at("shut");
    let attempts: Vec<&str> = told.iter().map(|one| one.header("x-svc-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3", "4", "5"]);
    assert!(told.iter().all(|one| one.raw == told[0].raw), "the body is frozen");
    let dead = desk.get(&format!("{path}?state_filter=dead")).expect(200)["deliveries"][0].clone();
    assert_eq!((&dead["attempt"], &dead["next_attempt_at"]), (&json!(5), &Value::Null));
    desk.patch_webhook(&id, &json!({"url": receiver.url(200, "open")}));
    let key = fresh_key();
    let sent = desk.poke_under(&key, &again).expect(202);
    assert_eq!(sent["redelivery_of"], dead["delivery_id"]);
    assert_eq!(desk.poke_under(&key, &again).expect(202), sent, "a repeat does nothing twice");
    let (first, second) = (told[0].body(), receiver.wait("open", 1)[0].body());
    assert_eq!((&second["event_id"], &second["data"]), (&first["event_id"], &first["data"]));
    assert_eq!(second["delivery"]["delivery_id"], sent["delivery_id"]);
    advance(&APPLIANCE, 1);
    assert_eq!(desk.get(&format!("/v1/webhooks/{id}")).expect(200)["consecutive_failures"], 0);
    desk.patch_webhook(&id, &json!({"url": receiver.url(410, "gone")}));
    advance(&APPLIANCE, 90_000);
    for number in 0..20 {
        shelf.json(&format!("f{number}.json"), &json!({"a": "A"}));
        advance(&APPLIANCE, 1);
    }
    let record = desk.get(&format!("/v1/webhooks/{id}")).expect(200);
    assert_eq!((&record["active"], &record["disabled_reason"]), (&json!(false), &json!("dead_without_success_24h")));
    let notice = receiver.wait("watch", 1)[0].body();
    let gone = receiver.url(410, "gone");
    assert_eq!(Some(notice["data"]["url"].as_str().unwrap()), gone.strip_suffix("/410/gone"), "and no more of it");
    let expected = (&json!("webhook.endpoint_degraded"), &json!(id), &json!(5));
    assert_eq!(
        (&notice["event_type"], &notice["data"]["endpoint_id"], &notice["data"]["dead_deliveries_24h"]),
        expected
    );
    shelf.json("g.json", &json!({"a": "A"}));
    advance(&APPLIANCE, 1);
    assert_eq!((receiver.at("gone").len(), receiver.at("watch").len()), (20, 1), "one that is inactive gets nothing");
    let back = desk.patch_webhook(&id, &json!({"active": true}));
    assert_eq!((&back["active"], &back["dead_deliveries_24h"]), (&json!(true), &json!(0)));
}

#[test]
fn nothing_is_told_of_what_was_refused() {
    let (shelf, receiver) = (Shelf::open(&APPLIANCE), Receiver::start());
    let file = shelf.json("a.json", &json!({"k": "Pay {name}"}));
    let key = shelf.key_id("k");
    shelf.translate(&key, "de", &json!({"text": "Zahlen"})).expect(201);
    let desk = &shelf.desk;
    desk.webhook(&receiver.url(204, "all"), &["*"]);
    let step =
        |action: &str| desk.post(&format!("/v1/keys/{key}/translations/de/transition"), &json!({"action": action}));
    refused(&step("review"), 422, "qa_failed");
    refused(&step("approve"), 409, "invalid_transition");
    refused(&shelf.translate(&key, "de", &json!({"forms": {"other": "x"}})), 422, "edit_shape");
    refused(&shelf.upload("kind=json&path=a.json", b"{"), 422, "malformed");
    let asked = json!({"file": file, "locale": "de"});
    refused(&desk.post(&shelf.path("/approval-requests"), &asked), 409, "nothing_to_approve");
    refused(&desk.post(&shelf.path("/policy-approve"), &asked), 409, "policy_unlicensed");
    refused(&desk.poke(&format!("/v1/releases/{NOBODY}/withdraw")), 404, "not_found");
    advance(&APPLIANCE, 1);
    assert_eq!((desk.deliveries("").len(), receiver.at("all").len()), (0, 0));
}

#[test]
fn the_operator_sees_them_by_the_name_of_their_service() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let made = desk.webhook(&receiver.url(204, "a"), &["*"]);
    let (id, tenant) = (id_of(&made), desk.tenant_id.as_str());
    let service = ["--service", "localization"];
    let cli = |arguments: &[&str]| APPLIANCE.cli_json(&[arguments, &service].concat());
    let listed = cli(&["webhook", "list", "--tenant", tenant]);
    assert_eq!((&listed["items"][0]["endpoint_id"], listed["items"].as_array().unwrap().len()), (&json!(id), 1));
    assert_eq!(APPLIANCE.cli_json(&["webhook", "list", "--tenant", tenant])["items"], json!([]), "those of runs");
    assert!(!cli(&["webhook", "show", &id]).to_string().contains("secret\":"), "no secret is shown");
    desk.patch_webhook(&id, &json!({"active": false}));
    assert_eq!(cli(&["webhook", "enable", &id])["active"], true);
    assert_eq!(cli(&["webhook", "test", &id])["state"], "delivered");
    let sent = cli(&["webhook", "deliveries", "--endpoint", &id]);
    assert_eq!(
        (&sent["items"][0]["event_type"], &sent["items"][0]["delivery_id"]),
        (&json!("webhook.test"), &json!(1))
    );
    let again = cli(&["webhook", "redeliver", "--tenant", tenant, "1"]);
    assert_eq!(again["items"][0]["redelivery_of"], 1);
    let dead = cli(&["webhook", "redeliver", "--endpoint", &id, "--dead-since", "2020-01-01T00:00:00Z"]);
    assert_eq!(dead["redelivered"], 0);
    let chain = desk.get("/v1/audit/events?limit=500").expect(200);
    let all = chain["events"].as_array().unwrap();
    let by_operator = all.iter().filter(|one| one["actor_kind"] == "system").map(|one| one["action"].as_str().unwrap());
    let own: Vec<&str> = by_operator.filter(|action| action.starts_with("webhook.")).collect();
    assert_eq!(own, ["webhook.update", "webhook.test", "webhook.redeliver"], "what the operator does is in the chain");
    let output = APPLIANCE.cli(&["webhook", "list", "--service", "ledger"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let status = APPLIANCE.cli_json(&["status"]);
    assert!(status["webhooks"]["endpoints"].as_u64() >= Some(1), "{status}");
}
