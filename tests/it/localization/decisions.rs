//! Decisions from outside: the desk and its webhook, another service and all that it can do wrong, every refusal of the
//! webhook, and what is lost, doubled or late.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::deliveries::hmac_sha256;
use quintet_platform::secrets::digest;
use quintet_support::engine::{Asked, Reply, ScriptedEngine};
use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared, stderr};

/// What another service signs its webhooks with.
const SECRET: &str = "whsec-of-the-tests";
/// What it is called with.
const API_KEY: &str = "sk-decision-secret";

/// A project with a file of so many keys, each with a draft in German.
pub struct Batch {
    pub shelf: Shelf,
    pub file_id: String,
    /// By path.
    pub keys: BTreeMap<String, String>,
}

impl Batch {
    pub fn open(appliance: &Appliance, count: usize) -> Batch {
        Batch::within(Shelf::open(appliance), "a.json", count)
    }

    pub fn within(shelf: Shelf, path: &str, count: usize) -> Batch {
        let content: BTreeMap<String, String> = (0..count).map(|n| (format!("k{n:03}"), format!("Text {n}"))).collect();
        let file_id = shelf.json(path, &json!(content));
        let keys: BTreeMap<String, String> =
            shelf.keys().into_iter().map(|(path, key)| (path, text(&key, "id"))).collect();
        let batch = Batch { shelf, file_id, keys };
        for n in 0..count {
            batch.draft(&format!("k{n:03}"), &format!("Wort {n}"));
        }
        batch
    }

    pub fn draft(&self, path: &str, said: &str) {
        let answer = self.shelf.translate(&self.keys[path], "de", &json!({"text": said}));
        assert!(answer.status < 300, "{answer:?}");
    }

    pub fn step(&self, path: &str, action: &str) {
        let place = format!("/v1/keys/{}/translations/de/transition", self.keys[path]);
        self.shelf.desk.post(&place, &json!({"action": action})).expect(200);
    }

    pub fn state(&self, path: &str) -> String {
        text(&self.shelf.translation(&self.keys[path], "de"), "state")
    }

    /// Asks for approval.
    pub fn ask(&self) -> Answer {
        self.ask_under(&fresh_key())
    }

    pub fn ask_under(&self, key: &str) -> Answer {
        let body = json!({"file": self.file_id, "locale": "de"});
        self.shelf.desk.json_under(key, "POST", &self.shelf.path("/approval-requests"), &body)
    }

    pub fn request(&self, request: &Value) -> Value {
        self.shelf.desk.get(&format!("/v1/approval-requests/{}", text(request, "id"))).expect(200)
    }

    pub fn status(&self, request: &Value) -> String {
        text(&self.request(request), "status")
    }

    /// The revision of the file in German, as an export has it.
    pub fn revision(&self) -> u64 {
        let exported = self.shelf.export(&self.file_id, "?locale=de");
        exported.header("etag").trim_matches(['"', 'r']).parse().unwrap()
    }

