//! Approvals as requests go the whole way: shapes, waits, who may what, and the page.

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::super::links::{self, Token};
use super::super::model::Person;
use super::super::{kinds, mails};
use crate::identity::Scope;
use crate::model::{ApprovalId, ApprovalKey};
use crate::testing::{Bench, assert_refused};

const ORIGIN: &str = "https://messages.example";

fn deploy() -> Value {
    json!({"title": "Deploy v42", "summary": "To production", "proposed_action": {"b": 1.0, "a": "x"}})
}

async fn raised(bench: &Bench, agent: &str, body: Value) -> Value {
    let (status, told) = bench.call_as(agent, "POST", "/v1/approvals", body).await;
    assert_eq!(status, 201, "{told}");
    told
}

fn key(bench: &Bench, record: &Value) -> ApprovalKey {
    let id = quintet_platform::ids::parse_ulid(record["id"].as_str().unwrap()).unwrap();
    (bench.workspace.no, ApprovalId(id))
}

fn path(record: &Value) -> String {
    format!("/v1/approvals/{}", record["id"].as_str().unwrap())
}

/// A link for somebody, as its path.
fn link(bench: &Bench, record: &Value, person: Person) -> String {
    let (token, key) = (Token::draw(), key(bench, record));
    let text = token.text().to_owned();
    bench.run(move |tx, now| links::make(tx, now, key, person, &token)).unwrap();
    format!("/approve/{text}")
}

fn operator() -> Person {
    Person::Operator("ann".to_owned())
}

struct Page {
    status: u16,
    headers: HeaderMap,
    text: String,
}

