//! Schedules: they tell their webhook at each instant of a pattern; pausing, changing and deleting them; what is refused.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use quintet_platform::clock::{parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, fresh_key};
use crate::support::contract::faults;
use crate::support::receiver::{Arrived, Receiver, is_signed};

/// An appliance that may call this machine, under a clock that is told.
fn appliance() -> Appliance {
    Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start()
}

/// One whose clock nobody moves.
static APPLIANCE: LazyLock<Appliance> = LazyLock::new(appliance);

fn advance(appliance: &Appliance, seconds: i64) {
    appliance.cli_json(&["clock", "advance", &seconds.to_string()]);
}

/// Moves the clock to so many seconds behind a full hour.
fn advance_to(appliance: &Appliance, second_of_hour: i64) {
    let now = parse_rfc3339(appliance.cli_json(&["clock", "show"])["now"].as_str().unwrap()).unwrap();
    let second = now.as_micros().div_euclid(1_000_000).rem_euclid(3600);
    advance(appliance, (second_of_hour - second).rem_euclid(3600));
}

/// An instant so many seconds behind another, at its full second, as it is shown.
fn behind(instant: &Value, seconds: i64) -> String {
    let instant = parse_rfc3339(instant.as_str().unwrap()).unwrap().plus_seconds(seconds);
    format!("{}.000Z", &rfc3339(instant)[..19])
}

impl Desk {
    fn schedule(&self, body: &Value) -> Value {
        self.client.post("/api/v1/schedules", body).expect(201)
    }

    fn schedule_of(&self, id: &str) -> Value {
        self.client.get(&format!("/api/v1/schedules/{id}")).expect(200)
    }

    fn change(&self, id: &str, body: &Value) -> Value {
        self.client.patch(&format!("/api/v1/schedules/{id}"), body).expect(200)
    }
}

fn id_of(schedule: &Value) -> String {
    schedule["schedule_id"].as_str().unwrap().to_owned()
}

fn scheduled_at(arrived: &[Arrived]) -> Vec<String> {
    let mut all: Vec<String> =
        arrived.iter().map(|one| one.body()["data"]["scheduled_at"].as_str().unwrap().to_owned()).collect();
    // Deliveries may overtake one another.
    all.sort();
    all
}

#[test]
fn a_schedule_tells_its_webhook_at_each_instant() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let desk = Desk::open(&appliance);
    desk.client.post("/api/v1/webhooks", &json!({"url": receiver.url(204, "all"), "events": ["*"]})).expect(201);
    advance_to(&appliance, 59 * 60 + 30);
    let body = json!({"name": "tick", "cron": "*/20\t *  * * *", "timezone": "Europe/Berlin", "payload": {"n": 1.50},
        "webhook": {"url": receiver.url(204, "tick"), "secret": "sesame"}});
    // As no library writes it, to see that it comes back so.
    let text = body.to_string().replace("1.5", "1.50");
    let json = [("content-type", "application/json")];
    let made = desk.client.send("POST", "/api/v1/schedules", &json, text.as_bytes()).expect(201);
    let (id, first) = (id_of(&made), behind(&made["created_at"], 30));
    let hour = |minutes: i64| behind(&json!(first), minutes * 60);
    let mut expected = json!({"schedule_id": id, "name": "tick", "cron": "*/20 * * * *", "timezone": "Europe/Berlin",
        "webhook": {"url": receiver.url(204, "tick"), "secret_origin": "supplied"}, "payload": {"n": 1.50},
        "start_at": null, "end_at": null, "misfire": "fire_once", "enabled": true, "next_fire_at": first,
        "next_fires": [hour(0), hour(20), hour(40), hour(60), hour(80)], "last_fire_at": null, "fire_count": 0,
        "missed_count": 0, "created_at": made["created_at"], "updated_at": made["created_at"]});
    assert_eq!(desk.schedule_of(&id), expected);
    expected["secret"] = Value::Null;
    assert_eq!(made, expected);
    advance(&appliance, 30 + 3600);
    let told = receiver.wait("tick", 4);
    assert_eq!(scheduled_at(&told), [hour(0), hour(20), hour(40), hour(60)]);
    assert!(told.iter().all(|one| is_signed(one, b"sesame")));
    let envelope = told.iter().map(Arrived::body).find(|body| body["data"]["scheduled_at"] == first).unwrap();
    assert_eq!((&envelope["event_type"], &envelope["truncated"]), (&json!("schedule.fired"), &json!(false)));
    assert_eq!(envelope["resource"], json!({"type": "schedule", "id": id}));
    let data = json!({"schedule_id": id, "name": "tick", "cron": "*/20 * * * *", "timezone": "Europe/Berlin",
        "scheduled_at": first, "fired_at": first, "late_seconds": 0.0, "missed": 0, "payload": {"n": 1.50}});
    assert_eq!(envelope["data"], data);
    let ids: BTreeSet<&str> = told.iter().map(|one| one.header("x-svc-event-id")).collect();
    assert_eq!((ids.len(), receiver.at("all").len()), (4, 0), "an event each, and no endpoint hears of them");
    let record = desk.schedule_of(&id);
    assert_eq!((&record["fire_count"], &record["last_fire_at"]), (&json!(4), &json!(hour(60))));
    let text = String::from_utf8(told[0].raw.clone()).unwrap();
    assert!(text.contains(r#""payload":{"n":1.50}"#), "handed back to the letter: {text}");
    let listed = desk.client.get(&format!("/api/v1/webhooks/deliveries?resource_id={id}")).expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 4);
}