    /// Waits until a request is what it is to become.
    #[track_caller]
    pub fn wait(&self, request: &Value, status: &str) -> Value {
        let began = Instant::now();
        loop {
            let now = self.request(request);
            if now["status"] == status {
                return now;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{status} is waited for: {now}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A decision as the scripted service has it.
#[derive(Clone, Debug, Default)]
struct Known {
    status: String,
    decided_by: Value,
    reason: Value,
    decided_at: Value,
    raised: u32,
    looked: u32,
}

/// A decision service of its own, which does as a test says.
#[derive(Clone)]
pub struct Service {
    pub engine: ScriptedEngine,
    known: Arc<Mutex<BTreeMap<String, Known>>>,
}

impl Service {
    pub fn open() -> Service {
        let known: Arc<Mutex<BTreeMap<String, Known>>> = Arc::default();
        let shared = Arc::clone(&known);
        let engine = ScriptedEngine::open(move |asked| answer(&shared, asked));
        Service { engine, known }
    }

    pub fn base(&self) -> &str {
        self.engine.url().trim_end_matches("/v1")
    }

    /// It behaves again.
    pub fn behave(&self) {
        let shared = Arc::clone(&self.known);
        self.engine.follow(move |asked| answer(&shared, asked));
    }

    pub fn decide(&self, decision_id: &str, status: &str, by: &str, reason: Option<&str>) {
        let mut known = self.known.lock().unwrap();
        let decision = known.get_mut(decision_id).unwrap();
        decision.status = status.to_owned();
        decision.decided_by = json!(by);
        decision.reason = json!(reason);
        decision.decided_at = json!("2026-01-01T00:00:00Z");
    }

    /// How often a decision was raised, and looked at.
    pub fn asked_for(&self, decision_id: &str) -> (u32, u32) {
        let known = self.known.lock().unwrap();
        known.get(decision_id).map_or((0, 0), |known| (known.raised, known.looked))
    }

    pub fn setup(&self) -> Setup {
        Setup::new()
            .env("QUINTET_DECISION__MODE", "external")
            .env("QUINTET_DECISION__URL", self.base())
            .env("QUINTET_DECISION__API_KEY", API_KEY)
            .env("QUINTET_DECISION__WEBHOOK_SECRET", SECRET)
            .env("QUINTET_DECISION__POLICY", "two-eyes")
            .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")
    }
}

/// What it answers as long as it behaves.
fn answer(known: &Mutex<BTreeMap<String, Known>>, asked: &Asked) -> Reply {
    let mut known = known.lock().unwrap();
    let line = asked.head.lines().next().unwrap();
    if line.starts_with("POST /v1/decisions ") {
        let key = header(asked, "idempotency-key");
        let decision_id = format!("d-{key}");
        let decision = known.entry(decision_id.clone()).or_default();
        decision.raised += 1;
        if decision.status.is_empty() {
            decision.status = "pending".to_owned();
        }
        let body = json!({"decision_id": decision_id, "status": "pending", "context_hash": "h", "review_url": "https://r.example/d"});
        return Reply::status(201, &body.to_string());
    }
    let decision_id = line.split(' ').nth(1).unwrap().rsplit('/').next().unwrap().to_owned();
    match known.get_mut(&decision_id) {
        None => Reply::status(404, "{}"),
        Some(decision) => {
            decision.looked += 1;
            let body = json!({
                "decision_id": decision_id, "status": decision.status, "decided_by": decision.decided_by,
                "reason": decision.reason, "decided_at": decision.decided_at, "context_hash": "h",
            });
            Reply::status(200, &body.to_string())
        }
    }
}

fn header(asked: &Asked, name: &str) -> String {
    let found = asked.head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    });
    found.unwrap_or_default()
}

/// The appliance's clock, in Unix seconds.
fn seconds(appliance: &Appliance) -> i64 {
    let now = text(&appliance.cli_json(&["clock", "show"]), "now");
    parse_rfc3339(&now).unwrap().as_micros().div_euclid(1_000_000)
}

fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let mac = hmac_sha256(secret.as_bytes(), &[timestamp.as_bytes(), b".", body]);
    format!("sha256={}", HEXLOWER.encode(&mac))
}

/// The webhook of a decision, as the service sends it.
pub fn tell(appliance: &Appliance, decision_id: &str, event_id: &str) -> Answer {
    tell_at(appliance, seconds(appliance), decision_id, event_id)
}

fn tell_at(appliance: &Appliance, now: i64, decision_id: &str, event_id: &str) -> Answer {
    let body = json!({"decision_id": decision_id, "anything": [1]}).to_string();
    let timestamp = now.to_string();
    let signature = signature(SECRET, &timestamp, body.as_bytes());
    let headers =
        [("x-hitl-timestamp", timestamp.as_str()), ("x-hitl-signature", &signature), ("x-hitl-event-id", event_id)];
    appliance.stranger("localization").send("POST", "/v1/decision/webhook", &headers, body.as_bytes())
}

pub fn advance(appliance: &Appliance, seconds: u64) {
    appliance.cli_json(&["clock", "advance", &seconds.to_string()]);
}

#[test]
fn the_webhook_is_judged_in_order() {
    let service = Service::open();
    let appliance = service.setup().start();
    let batch = Batch::open(&appliance, 1);
    let request = batch.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    let now = seconds(&appliance);
    let stranger = appliance.stranger("localization");
    let body = json!({"decision_id": decision_id}).to_string();
    let send = |timestamp: Option<&str>, signed: Option<&str>, event_id: Option<&str>, body: &[u8]| {
        let own = signature(SECRET, timestamp.unwrap_or_default(), body);
        let mut headers: Vec<(&str, &str)> = Vec::new();
        headers.extend(timestamp.map(|value| ("x-hitl-timestamp", value)));
        headers.push(("x-hitl-signature", signed.unwrap_or(&own)));
        headers.extend(event_id.map(|value| ("x-hitl-event-id", value)));
        stranger.send("POST", "/v1/decision/webhook", &headers, body)
    };
    let time = now.to_string();
    let large = vec![b' '; (64 << 10) + 1];
    refused(&send(None, Some("x"), None, &large), 413, "payload_too_large");
    for wrong in ["", "x", "-5", "1.5", " 5 5", "1234567890123", "0x10"] {
        refused(&send(Some(wrong), Some("x"), None, b""), 401, "timestamp_invalid");
    }
    refused(&send(None, Some("x"), None, b""), 401, "timestamp_invalid");
    for off in [now - 310, now + 310, 0] {
        refused(&send(Some(&off.to_string()), Some("x"), None, b""), 401, "timestamp_stale");
    }
    let upper = signature(SECRET, &time, body.as_bytes()).to_uppercase();
    let other = signature("another", &time, body.as_bytes());
    let of_another_time = signature(SECRET, &(now - 1).to_string(), body.as_bytes());
    for wrong in ["", "sha256=", "x", &upper, &other, &of_another_time, &"a".repeat(5000)] {
        refused(&send(Some(&time), Some(wrong), None, body.as_bytes()), 401, "signature_invalid");
    }
    for wrong in [None, Some(""), Some("e".repeat(201).as_str())] {
        refused(&send(Some(&time), None, wrong, b""), 400, "invalid_parameter");
    }
    refused(&send(Some(&time), None, Some("e"), b""), 400, "malformed_json");
    refused(&send(Some(&time), None, Some("e"), b"{"), 400, "malformed_json");
    refused(&send(Some(&time), None, Some("e"), b"[]"), 400, "invalid_body");
    for wrong in [json!({}), json!({"decision_id": 7}), json!({"decision_id": ""}), json!({"decision_id": null})] {
        refused(&send(Some(&time), None, Some("e"), wrong.to_string().as_bytes()), 400, "invalid_field");
    }
    let strange = json!({"decision_id": "nobody's"}).to_string();
    assert_eq!(send(Some(&time), None, Some("e"), strange.as_bytes()).expect(200), json!({}));
    assert_eq!(service.asked_for(&decision_id), (1, 0), "nobody has looked so far");
    // It is pending: told too early, and the event is not taken for one that was.
    let early = send(Some(&time), None, Some("e"), body.as_bytes());
    refused(&early, 503, "decision_unavailable");
    assert_eq!(early.header("retry-after"), "30");
    service.engine.follow(|_| Reply::status(500, "{}"));
    refused(&send(Some(&time), None, Some("e"), body.as_bytes()), 503, "decision_unavailable");
    assert_eq!(batch.status(&request), "pending");
    service.behave();
    service.decide(&decision_id, "approved", "ada", Some("fine"));
    let looked = service.asked_for(&decision_id).1;
    let longest = "e".repeat(200);
    assert_eq!(send(Some(&time), None, Some(&longest), body.as_bytes()).expect(200), json!({}));
    let settled = batch.request(&request);
    assert_eq!((&settled["status"], &settled["decided_by"]), (&json!("approved"), &json!("ada")));
    assert_eq!((&settled["reason"], &settled["decided_at"]), (&json!("fine"), &json!("2026-01-01T00:00:00.000000Z")));
    // The same event, another one of a request that is settled: nobody is asked again.
    let revision = batch.revision();
    for event in [longest.as_str(), "another"] {
        assert_eq!(send(Some(&time), None, Some(event), body.as_bytes()).expect(200), json!({}));
    }
    assert_eq!(service.asked_for(&decision_id), (1, looked + 1));
    assert_eq!(batch.revision(), revision);
    assert!(!appliance.log().contains(SECRET) && !appliance.log().contains(API_KEY));
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn without_a_secret_the_webhook_takes_nothing() {
    let service = Service::open();
    let appliance = service.setup().env("QUINTET_DECISION__WEBHOOK_SECRET", "").start();
    let large = vec![b' '; (64 << 10) + 1];
    let answer = appliance.stranger("localization").send("POST", "/v1/decision/webhook", &[], &large);
    refused(&answer, 503, "decision_unavailable");
    assert_eq!(answer.header("retry-after"), "30");
}

#[test]
fn what_is_raised_is_what_the_contract_says_and_the_context_is_shown_to_the_byte() {
    let service = Service::open();
    let appliance = service.setup().rehearsal().start();
    let shelf = Shelf::open(&appliance);
    let content = json!({"b": "Quote \" and \\ and \u{1} \t é \u{2028} 😀", "k_one": "{{count}} day", "k_other": "{{count}} days"});
    let file_id = shelf.json("dir/a.json", &content);
    let said = "Zitat \" und \\ und \u{1} \t é \u{2028} 😀";
    shelf.translate(&shelf.key_id("b"), "de", &json!({"text": said})).expect(201);
    let forms = json!({"forms": {"one": "{{count}} Tag", "other": "{{count}} Tage"}});
    shelf.translate(&shelf.key_id("k"), "de", &forms).expect(201);
    let url = "https://review.example/x?y=\u{e9}".replace('\u{e9}', "%C3%A9");
    let body = json!({"file": file_id, "locale": "DE", "review_url": url});
    let request = shelf.desk.post(&shelf.path("/approval-requests"), &body).expect(201);
    assert_eq!(
        (&request["status"], &request["item_count"], &request["locale"]),
        (&json!("pending"), &json!(2), &json!("de"))
    );
    let asked = service.engine.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(header(&asked[0], "authorization"), format!("Bearer {API_KEY}"));
    assert_eq!(header(&asked[0], "idempotency-key"), text(&request, "id"));
    let raised = &asked[0].body;
    let members: Vec<&str> = raised.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["action", "context", "expires_at", "policy", "subject"]);
    assert_eq!(raised["policy"], "two-eyes");
    let subject = json!({"type": "approval_request", "id": request["id"], "tenant_id": shelf.desk.tenant_id});
    assert_eq!(raised["subject"], subject);
    let revision = request["file_revision"].clone();
    let action =
        json!({"project": shelf.project_id, "file": file_id, "locale": "de", "revision": revision, "count": 2});
    assert_eq!(raised["action"], action);
    let now = seconds(&appliance);
    let expires = parse_rfc3339(&text(raised, "expires_at")).unwrap().as_micros() / 1_000_000;
    assert_eq!(expires - now, 168 * 3600);
    // By hand: sorted members, no white space, UTF-8 as it is.
    let hash = |bytes: &str| HEXLOWER.encode(&digest(bytes.as_bytes()));
    let first = format!(
        concat!(
            r#"{{"key":"b","source":"Quote \" and \\ and \u0001 \t é {line} 😀","#,
            r#""target":"Zitat \" und \\ und \u0001 \t é {line} 😀","targetHash":"{hash}"}}"#
        ),
        line = '\u{2028}',
        hash = hash(said),
    );
    let forms = r#"{"one":"{{count}} Tag","other":"{{count}} Tage"}"#;
    let second = format!(
        r#"{{"key":"k","source":{{"one":"{{{{count}}}} day","other":"{{{{count}}}} days"}},"target":{forms},"targetHash":"{}"}}"#,
        hash(forms),
    );
    let context = format!(r#"{{"items":[{first},{second}],"review_url":"{url}"}}"#);
    let shown = shelf.desk.get(&format!("/v1/approval-requests/{}", text(&request, "id"))).expect(200);
    assert_eq!(text(&shown, "context"), context);
    assert!(asked[0].head.contains(&format!("content-length: {}", raised_length(&asked[0], &context))));
    assert_eq!(raised["context"], serde_json::from_str::<Value>(&context).unwrap());
    assert_eq!((&shown["context_hash"], &shown["review_url"]), (&json!("h"), &json!(url)));
    let items = shown["items"].as_array().unwrap();
    assert_eq!(
        items[0],
        json!({
            "key": "b", "key_id": shelf.key_id("b"), "path": "dir/a.json", "revision": 1, "targetHash": hash(said), "outcome": null,
        })
    );
    assert_eq!((&items[1]["key"], &items[1]["targetHash"]), (&json!("k"), &json!(hash(forms))));
    // The revision is the one that exports show.
    assert_eq!(shelf.export(&file_id, "?locale=de").header("etag"), format!("\"r{revision}\""));
}

/// How long the body is if the context stands in it byte for byte.
fn raised_length(asked: &Asked, context: &str) -> usize {
    let body = &asked.body;
    let parts = ["policy", "subject", "action", "expires_at"].map(|name| body[name].to_string().len());
    parts.iter().sum::<usize>() + context.len() + r#"{"policy":,"subject":,"action":,"context":,"expires_at":}"#.len()
}

#[test]
fn a_service_that_is_not_there_fails_the_request_and_nothing_else() {
    let service = Service::open();
    let appliance = service.setup().start();
    let batch = Batch::open(&appliance, 2);
    let replies: [fn(&Asked) -> Reply; 9] = [
        |_| Reply::status(500, "{}"),
        |_| Reply::status(202, r#"{"decision_id": "x"}"#),
        |_| Reply::status(201, "{}"),
        |_| Reply::status(201, r#"{"decision_id": ""}"#),
        |_| Reply::status(201, r#"{"decision_id": 7}"#),
        |_| Reply::status(201, &format!(r#"{{"decision_id": "{}"}}"#, "x".repeat(201))),
        |_| Reply::status(201, "<html>"),
        |_| Reply::status(302, "").with("location", "/elsewhere"),
        |_| Reply::Gone,
    ];
    let key = fresh_key();
    for reply in replies {
        service.engine.follow(reply);
        let answer = batch.ask_under(&key);
        refused(&answer, 503, "decision_unavailable");
        assert_eq!(answer.header("retry-after"), "30");
    }
    assert_eq!(["k000", "k001"].map(|path| batch.state(path)), ["draft", "draft"]);
    // The 503 is not remembered under the key: what failed is tried anew.
    service.behave();
    let request = batch.ask_under(&key).expect(201);
    assert_eq!(batch.status(&request), "pending");
    assert_eq!(batch.ask_under(&key).expect(201), request, "and now it is remembered");
    refused(&batch.ask(), 409, "approval_pending");
    // A licence leaves nothing behind.
    service.engine.follow(|_| Reply::Gone);
    let sample = json!({"locale": "fr", "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "r"});
    let answer = batch.shelf.desk.post(&batch.shelf.path("/licences"), &sample);
    refused(&answer, 503, "decision_unavailable");
    assert_eq!(batch.shelf.desk.get(&batch.shelf.path("/licences")).expect(200), json!({"licences": []}));
    let doctor = appliance.cli(&["doctor", "--json"]);
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains(&format!("The decision service at {} does not answer", service.base())), "{told}");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_service_that_says_nothing_is_waited_for_ten_seconds() {
    let service = Service::open();
    let appliance = service.setup().start();
    let batch = Batch::open(&appliance, 1);
    service.engine.follow(|_| Reply::Silent);
    refused(&batch.ask(), 503, "decision_unavailable");
    // One that answers late, within these ten seconds, is taken at its word.
    service.engine.follow(|asked| {
        let id = header(asked, "idempotency-key");
        Reply::Late(Duration::from_secs(1), Box::new(Reply::status(200, &json!({"decision_id": id}).to_string())))
    });
    let request = batch.ask().expect(201);
    assert_eq!(request["decision_id"], request["id"]);
    // One that gives two requests the same decision has given it to the first.
    let decision_id = text(&request, "decision_id");
    let body = json!({"decision_id": decision_id}).to_string();
    service.engine.follow(move |_| Reply::status(201, &body));
    let other = Batch::within(Shelf::open(&appliance), "b.json", 1);
    refused(&other.ask(), 503, "decision_unavailable");
    assert_eq!(other.ask().status, 503);
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_decision_that_is_told_while_it_is_still_being_raised_is_told_again() {
    let service = Service::open();
    let appliance = service.setup().start();
    let batch = Batch::open(&appliance, 1);
    // It has decided, and says so, before it answers.
    service.engine.follow(|asked| {
        let id = header(asked, "idempotency-key");
        Reply::Late(Duration::from_secs(4), Box::new(Reply::status(201, &json!({"decision_id": id}).to_string())))
    });
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| batch.ask().expect(201));
        std::thread::sleep(Duration::from_millis(500));
        let waiting = tell(&appliance, "any", "e1");
        refused(&waiting, 503, "decision_unavailable");
        assert_eq!(waiting.header("retry-after"), "30");
        asking.join().unwrap();
    });
    tell(&appliance, "any", "e1").expect(200);
}

#[test]
fn what_cannot_be_read_settles_nothing_and_a_lost_webhook_leaves_nothing_open() {
    let service = Service::open();
    let appliance = service.setup().rehearsal().start();
    let batch = Batch::open(&appliance, 1);
    let request = batch.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    let id = decision_id.clone();
    let replies: Vec<Value> = vec![
        json!({"decision_id": id, "status": "maybe"}),
        json!({"decision_id": id}),
        json!({"decision_id": "another", "status": "approved"}),
        json!({"status": "approved"}),
        json!({"decision_id": id, "status": "approved", "decided_by": "x".repeat(2001)}),
        json!({"decision_id": id, "status": "approved", "reason": 7}),
        json!({"decision_id": id, "status": "approved", "decided_at": "yesterday"}),
        json!([]),
        json!({"decision_id": id, "status": "pending"}),
    ];
    for (number, reply) in replies.into_iter().enumerate() {
        let body = reply.to_string();
        service.engine.follow(move |_| Reply::status(200, &body));
        refused(&tell(&appliance, &decision_id, &format!("e{number}")), 503, "decision_unavailable");
    }
    advance(&appliance, 600);
    assert_eq!(batch.status(&request), "pending");
    service.behave();
    service.decide(&decision_id, "changes_requested", "ada", Some("no"));
    advance(&appliance, 599);
    assert_eq!(batch.status(&request), "pending");
    advance(&appliance, 1);
    let settled = batch.request(&request);
    assert_eq!((&settled["status"], &settled["reason"]), (&json!("changes_requested"), &json!("no")));
    assert_eq!(settled["items"][0]["outcome"], "returned");
}

#[test]
fn a_decision_that_nobody_tells_anything_of_is_timed_out_a_day_after_its_expiry() {
    let service = Service::open();
    let appliance = service.setup().rehearsal().start();
    let batch = Batch::open(&appliance, 1);
    let request = batch.ask().expect(201);
    service.engine.follow(|_| Reply::Gone);
    advance(&appliance, 168 * 3600 + 86_400 - 600);
    assert_eq!(batch.status(&request), "pending");
    advance(&appliance, 1200);
    let settled = batch.request(&request);
    assert_eq!((&settled["status"], &settled["items"][0]["outcome"]), (&json!("timed_out"), &json!("unchanged")));
    assert_eq!(batch.state("k000"), "draft");
}

#[test]
fn a_thousand_webhooks_at_once_settle_each_request_once() {
    let service = Service::open();
    let appliance = service.setup().start();
    let shelf = Shelf::open(&appliance);
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    let mut batches = vec![Batch::within(shelf, "f0.json", 3)];
    for n in 1..5 {
        let desk = Desk {
            client: appliance.client("localization", &api_key),
            tenant_id: batches[0].shelf.desk.tenant_id.clone(),
        };
        let project_id = text(&desk.project(), "id");
        batches.push(Batch::within(Shelf { desk, project_id }, &format!("f{n}.json"), 3));
    }
    let requests: Vec<Value> = batches.iter().map(|batch| batch.ask().expect(201)).collect();
    let before: Vec<u64> = batches.iter().map(Batch::revision).collect();
    for request in &requests {
        service.decide(&text(request, "decision_id"), "approved", "ada", None);
    }
    let now = seconds(&appliance);
    std::thread::scope(|scope| {
        for thread in 0..50 {
            let (appliance, requests) = (&appliance, &requests);
            scope.spawn(move || {
                for n in 0..20 {
                    let request = &requests[(thread + n) % requests.len()];
                    // Half of them repeat an event, half are new.
                    let event = if n % 2 == 0 { format!("{thread}-{n}") } else { format!("e{n}") };
                    let answer = tell_at(appliance, now, &text(request, "decision_id"), &event);
                    assert_eq!(answer.expect(200), json!({}));
                }
            });
        }
    });
    for ((batch, request), before) in batches.iter().zip(&requests).zip(before) {
        let settled = batch.request(request);
        assert_eq!(settled["status"], "approved");
        assert!(settled["items"].as_array().unwrap().iter().all(|item| item["outcome"] == "approved"));
        assert_eq!(batch.revision(), before + 3, "each translation was approved once");
        assert_eq!(service.asked_for(&text(request, "decision_id")), (1, 1), "and its decision read once");
    }
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn the_desk_tells_its_decisions_by_itself() {
    let appliance = shared();
    let batch = Batch::open(appliance, 2);
    let request = batch.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    let listed = appliance.cli_json(&["decision", "list"]);
    let own = |listed: &Value| {
        let items = listed["items"].as_array().unwrap().clone();
        items.into_iter().find(|one| one["decision_id"] == *decision_id)
    };
    let waiting = own(&listed).unwrap();
    let subject = json!({"type": "approval_request", "id": request["id"], "tenant_id": batch.shelf.desk.tenant_id});
    assert_eq!(
        (&waiting["subject"], &waiting["status"], &waiting["policy"]),
        (&subject, &json!("pending"), &json!("default"))
    );
    assert_eq!((&waiting["tenant_id"], &waiting["action"]["count"]), (&json!(batch.shelf.desk.tenant_id), &json!(2)));
    let members: Vec<&str> = waiting.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        ["action", "created_at", "decision_id", "expires_at", "policy", "status", "subject", "tenant_id"]
    );
    let shown = appliance.cli_json(&["decision", "show", &decision_id]);
    assert_eq!(shown["context"]["items"][0]["target"], "Wort 0");
    let context = text(&batch.request(&request), "context");
    assert_eq!(text(&shown, "context_hash"), HEXLOWER.encode(&digest(context.as_bytes())));
    assert_eq!(shown["context_hash"], batch.request(&request)["context_hash"]);
    for wrong in [
        &["decision", "reject", &decision_id, "--by", "ada"][..],
        &["decision", "approve", "--by", "ada"],
        &["decision", "approve", &decision_id, "--by", " "],
    ] {
        assert_eq!(appliance.cli(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let nobody = appliance.cli(&["decision", "approve", "0190-x"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("decision list --all"), "{}", stderr(&nobody));
    let decided = appliance.cli_json(&["decision", "approve", &decision_id, "--by", "Ada L.", "--reason", "read"]);
    assert_eq!((&decided["status"], &decided["decided_by"]), (&json!("approved"), &json!("Ada L.")));
    let settled = batch.wait(&request, "approved");
    assert_eq!((&settled["decided_by"], &settled["reason"]), (&json!("Ada L."), &json!("read")));
    let list = batch.shelf.desk.get(&batch.shelf.path("/translations?locale=de")).expect(200);
    let approval = &list["translations"][0]["approval"];
    assert_eq!(
        (&approval["approved_by_label"], &approval["approval_ref"]),
        (&json!("decision:Ada L."), &json!(decision_id))
    );
    let again = appliance.cli(&["decision", "cancel", &decision_id]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    assert!(own(&appliance.cli_json(&["decision", "list"])).is_none());
    assert_eq!(own(&appliance.cli_json(&["decision", "list", "--all"])).unwrap()["status"], "approved");
    // The system user decides where nobody is named.
    batch.draft("k000", "Wort null");
    let request = batch.ask().expect(201);
    let decided = appliance.cli_json(&["decision", "request-changes", &text(&request, "decision_id")]);
    assert!(!text(&decided, "decided_by").is_empty());
    batch.wait(&request, "changes_requested");
}

#[test]
fn the_desk_rejects_cancels_and_times_out() {
    let appliance = Setup::new().rehearsal().start();
    let batch = Batch::open(&appliance, 2);
    batch.step("k000", "review");
    for (arguments, status, outcome, state) in [
        (&["cancel"][..], "cancelled", "unchanged", "reviewed"),
        (&[], "timed_out", "unchanged", "reviewed"),
        (&["reject", "--reason", "no"], "rejected", "returned", "draft"),
    ] {
        let request = batch.ask().expect(201);
        let decision_id = text(&request, "decision_id");
        match arguments.split_first() {
            Some((verb, rest)) => {
                appliance.cli_json(&[&["decision", verb, &decision_id], rest].concat());
            }
            None => advance(&appliance, 168 * 3600),
        }
        let settled = batch.wait(&request, status);
        assert_eq!(settled["items"][0]["outcome"], outcome);
        assert_eq!((batch.state("k000").as_str(), batch.state("k001").as_str()), (state, "draft"), "{status}");
    }
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn older_directories_get_their_secret_at_the_next_start_and_nobody_sees_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let batch = Batch::open(&appliance, 1);
    let request = batch.ask().expect(201);
    let (_, api_key) = appliance.key(&batch.shelf.desk.tenant_id, &[]);
    appliance.kill();
    // The desk has its own secret: a forged webhook is nobody's.
    let appliance = Setup::new().on(&data).start();
    refused(&tell(&appliance, &text(&request, "decision_id"), "e"), 401, "signature_invalid");
    appliance.cli_json(&["decision", "approve", &text(&request, "decision_id"), "--by", "ada"]);
    let desk =
        Desk { client: appliance.client("localization", &api_key), tenant_id: batch.shelf.desk.tenant_id.clone() };
    let batch = Batch { shelf: Shelf { desk, ..batch.shelf }, ..batch };
    batch.wait(&request, "approved");
    // With a secret of the operator's own, whoever knows it may tell.
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_DECISION__WEBHOOK_SECRET", SECRET).start();
    assert_eq!(tell(&appliance, &text(&request, "decision_id"), "e").expect(200), json!({}));
}

#[test]
fn legal_texts_take_as_many_names_as_the_tenant_says() {
    let appliance = Setup::new().start();
    let batch = Batch::open(&appliance, 1);
    let legal = json!({"keys": [{"path": "k000", "class": "legal"}]});
    let path = batch.shelf.path(&format!("/files/{}/context", batch.file_id));
    batch.shelf.desk.json("PUT", &path, &legal).expect(200);
    let request = batch.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    // Nobody has said anything: one name.
    let needed = |decision_id: &str| appliance.cli_json(&["decision", "show", decision_id])["approvals_needed"].clone();
    assert_eq!(needed(&decision_id), json!(1));
    appliance.cli_json(&["decision", "approve", &decision_id, "--by", "ada"]);
    batch.wait(&request, "approved");
    let desk = &batch.shelf.desk;
    desk.json("PATCH", "/v1/settings", &json!({"legal_approval_quorum": 3})).expect(200);
    let plain = Batch::within(Shelf { desk: desk.clone(), project_id: text(&desk.project(), "id") }, "b.json", 1);
    let request = plain.ask().expect(201);
    let decision_id = text(&request, "decision_id");
    assert_eq!(needed(&decision_id), json!(1), "it is not legal");
    // It becomes so while it waits for its decision.
    let path = plain.shelf.path(&format!("/files/{}/context", plain.file_id));
    desk.json("PUT", &path, &legal).expect(200);
    assert_eq!(needed(&decision_id), json!(3));
    for by in ["Ada", "bob"] {
        let waits = appliance.cli_json(&["decision", "approve", &decision_id, "--by", by]);
        assert_eq!(waits["status"], "pending");
    }
    // The same names, written otherwise.
    for (by, code) in [("ada", 1), ("Ａｄａ", 1), ("BOB", 1), ("bob\u{200b}", 2)] {
        let refused = appliance.cli(&["decision", "approve", &decision_id, "--by", by]);
        assert_eq!(refused.status.code(), Some(code), "{by}");
    }
    assert_eq!(plain.status(&request), "pending");
    appliance.cli_json(&["decision", "approve", &decision_id, "--by", "eve"]);
    let settled = plain.wait(&request, "approved");
    assert_eq!(settled["decided_by"], "Ada, bob, eve");
}
