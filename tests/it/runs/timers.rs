//! Timers: they tell their webhook once, signed, at their instant; what becomes of them; what is refused.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, fresh_key};
use crate::support::receiver::{Receiver, is_signed};

/// An appliance that may call this machine, under a clock that is told.
fn appliance() -> Appliance {
    Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start()
}

/// One whose clock nobody moves.
static APPLIANCE: LazyLock<Appliance> = LazyLock::new(appliance);

fn advance(appliance: &Appliance, seconds: u64) {
    appliance.cli_json(&["clock", "advance", &seconds.to_string()]);
}

/// An instant so many seconds from the appliance's present one, with milliseconds.
fn in_seconds(appliance: &Appliance, seconds: i64) -> String {
    let now = appliance.cli_json(&["clock", "show"])["now"].as_str().unwrap().to_owned();
    let now = quintet_platform::clock::parse_rfc3339(&now).unwrap();
    let text = quintet_platform::clock::rfc3339(now.plus_seconds(seconds));
    format!("{}Z", &text[..23])
}

impl Desk {
    fn timer(&self, body: &Value) -> Value {
        self.client.post("/api/v1/timers", body).expect(201)
    }

    fn timer_of(&self, id: &str) -> Value {
        self.client.get(&format!("/api/v1/timers/{id}")).expect(200)
    }
}

