//! Each route of agents, through the router: what it answers, and what it refuses in which order.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::blocks::{self, Block};
use crate::identity::Scope;
use crate::limits::{ACTIVE_AGENTS, AGENT_TAGS, BOUND_KEYS, Limit};
use crate::testing::{Bench, assert_refused};

const DEVICE: &str = "716759a2-0839-4c39-870b-8b8ea4741840";
const REMOTE: &str = "git@github.com:acme/api.git";
const FINGERPRINT: &str = "e1dcaa3496b9";
const REGISTER: &str = "/v1/agents/register";
const JOIN: &str = "/v1/agents/join";
const DAY: u64 = 86_400;

/// What a client says of a role in a checkout.
fn checkout(role: &str, workdir: &str) -> Value {
    json!({
        "name": null, "capabilities": [], "unlisted": false, "role": role, "device_id": DEVICE, "workdir": workdir,
        "repo_remote": REMOTE, "ephemeral": false,
    })
}

fn limited(bench: &mut Bench, limit: Limit, max: u64) {
    bench.set(|workspace| {
        workspace.limits.retain(|(code, _)| *code != limit.code);
        workspace.limits.push((limit.code, Some(max)));
    });
}

/// Registers with the admin's key, for no agent.
async fn registered(bench: &Bench, body: Value) -> (u16, Value) {
    bench.call(&bench.admin, "POST", REGISTER, body).await
}