#[test]
fn it_is_paused_resumed_changed_listed_and_deleted() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let (desk, stranger) = (Desk::open(&appliance), Desk::open(&appliance));
    advance_to(&appliance, 30);
    let body = json!({"cron": "* * * * *", "webhook": {"url": receiver.url(204, "a")}});
    let made = desk.schedule(&body);
    let (id, secret) = (id_of(&made), HEXLOWER.decode(made["secret"].as_str().unwrap().as_bytes()).unwrap());
    let path = format!("/api/v1/schedules/{id}");
    advance(&appliance, 120);
    assert!(receiver.wait("a", 2).iter().all(|one| is_signed(one, &secret)));
    let paused = desk.client.post(&format!("{path}/pause"), &json!(null)).expect(200);
    assert_eq!(
        (&paused["enabled"], &paused["next_fire_at"], &paused["next_fires"]),
        (&json!(false), &Value::Null, &json!([]))
    );
    assert_eq!(desk.client.post(&format!("{path}/pause"), &json!(null)).expect(200), paused, "any number of times");
    advance(&appliance, 600);
    let key = fresh_key();
    let resumed = desk.client.post_under(&key, &format!("{path}/resume"), &json!(null)).expect(200);
    assert_eq!(
        (&resumed["enabled"], &resumed["missed_count"], &resumed["fire_count"]),
        (&json!(true), &json!(0), &json!(2))
    );
    assert_eq!(desk.client.post_under(&key, &format!("{path}/resume"), &json!(null)).expect(200), resumed);
    advance(&appliance, 60);
    assert_eq!(receiver.wait("a", 3).len(), 3, "what passed meanwhile is nobody's");
    // Another pattern between two instants, another address, another payload; the secret stays.
    let asked = json!({"cron": "0 9 * * *", "timezone": "Asia/Tokyo", "webhook": {"url": receiver.url(204, "b")},
        "payload": [null], "name": "n", "misfire": "skip"});
    let changed = desk.change(&id, &asked);
    assert_eq!(
        (&changed["payload"], &changed["misfire"], &changed["name"]),
        (&json!([null]), &json!("skip"), &json!("n"))
    );
    assert!(changed["next_fire_at"].as_str().unwrap().ends_with("T00:00:00.000Z"), "{changed}");
    assert!(changed.get("secret").is_none());
    advance(&appliance, 86_400);
    let told = receiver.wait("b", 1);
    assert!(is_signed(&told[0], &secret) && receiver.at("a").len() == 3);
    assert_eq!(told[0].body()["data"]["payload"], json!([null]));
    // A start, an end, another secret; then neither.
    let next = desk.schedule_of(&id)["next_fire_at"].clone();
    let webhook = json!({"url": receiver.url(204, "c"), "secret": "open"});
    let bounded = desk.change(
        &id,
        &json!({"cron": "@hourly", "start_at": next, "end_at": behind(&next, 3600), "webhook": webhook, "name": null}),
    );
    assert_eq!((&bounded["next_fires"], &bounded["name"]), (&json!([next]), &Value::Null));
    assert_eq!(bounded["webhook"]["secret_origin"], "supplied");
    advance(&appliance, 2 * 86_400);
    assert!(is_signed(&receiver.wait("c", 1)[0], b"open"));
    assert_eq!((receiver.at("c").len(), &desk.schedule_of(&id)["next_fire_at"]), (1, &Value::Null));
    let free = desk.change(&id, &json!({"start_at": null, "end_at": null, "payload": null, "enabled": false}));
    assert_eq!((&free["start_at"], &free["payload"], &free["enabled"]), (&Value::Null, &Value::Null, &json!(false)));
    // Lists.
    let other = desk.schedule(&json!({"name": "other", "cron": "@yearly", "webhook": {"url": receiver.url(204, "a")}}));
    let list = |query: &str| -> Vec<Value> {
        let page = desk.client.get(&format!("/api/v1/schedules?{query}")).expect(200);
        page["items"].as_array().unwrap().iter().map(|item| item["schedule_id"].clone()).collect()
    };
    let other_id = other["schedule_id"].clone();
    assert_eq!(list(""), [other_id.clone(), json!(id)]);
    assert_eq!(
        (list("enabled=false"), list("enabled=true"), list("name=other")),
        (vec![json!(id)], vec![other_id.clone()], vec![other_id.clone()])
    );
    let first = desk.client.get("/api/v1/schedules?limit=1").expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(list(&format!("limit=1&cursor={cursor}")), [json!(id)]);
    refused(&desk.client.get(&format!("/api/v1/schedules?enabled=true&cursor={cursor}")), 422, "validation_failed");
    let problem = refused(&desk.client.get("/api/v1/schedules?state=x"), 400, "unknown_query_parameter");
    assert_eq!(problem["supported"], json!(["enabled", "name", "limit", "cursor"]));
    assert_eq!(stranger.client.get("/api/v1/schedules").expect(200)["items"], json!([]));
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/pause")),
        ("POST", format!("{path}/resume")),
        ("GET", "/api/v1/schedules/nothing".to_owned()),
    ] {
        refused(&stranger.client.send(method, &path, &[], b""), 404, "not_found");
    }
    refused(&stranger.client.patch(&path, &json!({"enabled": true})), 404, "not_found");
    let gone = desk.client.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!(gone, json!({"schedule_id": id, "deleted": true}));
    refused(&desk.client.get(&path), 404, "not_found");
    assert_eq!(list(""), [other_id]);
}

