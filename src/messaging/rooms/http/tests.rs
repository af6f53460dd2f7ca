//! Who is in rooms, through the router.

use serde_json::{Value, json};

use crate::identity::Scope;
use crate::testing::{Bench, assert_refused};

#[tokio::test]
async fn joining_and_leaving() {
    let bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    let go = async |agent: &str, path: &str| bench.call_as(agent, "POST", path, Value::Null).await;
    for (agent, path, joined) in [
        ("a", "/v1/rooms/build/join", true),
        ("a", "/v1/rooms/build/join", true),
        ("a", "/v1/rooms/repo%3Aabc/join", true),
        ("b", "/v1/rooms/build/leave", false),
        ("b", "/v1/rooms/build/join", true),
        ("b", "/v1/rooms/nowhere/leave", false),
    ] {
        let (status, answer) = go(agent, path).await;
        assert_eq!((status, &answer["joined"]), (200, &json!(joined)), "{path}");
    }
    assert_eq!(go("a", "/v1/rooms/repo:abc/join").await.1["room"], "repo:abc");
    let rooms = async |agent: Option<&str>| {
        let answer = bench.asked(&bench.admin, agent, "GET", "/v1/rooms", Value::Null).await.1;
        let told = answer["rooms"].as_array().unwrap().iter();
        told.map(|room| format!("{} {} {}", room["room"], room["members"], room["joined"])).collect::<Vec<_>>()
    };
    assert_eq!(rooms(Some("b")).await, [r#""build" 2 true"#, r#""repo:abc" 1 false"#]);
    assert_eq!(rooms(None).await, [r#""build" 2 false"#, r#""repo:abc" 1 false"#]);
    go("a", "/v1/rooms/repo:abc/leave").await;
    bench.call(&bench.admin, "POST", "/v1/agents/b/retire", Value::Null).await;
    assert_eq!(rooms(Some("a")).await, [r#""build" 1 true"#, r#""repo:abc" 0 false"#], "one that all have left stays");
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}

#[tokio::test]
async fn who_cannot() {
    let bench = Bench::new();
    bench.agent("a");
    for verb in ["join", "leave"] {
        let path = format!("/v1/rooms/build/{verb}");
        let nobody = bench.call(&bench.admin, "POST", &path, Value::Null).await;
        assert_refused(&nobody, (403, "permission_denied"), "X-AgentBus-Agent");
        let read = bench.asked(&bench.key(Scope::Read, &[]), Some("a"), "POST", &path, Value::Null).await;
        assert_refused(&read, (403, "permission_denied"), "scope");
        for room in ["Build", "a%20b", "%20", "-x", &"r".repeat(81)] {
            let answer = bench.call_as("a", "POST", &format!("/v1/rooms/{room}/{verb}"), Value::Null).await;
            assert_refused(&answer, (422, "validation_error"), "room");
        }
    }
    let other = bench.another("other");
    bench.call_as("a", "POST", "/v1/rooms/build/join", Value::Null).await;
    let stranger = bench.key_of(other.no, Scope::Admin, &[]);
    assert_eq!(bench.call(&stranger, "GET", "/v1/rooms", Value::Null).await.1["rooms"], json!([]));
}

#[tokio::test]
async fn an_agent_is_in_a_thousand_rooms_at_most() {
    let bench = Bench::new();
    let a = bench.agent("a");
    bench
        .run(move |tx, _| {
            for number in 0..1_000 {
                crate::rooms::join(tx, a, &format!("r{number}"))?;
            }
            Ok(())
        })
        .unwrap();
    let one_more = bench.call_as("a", "POST", "/v1/rooms/more/join", Value::Null).await;
    assert_refused(&one_more, (409, "limit_reached"), "1000");
    assert_eq!(one_more.1["limit"], "rooms");
    assert_eq!(bench.call_as("a", "POST", "/v1/rooms/r5/join", Value::Null).await.0, 200);
    assert_eq!(
        bench.call(&bench.admin, "GET", "/v1/rooms", Value::Null).await.1["rooms"].as_array().unwrap().len(),
        1_000
    );
}
