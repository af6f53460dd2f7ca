//! Webhooks without containers: endpoints, inline webhooks, what is sent and how it is signed, what becomes of it. Runs
//! that nobody starts expire, which is an event as good as any.

use std::sync::LazyLock;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup};
use crate::support::receiver::{Receiver, WRONG_URLS, is_signed, wrong_endpoints};

/// An appliance that may call this machine, under a clock that is told.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start());

fn advance(seconds: u64) {
    APPLIANCE.cli_json(&["clock", "advance", &seconds.to_string()]);
}

impl Desk {
    pub(super) fn endpoint(&self, url: &str, events: &[&str]) -> Value {
        self.client.post("/api/v1/webhooks", &json!({"url": url, "events": events})).expect(201)
    }

    pub(super) fn endpoint_of(&self, id: &str) -> Value {
        self.client.get(&format!("/api/v1/webhooks/{id}")).expect(200)
    }

    pub(super) fn deliveries(&self, query: &str) -> Vec<Value> {
        let page = self.client.get(&format!("/api/v1/webhooks/deliveries?{query}")).expect(200);
        page["items"].as_array().unwrap().clone()
    }

    /// A run that fails at once, for it must not start any more.
    pub(super) fn expired(&self) -> String {
        self.id(&json!({"image": "a", "name": "n", "tags": ["t"], "env": {"TOKEN": "hunter2"}, "expires_at": "2020-01-01T00:00:00Z"}))
    }
}

pub(super) fn id_of(endpoint: &Value) -> String {
    endpoint["endpoint_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_endpoint_is_told_of_every_event_that_it_asks_for() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let all = desk.endpoint(&receiver.url(204, "all"), &["run.*", "*", "run.scheduled"]);
    desk.endpoint(&receiver.url(200, "ends"), &["run.terminal"]);
    desk.endpoint(&receiver.url(200, "none"), &["workflow.*", "run.exited", "webhook.endpoint_degraded"]);
    let run = desk.expired();
    advance(1);
    let told = receiver.wait("all", 2);
    let events: Vec<&str> = told.iter().map(|one| one.header("x-svc-event")).collect();
    assert_eq!((events.len(), events.contains(&"run.scheduled"), events.contains(&"run.failed")), (2, true, true));
    assert_eq!((receiver.wait("ends", 1).len(), receiver.at("none").len()), (1, 0));
    let failed = told.iter().find(|one| one.header("x-svc-event") == "run.failed").unwrap();
    let body = failed.body();
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 8, "{names:?}");
    let text = String::from_utf8(failed.raw.clone()).unwrap();
    let order = ["event_id", "event_type", "occurred_at", "tenant_id", "resource", "data", "delivery", "truncated"];
    let places: Vec<usize> = order.iter().map(|name| text.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(body["resource"], json!({"type": "run", "id": run}));
    let data = &body["data"];
    assert_eq!(
        (&data["state"], &data["env"], &data["tags"]),
        (&json!("failed"), &json!({"TOKEN": "***"}), &json!(["t"]))
    );
    assert_eq!(data["result"]["exit_code"], Value::Null);
    assert_eq!((&body["truncated"], &body["delivery"]["attempt"]), (&json!(false), &json!(1)));
    assert_eq!(body["delivery"]["endpoint_id"], all["endpoint_id"]);
    assert_eq!(body["event_id"], failed.header("x-svc-event-id"));
    assert_eq!(body["delivery"]["delivery_id"].to_string(), failed.header("x-svc-delivery"));
    assert_eq!((failed.header("x-svc-attempt"), failed.header("content-type")), ("1", "application/json"));
    assert!(failed.header("user-agent").starts_with("quintet/"));
    let scheduled = told.iter().find(|one| one.header("x-svc-event") == "run.scheduled").unwrap();
    assert!(scheduled.body()["data"].get("result").is_none(), "it has not ended");
    let secret = HEXLOWER.decode(all["secret"].as_str().unwrap().as_bytes()).unwrap();
    assert_eq!(secret.len(), 32);
    assert!(told.iter().all(|one| is_signed(one, &secret)));
    let standard = format!("whsec_{}", BASE64.encode(&secret));
    assert_eq!(all["standard_webhooks_secret"], standard);
    assert!(!APPLIANCE.log().contains(all["secret"].as_str().unwrap()), "a secret is in the log");
    assert_eq!(all["events"], json!(["run.*", "*", "run.scheduled"]));
}

#[test]
fn an_inline_webhook_hears_of_its_run_alone() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let with =
        |webhook: Value| desk.id(&json!({"image": "a", "expires_at": "2020-01-01T00:00:00Z", "webhook": webhook}));
    let signed = json!({"url": receiver.url(204, "signed"), "events": ["run.failed"], "secret": "0123456789abcdef"});
    let run = with(signed);
    with(json!({"url": receiver.url(204, "plain"), "events": ["run.terminal", "run.*", "node.failed"]}));
    desk.expired();
    advance(1);
    let told = receiver.wait("signed", 1);
    assert_eq!((told.len(), told[0].body()["resource"]["id"].as_str()), (1, Some(run.as_str())));
    assert!(is_signed(&told[0], b"0123456789abcdef"), "what a caller supplies signs as it stands");
    assert_eq!(told[0].body()["delivery"]["endpoint_id"], Value::Null);
    let plain = receiver.wait("plain", 2);
    assert_eq!(plain.len(), 2, "one for each event, though several patterns match");
    assert!(plain.iter().all(|one| one.header("x-svc-signature") == "none" && one.header("webhook-id").is_empty()));
    let found = desk.deliveries(&format!("resource_id={run}"));
    assert_eq!((found.len(), &found[0]["state"], &found[0]["endpoint_id"]), (1, &json!("delivered"), &Value::Null));
    assert_eq!(desk.deliveries("").len(), 3);
}