fn names(answer: &Value) -> Vec<&str> {
    answer["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect()
}

fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_checkout_is_one_agent_for_each_role() {
    let bench = Bench::new();
    let (status, first) = registered(&bench, checkout("builder", "/home/dev/widgets")).await;
    let name = first["agent"]["name"].as_str().unwrap();
    assert_eq!((status, &first["created"]), (201, &json!(true)), "{first}");
    let suffix = name.strip_prefix("builder-").unwrap();
    assert!(suffix.len() == 6 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert_eq!(first["address"], format!("agentbus+acme.{name}@mail.example"));
    assert_eq!(first["rooms"], json!([format!("repo:{FINGERPRINT}")]));
    assert_eq!(first["agent"]["repo_fingerprint"], FINGERPRINT);
    let device_hash = crate::words::checkout::device_hash(DEVICE);
    assert_eq!(first["agent"]["device_hash"], device_hash.as_str());
    assert!(!first.to_string().contains("/home/dev") && !first.to_string().contains(DEVICE));
    let (status, again) = registered(&bench, checkout("builder", "/home/dev/widgets/")).await;
    assert_eq!((status, &again["created"], &again["agent"]["id"]), (200, &json!(false), &first["agent"]["id"]));
    let (status, sibling) = registered(&bench, checkout("tester", "/home/dev/widgets")).await;
    assert_eq!((status, &sibling["agent"]["name"]), (201, &json!(format!("tester-{suffix}"))));
    let (_, elsewhere) = registered(&bench, checkout("builder", "/home/dev/other")).await;
    assert_ne!(elsewhere["agent"]["name"], name);
    // Another name for the same place in the same role: the agent that is there answers, under its own name.
    let mut other = checkout("builder", "/home/dev/widgets");
    other["name"] = json!("mason");
    let (status, found) = registered(&bench, other).await;
    assert_eq!((status, &found["agent"]["name"], found.get("identity_changed")), (200, &json!(name), None));
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn names_are_taken_as_they_are_or_refused() {
    let bench = Bench::new();
    for good in ["a", "builder-c8239c", "a.b_c-d"] {
        let (status, answer) = registered(&bench, json!({"name": good})).await;
        assert_eq!((status, answer["agent"]["name"].as_str()), (201, Some(good)), "{answer}");
    }
    for (bad, near) in [("My Builder", "my-builder"), ("", "agent"), ("system", "system-agent")] {
        let answer = registered(&bench, json!({"name": bad})).await;
        assert_refused(&answer, (422, "validation_error"), near);
        assert_eq!(answer.1["errors"][0]["field"], "name");
    }
    let answer = registered(&bench, json!({"role": "Code Review", "device_id": "d"})).await;
    assert_refused(&answer, (422, "validation_error"), "code-review");
    // Nothing to make a name of.
    for body in [json!({}), Value::Null, json!({"role": "x"}), json!({"labels": {"a": "b"}, "newer": [1]})] {
        let (status, answer) = registered(&bench, body).await;
        assert_eq!(status, 201, "{answer}");
        assert!(answer["agent"]["name"].as_str().unwrap().starts_with("agent-"), "{answer}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_registration() {
    let bench = Bench::new();
    let long = |count: usize| "x".repeat(count);
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    for (body, field) in [
        (json!({"name": 7}), "name"),
        (json!({"role": ["x"]}), "role"),
        (json!({"role": "a\nb"}), "role"),
        (json!({"role": long(65)}), "role"),
        (json!({"device_id": long(257)}), "device_id"),
        (json!({"workdir": long(4_097)}), "workdir"),
        (json!({"repo_remote": long(2_049)}), "repo_remote"),
        (json!({"capabilities": "x"}), "capabilities"),
        (json!({"capabilities": [1]}), "capabilities"),
        (json!({"capabilities": [long(129)]}), "capabilities"),
        (json!({"capabilities": many}), "capabilities"),
        (json!({"labels": ["x"]}), "labels"),
        (json!({"labels": {"Bad Key": ""}}), "labels"),
        (json!({"labels": {"a": 1}}), "labels.a"),
        (json!({"labels": {"a": long(257)}}), "labels.a"),
        (json!({"unlisted": "yes"}), "unlisted"),
        (json!({"ephemeral": 1}), "ephemeral"),
        (json!({"persona": "Chief"}), "persona"),
        (json!({"persona": 1}), "persona"),
    ] {
        let answer = registered(&bench, body.clone()).await;
        assert_refused(&answer, (422, "validation_error"), "");
        assert_eq!(answer.1["errors"][0]["field"], field, "{body}");
    }
    assert_refused(&registered(&bench, json!([])).await, (422, "validation_error"), "");
    let request = |body: &'static str| {
        let key = format!("Bearer {}", bench.admin);
        http::Request::post(REGISTER).header("authorization", key).body(axum::body::Body::from(body)).unwrap()
    };
    for body in ["{", r#"{"name": "a", "name": "b"}"#] {
        assert_eq!(bench.answer(request(body)).await.status().as_u16(), 400, "{body}");
    }
    assert_eq!(names(&bench.call(&bench.admin, "GET", "/v1/agents", Value::Null).await.1), Vec::<&str>::new());
}

/// 6-messaging.md, I3, and what clients do that are told no role: they say the name in its place.
#[tokio::test]
async fn registering_again_merges_labels_replaces_the_rest_and_keeps_the_role() {
    let bench = Bench::new();
    let mut body = checkout("builder", "/w");
    body["name"] = json!("mason");
    body["capabilities"] = json!(["a", "b", "a"]);
    body["labels"] = json!({"zone": "eu", "fast": null});
    let (_, first) = registered(&bench, body).await;
    assert_eq!(first["agent"]["capabilities"], json!(["a", "b"]));
    assert_eq!(first["agent"]["labels"], json!({"fast": "", "zone": "eu"}));
    let again = json!({"name": "mason", "role": "mason", "labels": {"zone": "us", "new": "1"}, "unlisted": true});
    let (status, second) = registered(&bench, again).await;
    assert_eq!((status, &second["agent"]["role"]), (200, &json!("builder")));
    assert_eq!(second["agent"]["labels"], json!({"fast": "", "new": "1", "zone": "us"}));
    assert_eq!(second["agent"]["capabilities"], json!(["a", "b"]), "absent keeps");
    assert_eq!((&second["agent"]["unlisted"], &second["agent"]["ephemeral"]), (&json!(true), &json!(false)));
    assert_eq!(second["agent"]["device_hash"], first["agent"]["device_hash"]);
    let (_, third) = registered(&bench, json!({"name": "mason", "capabilities": [], "unlisted": false})).await;
    assert_eq!((&third["agent"]["capabilities"], &third["agent"]["unlisted"]), (&json!([]), &json!(false)));
    // Its session is known in its role still.
    assert_eq!(registered(&bench, checkout("builder", "/w")).await.1["agent"]["name"], "mason");
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn what_moved_since_is_told() {
    let bench = Bench::new();
    let moved = |device: &str, workdir: &str, remote: &str| json!({"name": "mason", "role": "r", "device_id": device, "workdir": workdir, "repo_remote": remote});
    registered(&bench, moved("d", "/w", "x/a")).await;
    for (body, expected) in [
        (moved("d", "/w", "x/a"), Value::Null),
        (moved("d", "/v", "x/a"), json!(["workdir"])),
        (moved("e", "/v", "x/a"), json!(["device_id"])),
        (moved("f", "/v", "x/b"), json!(["device_id", "repo_remote"])),
        (json!({"name": "mason"}), Value::Null),
        (json!({"name": "mason", "repo_remote": "x/b"}), Value::Null),
    ] {
        let (status, answer) = registered(&bench, body.clone()).await;
        assert_eq!((status, &answer["identity_changed"]), (200, &expected), "{body}");
    }
    // A place that is another agent's in this role stays that agent's.
    let (_, other) = registered(&bench, json!({"role": "r", "device_id": "g", "workdir": "/w"})).await;
    let mut body = moved("g", "/w", "");
    body["repo_remote"] = Value::Null;
    registered(&bench, body).await;
    let (_, found) = registered(&bench, json!({"role": "r", "device_id": "g", "workdir": "/w"})).await;
    assert_eq!(found["agent"]["id"], other["agent"]["id"]);
    let back = json!({"role": "r", "device_id": "f", "workdir": "/v", "repo_remote": "x/b"});
    assert_eq!(registered(&bench, back).await.1["agent"]["name"], "mason", "and the old place its own");
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn a_persona_is_an_admin_s_to_give() {
    let bench = Bench::new();
    let full = bench.key(Scope::Full, &[]);
    for persona in ["reviewer", "No Persona"] {
        let (status, answer) = bench.call(&full, "POST", REGISTER, json!({"name": "a", "persona": persona})).await;
        assert!(status < 300 && answer["agent"]["persona"].is_null(), "{answer}");
        assert!(answer["persona_ignored"].as_str().unwrap().contains("admin"));
    }
    let (_, answer) = registered(&bench, json!({"name": "a", "persona": "test-engineer"})).await;
    assert_eq!((&answer["agent"]["persona"], answer.get("persona_ignored")), (&json!("test-engineer"), None));
    let (_, answer) = bench.call(&full, "POST", REGISTER, json!({"name": "a"})).await;
    assert_eq!((&answer["agent"]["persona"], answer.get("persona_ignored")), (&json!("test-engineer"), None));
}

/// 6-messaging.md, K1, K3, C3; a header may name an agent that is about to be made.
#[tokio::test]
async fn who_may_register_whom() {
    let bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    let register =
        async |key: &str, agent: Option<&str>, body: Value| bench.asked(key, agent, "POST", REGISTER, body).await;
    let (read, send) = (bench.key(Scope::Read, &[]), bench.key(Scope::Send, &[]));
    assert_refused(&register("", None, json!({})).await, (401, "unauthenticated"), "");
    assert_refused(&register("ab_sk_x", None, json!({})).await, (401, "invalid_api_key"), "unknown or revoked");
    assert_refused(&register(&read, None, json!({"name": "c"})).await, (403, "permission_denied"), "scope");
    assert_refused(&register(&send, None, json!({"name": "c"})).await, (403, "permission_denied"), "bound");
    let full = bench.key(Scope::Full, &[]);
    assert_eq!(register(&full, None, json!({"name": "full"})).await.0, 201);
    assert_eq!(register(&full, Some("a"), json!({"name": "sibling"})).await.0, 201, "as another");
    assert_eq!(register(&full, Some("new"), json!({"name": "new"})).await.0, 201, "as itself, before it is there");
    let bound = bench.key(Scope::Send, &["a"]);
    assert_eq!(register(&bound, None, json!({"name": "a"})).await.0, 200);
    let (status, itself) = register(&bound, None, json!({})).await;
    assert_eq!((status, &itself["agent"]["name"]), (200, &json!("a")), "who says nothing is who acts");
    for body in [json!({"name": "b"}), json!({"name": "fresh"}), checkout("r", "/w")] {
        assert_refused(&register(&bound, None, body).await, (403, "key_agent_mismatch"), "not bound to");
    }
    assert_refused(&register(&bound, Some("b"), json!({"name": "a"})).await, (403, "key_agent_mismatch"), "b");
    // An unbound one registers whom it likes, whoever it acts as: clients say in the header who they were until now.
    for name in ["a", "new"] {
        assert!(matches!(register(&full, Some("b"), json!({"name": name})).await.0, 200 | 201));
    }
    let early = bench.key(Scope::Send, &["early"]);
    assert_eq!(register(&early, None, json!({"name": "early"})).await.0, 201, "the operator has bound the key before");
    // Elsewhere the agent must be there.
    let ghost = bench.asked(&full, Some("ghost"), "POST", "/v1/agents/a/retire", Value::Null).await;
    assert_refused(&ghost, (404, "not_found"), "ghost");
}

#[tokio::test]
async fn there_are_as_many_agents_and_tags_as_there_may_be() {
    let mut bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    limited(&mut bench, ACTIVE_AGENTS, 2);
    limited(&mut bench, AGENT_TAGS, 2);
    let full = registered(&bench, json!({"name": "c"})).await;
    assert_refused(&full, (409, "limit_reached"), "2");
    assert_eq!((&full.1["limit"], &full.1["max"]), (&json!("active_agents"), &json!(2)));
    assert_eq!(registered(&bench, json!({"name": "a"})).await.0, 200);
    assert_eq!(bench.call(&bench.admin, "POST", "/v1/agents/b/retire", Value::Null).await.0, 200);
    assert_eq!(registered(&bench, json!({"name": "c"})).await.0, 201);
    assert_refused(&registered(&bench, json!({"name": "b"})).await, (409, "limit_reached"), "active_agents");
    assert!(bench.call(&bench.admin, "GET", "/v1/agents/b", Value::Null).await.1["retired_at"].is_string());
    let labels = async |labels: Value| registered(&bench, json!({"name": "a", "labels": labels})).await;
    assert_eq!(labels(json!({"x": "", "y": ""})).await.0, 200);
    assert_refused(&labels(json!({"z": ""})).await, (409, "limit_reached"), "agent_tags");
    assert_eq!(labels(json!({"x": "1"})).await.0, 200);
    // Whoever wears more than the limit since it was lowered can still say what he wears, and come back.
    limited(&mut bench, AGENT_TAGS, 1);
    let labels = async |labels: Value| registered(&bench, json!({"name": "a", "labels": labels})).await;
    assert_eq!(labels(json!({"x": "2"})).await.0, 200);
    assert_eq!(bench.call(&bench.admin, "POST", "/v1/agents/a/retire", Value::Null).await.0, 200);
    assert_eq!(labels(json!({"x": "3", "y": "3"})).await.0, 200);
    assert_refused(&labels(json!({"z": ""})).await, (409, "limit_reached"), "agent_tags");
}

#[tokio::test]
async fn an_agent_s_record() {
    let bench = Bench::new();
    bench.agent("a");
    let (status, record) = bench.call_as("a", "GET", "/v1/agents/a", Value::Null).await;
    let expected = [
        "address",
        "availability",
        "capabilities",
        "device_hash",
        "echo_delay_ms",
        "ephemeral",
        "id",
        "labels",
        "last_pong_seconds",
        "last_seen_seconds",
        "liveness_challenge",
        "name",
        "persona",
        "presence",
        "repo_fingerprint",
        "retired_at",
        "role",
        "unlisted",
        "until",
        "wake_channel",
    ];
    assert_eq!((status, members(&record)), (200, expected.to_vec()));
    let told = |name: &str| record[name].clone();
    assert_eq!([told("presence"), told("availability"), told("wake_channel")], ["reachable", "online", "none"]);
    assert_eq!([told("last_seen_seconds"), told("last_pong_seconds")], [json!(0), Value::Null]);
    assert_eq!((told("role"), told("until"), told("labels")), (Value::Null, Value::Null, json!({})));
    let dnd = json!({"state": "dnd", "seconds": 60});
    assert_eq!(bench.call_as("a", "PUT", "/v1/agents/a/availability", dnd).await.0, 200);
    let seen = async || bench.call(&bench.admin, "GET", "/v1/agents/a", Value::Null).await.1;
    assert_eq!((&seen().await["availability"], seen().await["until"].is_string()), (&json!("dnd"), true));
    bench.advance(901).await;
    let later = seen().await;
    assert_eq!([&later["availability"], &later["presence"]], ["online", "idle"]);
    assert_eq!((&later["last_seen_seconds"], &later["until"]), (&json!(901), &Value::Null));
    let absent = bench.call(&bench.admin, "GET", "/v1/agents/ghost", Value::Null).await;
    assert_refused(&absent, (404, "not_found"), "ghost");
    let other = bench.another("other");
    let stranger = bench.key_of(other.no, Scope::Admin, &[]);
    let hidden = bench.call(&stranger, "GET", "/v1/agents/a", Value::Null).await;
    let nothing = bench.call(&stranger, "GET", "/v1/agents/b", Value::Null).await;
    assert_eq!(hidden.1["detail"].as_str().unwrap().replace("agent a", "agent b"), nothing.1["detail"]);
    assert_eq!((hidden.0, nothing.0), (404, 404));
}

#[tokio::test]
async fn the_phonebook_shows_whom_one_looks_for() {
    let bench = Bench::new();
    let mut mason = checkout("builder", "/w");
    mason["name"] = json!("mason");
    mason["capabilities"] = json!(["Rust"]);
    mason["labels"] = json!({"skill:playwright": "", "zone": "eu"});
    registered(&bench, mason).await;
    bench.wearer("nina", &["skill=playwright", "zone=us"]);
    bench.wearer("olga", &["zone=eu"]);
    registered(&bench, json!({"name": "hidden", "unlisted": true, "labels": {"zone": "eu"}})).await;
    bench.wearer("gone", &["zone=eu"]);
    bench.call(&bench.admin, "POST", "/v1/agents/gone/retire", Value::Null).await;
    let read = bench.key(Scope::Read, &[]);
    for (query, expected) in [
        ("", vec!["mason", "nina", "olga"]),
        ("?q=MAS", vec!["mason"]),
        ("?q=rust", vec!["mason"]),
        ("?q=playwright", vec!["mason", "nina"]),
        ("?q=build", vec!["mason"]),
        ("?q=", vec!["mason", "nina", "olga"]),
        ("?capability=Rust", vec!["mason"]),
        ("?capability=rust", vec![]),
        ("?repo_fingerprint=e1dcaa3496b9", vec!["mason"]),
        ("?label=skill%3Aplaywright", vec!["mason"]),
        ("?label=skill%3Dplaywright", vec!["nina"]),
        ("?label=zone", vec!["mason", "nina", "olga"]),
        ("?label=zone&label=skill%3Aplaywright", vec!["mason"]),
        ("?label=zone=eu", vec!["mason", "olga"]),
        ("?label=zone=eu&label=zone=us", vec![]),
        ("?label=zone%3D", vec![]),
        ("?label=skill%3Aplaywright%3D", vec!["mason"]),
        ("?label=Nobody+wears%20this", vec![]),
        ("?label=zone&q=olga", vec!["olga"]),
    ] {
        let (status, answer) = bench.call(&read, "GET", &format!("/v1/agents{query}"), Value::Null).await;
        assert_eq!((status, names(&answer)), (200, expected.clone()), "{query}");
        assert_eq!(answer["count"], expected.len(), "{query}");
    }
    for (query, field) in
        [("?label=", "label"), ("?label=%3Dx", "label"), ("?label=a&color=b", "color"), ("?q=a&q=b", "q")]
    {
        let answer = bench.call(&read, "GET", &format!("/v1/agents{query}"), Value::Null).await;
        assert_refused(&answer, (422, "validation_error"), field);
    }
}

/// 6-messaging.md, T2.
#[tokio::test]
async fn who_blocks_the_one_that_asks_is_not_among_those_a_tag_means() {
    let bench = Bench::new();
    let (asking, blocker) = (bench.wearer("asking", &["zone"]), bench.wearer("blocker", &["zone"]));
    let expires_at = Some(bench.now().plus_seconds(60));
    let block = Block { reason: None, expires_at, created_at: bench.now(), suppressed_count: 0 };
    bench.run(move |tx, _| Ok(blocks::put(tx, blocker, asking.1, block)?)).unwrap();
    let seen = async |agent: Option<&str>, query: &str| {
        let path = format!("/v1/agents{query}");
        let answer = bench.asked(&bench.admin, agent, "GET", &path, Value::Null).await.1;
        names(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(seen(Some("asking"), "?label=zone").await, ["asking"]);
    assert_eq!(seen(Some("blocker"), "?label=zone").await, ["asking", "blocker"]);
    assert_eq!(seen(None, "?label=zone").await, ["asking", "blocker"]);
    assert_eq!(seen(Some("asking"), "").await, ["asking", "blocker"]);
    bench.advance(60).await;
    assert_eq!(seen(Some("asking"), "?label=zone").await, ["asking", "blocker"], "lapsed");
}

#[tokio::test]
async fn whoami_tells_the_same_of_the_workspace_to_everybody() {
    let bench = Bench::new();
    let (a, _) = (bench.agent("a"), bench.agent("b"));
    let (_, operator) = bench.call(&bench.admin, "GET", "/v1/whoami", Value::Null).await;
    let bound = bench.key(Scope::Send, &["a"]);
    let read = bench.key(Scope::Read, &[]);
    bench.post("b", &["a"], "one", |_| {});
    bench.advance(5).await;
    bench.post("b", &["a"], "two", |_| {});
    let block = Block { reason: None, expires_at: None, created_at: bench.now(), suppressed_count: 3 };
    let b = bench.named("b");
    bench.run(move |tx, _| Ok(blocks::put(tx, a, b.1, block)?)).unwrap();
    let (status, own) = bench.call(&bound, "GET", "/v1/whoami", Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(own["workspace"].to_string(), operator["workspace"].to_string());
    assert_eq!(bench.call(&read, "GET", "/v1/whoami", Value::Null).await.1["workspace"], operator["workspace"]);
    assert_eq!(members(&own["workspace"]), ["encrypted", "external_mail", "id", "ingress_policy", "slug"]);
    assert_eq!((&operator["agent"], &operator["address"]), (&Value::Null, &Value::Null));
    assert_eq!(operator["unread"], json!({"count": 0, "oldest_at": null}));
    assert_eq!(operator["blocks"], json!({"count": 0, "suppressed_total": 0}));
    assert_eq!((&own["agent"]["name"], &own["address"]), (&json!("a"), &json!("agentbus+acme.a@mail.example")));
    assert_eq!(
        (&own["unread"]["count"], &own["unread"]["oldest_at"]),
        (&json!(2), &json!("2025-11-26T12:30:00.000000Z"))
    );
    assert_eq!(own["blocks"], json!({"count": 1, "suppressed_total": 3}));
    let key = &own["key"];
    assert_eq!((&key["scope"], &key["bound_agents"]), (&json!("send"), &json!(["a"])));
    assert_eq!(
        (&key["attestation"], &operator["key"]["attestation"]),
        (&json!("platform_attested"), &json!("workspace_asserted"))
    );
    assert!(bound.contains(key["id"].as_str().unwrap()));
    // Once the first is read, the second is the oldest.
    bench.run(move |tx, now| Ok(crate::mail::deliver::read(tx, now, a, 1)?)).unwrap();
    let (_, own) = bench.call(&bound, "GET", "/v1/whoami", Value::Null).await;
    assert_eq!(own["unread"], json!({"count": 1, "oldest_at": "2025-11-26T12:30:05.000000Z"}));
    // Gone.
    bench.call(&bound, "POST", "/v1/agents/a/retire", Value::Null).await;
    assert_refused(&bench.call(&bound, "GET", "/v1/whoami", Value::Null).await, (410, "agent_retired"), "retired");
    let ghost = bench.call_as("ghost", "GET", "/v1/whoami", Value::Null).await;
    assert_refused(&ghost, (404, "not_found"), "ghost");
}

#[tokio::test]
async fn whoami_says_whether_mail_from_outside_is_taken() {
    let external = async |bench: &Bench| {
        let (_, answer) = bench.call(&bench.admin, "GET", "/v1/whoami", Value::Null).await;
        let mail = &answer["workspace"]["external_mail"];
        let word = |value: &Value| value.as_str().map(str::to_owned);
        (
            word(&answer["workspace"]["ingress_policy"]).unwrap(),
            word(&mail["accepts"]).unwrap(),
            word(&mail["refusal_reason"]),
            word(&mail["refused_mail"]),
        )
    };
    let refused = |policy: &str, why: &str| (policy.into(), "nobody".into(), Some(why.into()), Some("rejected".into()));
    let mut bench = Bench::new();
    assert_eq!(external(&bench).await, refused("closed", "ingress_closed"), "nothing listens for it");
    bench.set(|workspace| workspace.is_ingress_open = false);
    assert_eq!(external(&bench).await, refused("closed", "ingress_closed"));
    let mut bench = Bench::encrypted();
    bench.set(|workspace| workspace.is_ingress_open = false);
    assert_eq!(external(&bench).await, refused("closed", "encrypted_workspace"));
}

#[tokio::test]
async fn labels_are_set_and_taken_off() {
    let mut bench = Bench::new();
    bench.wearer("a", &["zone=eu", "old"]);
    bench.agent("b");
    let change = async |agent: Option<&str>, body: Value| {
        bench.asked(&bench.admin, agent, "PATCH", "/v1/agents/a/labels", body).await
    };
    let (status, answer) =
        change(Some("a"), json!({"set": {"zone": "us", "new": ""}, "remove": ["old", "none"]})).await;
    assert_eq!((status, &answer["labels"]), (200, &json!({"new": "", "zone": "us"})));
    assert_eq!((&answer["count"], &answer["limit"]), (&json!(2), &json!(50)));
    assert_eq!(change(None, json!({"set": {"x": "1"}, "remove": ["x"]})).await.1["count"], 2, "an operator; both: off");
    assert_eq!(change(Some("a"), json!({})).await.1["count"], 2);
    assert_refused(&change(Some("b"), json!({"set": {"x": ""}})).await, (403, "permission_denied"), "no other");
    for (body, field) in [
        (json!({"set": {"": ""}}), "set"),
        (json!({"set": {"a=b": ""}}), "set"),
        (json!({"set": {"a": "x\ny"}}), "set.a"),
        (json!({"set": {"a": {}}}), "set.a"),
        (json!({"set": []}), "set"),
        (json!({"remove": "a"}), "remove"),
        (json!({"remove": [1]}), "remove"),
    ] {
        let answer = change(Some("a"), body.clone()).await;
        assert_refused(&answer, (422, "validation_error"), "");
        assert_eq!(answer.1["errors"][0]["field"], field, "{body}");
    }
    let ghost = bench.call(&bench.admin, "PATCH", "/v1/agents/ghost/labels", json!({})).await;
    assert_refused(&ghost, (404, "not_found"), "ghost");
    limited(&mut bench, AGENT_TAGS, 2);
    let change = async |body: Value| bench.call_as("a", "PATCH", "/v1/agents/a/labels", body).await;
    let full = change(json!({"set": {"x": ""}})).await;
    assert_refused(&full, (409, "limit_reached"), "agent_tags");
    assert_eq!(change(json!({"set": {"x": ""}, "remove": ["new"]})).await.1["labels"], json!({"x": "", "zone": "us"}));
    assert_eq!(
        names(&bench.call(&bench.admin, "GET", "/v1/agents?label=new", Value::Null).await.1),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn a_heartbeat_shows_that_one_is_there() {
    let bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    let beat = async |key: &str, agent: Option<&str>| {
        bench.asked(key, agent, "POST", "/v1/agents/a/heartbeat", Value::Null).await
    };
    let (status, answer) = beat(&bench.admin, Some("a")).await;
    assert_eq!((status, &answer["agent"], &answer["presence"]), (200, &json!("a"), &json!("reachable")));
    bench.advance(1_000).await;
    assert_eq!(beat(&bench.admin, None).await.1["presence"], "reachable", "an operator's");
    assert_refused(&beat(&bench.admin, Some("b")).await, (403, "permission_denied"), "");
    assert_refused(&beat(&bench.key(Scope::Send, &["b"]), None).await, (403, "permission_denied"), "");
    bench.call(&bench.admin, "POST", "/v1/agents/a/retire", json!({})).await;
    assert_refused(&beat(&bench.admin, Some("a")).await, (410, "agent_retired"), "retired");
    assert_refused(&beat(&bench.admin, None).await, (410, "agent_retired"), "retired");
}

/// 6-messaging.md, I4.
#[tokio::test]
async fn a_retired_agent_keeps_what_it_has_and_comes_back() {
    let bench = Bench::new();
    let mut mason = checkout("builder", "/w");
    mason["name"] = json!("mason");
    registered(&bench, mason).await;
    bench.agent("b");
    bench.post("b", &["mason"], "one", |_| {});
    let own = bench.key(Scope::Send, &["mason"]);
    let retire = async |key: &str, agent: Option<&str>| {
        bench.asked(key, agent, "POST", "/v1/agents/mason/retire", Value::Null).await
    };
    assert_refused(&retire(&bench.admin, Some("b")).await, (403, "permission_denied"), "no other");
    let full = bench.key(Scope::Full, &[]);
    assert_refused(&retire(&full, None).await, (403, "permission_denied"), "");
    let (status, answer) = retire(&own, None).await;
    assert_eq!(
        (status, &answer["agent"], &answer["retired_at"]),
        (200, &json!("mason"), &json!("2025-11-26T12:30:00.000000Z"))
    );
    bench.advance(60).await;
    for (key, agent) in [(&own, None), (&bench.admin, None), (&bench.admin, Some("mason"))] {
        let (status, again) = retire(key, agent).await;
        assert_eq!((status, &again["retired_at"]), (200, &answer["retired_at"]));
    }
    let (_, record) = bench.call(&bench.admin, "GET", "/v1/agents/mason", Value::Null).await;
    assert_eq!((&record["presence"], &record["retired_at"]), (&json!("retired"), &answer["retired_at"]));
    assert_eq!(names(&bench.call(&bench.admin, "GET", "/v1/agents", Value::Null).await.1), ["b"]);
    let (status, back) = bench.call(&own, "POST", REGISTER, checkout("builder", "/w")).await;
    assert_eq!((status, &back["agent"]["name"], &back["created"]), (200, &json!("mason"), &json!(false)));
    assert_eq!((&back["agent"]["retired_at"], &back["rooms"]), (&Value::Null, &json!([format!("repo:{FINGERPRINT}")])));
    assert_eq!(bench.call(&own, "GET", "/v1/whoami", Value::Null).await.1["unread"]["count"], 1);
    assert_refused(
        &bench.call_as("b", "POST", "/v1/agents/ghost/retire", Value::Null).await,
        (404, "not_found"),
        "ghost",
    );
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn who_is_idle_for_long_retires_unless_mail_waits() {
    let bench = Bench::new();
    bench.agent("long");
    bench.agent("waiting");
    bench.agent("busy");
    bench.agent("seen");
    registered(&bench, json!({"name": "short", "ephemeral": true})).await;
    registered(&bench, json!({"name": "turned", "ephemeral": true})).await;
    registered(&bench, json!({"name": "turned", "ephemeral": false})).await;
    bench.post("long", &["waiting"], "one", |_| {});
    let offline = json!({"state": "offline", "seconds": 86_400});
    bench.call_as("busy", "PUT", "/v1/agents/busy/availability", offline).await;
    bench.post("long", &["busy"], "two", |_| {});
    let listed = async || {
        let answer = bench.call(&bench.admin, "GET", "/v1/agents", Value::Null).await.1;
        names(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    bench.advance(6 * 3_600 - 1).await;
    assert!(listed().await.contains(&"short".to_owned()));
    bench.advance(1).await;
    assert_eq!(listed().await, ["busy", "long", "seen", "turned", "waiting"]);
    bench.advance(13 * DAY).await;
    bench.call_as("seen", "GET", "/v1/whoami", Value::Null).await;
    bench.advance(DAY).await;
    assert_eq!(listed().await, ["busy", "seen", "waiting"], "what was held came, and is unread");
    // Its mail read, it goes at the next look.
    let waiting = bench.named("waiting");
    bench.run(move |tx, now| Ok(crate::mail::deliver::read(tx, now, waiting, 1)?)).unwrap();
    bench.advance(2 * DAY).await;
    assert_eq!(listed().await, ["busy", "seen"]);
    bench.advance(13 * DAY).await;
    assert_eq!(listed().await, ["busy"]);
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn one_joins_with_a_token_once() {
    let mut bench = Bench::new();
    bench.agent("taken");
    bench.agent("gone");
    bench.call(&bench.admin, "POST", "/v1/agents/gone/retire", Value::Null).await;
    let (_, invite) = bench.call(&bench.admin, "POST", "/v1/invites", json!({"role": "guest"})).await;
    let token = invite["token"].as_str().unwrap();
    let join = async |bench: &Bench, body: Value| bench.call("", "POST", JOIN, body).await;
    let with =
        |name: &str| json!({"token": token, "name": name, "repo_remote": REMOTE, "capabilities": ["x"], "more": 1});
    for (body, field) in [
        (json!({"name": "n"}), "token"),
        (json!({"token": token}), "name"),
        (json!({"token": token, "name": "Not Good"}), "name"),
        (json!({"token": token, "name": "n", "capabilities": 1}), "capabilities"),
    ] {
        let answer = join(&bench, body).await;
        assert_refused(&answer, (422, "validation_error"), "");
        assert_eq!(answer.1["errors"][0]["field"], field);
    }
    for name in ["taken", "gone"] {
        assert_refused(&join(&bench, with(name)).await, (409, "name_taken"), name);
    }
    limited(&mut bench, BOUND_KEYS, 0);
    assert_refused(&join(&bench, with("n")).await, (409, "limit_reached"), "bound_keys");
    bench.set(|workspace| workspace.limits.clear());
    let (status, joined) = join(&bench, with("n")).await;
    assert_eq!(status, 201, "{joined}");
    assert_eq!(members(&joined), ["address", "agent", "api_key", "created", "key_id", "rooms"]);
    assert_eq!((&joined["agent"]["name"], &joined["agent"]["role"]), (&json!("n"), &json!("guest")));
    assert_eq!(joined["rooms"], json!([format!("repo:{FINGERPRINT}")]));
    let key = joined["api_key"].as_str().unwrap();
    assert!(key.contains(joined["key_id"].as_str().unwrap()));
    let (_, own) = bench.call(key, "GET", "/v1/whoami", Value::Null).await;
    assert_eq!((&own["agent"]["name"], &own["key"]["scope"]), (&json!("n"), &json!("send")));
    // Used, never given, and none at all: one text.
    let used = join(&bench, with("m")).await;
    assert_refused(&used, (401, "invalid_invite"), "");
    for token in [format!("ab_jt_{}", "x".repeat(40)), "x".to_owned(), String::new()] {
        let other = join(&bench, json!({"token": token, "name": "m"})).await;
        assert_eq!((other.0, &other.1["detail"]), (401, &used.1["detail"]));
    }
    let (_, invite) = bench.call(&bench.admin, "POST", "/v1/invites", json!({"ttl_seconds": 60})).await;
    bench.advance(60).await;
    let late = join(&bench, json!({"token": invite["token"], "name": "m"})).await;
    assert_refused(&late, (401, "invalid_invite"), "");
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

/// 6-messaging.md, C6: an answer that is lost is given again, or the token were used up and nobody had the key.
#[tokio::test]
async fn who_has_lost_the_answer_to_joining_gets_it_again() {
    let bench = Bench::new();
    let (_, invite) = bench.call(&bench.admin, "POST", "/v1/invites", Value::Null).await;
    let join = async |idempotency_key: &str, name: &str| {
        let body = json!({"token": invite["token"], "name": name}).to_string();
        let request = http::Request::post(JOIN).header("idempotency-key", idempotency_key);
        let response = bench.answer(request.body(axum::body::Body::from(body)).unwrap()).await;
        let (status, is_replay) = (response.status().as_u16(), response.headers().contains_key("idempotent-replayed"));
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        ((status, serde_json::from_slice::<Value>(&bytes).unwrap()), is_replay)
    };
    assert_refused(&join(&"k".repeat(256), "n").await.0, (422, "validation_error"), "255");
    let (first, is_replay) = join("one", "n").await;
    assert_eq!((first.0, is_replay), (201, false), "{first:?}");
    let (again, is_replay) = join("one", "n").await;
    assert_eq!((&again, is_replay), (&first, true));
    assert_refused(&join("one", "m").await.0, (422, "idempotency_mismatch"), "");
    assert_refused(&join("two", "n").await.0, (401, "invalid_invite"), "");
    let key = first.1["api_key"].as_str().unwrap();
    assert_eq!(bench.call(key, "GET", "/v1/whoami", Value::Null).await.0, 200);
    assert_eq!(bench.call(&bench.admin, "GET", "/v1/agents", Value::Null).await.1["count"], 1);
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
    bench.advance(DAY).await;
    assert_refused(&join("one", "n").await.0, (401, "invalid_invite"), "");
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

/// What changes nothing is not remembered, and its key is one all the same.
#[tokio::test]
async fn a_key_of_what_changes_nothing_is_looked_at() {
    let bench = Bench::new();
    bench.agent("a");
    for path in ["/v1/agents/a/heartbeat", "/v1/recipients/resolve", "/v1/recipients/resolve-reply"] {
        let request = http::Request::post(path).header("authorization", format!("Bearer {}", bench.admin));
        let request = request.header("x-agentbus-agent", "a").header("idempotency-key", "k".repeat(256));
        let response = bench.answer(request.body(axum::body::Body::from(r#"{"to":["a"]}"#)).unwrap()).await;
        assert_eq!(response.status().as_u16(), 422, "{path}");
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&bytes).contains("255"), "{path}");
    }
}

#[tokio::test]
async fn a_repeated_request_is_answered_as_before() {
    let bench = Bench::new();
    let request = || {
        http::Request::post(REGISTER)
            .header("authorization", format!("Bearer {}", bench.admin))
            .header("idempotency-key", "one")
            .body(axum::body::Body::from(r#"{"role":"x"}"#))
            .unwrap()
    };
    let (first, second) = (bench.answer(request()).await, bench.answer(request()).await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (201, 201));
    assert!(second.headers().contains_key("idempotent-replayed"));
    assert_eq!(bench.call(&bench.admin, "GET", "/v1/agents", Value::Null).await.1["count"], 1);
}

/// Registering is no way around the most rooms that one can be in, and they are none to coming back.
#[tokio::test]
async fn registering_joins_no_more_rooms_than_there_may_be() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    bench
        .run(move |tx, _| (0..1_000).try_for_each(|number| crate::rooms::join(tx, ann, &format!("room-{number:04}"))))
        .unwrap();
    let one_more = json!({"name": "ann", "repo_remote": REMOTE});
    let own = format!("repo:{FINGERPRINT}");
    for _ in 0..2 {
        let (status, again) = registered(&bench, one_more.clone()).await;
        let rooms = again["rooms"].as_array().unwrap();
        assert_eq!((status, rooms.len(), rooms.contains(&json!(own))), (200, 1_000, false), "{again}");
        bench.run(move |tx, now| Ok(crate::agents::retire(tx, now, ann)?)).unwrap();
    }
    assert_eq!(registered(&bench, one_more.clone()).await.0, 200);
    assert_eq!(bench.call_as("ann", "POST", "/v1/rooms/room-0999/leave", Value::Null).await.0, 200);
    for _ in 0..2 {
        let (status, joined) = registered(&bench, one_more.clone()).await;
        let rooms = joined["rooms"].as_array().unwrap();
        assert_eq!((status, rooms.len(), &rooms[0]), (200, 1_000, &json!(format!("repo:{FINGERPRINT}"))));
        assert!(rooms.is_sorted_by_key(|room| room.as_str().unwrap()));
    }
}
