//! Who is in rooms, through the router.

use quintet_storage::{Abort, Read as _, WriteTx};
use serde_json::{Value, json};

use super::super::tables::{COUNTS, CountRow, MembersRow, ROOMS};
use crate::identity::Scope;
use crate::limits::WORKSPACE_ROOMS;
use crate::refusal::Refusal;
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
    assert_eq!(rooms(Some("a")).await, [r#""build" 1 true"#], "one that all have left goes");
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

fn assert_sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// A room that everybody has left is there for its history, and for what it wants, or ever wanted, of payloads: the versions of
/// that go on.
#[tokio::test]
async fn a_room_goes_with_the_last_who_leaves_it() {
    let bench = Bench::new();
    bench.agent("a");
    bench.agent("b");
    let go = async |agent: &str, path: &str| {
        let (status, answer) = bench.call_as(agent, "POST", path, Value::Null).await;
        assert_eq!(status, 200, "{answer}");
    };
    let rooms = async || {
        let (_, answer) = bench.call(&bench.admin, "GET", "/v1/rooms", Value::Null).await;
        assert_eq!(answer["next_cursor"], Value::Null);
        let all = answer["rooms"].as_array().unwrap().iter();
        all.map(|room| room["room"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for room in ["empty", "told", "wants", "wanted", "shared"] {
        go("a", &format!("/v1/rooms/{room}/join")).await;
    }
    go("b", "/v1/rooms/shared/join").await;
    let set = async |room: &str, schema: Value| {
        let (status, _) =
            bench.call_as("a", "PUT", &format!("/v1/rooms/{room}/schema"), json!({"schema": schema})).await;
        assert_eq!(status, 200);
    };
    set("wants", json!(true)).await;
    set("wanted", json!(true)).await;
    set("wanted", Value::Null).await;
    let (status, _) = bench.call_as("a", "POST", "/v1/messages", json!({"to": ["room:told"], "text": "x"})).await;
    assert_eq!(status, 202);
    for room in ["empty", "told", "wants", "wanted", "shared"] {
        go("a", &format!("/v1/rooms/{room}/leave")).await;
    }
    assert_eq!(rooms().await, ["shared", "told", "wanted", "wants"]);
    assert_sound(&bench);
    assert_eq!(bench.context.store.read().get(&COUNTS, &bench.workspace.no).unwrap(), Some(CountRow(4)));
    let gone = bench.call_as("a", "POST", "/v1/messages", json!({"to": ["room:empty"], "text": "x"})).await;
    assert_refused(&gone, (422, "unknown_recipient"), "");
    // Whoever retired knows it all the same, and brings it back.
    bench.call(&bench.admin, "POST", "/v1/agents/b/retire", Value::Null).await;
    for verb in ["join", "leave"] {
        go("a", &format!("/v1/rooms/shared/{verb}")).await;
    }
    assert_eq!(rooms().await, ["told", "wanted", "wants"]);
    bench.agent("b");
    assert_eq!(rooms().await, ["shared", "told", "wanted", "wants"]);
    assert_sound(&bench);
}

#[tokio::test]
async fn a_workspace_has_so_many_rooms() {
    let mut bench = Bench::new();
    bench.agent("a");
    bench.set(|workspace| workspace.limits = vec![(WORKSPACE_ROOMS.code, Some(2))]);
    let go = async |path: &str| bench.call_as("a", "POST", path, Value::Null).await;
    for room in ["one", "two", "one"] {
        assert_eq!(go(&format!("/v1/rooms/{room}/join")).await.0, 200);
    }
    let refused = go("/v1/rooms/three/join").await;
    assert_refused(&refused, (409, "limit_reached"), "2");
    assert_eq!(refused.1["limit"], "workspace_rooms");
    // Whoever registers is not kept from it.
    let body = json!({"name": "c", "repo_remote": "https://example.com/x"});
    let (status, registered) = bench.call(&bench.admin, "POST", "/v1/agents/register", body).await;
    assert_eq!((status, &registered["rooms"]), (201, &json!([])));
    assert_eq!(go("/v1/rooms/one/leave").await.0, 200);
    assert_eq!(go("/v1/rooms/three/join").await.0, 200);
    // What stays when everybody has left it, for its history or its schema, makes room for what is wanted now.
    let (status, _) = bench.call_as("a", "POST", "/v1/messages", json!({"to": ["room:two"], "text": "x"})).await;
    assert_eq!(status, 202);
    let set = bench.call_as("a", "PUT", "/v1/rooms/three/schema", json!({"schema": true})).await;
    assert_eq!(set.0, 200);
    for room in ["two", "three"] {
        assert_eq!(go(&format!("/v1/rooms/{room}/leave")).await.0, 200);
    }
    for room in ["four", "five"] {
        assert_eq!(go(&format!("/v1/rooms/{room}/join")).await.0, 200, "{room}");
    }
    assert_refused(&go("/v1/rooms/two/join").await, (409, "limit_reached"), "2");
    assert_sound(&bench);
}

/// So many rooms as an earlier version left: nobody is in them.
fn leave_behind(bench: &Bench, count: u32) {
    let no = bench.workspace.no;
    for first in (0..count).step_by(4_000) {
        let put = move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Refusal>> {
            for number in first..count.min(first + 4_000) {
                tx.put(&ROOMS, &(no, format!("{number:080}")), &MembersRow(Vec::new()))?;
            }
            Ok(())
        };
        bench.run(put).unwrap();
    }
}

/// Rooms of an earlier version are counted before a transaction, and once.
#[tokio::test]
async fn rooms_that_were_not_counted_are_counted_once() {
    for (count, own) in [(7, 7), (1_234, 1_234)] {
        let bench = Bench::new();
        bench.agent("a");
        leave_behind(&bench, count);
        assert_sound(&bench);
        for (path, more) in [("/v1/rooms/x/join", 1), ("/v1/rooms/x/join", 1), ("/v1/rooms/x/leave", 0)] {
            assert_eq!(bench.call_as("a", "POST", path, Value::Null).await.0, 200);
            let counted = bench.context.store.read().get(&COUNTS, &bench.workspace.no).unwrap();
            assert_eq!(counted, Some(CountRow(own + more)), "{path}");
            assert_sound(&bench);
        }
        let no = bench.workspace.no;
        bench.run(move |tx, _| Ok(tx.put(&COUNTS, &no, &CountRow(1))?)).unwrap();
        let found = crate::verify(&bench.context.store.read()).unwrap().join("\n");
        assert!(found.contains("rooms, and counts 1"), "{found}");
    }
}

#[tokio::test]
async fn a_list_of_rooms_is_cut_and_says_where_it_goes_on() {
    let bench = Bench::new();
    bench.agent("a");
    leave_behind(&bench, 16_000);
    assert_eq!(bench.call_as("a", "POST", "/v1/rooms/z/join", Value::Null).await.0, 409, "they are more than 10,000");
    let (mut pages, mut names, mut at) = (0, Vec::new(), "/v1/rooms".to_owned());
    loop {
        let (status, page) = bench.call_as("a", "GET", &at, Value::Null).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.to_string().len() < (2 << 20) + 1_024);
        names.extend(page["rooms"].as_array().unwrap().iter().map(|room| room["room"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        at = format!("/v1/rooms?cursor={next}");
    }
    // The first ones went when another was wanted, for nobody was in them.
    let expected: Vec<String> = (64..16_000).map(|number| format!("{number:080}")).collect();
    assert_eq!((pages, names == expected), (2, true));
}