#[test]
fn schedules_that_are_wrong_are_refused_and_change_nothing() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let whole = json!({"cron": "0 9 * * *", "webhook": {"url": receiver.url(204, "x")}});
    let with = |change: Value| {
        let mut body = whole.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    let long = "x".repeat(16 << 10);
    let wrong = [
        (json!({"cron": "* * * *"}), "invalid_cron", "cron"),
        (json!({"cron": "0 0 9 * * *"}), "invalid_cron", "cron"),
        (json!({"cron": "60 * * * *"}), "invalid_cron", "cron"),
        (json!({"cron": "@reboot"}), "invalid_cron", "cron"),
        (json!({"cron": "@every 5m"}), "invalid_cron", "cron"),
        (json!({"cron": "0 9 L * *"}), "invalid_cron", "cron"),
        (json!({"cron": "*/0 * * * *"}), "invalid_cron", "cron"),
        (json!({"cron": ""}), "invalid_cron", "cron"),
        (json!({"cron": format!("{}* * * * *", " ".repeat(257))}), "invalid_cron", "cron"),
        (json!({"cron": "0 0 30 2 *"}), "never_fires", "cron"),
        (json!({"cron": "0 0 31 4,6,9,11 *"}), "never_fires", "cron"),
        (json!({"end_at": "2001-01-01T00:00:00Z"}), "never_fires", "end_at"),
        (json!({"start_at": "9999-12-31T23:00:00Z"}), "never_fires", "start_at"),
        (json!({"cron": 5}), "validation_failed", "cron"),
        (json!({"timezone": "CET"}), "validation_failed", "timezone"),
        (json!({"timezone": "Europe/Nowhere"}), "validation_failed", "timezone"),
        (json!({"timezone": "europe/berlin"}), "validation_failed", "timezone"),
        (json!({"timezone": "../etc/passwd"}), "validation_failed", "timezone"),
        (json!({"timezone": 1}), "validation_failed", "timezone"),
        (json!({"webhook": null}), "validation_failed", "webhook"),
        (json!({"webhook": {}}), "validation_failed", "webhook.url"),
        (json!({"webhook": {"url": 1}}), "validation_failed", "webhook.url"),
        (json!({"webhook": {"url": receiver.url(204, "x"), "secret": ""}}), "validation_failed", "webhook.secret"),
        (json!({"webhook": {"url": "https://10.0.0.1/", "events": ["*"]}}), "unknown_webhook_key", "webhook.events"),
        (json!({"webhook": {"url": "https://10.0.0.1/"}}), "url_not_allowed", "webhook.url"),
        (json!({"webhook": {"url": "https://user@example.com/"}}), "url_not_allowed", "webhook.url"),
        (json!({"webhook": {"url": "http://example.com/"}}), "url_not_allowed", "webhook.url"),
        (json!({"payload": long}), "validation_failed", "payload"),
        (json!({"start_at": "2026-01-01T00:00:00"}), "validation_failed", "start_at"),
        (json!({"start_at": "2026-01-01T00:00:00+01:00"}), "validation_failed", "start_at"),
        (json!({"start_at": "2099-01-02T00:00:00Z", "end_at": "2099-01-02T00:00:00Z"}), "validation_failed", "end_at"),
        (json!({"misfire": "fire_all"}), "validation_failed", "misfire"),
        (json!({"enabled": "yes"}), "validation_failed", "enabled"),
        (json!({"name": ""}), "validation_failed", "name"),
        (json!({"name": "n".repeat(129)}), "validation_failed", "name"),
        (json!({"tags": ["a"]}), "validation_failed", "tags"),
    ];
    for (change, code, field) in &wrong {
        let problem = refused(&desk.client.post("/api/v1/schedules", &with(change.clone())), 422, code);
        assert_eq!(problem["field"], *field, "{change}: {problem}");
        if *code == "invalid_cron" {
            assert!(problem["found"].is_string() && problem["expected"].is_string(), "{problem}");
        }
    }
    let problem = refused(&desk.client.post("/api/v1/schedules", &json!({"cron": "@daily"})), 422, "validation_failed");
    assert_eq!(problem["field"], "webhook");
    let problem = refused(&desk.client.post("/api/v1/schedules", &json!({"webhook": {}})), 422, "validation_failed");
    assert_eq!(problem["field"], "cron");
    assert_eq!(desk.client.get("/api/v1/schedules").expect(200)["items"], json!([]));
    let made = desk.schedule(&whole);
    let path = format!("/api/v1/schedules/{}", id_of(&made));
    let before = desk.client.get(&path).expect(200);
    for (change, code, field) in &wrong {
        let problem = refused(&desk.client.patch(&path, change), 422, code);
        assert_eq!(problem["field"], *field, "{change}: {problem}");
    }
    for change in [json!({"cron": null}), json!({"timezone": null}), json!({"misfire": null}), json!({"enabled": null})]
    {
        refused(&desk.client.patch(&path, &change), 422, "validation_failed");
    }
    assert_eq!(desk.client.get(&path).expect(200), before);
    refused(&desk.client.patch(&path, &json!({"cron": "0 9 * * mon-funday"})), 422, "invalid_cron");
    refused(&desk.client.patch(&path, &json!({"cron": "0 9 31 2 *"})), 422, "never_fires");
    assert_eq!(desk.client.get(&path).expect(200), before);
    // 16 KiB to the byte are taken.
    desk.change(&id_of(&made), &json!({"payload": &long[..(16 << 10) - 2]}));
    let key = fresh_key();
    let once = desk.client.post_under(&key, "/api/v1/schedules", &whole).expect(201);
    assert_eq!(desk.client.post_under(&key, "/api/v1/schedules", &whole).expect(201), once, "the same secret too");
    let other = desk.client.post_under(&key, "/api/v1/schedules", &with(json!({"name": "other"})));
    refused(&other, 422, "idempotency_key_mismatch");
    let reader = APPLIANCE.persona("runs", &APPLIANCE.tenant(), &["svc_run_read"]);
    refused(&reader.post("/api/v1/schedules", &whole), 403, "forbidden");
    refused(&reader.post(&format!("{path}/pause"), &json!(null)), 403, "forbidden");
    refused(&reader.send("DELETE", &path, &[], b""), 403, "forbidden");
    reader.get("/api/v1/schedules").expect(200);
}