async fn page(bench: &Bench, method: &str, path: &str, origin: Option<&str>, form: &str) -> Page {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    if method == "POST" {
        request = request.header("content-type", "application/x-www-form-urlencoded");
    }
    let mut response = bench.answer(request.body(Body::from(form.to_owned())).unwrap()).await;
    let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Page { status: response.status().as_u16(), headers: response.headers().clone(), text }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_told_in_full() {
    let bench = Bench::new();
    bench.agent("builder");
    let record = raised(&bench, "builder", deploy()).await;
    let canonical = r#"{"a":"x","b":1}"#;
    let digest = data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(canonical.as_bytes()));
    for (name, expected) in [
        ("status", json!("pending")),
        ("title", json!("Deploy v42")),
        ("kind", json!("generic")),
        ("summary", json!("To production")),
        ("proposed_action", json!({"a": "x", "b": 1})),
        ("context", json!({})),
        ("action_sha256", json!(digest)),
        ("thread_id", Value::Null),
        ("requested_by", json!("builder")),
        ("expires_at", json!("2025-11-27T12:30:00.000000Z")),
        ("decided_at", Value::Null),
        ("outcome", Value::Null),
    ] {
        assert_eq!(record[name], expected, "{name}");
    }
    let reader = bench.key(Scope::Read, &[]);
    let (status, told) = bench.call(&reader, "GET", &path(&record), Value::Null).await;
    assert_eq!((status, &told["id"]), (200, &record["id"]), "every key of the workspace reads it");
    let (_, told) = bench.call(&reader, "GET", "/v1/approvals?status=pending", Value::Null).await;
    assert_eq!((told["approvals"].as_array().unwrap().len(), &told["next_cursor"]), (1, &Value::Null));
    let other = bench.another("other");
    let stranger = bench.key_of(other.no, Scope::Admin, &[]);
    let refused = bench.call(&stranger, "GET", &path(&record), Value::Null).await;
    assert_refused(&refused, (404, "not_found"), "approval");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_for() {
    let bench = Bench::new();
    bench.agent("builder");
    let ask = async |change: Value| {
        let mut body = deploy();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        bench.call_as("builder", "POST", "/v1/approvals", body).await
    };
    for (change, words) in [
        (json!({"title": ""}), "title"),
        (json!({"title": "x".repeat(201)}), "title"),
        (json!({"title": "a\nb"}), "title"),
        (json!({"title": null}), "title"),
        (json!({"kind": "No"}), "kind"),
        (json!({"summary": "x".repeat(4_001)}), "summary"),
        (json!({"proposed_action": []}), "proposed_action"),
        (json!({"context": "x"}), "context"),
        (json!({"context": {"x": "y".repeat(64 << 10)}}), "proposed_action"),
        (json!({"expires_in_minutes": 0}), "expires_in_minutes"),
        (json!({"expires_in_minutes": 10_081}), "expires_in_minutes"),
    ] {
        assert_refused(&ask(change).await, (422, "validation_error"), words);
    }
    assert_refused(&ask(json!({"kind": "deploy-prod"})).await, (409, "approvals_not_configured"), "deploy-prod");
    let foreign = bench.post("builder", &["builder"], "mine", |_| {}).thread;
    bench.agent("other");
    let thread = quintet_platform::ids::ulid(foreign.0);
    let refused = bench.call_as("other", "POST", "/v1/approvals", json!({"title": "x", "thread_id": thread})).await;
    assert_refused(&refused, (404, "not_found"), "thread");
    let number = "{\"title\": \"x\", \"proposed_action\": {\"n\": 12345678901234567890123}}";
    let request = Request::post("/v1/approvals").header("x-agentbus-agent", "builder");
    let request = request.header("authorization", format!("Bearer {}", bench.admin)).body(Body::from(number)).unwrap();
    assert_eq!(bench.answer(request).await.status().as_u16(), 422, "it would be another number afterwards");
    let twice = "{\"title\": \"x\", \"proposed_action\": {\"n\": 1, \"\\u006e\": 2}}";
    let request = Request::post("/v1/approvals").header("x-agentbus-agent", "builder");
    let request = request.header("authorization", format!("Bearer {}", bench.admin)).body(Body::from(twice)).unwrap();
    assert_eq!(bench.answer(request).await.status().as_u16(), 400, "a member that is there twice");
    let (_, listed) = bench.call_as("builder", "GET", "/v1/approvals", Value::Null).await;
    assert_eq!(listed["approvals"], json!([]), "nothing was stored");
    let (_, usage) = bench.call_as("builder", "GET", "/v1/usage", Value::Null).await;
    let used = usage["policies"].as_array().unwrap().iter().find(|one| one["name"] == "approvals_per_day").unwrap();
    assert_eq!(used["used"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_has_so_many() {
    let mut bench = Bench::new();
    bench.agent("builder");
    bench.set(|workspace| workspace.limits = vec![(crate::limits::APPROVALS_PER_DAY.code, Some(1))]);
    raised(&bench, "builder", deploy()).await;
    let refused = bench.call_as("builder", "POST", "/v1/approvals", deploy()).await;
    assert_refused(&refused, (429, "quota_exceeded"), "approvals_per_day");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_decides() {
    let bench = Bench::new();
    bench.agent("builder");
    let record = raised(&bench, "builder", deploy()).await;
    let decision = format!("{}/decision", path(&record));
    for key in [&bench.admin, &bench.key(Scope::Full, &[]), &bench.key(Scope::Send, &["builder"])] {
        let refused = bench.call(key, "POST", &decision, json!({"verdict": "approved"})).await;
        assert_refused(&refused, (403, "permission_denied"), "no key decides");
    }
    let nothing = "/v1/approvals/01KAJ5V0T1ZXCVBNM23456789A/decision";
    let refused = bench.call(&bench.admin, "POST", nothing, Value::Null).await;
    assert_refused(&refused, (403, "permission_denied"), "no key decides");
    assert_eq!(bench.call_as("builder", "GET", &path(&record), Value::Null).await.1["status"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_raised_it_cancels_it_and_an_admin_key_does() {
    let bench = Bench::new();
    bench.agent("builder");
    bench.agent("other");
    let (one, two) = (raised(&bench, "builder", deploy()).await, raised(&bench, "builder", deploy()).await);
    let cancel = |record: &Value| format!("{}/cancel", path(record));
    let other = bench.key(Scope::Send, &["other"]);
    let refused = bench.call(&other, "POST", &cancel(&one), Value::Null).await;
    assert_refused(&refused, (403, "permission_denied"), "cancelled by the agent that raised it");
    let own = bench.key(Scope::Send, &["builder"]);
    let (status, told) = bench.call(&own, "POST", &cancel(&one), Value::Null).await;
    assert_eq!(
        (status, &told["status"], &told["outcome"]["outcome"]["result"]),
        (200, &json!("cancelled"), &json!("cancelled"))
    );
    let refused = bench.call(&own, "POST", &cancel(&one), Value::Null).await;
    assert_refused(&refused, (409, "already_decided"), "cancelled already");
    assert_eq!(bench.call(&bench.admin, "POST", &cancel(&two), Value::Null).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_decides_and_looking_does_not() {
    let bench = Bench::new();
    bench.agent("builder");
    let thread = bench.post("builder", &["builder"], "plan", |_| {}).thread;
    let mut body = deploy();
    body["title"] = json!("Deploy <b>v42</b> \u{202e}");
    body["thread_id"] = json!(quintet_platform::ids::ulid(thread.0));
    let record = raised(&bench, "builder", body).await;
    let path = link(&bench, &record, operator());
    for (method, origin) in [("GET", None), ("HEAD", None), ("GET", Some("https://evil.example"))] {
        let shown = page(&bench, method, &format!("{path}?utm_source=scanner"), origin, "").await;
        assert_eq!(shown.status, 200);
        if method == "GET" {
            for part in [
                "builder",
                "Deploy &lt;b&gt;v42",
                "U+202E",
                "{&quot;a&quot;:&quot;x&quot;,&quot;b&quot;:1}",
                record["action_sha256"].as_str().unwrap(),
                "1 day and 0 hours left",
                "2025-11-27 12:30 UTC",
                "<form method=\"post\">",
                "key of the workspace that may act as this agent",
            ] {
                assert!(shown.text.contains(part), "{part}\n{}", shown.text);
            }
            assert!(!shown.text.contains("<script") && !shown.text.contains("<b>v42"));
        }
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("content-type", "text/html; charset=utf-8"),
        ] {
            assert_eq!(shown.headers[name], value, "{name}");
        }
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
    }
    for origin in [
        None,
        Some("null"),
        Some("https://evil.example"),
        Some("http://messages.example"),
        Some("https://messages.example:8443"),
    ] {
        let refused = page(&bench, "POST", &path, origin, "verdict=approved").await;
        assert_eq!(refused.status, 403, "{origin:?}");
    }
    for form in [
        "",
        "verdict=yes",
        "verdict=approved&x=1",
        "verdict=rejected&reason=",
        "verdict=rejected&reason=+%0D%0A",
        "%ff",
    ] {
        let again = page(&bench, "POST", &path, Some(ORIGIN), form).await;
        assert_eq!(again.status, 422, "{form}");
        assert!(again.text.contains("role=\"alert\"") && again.text.contains("<form"), "{form}");
    }
    let long = format!("verdict=rejected&reason={}", "x".repeat(2_001));
    let again = page(&bench, "POST", &path, Some(ORIGIN), &long).await;
    assert!(again.status == 422 && again.text.contains(&"x".repeat(2_001)), "what was typed is there still");
    assert_eq!(page(&bench, "POST", &path, Some(ORIGIN), &"x".repeat((64 << 10) + 1)).await.status, 413);
    let at = self::path(&record);
    assert_eq!(bench.call_as("builder", "GET", &at, Value::Null).await.1["status"], "pending");
    let done = page(&bench, "POST", &path, Some(ORIGIN), "verdict=rejected&reason=Not+on+a+Friday%0D%0Aat+all").await;
    assert_eq!(done.status, 200, "{}", done.text);
    assert!(done.text.contains("Rejected") && done.text.contains("ann"), "{}", done.text);
    let (_, told) = bench.call_as("builder", "GET", &at, Value::Null).await;
    assert_eq!(
        told["outcome"],
        json!({
            "status": "rejected",
            "feedback_for_agent": {"message": "Not on a Friday\nat all", "reason_codes": [], "change_requests": []},
            "outcome": {"result": "rejected", "justifications": [],
                "reasons": [{"code": "OTHER", "text": "Not on a Friday\nat all", "actor_id": "ann"}]},
        })
    );
    for (method, origin) in [("POST", Some(ORIGIN)), ("GET", None)] {
        let over = page(&bench, method, &path, origin, "verdict=approved").await;
        assert_eq!(over.status, 410);
        assert!(over.text.contains("Rejected") && !over.text.contains("<form"), "{}", over.text);
    }
    let (_, inbox) = bench.call_as("builder", "GET", "/v1/inbox?cursor=1", Value::Null).await;
    let message = &inbox["messages"][0];
    assert_eq!(
        (&message["direction"], &message["priority"], &message["thread_id"]),
        (&json!("system"), &json!("urgent"), &json!(quintet_platform::ids::ulid(thread.0)))
    );
    assert_eq!(message["subject"], "Approval rejected: Deploy <b>v42</b> \u{202e}");
    let delivery = format!("/v1/deliveries/{}", message["delivery_id"].as_str().unwrap());
    let (_, delivery) = bench.call_as("builder", "GET", &delivery, Value::Null).await;
    let text = delivery["text_body"].as_str().unwrap();
    assert!(text.contains(record["action_sha256"].as_str().unwrap()) && text.contains("Not on a Friday"), "{text}");
    assert_eq!(inbox["messages"].as_array().unwrap().len(), 1, "one message, whoever tries again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_for_one_approval_and_one_person() {
    let bench = Bench::new();
    bench.agent("builder");
    let workspace = bench.workspace.no;
    let set = move |approvers: &[&str]| {
        let said = (approvers.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>(), Some(5));
        bench_set(workspace, said)
    };
    fn bench_set(
        workspace: crate::model::WorkspaceNo,
        said: (Vec<String>, Option<i64>),
    ) -> impl FnOnce(
        &mut quintet_storage::WriteTx<'_>,
        quintet_storage::Timestamp,
    ) -> Result<(), quintet_storage::Abort<crate::refusal::Refusal>>
    + Send
    + 'static {
        move |tx, now| kinds::set(tx, now, workspace, "mail.example", "deploy", said).map(drop)
    }
    bench.run(set(&["ann@example.com", "ben@example.com"])).unwrap();
    let body = json!({"title": "x", "kind": "deploy"});
    let (one, two) = (raised(&bench, "builder", body.clone()).await, raised(&bench, "builder", body).await);
    assert_eq!(one["expires_at"], "2025-11-26T12:35:00.000000Z", "as its kind says");
    let ann = link(&bench, &one, Person::Approver("ann@example.com".to_owned()));
    let ben = link(&bench, &one, Person::Approver("ben@example.com".to_owned()));
    let of_two = link(&bench, &two, Person::Approver("ben@example.com".to_owned()));
    let key = key(&bench, &one);
    let eve = Person::Approver("eve@example.com".to_owned());
    assert!(bench.run(move |tx, now| links::make(tx, now, key, eve, &Token::draw())).is_err());
    for forged in ["/approve/x".to_owned(), format!("{ann}x"), ann.to_lowercase(), "/approve/%00".to_owned()] {
        for (method, origin) in [("GET", None), ("POST", Some(ORIGIN))] {
            assert_eq!(page(&bench, method, &forged, origin, "verdict=approved").await.status, 404, "{forged}");
        }
    }
    bench.run(set(&["ben@example.com"])).unwrap();
    for (method, origin) in [("GET", None), ("POST", Some(ORIGIN))] {
        assert_eq!(page(&bench, method, &ann, origin, "verdict=approved").await.status, 410, "no approver any more");
    }
    assert_eq!(page(&bench, "POST", &ben, Some(ORIGIN), "verdict=approved").await.status, 200);
    assert_eq!(bench.call_as("builder", "GET", &path(&one), Value::Null).await.1["status"], "approved");
    assert_eq!(bench.call_as("builder", "GET", &path(&two), Value::Null).await.1["status"], "pending");
    bench.advance(301).await;
    let over = page(&bench, "POST", &of_two, Some(ORIGIN), "verdict=approved").await;
    assert!(over.status == 410 && over.text.contains("Timed out"), "{}", over.text);
    let (_, told) = bench.call_as("builder", "GET", &path(&two), Value::Null).await;
    assert_eq!((&told["status"], &told["decided_at"]), (&json!("timed_out"), &two["expires_at"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_in_a_workspace_that_does_not_serve() {
    let bench = Bench::new();
    bench.agent("builder");
    let record = raised(&bench, "builder", deploy()).await;
    let path = link(&bench, &record, operator());
    bench.suspend_tenant();
    for (method, origin) in [("GET", None), ("POST", Some(ORIGIN))] {
        assert_eq!(page(&bench, method, &path, origin, "verdict=approved").await.status, 403);
    }
    bench.advance(2 * 86_400).await;
    bench.activate_tenant();
    assert_eq!(page(&bench, "POST", &path, Some(ORIGIN), "verdict=approved").await.status, 410);
    let (_, told) = bench.call_as("builder", "GET", &self::path(&record), Value::Null).await;
    assert_eq!((&told["status"], &told["decided_at"]), (&json!("timed_out"), &record["expires_at"]), "swept up or not");
    bench.advance(3_600).await;
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
    let (_, inbox) = bench.call_as("builder", "GET", "/v1/inbox", Value::Null).await;
    assert_eq!(inbox["messages"][0]["subject"], "Approval timed out: Deploy v42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_has_stopped_never_says_yes() {
    let bench = Bench::new();
    bench.agent("builder");
    let record = raised(&bench, "builder", deploy()).await;
    let path = link(&bench, &record, operator());
    bench.context.store.shutdown();
    let refused = page(&bench, "POST", &path, Some(ORIGIN), "verdict=approved").await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("Nothing was changed") && refused.headers.contains_key("retry-after"));
    assert_eq!(bench.call_as("builder", "GET", &self::path(&record), Value::Null).await.1["status"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn approvers_are_written_with_a_link_each() {
    for is_encrypted in [false, true] {
        let bench = if is_encrypted { Bench::encrypted() } else { Bench::new() };
        bench.agent("builder");
        let workspace = bench.workspace.clone();
        let no = workspace.no;
        let approvers = vec!["ann@example.com".to_owned(), "ben@example.com".to_owned()];
        bench
            .run(move |tx, now| kinds::set(tx, now, no, "mail.example", "deploy", (approvers, None)).map(drop))
            .unwrap();
        let agent = vec!["agentbus+acme.builder@Mail.Example".to_owned()];
        let refused = bench.run(move |tx, now| kinds::set(tx, now, no, "mail.example", "x", (agent, None)).map(drop));
        assert!(refused.is_err(), "an agent decides nothing");
        let record = raised(&bench, "builder", json!({"title": "Deploy", "kind": "deploy"})).await;
        let (key, tokens) = (key(&bench, &record), mails::draw_tokens());
        let mails =
            bench.run(move |tx, now| mails::mails(tx, now, &workspace, key, (ORIGIN, "mail.example"), tokens)).unwrap();
        let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
        assert_eq!(to, ["ann@example.com", "ben@example.com"]);
        let mut links: Vec<String> = Vec::new();
        for mail in &mails {
            assert!(!format!("{mail:?}").contains("/approve/"), "it is a secret");
            let text = mail.text.expose();
            assert_eq!(text.contains("Deploy") || mail.subject.contains("Deploy"), !is_encrypted, "{text}");
            let url = text.lines().find(|line| line.starts_with(ORIGIN)).unwrap();
            links.push(url.strip_prefix(ORIGIN).unwrap().to_owned());
        }
        assert_ne!(links[0], links[1]);
        assert_eq!(page(&bench, "POST", &links[1], Some(ORIGIN), "verdict=approved").await.status, 200);
        assert_eq!(page(&bench, "GET", &links[0], None, "").await.status, 410);
    }
}