#[test]
fn endpoints_are_listed_changed_rotated_and_deleted() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let body = json!({"url": receiver.url(204, "a"), "events": ["run.failed"], "secret": "sesame", "description": "d"});
    let made = desk.client.post("/api/v1/webhooks", &body).expect(201);
    assert_eq!((&made["secret"], &made["secret_origin"]), (&Value::Null, &json!("supplied")));
    let id = id_of(&made);
    let path = format!("/api/v1/webhooks/{id}");
    let record = desk.endpoint_of(&id);
    assert!(record.get("secret").is_none() && record.get("standard_webhooks_secret").is_none());
    desk.expired();
    advance(1);
    assert!(is_signed(&receiver.wait("a", 1)[0], b"sesame"));
    let off = desk.client.patch(&path, &json!({"active": false, "description": null})).expect(200);
    assert_eq!(
        (&off["active"], &off["disabled_reason"], &off["description"]),
        (&json!(false), &json!("manual"), &Value::Null)
    );
    desk.expired();
    refused(&desk.client.post(&format!("{path}/test"), &json!(null)), 409, "invalid_state");
    let moved = json!({"active": true, "url": receiver.url(204, "b"), "secret": "open", "events": ["run.scheduled"]});
    desk.client.patch(&path, &moved).expect(200);
    let run = desk.expired();
    advance(1);
    let told = receiver.wait("b", 1);
    assert_eq!((told[0].body()["resource"]["id"].as_str(), told.len()), (Some(run.as_str()), 1));
    assert!(is_signed(&told[0], b"open") && receiver.at("a").len() == 1);
    let rotated = desk.client.post(&format!("{path}/rotate-secret"), &json!(null)).expect(200);
    assert_eq!(rotated["secret_origin"], "generated");
    let key = HEXLOWER.decode(rotated["secret"].as_str().unwrap().as_bytes()).unwrap();
    let test = desk.client.post(&format!("{path}/test"), &json!(null)).expect(202);
    assert_eq!((&test["event_type"], &test["max_attempts"]), (&json!("webhook.test"), &json!(1)));
    let told = receiver.wait("b", 2);
    assert!(is_signed(&told[1], &key));
    let listed = desk.client.get("/api/v1/webhooks?limit=1").expect(200);
    assert_eq!((&listed["items"][0]["endpoint_id"], &listed["next_cursor"]), (&json!(id), &Value::Null));
    let (other, stranger) = (desk.endpoint(&receiver.url(204, "c"), &["*"]), Desk::open(&APPLIANCE));
    let first = desk.client.get("/api/v1/webhooks?limit=1").expect(200);
    assert_eq!(first["items"][0]["endpoint_id"], other["endpoint_id"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = desk.client.get(&format!("/api/v1/webhooks?limit=1&cursor={cursor}")).expect(200);
    assert_eq!((&second["items"][0]["endpoint_id"], &second["next_cursor"]), (&json!(id), &Value::Null));
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/test")),
        ("POST", format!("{path}/rotate-secret")),
        ("GET", format!("{path}/deliveries")),
        ("POST", "/api/v1/webhooks/deliveries/1/redeliver".to_owned()),
    ] {
        refused(&stranger.client.send(method, &path, &[], b""), 404, "not_found");
    }
    refused(&stranger.client.patch(&path, &json!({"active": true})), 404, "not_found");
    let gone = desk.client.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!(gone, json!({"endpoint_id": id, "deleted": true}));
    refused(&desk.client.get(&path), 404, "not_found");
    assert!(desk.deliveries("").iter().all(|one| one["endpoint_id"] != json!(id)), "they go with it");
}

