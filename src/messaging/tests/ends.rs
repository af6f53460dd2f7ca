//! What a request stands on ends while it is on its way: its key, its workspace, the agent it acts as.

use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::agents::retire;
use crate::blocks::{self, Block};
use crate::identity::{Scope, Status};
use crate::keys::revoke;
use crate::limits::{ACTIVE_AGENTS, AGENT_TAGS, MESSAGES_PER_DAY};
use crate::testing::{Bench, assert_refused};
use crate::workspaces::set_status;

/// How something ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Revoked,
    Suspended,
    Deleted,
    TenantSuspended,
    Retired,
}

const ENDS: [(End, (u16, &str)); 5] = [
    (End::Revoked, (401, "invalid_api_key")),
    (End::Suspended, (403, "workspace_suspended")),
    (End::Deleted, (410, "workspace_deleted")),
    (End::TenantSuspended, (403, "workspace_suspended")),
    (End::Retired, (410, "agent_retired")),
];

fn id_of(key: &str) -> String {
    key.split('_').nth(2).unwrap().to_owned()
}

fn bring_about(bench: &mut Bench, end: End, key: &str, agent: &str) {
    match end {
        End::Revoked => {
            let id = id_of(key);
            bench.run(move |tx, now| revoke(tx, now, None, &id)).map(drop).unwrap();
        }
        End::Suspended => bench.set(|workspace| workspace.status = Status::Suspended),
        End::Deleted => bench.set(|workspace| workspace.status = Status::Deleted),
        End::TenantSuspended => bench.suspend_tenant(),
        End::Retired => {
            let agent = bench.named(agent);
            bench.run(move |tx, now| Ok(retire(tx, now, agent)?)).map(drop).unwrap();
        }
    }
}

