//! Timers: they tell their webhook once, signed, at their instant; what becomes of them; what is refused.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use crate::runs::webhooks::is_signed;
use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, fresh_key};
use crate::support::receiver::Receiver;

/// An appliance that may call this machine, under a clock that is told.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start());

fn advance(seconds: u64) {
    APPLIANCE.cli_json(&["clock", "advance", &seconds.to_string()]);
}

/// An instant so many seconds from the appliance's present one, with milliseconds.
fn in_seconds(seconds: i64) -> String {
    let now = APPLIANCE.cli_json(&["clock", "show"])["now"].as_str().unwrap().to_owned();
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
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    // An endpoint that asks for everything does not hear of timers.
    desk.client.post("/api/v1/webhooks", &json!({"url": receiver.url(204, "all"), "events": ["*"]})).expect(201);
    let fire_at = in_seconds(3600);
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
    advance(3599);
    assert_eq!((desk.timer_of(&id)["state"].as_str(), receiver.at("tea").len()), (Some("pending"), 0));
    advance(1);
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
    advance(100_000);
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