#[test]
fn deliveries_that_fail_are_tried_again_and_can_be_sent_once_more() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let endpoint = desk.endpoint(&receiver.url(503, "shut"), &["run.failed"]);
    let id = id_of(&endpoint);
    desk.expired();
    advance(1);
    let path = format!("/api/v1/webhooks/{id}/deliveries");
    let waiting = desk.client.get(&path).expect(200)["items"][0].clone();
    assert_eq!((&waiting["state"], &waiting["attempt"]), (&json!("pending"), &json!(1)));
    assert_eq!((&waiting["last_status_code"], &waiting["last_error"]), (&json!(503), &json!("bad_status")));
    let again = format!("/api/v1/webhooks/deliveries/{}/redeliver", waiting["delivery_id"]);
    refused(&desk.client.post(&again, &json!(null)), 409, "invalid_state");
    advance(3600);
    let told = receiver.at("shut");
    let attempts: Vec<&str> = told.iter().map(|one| one.header("x-svc-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3", "4", "5"]);
    assert!(told.iter().all(|one| one.raw == told[0].raw), "the body is frozen");
    let stamps: Vec<&str> = told.iter().map(|one| one.header("x-svc-timestamp")).collect();
    assert!(stamps.is_sorted() && stamps[0] != stamps[4], "each attempt is signed at its time");
    let dead = desk.client.get(&format!("{path}?state_filter=dead")).expect(200)["items"][0].clone();
    assert_eq!((&dead["attempt"], &dead["next_attempt_at"]), (&json!(5), &Value::Null));
    let record = desk.endpoint_of(&id);
    assert_eq!(
        (&record["consecutive_failures"], &record["dead_deliveries_total"], &record["dead_deliveries_24h"]),
        (&json!(5), &json!(1), &json!(1))
    );
    desk.client.patch(&format!("/api/v1/webhooks/{id}"), &json!({"url": receiver.url(200, "open")})).expect(200);
    let key = crate::support::appliance::fresh_key();
    let sent = desk.client.post_under(&key, &again, &json!(null)).expect(202);
    assert_eq!(sent["redelivery_of"], dead["delivery_id"]);
    assert_eq!(desk.client.post_under(&key, &again, &json!(null)).expect(202), sent, "a repeat does nothing twice");
    let told_again = receiver.wait("open", 1);
    let (first, second) = (told[0].body(), told_again[0].body());
    assert_eq!((&second["event_id"], &second["data"]), (&first["event_id"], &first["data"]));
    assert_eq!(second["delivery"]["delivery_id"], sent["delivery_id"]);
    advance(1);
    assert_eq!(desk.endpoint_of(&id)["consecutive_failures"], 0);
    refused(&desk.client.post("/api/v1/webhooks/deliveries/999/redeliver", &json!(null)), 404, "not_found");
}

#[test]
fn an_endpoint_that_only_fails_is_told_of_and_then_disabled() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let bad = id_of(&desk.endpoint(&receiver.url(410, "bad"), &["run.failed"]));
    desk.endpoint(&receiver.url(204, "watch"), &["webhook.endpoint_degraded"]);
    for _ in 0..4 {
        desk.expired();
    }
    advance(1);
    assert_eq!((desk.endpoint_of(&bad)["dead_deliveries_24h"].clone(), receiver.at("watch").len()), (json!(4), 0));
    for _ in 0..15 {
        desk.expired();
    }
    advance(1);
    let notice = receiver.wait("watch", 1)[0].body();
    assert_eq!(
        (&notice["event_type"], &notice["data"]["dead_deliveries_24h"]),
        (&json!("webhook.endpoint_degraded"), &json!(5))
    );
    assert_eq!((&notice["data"]["endpoint_id"], &notice["data"]["last_status_code"]), (&json!(bad), &json!(410)));
    assert_eq!(desk.endpoint_of(&bad)["active"], true, "nineteen are not enough");
    desk.expired();
    advance(1);
    let record = desk.endpoint_of(&bad);
    assert_eq!((&record["active"], &record["disabled_reason"]), (&json!(false), &json!("dead_without_success_24h")));
    assert_eq!(receiver.at("watch").len(), 1, "told once");
    desk.expired();
    advance(1);
    assert_eq!(receiver.at("bad").len(), 20, "one that is inactive gets nothing");
    let path = format!("/api/v1/webhooks/{bad}");
    let back = desk.client.patch(&path, &json!({"active": true})).expect(200);
    assert_eq!(
        (&back["active"], &back["disabled_reason"], &back["dead_deliveries_24h"], &back["dead_deliveries_total"]),
        (&json!(true), &Value::Null, &json!(0), &json!(20))
    );
}