async fn read(response: axum::response::Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// A body that arrives when it is let go.
fn held(body: &Value) -> (oneshot::Sender<()>, Body) {
    let ((go, gone), text) = (oneshot::channel::<()>(), body.to_string());
    let late = async move {
        gone.await.unwrap();
        Ok::<_, std::io::Error>(text)
    };
    (go, Body::from_stream(stream::once(late)))
}

/// A request as an agent, under an Idempotency-Key.
fn keyed(key: &str, path: &str, body: Body) -> Request<Body> {
    let request = Request::post(path).header("authorization", format!("Bearer {key}"));
    request.header("x-agentbus-agent", "ann").header("idempotency-key", "one").body(body).unwrap()
}

/// A request's answer, if something ends while its body arrives.
async fn overtaken(bench: &mut Bench, end: End, key: &str, (path, body): (&str, Value)) -> (u16, Value) {
    let (go, body) = held(&body);
    let asked = tokio::spawn(bench.answering(keyed(key, path, body)));
    // Everything up to the body is done at once.
    tokio::task::yield_now().await;
    bring_about(bench, end, key, "ann");
    go.send(()).unwrap();
    read(asked.await.unwrap()).await
}

#[tokio::test]
async fn nothing_is_changed_for_whoever_may_not_any_more() {
    for (end, refused) in ENDS {
        for (path, body) in [
            ("/v1/messages", json!({"to": ["bob"], "subject": "late", "text": "late"})),
            ("/v1/keys", json!({"scope": "read"})),
            ("/v1/memory", json!({"text": "late"})),
        ] {
            let mut bench = Bench::new();
            bench.agent("ann");
            bench.agent("bob");
            let key = bench.key(Scope::Full, &[]);
            let answer = overtaken(&mut bench, end, &key, (path, body)).await;
            assert_refused(&answer, refused, "");
        }
    }
}

/// And nothing is told once more, a secret least of all.
#[tokio::test]
async fn no_answer_is_repeated_to_whoever_may_not_any_more() {
    for (end, refused) in ENDS {
        for (path, body) in [
            ("/v1/messages", json!({"to": ["ann"], "subject": "once", "text": "once"})),
            ("/v1/keys", json!({"scope": "read"})),
            ("/v1/invites", json!({})),
            ("/v1/memory", json!({"text": "once"})),
        ] {
            let mut bench = Bench::new();
            bench.agent("ann");
            let key = bench.key(Scope::Full, &[]);
            let first = read(bench.answer(keyed(&key, path, Body::from(body.to_string()))).await).await;
            assert!(first.0 < 300, "{first:?}");
            assert_refused(&overtaken(&mut bench, end, &key, (path, body)).await, refused, "");
        }
    }
}

/// 6-messaging.md, K2: nor is a key handed over where it would open nothing.
#[tokio::test]
async fn no_key_is_fetched_where_nobody_is_served() {
    for (end, refused) in ENDS {
        let mut bench = Bench::new();
        bench.agent("ann");
        let wish = json!({"scope": "read", "delivery": "one-time-url"});
        let (status, made) = bench.call(&bench.admin, "POST", "/v1/keys", wish).await;
        assert_eq!(status, 201, "{made}");
        let path = made["delivery_url"].as_str().unwrap().strip_prefix("https://messages.example").unwrap().to_owned();
        let own = format!("ab_sk_{}_", made["id"].as_str().unwrap());
        bring_about(&mut bench, end, &own, "ann");
        let answers = match end {
            // A retired agent is nothing to a key that is bound to none.
            End::Retired => continue,
            End::Revoked => (404, "not_found"),
            _ => refused,
        };
        assert_refused(&bench.call("", "GET", &path, Value::Null).await, answers, "");
        assert_eq!(bench.call("", "HEAD", &path, Value::Null).await.0, answers.0);
        // Nothing was used up.
        match end {
            End::Suspended => bench.set(|workspace| workspace.status = Status::Active),
            End::TenantSuspended => bench.activate_tenant(),
            _ => continue,
        }
        let (status, fetched) = bench.call("", "GET", &path, Value::Null).await;
        assert_eq!((status, &fetched["id"]), (200, &made["id"]));
    }
}

/// The same of joining with a token.
#[tokio::test]
async fn nobody_joins_where_nobody_is_served() {
    for (end, refused) in [ENDS[1], ENDS[2], ENDS[3]] {
        let mut bench = Bench::new();
        let (_, made) = bench.call(&bench.admin, "POST", "/v1/invites", Value::Null).await;
        bring_about(&mut bench, end, "", "");
        let body = json!({"token": made["token"], "name": "ann"});
        assert_refused(&bench.call("", "POST", "/v1/agents/join", body).await, refused, "");
    }
}

/// Registering revives, whenever the agent was retired; it needs its key all the same.
#[tokio::test]
async fn who_is_retired_meanwhile_is_revived() {
    for (end, status) in [(End::Retired, 200), (End::Revoked, 401)] {
        let mut bench = Bench::new();
        bench.agent("ann");
        let key = bench.key(Scope::Send, &["ann"]);
        let answer = overtaken(&mut bench, end, &key, ("/v1/agents/register", json!({"name": "ann"}))).await;
        assert_eq!(answer.0, status, "{answer:?}");
    }
}

#[tokio::test]
async fn nobody_is_told_of_mail_who_may_not_read_it_any_more() {
    for (end, refused) in ENDS {
        let mut bench = Bench::new();
        bench.agent("ann");
        bench.agent("bob");
        let key = bench.key(Scope::Read, &["ann"]);
        let request = Request::get("/v1/inbox?wait=55").header("authorization", format!("Bearer {key}"));
        let waits = tokio::spawn(bench.answering(request.body(Body::empty()).unwrap()));
        tokio::task::yield_now().await;
        // It is delivered before the end, or no agent would get it; nobody has looked yet.
        bench.post("bob", &["ann"], "for whoever may", |_| ());
        bring_about(&mut bench, end, &key, "ann");
        let answer = read(waits.await.unwrap()).await;
        assert_refused(&answer, refused, "");
    }
}

/// 6-messaging.md, C6, K2: what one key was answered is no other's.
#[tokio::test]
async fn an_answer_with_a_secret_is_repeated_to_its_own_key_alone() {
    let bench = Bench::new();
    let (full, admin) = (bench.key(Scope::Full, &[]), bench.admin.clone());
    for (path, body, others) in [
        ("/v1/keys", json!({"scope": "admin"}), 403),
        ("/v1/keys", json!({"scope": "read"}), 201),
        ("/v1/invites", json!({}), 201),
    ] {
        let name = format!("{path} {body}");
        let ask = |key: &str| {
            let request = Request::post(path).header("authorization", format!("Bearer {key}"));
            bench.answering(request.header("idempotency-key", &name).body(Body::from(body.to_string())).unwrap())
        };
        let (_, first) = read(ask(&admin).await).await;
        let (_, again) = read(ask(&admin).await).await;
        assert_eq!((&first["key"], &first["token"]), (&again["key"], &again["token"]), "{name}");
        let (status, other) = read(ask(&full).await).await;
        assert_eq!(status, others, "{other}");
        assert!(other["key"].is_null() || other["key"] != first["key"], "{name}");
        assert!(other["token"].is_null() || other["token"] != first["token"], "{name}");
    }
}

/// What a workspace may have is asked when it is written, too.
#[tokio::test]
async fn a_limit_that_was_lowered_meanwhile_holds() {
    for (path, body, limit, code) in [
        ("/v1/messages", json!({"to": ["bob"], "text": "x"}), MESSAGES_PER_DAY, (429, "quota_exceeded")),
        ("/v1/agents/register", json!({"name": "cid"}), ACTIVE_AGENTS, (409, "limit_reached")),
        ("/v1/agents/register", json!({"name": "ann", "labels": {"a": ""}}), AGENT_TAGS, (409, "limit_reached")),
    ] {
        let mut bench = Bench::new();
        bench.agent("ann");
        bench.agent("bob");
        let (go, held) = held(&body);
        let request = Request::post(path).header("authorization", format!("Bearer {}", bench.admin));
        let request = request.header("x-agentbus-agent", "ann").body(held).unwrap();
        let asked = tokio::spawn(bench.answering(request));
        tokio::task::yield_now().await;
        bench.set(|workspace| workspace.limits = vec![(limit.code, Some(0))]);
        go.send(()).unwrap();
        assert_refused(&read(asked.await.unwrap()).await, code, "");
    }
}

/// The same of what is answered to nobody in particular, and of registering, whichever agent acts: another key may not be
/// allowed what the first was.
#[tokio::test]
async fn an_answer_to_no_agent_is_repeated_to_its_own_key_alone() {
    for acting in [None, Some("bob"), Some("ann")] {
        let bench = Bench::new();
        bench.agent("bob");
        let others = bench.key(Scope::Send, &["bob"]);
        let ask = |key: &str, acting: Option<&str>| {
            let request = Request::post("/v1/agents/register").header("authorization", format!("Bearer {key}"));
            let request = acting.iter().fold(request, |request, name| request.header("x-agentbus-agent", *name));
            bench.answering(request.header("idempotency-key", "one").body(Body::from(r#"{"name":"ann"}"#)).unwrap())
        };
        let mut first = read(ask(&bench.admin, acting).await).await;
        assert_eq!(first.0, 201);
        first.1.as_object_mut().unwrap().remove("liveness_challenge");
        assert_eq!(read(ask(&bench.admin, acting).await).await, first, "the agent that acts may be there by now");
        let acting = acting.filter(|name| *name == "bob");
        assert_refused(&read(ask(&others, acting).await).await, (403, "key_agent_mismatch"), "ann");
    }
}

/// Whom registering means is the agent that acts, where the body names none: its key of a request is its own, there or not.
#[tokio::test]
async fn registering_is_repeated_to_whoever_acted() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("bob");
    let both = bench.key(Scope::Send, &["ann", "bob"]);
    let ask = async |key: &str, acting: Option<&str>| {
        let request = Request::post("/v1/agents/register").header("authorization", format!("Bearer {key}"));
        let request = acting.iter().fold(request, |request, name| request.header("x-agentbus-agent", *name));
        let request = request.header("idempotency-key", "one").body(Body::from("{}")).unwrap();
        let (status, answer) = read(bench.answering(request).await).await;
        (status, answer["agent"]["name"].as_str().unwrap().to_owned())
    };
    for key in [&both, &bench.admin] {
        for name in ["ann", "bob", "ann"] {
            assert_eq!(ask(key, Some(name)).await, (200, name.to_owned()));
        }
    }
    // Whoever is not there yet gets a name that is made up, each its own, and again the same.
    let made = ask(&bench.admin, Some("cid")).await;
    assert_eq!((made.0, ask(&bench.admin, Some("cid")).await), (201, made.clone()));
    // One key of an agent's own says the same with the header and without.
    let own = bench.key(Scope::Send, &["ann"]);
    assert_eq!(ask(&own, None).await, ask(&own, Some("ann")).await);
}

/// Who may not any more is told nothing of others, and counts nowhere.
#[tokio::test]
async fn nothing_is_told_to_whoever_may_not_any_more() {
    for (end, refused) in ENDS {
        for path in ["/v1/messages", "/v1/recipients/resolve"] {
            for body in [
                json!({"to": ["bob"], "text": "late"}),
                json!({"to": ["ann"], "text": "late"}),
                json!({"to": ["nobody"], "text": "late"}),
                json!({"to": ["ann"], "text": "x".repeat(5_000), "thread_id": "0".repeat(26)}),
            ] {
                let mut bench = Bench::new();
                let (ann, bob) = (bench.agent("ann"), bench.agent("bob"));
                let block = Block { reason: None, expires_at: None, created_at: bench.now(), suppressed_count: 0 };
                bench.run(move |tx, _| Ok(blocks::put(tx, bob, ann.1, block)?)).unwrap();
                let key = bench.key(Scope::Full, &[]);
                let answer = overtaken(&mut bench, end, &key, (path, body)).await;
                assert_refused(&answer, refused, "");
                let block = blocks::find(&bench.context.store.read(), bob, ann.1).unwrap().unwrap();
                assert_eq!(block.suppressed_count, 0);
            }
        }
    }
}

/// What nobody is told of is seen by the next look, as streams see it.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_soon_after_its_tenant_is_suspended() {
    let bench = Bench::new();
    bench.agent("ann");
    let request = Request::get("/v1/inbox?wait=55").header("authorization", format!("Bearer {}", bench.admin));
    let request = request.header("x-agentbus-agent", "ann");
    let (began, waits) = (Instant::now(), tokio::spawn(bench.answering(request.body(Body::empty()).unwrap())));
    tokio::task::yield_now().await;
    bench.suspend_tenant();
    assert_refused(&read(waits.await.unwrap()).await, (403, "workspace_suspended"), "");
    assert_eq!(began.elapsed().as_secs(), 20);
}

/// Who waits need not wait for mail to hear of it.
#[tokio::test]
async fn a_wait_ends_with_what_it_stands_on() {
    for (end, refused) in ENDS {
        if matches!(end, End::TenantSuspended) {
            // Nobody is told of that.
            continue;
        }
        let mut bench = Bench::new();
        bench.agent("ann");
        let (key, other) = (bench.key(Scope::Read, &["ann"]), bench.key(Scope::Read, &["ann"]));
        let wait = |key: &str| {
            let request = Request::get("/v1/inbox?wait=55").header("authorization", format!("Bearer {key}"));
            tokio::spawn(bench.answering(request.body(Body::empty()).unwrap()))
        };
        let (waits, others) = (wait(&key), wait(&other));
        tokio::task::yield_now().await;
        match end {
            End::Suspended => drop(bench.run(|tx, now| set_status(tx, now, "acme", Status::Suspended)).unwrap()),
            End::Deleted => drop(bench.run(|tx, now| set_status(tx, now, "acme", Status::Deleted)).unwrap()),
            _ => bring_about(&mut bench, end, &key, "ann"),
        }
        let ended = tokio::time::timeout(Duration::from_secs(10), waits).await.expect("at once");
        assert_refused(&read(ended.unwrap()).await, refused, "");
        if matches!(end, End::Revoked) {
            assert!(!others.is_finished(), "another key is as good as before");
            others.abort();
        }
    }
}