fn id_of(timer: &Value) -> String {
    timer["timer_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_timer_tells_its_webhook_once_at_its_instant() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let desk = Desk::open(&appliance);
    // An endpoint that asks for everything does not hear of timers.
    desk.client.post("/api/v1/webhooks", &json!({"url": receiver.url(204, "all"), "events": ["*"]})).expect(201);
    let fire_at = in_seconds(&appliance, 3600);
    let payload = json!({"order": 7, "text": "ü\n", "exact": [1.5, null]});
    let body = json!({"name": "tea", "fire_at": fire_at, "tags": ["a", "b", "a"], "payload": payload,
        "webhook": {"url": receiver.url(204, "tea")}});
    let made = desk.timer(&body);
    assert_eq!(made["secret"].as_str().unwrap().len(), 64);
    let (id, secret) = (id_of(&made), HEXLOWER.decode(made["secret"].as_str().unwrap().as_bytes()).unwrap());
    let mut record = made.clone();
    record.as_object_mut().unwrap().remove("secret");
    assert_eq!(desk.timer_of(&id), record);
    let expected = json!({"timer_id": id, "name": "tea", "fire_at": fire_at, "state": "pending", "tags": ["a", "b"],
        "payload": payload, "webhook": {"url": receiver.url(204, "tea"), "secret_origin": "generated"},
        "created_at": made["created_at"], "fired_at": null, "delivery": null});
    assert_eq!(record, expected);
    advance(&appliance, 3599);
    assert_eq!((desk.timer_of(&id)["state"].as_str(), receiver.at("tea").len()), (Some("pending"), 0));
    advance(&appliance, 1);
    let told = receiver.wait("tea", 1);
    let envelope = told[0].body();
    assert!(is_signed(&told[0], &secret));
    assert_eq!(
        (&envelope["event_type"], &envelope["resource"]),
        (&json!("timer.fired"), &json!({"type": "timer", "id": id}))
    );
    let data = json!({"timer_id": id, "name": "tea", "tags": ["a", "b"], "fire_at": fire_at, "fired_at": fire_at,
        "late_seconds": 0.0, "payload": payload});
    assert_eq!((&envelope["data"], &envelope["truncated"]), (&data, &json!(false)));
    assert_eq!(told[0].header("x-svc-event"), "timer.fired");
    advance(&appliance, 100_000);
    let fired = desk.timer_of(&id);
    assert_eq!((&fired["state"], &fired["fired_at"]), (&json!("fired"), &json!(fire_at)));
    let number = &envelope["delivery"]["delivery_id"];
    assert_eq!(
        fired["delivery"],
        json!({"delivery_id": number, "state": "delivered", "attempt": 1, "last_error": null})
    );
    assert_eq!((receiver.at("tea").len(), receiver.at("all").len()), (1, 0));
    let cancelled = desk.client.send("DELETE", &format!("/api/v1/timers/{id}"), &[], b"");
    refused(&cancelled, 409, "invalid_state");
    let key = fresh_key();
    let once = desk.client.post_under(&key, "/api/v1/timers", &body).expect(201);
    assert_eq!(desk.client.post_under(&key, "/api/v1/timers", &body).expect(201), once, "the same secret too");
    assert_eq!(desk.client.get("/api/v1/timers").expect(200)["items"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_over_fires_at_once_and_what_is_cancelled_never() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let desk = Desk::open(&appliance);
    let webhook = json!({"url": receiver.url(204, "late"), "secret": "0123456789abcdef"});
    let late = desk.timer(&json!({"fire_at": "2001-02-03T04:05:06.789Z", "webhook": webhook, "payload": "p"}));
    assert_eq!((&late["secret"], &late["webhook"]["secret_origin"]), (&Value::Null, &json!("supplied")));
    // Nobody has to move the clock for what is due now.
    let told = receiver.wait("late", 1);
    assert!(is_signed(&told[0], b"0123456789abcdef"), "what a caller supplies signs as it stands");
    let data = told[0].body()["data"].clone();
    assert_eq!((&data["fire_at"], &data["name"]), (&json!("2001-02-03T04:05:06.789Z"), &Value::Null));
    assert!(data["late_seconds"].as_f64().unwrap() > 1_000_000.0, "{data}");
    let path = format!(
        "/api/v1/timers/{}",
        id_of(&desk.timer(&json!({"fire_at": in_seconds(&appliance, 60), "webhook": webhook})))
    );
    let cancelled = desk.client.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!(
        (&cancelled["state"], &cancelled["fired_at"], &cancelled["delivery"]),
        (&json!("cancelled"), &Value::Null, &Value::Null)
    );
    assert_eq!(desk.client.send("DELETE", &path, &[], b"").expect(200), cancelled);
    let shut = json!({"url": receiver.url(503, "shut")});
    let failing = id_of(&desk.timer(&json!({"fire_at": in_seconds(&appliance, 60), "webhook": shut})));
    let stranger = Desk::open(&appliance);
    refused(&stranger.client.get(&path), 404, "not_found");
    refused(&stranger.client.send("DELETE", &path, &[], b""), 404, "not_found");
    assert_eq!(stranger.client.get("/api/v1/timers").expect(200), json!({"items": [], "next_cursor": null}));
    advance(&appliance, 3600);
    assert_eq!(receiver.at("late").len(), 1);
    let delivery = desk.timer_of(&failing)["delivery"].clone();
    assert_eq!(
        (&delivery["state"], &delivery["attempt"], &delivery["last_error"]),
        (&json!("dead"), &json!(5), &json!("bad_status"))
    );
    let again = format!("/api/v1/webhooks/deliveries/{}/redeliver", delivery["delivery_id"]);
    desk.client.post(&again, &json!(null)).expect(202);
    advance(&appliance, 1);
    let told = receiver.wait("shut", 6);
    let ids: std::collections::BTreeSet<&str> = told.iter().map(|one| one.header("x-svc-event-id")).collect();
    assert_eq!(ids.len(), 1, "sent once more it is still the same event");
    // Kept for thirty days, then nobody knows it.
    advance(&appliance, 31 * 86_400);
    refused(&desk.client.get(&path), 404, "not_found");
    assert_eq!(desk.client.get("/api/v1/timers").expect(200)["items"], json!([]));
}

#[test]
fn timers_that_are_wrong_are_refused_and_change_nothing() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let whole = json!({"fire_at": "2099-01-01T00:00:00Z", "webhook": {"url": receiver.url(204, "x")}});
    for (change, code, field) in [
        (json!({"fire_at": null}), "validation_failed", "fire_at"),
        (json!({"fire_at": 1}), "validation_failed", "fire_at"),
        (json!({"fire_at": "2099-01-01T00:00:00"}), "validation_failed", "fire_at"),
        (json!({"fire_at": "2099-01-01T00:00:00+00:00"}), "validation_failed", "fire_at"),
        (json!({"fire_at": "2099-02-30T00:00:00Z"}), "validation_failed", "fire_at"),
        (json!({"webhook": null}), "validation_failed", "webhook"),
        (json!({"webhook": "https://example.com/"}), "validation_failed", "webhook"),
        (json!({"webhook": {"url": null}}), "validation_failed", "webhook.url"),
        (
            json!({"webhook": {"url": "https://example.com/", "secret": "s".repeat(257)}}),
            "validation_failed",
            "webhook.secret",
        ),
        (
            json!({"webhook": {"url": "https://example.com/", "events": ["timer.fired"]}}),
            "unknown_webhook_key",
            "webhook.events",
        ),
        (json!({"webhook": {"url": "https://127.0.0.1.nip.io:0/"}}), "url_not_allowed", "webhook.url"),
        (json!({"webhook": {"url": "https://169.254.169.254/"}}), "url_not_allowed", "webhook.url"),
        (json!({"webhook": {"url": "https://0x7f000001/"}}), "url_not_allowed", "webhook.url"),
        (json!({"webhook": {"url": "http://example.com/"}}), "url_not_allowed", "webhook.url"),
        (json!({"payload": "p".repeat((16 << 10) - 1)}), "validation_failed", "payload"),
        (json!({"tags": "a"}), "validation_failed", "tags"),
        (json!({"tags": vec!["t"; 51]}), "validation_failed", "tags"),
        (json!({"name": "a\nb"}), "validation_failed", "name"),
        (json!({"cron": "* * * * *"}), "validation_failed", "cron"),
    ] {
        let mut body = whole.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let problem = refused(&desk.client.post("/api/v1/timers", &body), 422, code);
        assert_eq!(problem["field"], field, "{change}: {problem}");
    }
    refused(
        &desk.client.send("POST", "/api/v1/timers", &[("content-type", "application/json")], b"{"),
        400,
        "malformed_json",
    );
    assert_eq!(desk.client.get("/api/v1/timers").expect(200)["items"], json!([]));
    let problem = refused(&desk.client.get("/api/v1/timers?status=x"), 400, "unknown_query_parameter");
    let known = json!(["state", "tag", "name", "created_after", "created_before", "limit", "cursor"]);
    assert_eq!(problem["supported"], known);
    refused(&desk.client.get("/api/v1/timers?state=done"), 422, "validation_failed");
    refused(&desk.client.get("/api/v1/timers/nothing"), 404, "not_found");
    let key = fresh_key();
    desk.client.post_under(&key, "/api/v1/timers", &whole).expect(201);
    let mut other = whole.clone();
    other["name"] = json!("other");
    refused(&desk.client.post_under(&key, "/api/v1/timers", &other), 422, "idempotency_key_mismatch");
    let reader = APPLIANCE.persona("runs", &APPLIANCE.tenant(), &["svc_run_read"]);
    refused(&reader.post("/api/v1/timers", &whole), 403, "forbidden");
    reader.get("/api/v1/timers").expect(200);
    // The longest payload is handed back whole, unless the tenant wants webhooks to be shorter.
    let payload = "p".repeat((16 << 10) - 2);
    let long =
        json!({"fire_at": "2001-01-01T00:00:00Z", "payload": payload, "webhook": {"url": receiver.url(204, "long")}});
    let made = desk.timer(&long);
    assert_eq!(desk.timer_of(&id_of(&made))["payload"], json!(payload));
    assert_eq!(receiver.wait("long", 1)[0].body()["data"]["payload"], json!(payload));
    let tenant_id = APPLIANCE.tenant();
    let short = Desk { client: APPLIANCE.persona("runs", &tenant_id, &[]) };
    APPLIANCE.cli_json(&["tenant", "quota", &tenant_id, "--service", "runs", "--max-webhook-payload-bytes", "1024"]);
    let long = json!({"fire_at": "2001-01-01T00:00:00Z", "payload": payload, "name": "n".repeat(128), "tags": ["t".repeat(128)],
        "webhook": {"url": receiver.url(204, "short")}});
    short.timer(&long);
    let told = receiver.wait("short", 1);
    let body = told[0].body();
    assert!(told[0].raw.len() <= 1024, "{body}");
    assert_eq!((&body["truncated"], &body["data"]["payload"]), (&json!(true), &Value::Null));
}

#[test]
fn timers_are_listed_with_filters_page_by_page() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let webhook = json!({"url": receiver.url(204, "x")});
    let ids: Vec<String> = (0..5)
        .map(|number| {
            let (name, tags) = (format!("n{}", number % 2), json!([format!("t{}", number % 3)]));
            id_of(
                &desk
                    .timer(&json!({"name": name, "tags": tags, "fire_at": "2099-01-01T00:00:00Z", "webhook": webhook})),
            )
        })
        .collect();
    let list = |query: &str| -> Vec<String> {
        let page = desk.client.get(&format!("/api/v1/timers?{query}")).expect(200);
        page["items"].as_array().unwrap().iter().map(id_of).collect()
    };
    let of = |numbers: &[usize]| -> Vec<String> { numbers.iter().map(|number| ids[*number].clone()).collect() };
    assert_eq!(list(""), of(&[4, 3, 2, 1, 0]));
    assert_eq!((list("name=n1"), list("tag=t0"), list("name=n1&tag=t0")), (of(&[3, 1]), of(&[3, 0]), of(&[3])));
    assert_eq!((list("state=pending").len(), list("state=fired").len()), (5, 0));
    assert_eq!(list("created_before=2001-01-01T00:00:00Z").len(), 0);
    assert_eq!(list("created_after=2001-01-01T00:00:00Z").len(), 5);
    let first = desk.client.get("/api/v1/timers?limit=2&name=n0").expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(list(&format!("limit=2&name=n0&cursor={cursor}")), of(&[0]));
    refused(&desk.client.get(&format!("/api/v1/timers?cursor={cursor}")), 422, "validation_failed");
}