#[test]
fn endpoints_that_are_wrong_are_refused_and_change_nothing() {
    let (desk, receiver) = (Desk::open(&APPLIANCE), Receiver::start());
    let url = receiver.url(204, "x");
    let own = [
        (json!({"url": url, "events": ["run.started"]}), "events"),
        (json!({"url": url, "events": ["*"], "sekret": "x"}), "sekret"),
    ];
    for (body, field) in wrong_endpoints(&url).into_iter().chain(own) {
        let problem = refused(&desk.client.post("/api/v1/webhooks", &body), 422, "validation_failed");
        assert_eq!(problem["field"], field, "{body}");
    }
    for wrong in WRONG_URLS {
        let body = json!({"url": wrong, "events": ["*"]});
        let problem = refused(&desk.client.post("/api/v1/webhooks", &body), 422, "url_not_allowed");
        assert_eq!(problem["field"], "url", "{wrong}");
        assert!(!problem.to_string().contains("169.254"), "{problem}");
    }
    assert_eq!(desk.client.get("/api/v1/webhooks").expect(200)["items"], json!([]));
    let made = desk.endpoint(&url, &["*"]);
    let path = format!("/api/v1/webhooks/{}", id_of(&made));
    for body in [json!({"active": null}), json!({"url": null}), json!({"events": []}), json!({"x": 1})] {
        refused(&desk.client.patch(&path, &body), 422, "validation_failed");
    }
    refused(&desk.client.patch(&path, &json!({"url": "https://10.0.0.1/"})), 422, "url_not_allowed");
    let mut unchanged = desk.endpoint_of(&id_of(&made));
    unchanged.as_object_mut().unwrap().extend([
        ("secret".to_owned(), made["secret"].clone()),
        ("standard_webhooks_secret".to_owned(), made["standard_webhooks_secret"].clone()),
    ]);
    assert_eq!(unchanged, made);
    let problem = refused(&desk.client.get("/api/v1/webhooks/deliveries?state=dead"), 400, "unknown_query_parameter");
    assert!(problem["supported"].as_array().unwrap().contains(&json!("state_filter")), "{problem}");
    refused(&desk.client.get("/api/v1/webhooks/deliveries?state_filter=gone"), 422, "validation_failed");
    let key = crate::support::appliance::fresh_key();
    let body = json!({"url": url, "events": ["run.failed"]});
    let once = desk.client.post_under(&key, "/api/v1/webhooks", &body).expect(201);
    assert_eq!(desk.client.post_under(&key, "/api/v1/webhooks", &body).expect(201), once);
    let other = json!({"url": url, "events": ["run.exited"]});
    refused(&desk.client.post_under(&key, "/api/v1/webhooks", &other), 422, "idempotency_key_mismatch");
    for _ in 2..20 {
        desk.endpoint(&url, &["run.failed"]);
    }
    refused(&desk.client.post("/api/v1/webhooks", &body), 409, "limit_reached");
}

