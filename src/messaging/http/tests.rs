//! What black-box tests cannot bring about: a store that has stopped, bodies that break off or do not arrive; and that all
//! that is said of the service fits together.

use axum::body::Body;
use futures_util::stream;
use http::{Extensions, HeaderMap, Request};
use http_body_util::BodyExt as _;
use quintet_platform::http::request_id::RequestId;
use quintet_platform::service::{Dialect as _, Fault, ServiceRefusal as _, describe, refuse};
use quintet_storage::Failure;
use serde_json::{Value, json};

use super::ENDPOINTS;
use crate::dialect::Messaging;
use crate::identity::Scope;
use crate::refusal::{Bad, CODES, Refusal, UsedUp, Withholding};
use crate::testing::Bench;

#[test]
fn nothing_that_is_said_of_it_is_loose() {
    assert_eq!(describe::loose_ends::<Messaging>(ENDPOINTS), Vec::<String>::new());
}

/// What is read of header fields is described where it is read, and the form of a key is messaging's own.
#[test]
fn header_fields_are_described() {
    let document = describe::document::<Messaging>(ENDPOINTS);
    assert_eq!(document["components"]["securitySchemes"]["key"]["bearerFormat"], "ab_sk_...");
    let headers = |method: &str, path: &str| -> Vec<String> {
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap().iter();
        let headers = parameters.filter(|parameter| parameter["in"] == "header");
        headers.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
    };
    let everywhere = ["X-AgentBus-Agent", "X-AgentBus-Pong"];
    assert_eq!(headers("get", "/v1/whoami"), everywhere);
    assert_eq!(headers("get", "/v1/stream")[2..], ["X-AgentBus-Wake-Capable", "Last-Event-ID"]);
    for path in ["/v1/agents/join", "/v1/recipients/resolve", "/v1/recipients/resolve-reply"] {
        assert_eq!(headers("post", path)[0], "Idempotency-Key", "{path}");
    }
    assert_eq!(headers("post", "/v1/agents/join").len(), 1, "nobody is let in there");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_served_and_those_with_a_permission_ask_for_a_key() {
    let bench = Bench::new();
    for route in crate::served() {
        let path: Vec<&str> =
            route.path.split('/').map(|segment| if segment.starts_with('{') { "x" } else { segment }).collect();
        let request = Request::builder().method(route.method.as_str()).uri(path.join("/"));
        let status = bench.answer(request.body(Body::empty()).unwrap()).await.status().as_u16();
        assert_eq!(status == 401, route.wants_key(), "{}: {status}", route.template());
        assert!(!matches!(status, 405 | 500..), "{}: {status}", route.template());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_credentials_none_counts() {
    let bench = Bench::new();
    let credential = format!("Bearer {}", bench.admin);
    for (credentials, status) in
        [(vec![credential.as_str()], 200), (vec![&credential, &credential], 401), (vec![&credential, "Bearer x"], 401)]
    {
        let mut request = Request::builder().uri("/v1/usage");
        for credential in &credentials {
            request = request.header("authorization", *credential);
        }
        let response = bench.answer(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{} fields", credentials.len());
    }
}

/// Nobody acts as another than the one he names, or as the operator, because what he wrote could not be read.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_named_once_and_readably() {
    let bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    let bound = bench.key(Scope::Admin, &["a"]);
    let cases: [(&[&[u8]], Option<&str>); 9] = [
        (&[], None),
        (&[b""], Some("")),
        (&[b" "], Some("")),
        (&[b" a "], Some("a")),
        (&[b"b"], Some("b")),
        (&["\u{e4}".as_bytes()], Some("")),
        (&[b"\xff"], Some("")),
        (&[b"a", b"b"], Some("")),
        (&[b"a", b"a"], Some("")),
    ];
    for (fields, expected) in cases {
        for key in [&bench.admin, &bound] {
            let mut request = Request::builder().uri("/v1/whoami").header("authorization", format!("Bearer {key}"));
            for field in fields {
                request = request.header("x-agentbus-agent", *field);
            }
            let mut response = bench.answer(request.body(Body::empty()).unwrap()).await;
            let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
            let told: Value = serde_json::from_slice(&bytes).unwrap();
            let acting = expected.or(if *key == bound { Some("a") } else { None });
            if acting == Some("") || (acting == Some("b") && *key == bound) {
                assert_eq!((response.status().as_u16(), &told["code"]), (403, &json!("key_agent_mismatch")), "{told}");
            } else {
                assert_eq!((response.status().as_u16(), told["agent"]["name"].as_str()), (200, acting), "{told}");
            }
        }
    }
}

/// The problem that a refusal is answered with.
fn problem_of(refusal: &Refusal) -> Value {
    let (_, body) = Messaging::write(&refusal.verdict(), "the-request");
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn every_problem_has_a_detail_and_names_its_request() {
    let bad = || vec![Bad { at: "x".to_owned(), message: "is none".to_owned() }];
    let used_up =
        UsedUp { limit: "messages_per_day", max: 1, used: 1, reset_at: "2026-01-01T00:00:00Z".to_owned(), seconds: 9 };
    let withholding = Withholding { agent: "a".to_owned(), availability: "dnd", until: None };
    let own = [
        Refusal::InvalidApiKey,
        Refusal::InvalidInvite,
        Refusal::Denied("not this key"),
        Refusal::KeyAgentMismatch("a".to_owned()),
        Refusal::AgentUnclear,
        Refusal::Suspended,
        Refusal::WorkspaceDeleted,
        Refusal::NotFound("such thing".to_owned()),
        Refusal::AgentRetired("a".to_owned()),
        Refusal::RecipientUnavailable(vec![withholding]),
        Refusal::RecipientNotResponsive(vec!["a".to_owned()]),
        Refusal::NameTaken("a".to_owned()),
        Refusal::ApprovalsNotConfigured("deploy".to_owned()),
        Refusal::AlreadyDecided("rejected"),
        Refusal::LimitReached("webhooks", 10),
        Refusal::MemoryFull(Some(1)),
        Refusal::MemoryEntryTooLarge(9),
        Refusal::TooLarge("attachments", 9),
        Refusal::field("text", "is required"),
        Refusal::field("", "must be an object"),
        Refusal::UnknownRecipient(bad()),
        Refusal::UnmatchedCapability(bad()),
        Refusal::Blocked(bad()),
        Refusal::TooManyRecipients(25),
        Refusal::SealingRequired("text"),
        Refusal::PayloadInvalid(bad()),
        Refusal::ExternalMailRefused("not here"),
        Refusal::ExternalMailUnavailable,
        Refusal::QuotaExceeded(used_up),
        Refusal::RateLimited(1),
    ];
    let shared = Fault::one_of_each().into_iter().map(|(_, fault)| Refusal::Fault(fault));
    for refusal in own.into_iter().chain(shared) {
        let problem = problem_of(&refusal);
        let told = |name: &str| problem[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(["type", "title", "code", "detail"].into_iter().all(told), "{refusal:?}: {problem}");
        assert_eq!(problem["request_id"], "the-request", "{refusal:?}");
        assert!(CODES.iter().any(|known| problem["title"] == known.title), "{refusal:?}: {problem}");
    }
}

#[tokio::test]
async fn what_no_handler_answers_has_the_form_too() {
    for (fault, status, code) in [(Fault::HostMissing, 400, "host_missing"), (Fault::Internal, 500, "internal_error")] {
        let id = RequestId::of(&HeaderMap::new());
        let mut extensions = Extensions::new();
        extensions.insert(id.clone());
        let response = refuse::<Messaging>(fault, &extensions);
        assert_eq!(response.status().as_u16(), status);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["request_id"]), (&json!(code), &json!(id.as_str())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_has_stopped_takes_nothing_and_still_reads() {
    let bench = Bench::new();
    bench.agent("a");
    bench.context.store.shutdown();
    let (status, problem) = bench.call(&bench.admin, "POST", "/v1/invites", Value::Null).await;
    assert_eq!((status, &problem["code"]), (503, &json!("writing_stopped")));
    assert_eq!(bench.call(&bench.admin, "GET", "/v1/usage", Value::Null).await.0, 200);
    assert_eq!(bench.call_as("a", "GET", "/v1/inbox", Value::Null).await.0, 200);
}

/// The answer to a request with this body.
async fn posted(bench: &Bench, body: Body) -> (u16, Value) {
    let request = Request::post("/v1/invites").header("authorization", format!("Bearer {}", bench.admin));
    let mut response = bench.answer(request.body(body).unwrap()).await;
    let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
    (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_is_malformed() {
    let bench = Bench::new();
    let broken = Body::from_stream(stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]));
    let (status, problem) = posted(&bench, broken).await;
    assert_eq!((status, &problem["code"]), (400, &json!("malformed_json")));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_a_timeout() {
    let bench = Bench::new();
    let never = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let (status, problem) = posted(&bench, never).await;
    assert_eq!((status, &problem["code"]), (408, &json!("request_timeout")));
}

#[test]
fn failures_of_the_store_have_codes_of_their_own() {
    for (failure, code) in [
        (Failure::Busy, "busy"),
        (Failure::OutcomeUnknown, "outcome_unknown"),
        (Failure::StorageFull, "storage_full"),
        (Failure::Panicked, "internal_error"),
    ] {
        assert_eq!(Refusal::Fault(Fault::of_failure(&failure)).verdict().code, code);
    }
}