#[test]
fn the_thousandth_schedule_is_the_last() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let body = json!({"cron": "@yearly", "webhook": {"url": receiver.url(204, "x")}});
    for _ in 0..1_000 {
        desk.schedule(&body);
    }
    refused(&desk.client.post("/api/v1/schedules", &body), 409, "limit_reached");
    let mut seen = 0;
    let mut cursor = String::new();
    loop {
        let page = desk.client.get(&format!("/api/v1/schedules?limit=200{cursor}")).expect(200);
        seen += page["items"].as_array().unwrap().len();
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, 1_000);
}

#[test]
fn what_is_answered_has_the_documented_shape() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let document = APPLIANCE.stranger("runs").get("/openapi.json").expect(200);
    let webhook = json!({"url": receiver.url(204, "x")});
    let schedule = json!({"cron": "@yearly", "webhook": webhook, "end_at": "2099-01-01T00:00:00Z"});
    let schedule_path = format!("/api/v1/schedules/{}", id_of(&desk.schedule(&schedule)));
    let timer = json!({"fire_at": "2099-01-01T00:00:00Z", "webhook": webhook});
    let timer_path = format!(
        "/api/v1/timers/{}",
        desk.client.post("/api/v1/timers", &timer).expect(201)["timer_id"].as_str().unwrap()
    );
    let nothing = Value::Null;
    for (method, template, path, body) in [
        ("POST", "/api/v1/timers", "/api/v1/timers", &timer),
        ("POST", "/api/v1/timers", "/api/v1/timers", &schedule),
        ("GET", "/api/v1/timers", "/api/v1/timers", &nothing),
        ("GET", "/api/v1/timers/{timer_id}", &timer_path, &nothing),
        ("DELETE", "/api/v1/timers/{timer_id}", &timer_path, &nothing),
        ("GET", "/api/v1/timers/{timer_id}", "/api/v1/timers/x", &nothing),
        ("POST", "/api/v1/schedules", "/api/v1/schedules", &schedule),
        ("POST", "/api/v1/schedules", "/api/v1/schedules", &json!({"cron": "x"})),
        ("GET", "/api/v1/schedules", "/api/v1/schedules", &nothing),
        ("GET", "/api/v1/schedules/{schedule_id}", &schedule_path, &nothing),
        ("PATCH", "/api/v1/schedules/{schedule_id}", &schedule_path, &json!({"name": "n"})),
        ("PATCH", "/api/v1/schedules/{schedule_id}", &schedule_path, &json!({"cron": "0 0 31 2 *"})),
        ("POST", "/api/v1/schedules/{schedule_id}/pause", &format!("{schedule_path}/pause"), &nothing),
        ("POST", "/api/v1/schedules/{schedule_id}/resume", &format!("{schedule_path}/resume"), &nothing),
        ("DELETE", "/api/v1/schedules/{schedule_id}", &schedule_path, &nothing),
    ] {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = desk.client.send(method, path, &[("content-type", "application/json")], text.as_bytes());
        let response = &document["paths"][template][method.to_lowercase()]["responses"][answer.status.to_string()];
        let schema = &response["content"][answer.header("content-type")]["schema"];
        assert!(schema.is_object(), "{method} {path}: {} is not described: {answer:?}", answer.status);
        let found = faults(&document, schema, &answer.json(), "");
        assert!(found.is_empty(), "{method} {path}: {found:#?}\n{answer:?}");
        if answer.status >= 400 {
            assert!(response["x-codes"].as_array().unwrap().contains(&answer.json()["code"]), "{answer:?}");
        }
    }
}