/// Contract, Events; 5-runs.md, 7: what is told of a workflow and of its nodes, to the byte and in this order, to an
/// endpoint and to the workflow's own webhook.
#[test]
fn of_a_workflow_and_its_nodes_these_words_are_told() {
    let (tenant_id, receiver) = (APPLIANCE.tenant(), Receiver::start());
    let desk = Desk { client: APPLIANCE.persona("runs", &tenant_id, &[]) };
    let endpoint = id_of(&desk.endpoint(&receiver.url(204, "told"), &["workflow.*", "node.*"]));
    desk.endpoint(&receiver.url(204, "ends"), &["workflow.terminal"]);
    let own = json!({"url": receiver.url(204, "own"), "events": ["*"], "secret": "0123456789abcdef"});
    let nodes = json!([{"ref": "a \"gate\"", "type": "approval"}, {"ref": "then", "image": "busybox"}]);
    let edges = json!([{"from": "a \"gate\"", "to": "then"}]);
    let body = json!({"name": "release", "tags": ["t"], "nodes": nodes, "edges": edges, "webhook": own});
    let path = desk.workflow(&body);
    let id = path.rsplit('/').next().unwrap().to_owned();
    for way in ["pause", "resume", "nodes/a%20%22gate%22/approve", "cancel"] {
        desk.post_to(&path, way);
    }
    advance(1);
    let track_id = desk.client.get(&path).expect(200)["nodes"][1]["current_track_id"].as_str().unwrap().to_owned();
    let (none, run) = ("null".to_owned(), format!("\"{track_id}\""));
    let item = |reference: &str, kind: &str, state: &str, attempt: u32, run: &str| {
        format!(
            r#"{{"ref":"{reference}","type":"{kind}","state":"{state}","attempt":{attempt},"current_track_id":{run},"exit_code":null,"reason":null}}"#
        )
    };
    let of_workflow = |state: &str, gate: (&str, u32), then: (&str, u32, &str)| {
        let nodes = [
            item(r#"a \"gate\""#, "approval", gate.0, gate.1, "null"),
            item("then", "container", then.0, then.1, then.2),
        ];
        format!(
            r#"{{"workflow_id":"{id}","state":"{state}","name":"release","failure_policy":"fail_fast","tags":["t"],"nodes":[{}],"failed_nodes":[]}}"#,
            nodes.join(",")
        )
    };
    let of_node = |reference: &str, state: &str, run: &str| {
        format!(
            r#"{{"workflow_id":"{id}","ref":"{reference}","state":"{state}","attempt":1,"current_track_id":{run},"exit_code":null,"output":null}}"#
        )
    };
    let (gate, then) = (r#"a \"gate\""#, "then");
    let (open, passed) = (("waiting_approval", 1), ("succeeded", 1));
    let waits = ("pending", 0, none.as_str());
    let expected = [
        ("workflow.running", "", of_workflow("running", ("pending", 0), waits)),
        ("node.waiting_approval", gate, of_node(gate, "waiting_approval", &none)),
        ("workflow.paused", "", of_workflow("paused", open, waits)),
        ("workflow.resumed", "", of_workflow("running", open, waits)),
        ("node.succeeded", gate, of_node(gate, "succeeded", &none)),
        ("node.running", then, of_node(then, "running", &run)),
        ("node.cancelled", then, of_node(then, "cancelled", &run)),
        ("workflow.cancelled", "", of_workflow("cancelled", passed, ("cancelled", 1, &run))),
    ];
    // What happened, as the workflow itself tells it: its submission is no event to others.
    let happened = desk.client.get(&format!("{path}/events")).expect(200);
    let happened = &happened.as_array().unwrap()[1..];
    for (name, told_to) in [("told", format!("\"{endpoint}\"")), ("own", none.clone())] {
        let mut told = receiver.wait(name, expected.len());
        told.sort_by_key(|one| one.header("x-svc-delivery").parse::<u64>().unwrap());
        let names: Vec<&str> = told.iter().map(|one| one.header("x-svc-event")).collect();
        assert_eq!(names, expected.each_ref().map(|(event, ..)| *event), "{name}");
        for ((one, (event, reference, data)), happened) in told.iter().zip(&expected).zip(happened) {
            let resource = match *reference {
                "" => format!(r#"{{"type":"workflow","id":"{id}"}}"#),
                reference => format!(r#"{{"type":"node","id":"{id}/{reference}"}}"#),
            };
            let (event_id, number) = (one.header("x-svc-event-id"), one.header("x-svc-delivery"));
            let at = happened["created_at"].as_str().unwrap();
            let body = format!(
                r#"{{"event_id":"{event_id}","event_type":"{event}","occurred_at":"{at}","tenant_id":"{tenant_id}","resource":{resource},"data":{data},"delivery":{{"delivery_id":{number},"attempt":1,"endpoint_id":{told_to}}},"truncated":false}}"#
            );
            assert_eq!(String::from_utf8_lossy(&one.raw), body, "{name}");
        }
    }
    let ends = receiver.wait("ends", 1);
    assert_eq!((ends.len(), ends[0].header("x-svc-event")), (1, "workflow.cancelled"));
    assert_eq!(desk.deliveries(&format!("resource_id={id}/then")).len(), 4, "two events, told to two");
}
