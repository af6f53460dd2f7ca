//! Threads, what was sent and what was said in rooms, as callers see them.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use serde_json::{Value, json};

use crate::identity::{Priority, Scope};
use crate::mail::messages::encode;
use crate::mail::model::{Contents, Role};
use crate::mail::post::Said;
use crate::model::ThreadId;
use crate::rooms::join;
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;

fn bench_of_three() -> Bench {
    let bench = Bench::new();
    for name in ["ann", "ben", "cid"] {
        bench.agent(name);
    }
    bench
}

fn in_thread(bench: &Bench, thread: ThreadId, from: &str, to: &[&str], text: &str) {
    bench.post(from, to, text, |letter| letter.thread = Some(thread));
}

fn members<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|row| row[name].as_str().unwrap()).collect()
}

async fn get(bench: &Bench, agent: &str, path: &str) -> Value {
    let (status, body) = bench.call_as(agent, "GET", path, NONE).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

#[tokio::test]
async fn a_thread_shows_each_what_it_got_or_sent() {
    let bench = bench_of_three();
    let thread = bench.post("ann", &["ben", "cid"], "all", |_| {}).thread;
    bench.advance(1).await;
    in_thread(&bench, thread, "ben", &["ann"], "between us");
    bench.agent("dan");
    let path = format!("/v1/threads/{}", ulid(thread.0));
    let seen = get(&bench, "ann", &path).await;
    assert_eq!(members(&seen["messages"], "text_body"), ["all", "between us"]);
    let expected = json!({
        "id": ulid(thread.0), "subject": "About all", "state": "active", "message_count": 2,
        "participants": ["ann", "ben", "cid"], "participant_count": 3,
        "last_message_at": rfc3339(bench.now()), "resumes_at": NONE,
    });
    assert_eq!(seen["thread"], expected);
    assert_eq!(
        members(&get(&bench, "cid", &path).await["messages"], "text_body"),
        ["all"],
        "no word that was not for it"
    );
    for path in [path.clone(), format!("{path}?limit=1")] {
        assert_refused(&bench.call_as("dan", "GET", &path, NONE).await, (404, "not_found"), "takes part");
    }
    assert_refused(&bench.call_as("ann", "GET", "/v1/threads/x", NONE).await, (404, "not_found"), "takes part");
}

/// A thread that has but the message that began it has no rows of its own: nobody sees the difference.
#[tokio::test]
async fn a_thread_of_one_message_is_one_like_others() {
    let bench = bench_of_three();
    let posted =
        bench.post("ann", &["ben", "ann"], "one", |letter| letter.outside = vec![("x@example.org".into(), Role::To)]);
    let path = format!("/v1/threads/{}", ulid(posted.thread.0));
    for agent in ["ann", "ben"] {
        let seen = get(&bench, agent, &path).await;
        let expected = json!({
            "id": ulid(posted.thread.0), "subject": "About one", "state": "active", "message_count": 1,
            "participants": ["ann", "ben"], "participant_count": 2,
            "last_message_at": rfc3339(bench.now()), "resumes_at": NONE,
        });
        assert_eq!((&seen["thread"], members(&seen["messages"], "text_body")), (&expected, vec!["one"]));
    }
    assert_refused(&bench.call_as("cid", "GET", &path, NONE).await, (404, "not_found"), "takes part");
    // It counts for the guard: sixty go, the first among them.
    for number in 2..=60 {
        in_thread(&bench, posted.thread, "ann", &["ben"], &number.to_string());
    }
    assert_eq!(get(&bench, "ben", &path).await["thread"]["state"], "active");
    in_thread(&bench, posted.thread, "ann", &["cid"], "61");
    let seen = get(&bench, "ben", &path).await;
    let thread = &seen["thread"];
    assert_eq!((&thread["state"], &thread["participants"]), (&json!("paused"), &json!(["ann", "ben"])));
    assert_eq!(members(&seen["messages"], "text_body")[..2], ["one", "2"], "the oldest first, and it once");
    assert_refused(&bench.call_as("cid", "GET", &path, NONE).await, (404, "not_found"), "takes part");
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_long_thread_is_cut_at_its_beginning_and_says_where() {
    let bench = bench_of_three();
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    for number in 1..30 {
        bench.advance(120).await;
        in_thread(&bench, thread, "ann", &["ben"], &number.to_string());
    }
    let path = format!("/v1/threads/{}?limit=12", ulid(thread.0));
    let (mut all, mut before) = (Vec::new(), String::new());
    loop {
        let part = get(&bench, "ben", &format!("{path}{before}")).await;
        let texts = members(&part["messages"], "text_body").into_iter().map(str::to_owned);
        all.splice(0..0, texts);
        let Some(next) = part["next_before"].as_str() else { break };
        assert_eq!(part["has_more"], json!(true));
        before = format!("&before={next}");
    }
    assert_eq!(all, (0..30).map(|number| number.to_string()).collect::<Vec<_>>());
    // Large texts cut it as well.
    let large = bench.post("ann", &["ben"], "large", |_| {}).thread;
    for _ in 0..10 {
        bench.post("ann", &["ben"], "x", |letter| {
            letter.thread = Some(large);
            letter.said = Said::Here(encode(&Contents { text: "x".repeat(300 << 10), ..Contents::default() }).unwrap());
        });
    }
    let part = get(&bench, "ben", &format!("/v1/threads/{}", ulid(large.0))).await;
    assert_eq!((&part["count"], &part["has_more"]), (&json!(7), &json!(true)));
}

#[tokio::test]
async fn threads_are_listed_by_their_newest_activity() {
    let bench = bench_of_three();
    let first = bench.post("ann", &["ben"], "first", |_| {}).thread;
    bench.advance(1).await;
    bench.post("ben", &["ann"], "second", |_| {});
    bench.advance(1).await;
    bench.post("cid", &["cid"], "its own", |_| {});
    bench.advance(1).await;
    in_thread(&bench, first, "ben", &["ann"], "again");
    let listed = get(&bench, "ann", "/v1/threads").await;
    assert_eq!(members(&listed["threads"], "subject"), ["About first", "About second"]);
    assert_eq!(members(&get(&bench, "ann", "/v1/threads?limit=1").await["threads"], "subject"), ["About first"]);
    assert_eq!(members(&get(&bench, "cid", "/v1/threads").await["threads"], "subject"), ["About its own"]);
}

#[tokio::test]
async fn what_was_sent_is_walked_through_backwards() {
    let bench = bench_of_three();
    for number in 0..5 {
        bench.post("ann", &["ben"], &number.to_string(), |letter| letter.cc = vec!["room:x".to_owned()]);
    }
    bench.post("ben", &["ann"], "other", |_| {});
    let page = get(&bench, "ann", "/v1/sent?limit=2").await;
    assert_eq!((members(&page["messages"], "text_body"), &page["cursor"]), (vec!["4", "3"], &json!(4)));
    let row = &page["messages"][0];
    assert_eq!((&row["recipients"], &row["signed_recipients"], &row["sealed_by"]), (&json!(["ben"]), &NONE, &NONE));
    let page = get(&bench, "ann", "/v1/sent?limit=3&cursor=4").await;
    assert_eq!((members(&page["messages"], "text_body"), &page["cursor"]), (vec!["2", "1", "0"], &NONE));
    let page = get(&bench, "cid", "/v1/sent").await;
    assert_eq!((&page["messages"], &page["cursor"]), (&json!([]), &NONE));
    assert_refused(&bench.call_as("ann", "GET", "/v1/sent?cursor=x", NONE).await, (422, "validation_error"), "cursor");
}

#[tokio::test]
async fn history_is_for_members_the_oldest_first() {
    let bench = bench_of_three();
    let ann = bench.named("ann");
    bench.run(move |tx, _| join(tx, ann, "build")).unwrap();
    let mut instants = Vec::new();
    for number in 0..4 {
        instants.push(rfc3339(bench.now()));
        bench.post("ben", &[], &number.to_string(), |letter| letter.rooms = vec!["build".to_owned()]);
        bench.advance(1).await;
    }
    let history = get(&bench, "ann", "/v1/rooms/build/history?limit=3").await;
    assert_eq!((members(&history["messages"], "text_body"), &history["room"]), (vec!["1", "2", "3"], &json!("build")));
    assert_eq!(members(&history["messages"], "sender"), ["ben"; 3]);
    let since = format!("/v1/rooms/build/history?limit=2&since={}", instants[1]);
    assert_eq!(members(&get(&bench, "ann", &since).await["messages"], "text_body"), ["1", "2"]);
    for (agent, room) in [("ben", "build"), ("ann", "none"), ("ann", "%2e%2e")] {
        let refused = bench.call_as(agent, "GET", &format!("/v1/rooms/{room}/history"), NONE).await;
        assert_refused(&refused, (404, "not_found"), "this agent is in");
    }
    let refused = bench.call_as("ann", "GET", "/v1/rooms/build/history?since=yesterday", NONE).await;
    assert_refused(&refused, (422, "validation_error"), "since");
}

/// 6-messaging.md, G1 to G3.
#[tokio::test]
async fn a_paused_thread_goes_on_by_those_who_may() {
    let bench = bench_of_three();
    let own = bench.key(Scope::Send, &["ben"]);
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    let path = format!("/v1/threads/{}/resume", ulid(thread.0));
    let (status, not) = bench.call(&own, "POST", &path, NONE).await;
    assert_eq!((status, &not["resumed"], &not["resumed_by"]), (200, &json!(false), &NONE));
    let flood =
        |count: usize| (0..count).for_each(|number| in_thread(&bench, thread, "ann", &["ben"], &number.to_string()));
    flood(60);
    let state = get(&bench, "ben", &format!("/v1/threads/{}", ulid(thread.0))).await["thread"]["state"].clone();
    assert_eq!(state, json!("paused"));
    assert_refused(&bench.call_as("cid", "POST", &path, NONE).await, (404, "not_found"), "takes part");
    assert_refused(&bench.call_as("ben", "POST", &path, NONE).await, (403, "permission_denied"), "bound");
    let (status, resumed) = bench.call(&own, "POST", &path, json!({})).await;
    assert_eq!((status, &resumed["resumed"], &resumed["resumed_by"]), (200, &json!(true), &json!("ben")));
    assert_eq!((&resumed["thread_paused"], resumed["window_reset_at"].is_string()), (&json!(false), true));
    flood(61);
    assert_refused(&bench.call(&own, "POST", &path, NONE).await, (403, "permission_denied"), "operator");
    let (status, resumed) = bench.call(&bench.admin, "POST", &path, NONE).await;
    assert_eq!((status, &resumed["resumed"], &resumed["resumed_by"]), (200, &json!(true), &json!("operator")));
    let page = get(&bench, "ben", "/v1/inbox?limit=200").await;
    assert_eq!(page["count"], json!(122 + 2), "all of them, and two words of the platform");
    let unknown = format!("/v1/threads/{}/resume", "0".repeat(26));
    assert_refused(&bench.call(&bench.admin, "POST", &unknown, NONE).await, (404, "not_found"), "");
}

#[tokio::test]
async fn cc_is_a_part_in_it() {
    let bench = bench_of_three();
    let posted = bench.post("ann", &["ben", "cid"], "x", |letter| letter.agents[1].role = Role::Cc);
    let seen = get(&bench, "cid", &format!("/v1/threads/{}", ulid(posted.thread.0))).await;
    assert_eq!(seen["count"], json!(1));
}

/// Whether an agent takes part in a thread, as each route says it.
async fn takes_part(bench: &Bench, agent: &str, thread: ThreadId) -> bool {
    let (id, own) = (ulid(thread.0), bench.key(Scope::Send, &[agent]));
    let write = json!({"to": ["ann"], "text": "x", "thread_id": id, "guarantee": "fire_and_forget"});
    let answers = [
        bench.call(&own, "GET", &format!("/v1/threads/{id}"), NONE).await,
        bench.call(&own, "POST", "/v1/messages", write).await,
        bench.call(&own, "POST", &format!("/v1/threads/{id}/resume"), NONE).await,
    ];
    let refused = answers.iter().filter(|(status, _)| *status == 404).count();
    assert!(refused == 0 || refused == 3, "{answers:?}");
    let known = get(bench, agent, "/v1/threads").await;
    assert_eq!(members(&known["threads"], "id").contains(&id.as_str()), refused == 0, "{known}");
    refused == 0
}

/// Of what is held its recipient knows nothing before it is released, and neither of its thread.
#[tokio::test]
async fn who_has_got_nothing_of_a_thread_yet_takes_no_part() {
    let bench = bench_of_three();
    let before = bench.post("ann", &["cid"], "before", |_| {}).thread;
    let declare = |state: &str| {
        bench.call_as("cid", "PUT", "/v1/agents/cid/availability", json!({"state": state, "seconds": 600}))
    };
    assert_eq!(declare("dnd").await.0, 200);
    let alone = bench.post("ann", &["cid"], "alone", |_| {}).thread;
    let long = bench.post("ann", &["ben"], "long", |_| {}).thread;
    in_thread(&bench, long, "ben", &["ann"], "without him");
    in_thread(&bench, long, "ann", &["ben", "cid"], "with him");
    in_thread(&bench, before, "ann", &["cid"], "held");
    for thread in [alone, long] {
        assert!(!takes_part(&bench, "cid", thread).await);
        assert!(takes_part(&bench, "ann", thread).await);
    }
    assert!(takes_part(&bench, "ben", long).await);
    assert!(takes_part(&bench, "cid", before).await, "he has got its beginning");
    assert_eq!(declare("online").await.0, 200);
    for thread in [alone, long, before] {
        assert!(takes_part(&bench, "cid", thread).await);
    }
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// What is wrong, but for the messages of the day, which the verbs do not count.
fn findings(bench: &Bench) -> Vec<String> {
    let mut all = crate::verify(&bench.context.store.read()).unwrap();
    all.retain(|finding| !finding.ends_with("are counted"));
    all
}

/// However long a thread is, and however much of it is held.
#[tokio::test]
async fn who_takes_part_is_told_in_long_threads_as_in_short_ones() {
    let bench = bench_of_three();
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    in_thread(&bench, thread, "ann", &["ben"], "1");
    let declare = |agent: &'static str, state: &'static str| {
        let body = json!({"state": state, "seconds": 86_400});
        let path = format!("/v1/agents/{agent}/availability");
        let bench = &bench;
        async move { assert_eq!(bench.call_as(agent, "PUT", &path, body).await.0, 200) }
    };
    declare("ben", "dnd").await;
    declare("cid", "dnd").await;
    for number in 2..100 {
        bench.advance(120).await;
        in_thread(&bench, thread, "ann", &["ben", "cid"], &number.to_string());
    }
    assert!(takes_part(&bench, "ben", thread).await, "he has got what is far behind");
    assert!(!takes_part(&bench, "cid", thread).await, "he has got nothing");
    assert_eq!(findings(&bench), [""; 0]);
    bench.post("ann", &["cid"], "now", |letter| {
        letter.thread = Some(thread);
        letter.priority = Priority::Urgent;
    });
    assert!(takes_part(&bench, "cid", thread).await, "urgent mail passes");
    declare("cid", "online").await;
    assert!(takes_part(&bench, "cid", thread).await);
    assert_eq!(findings(&bench), [""; 0]);
}

/// A pause is no news for whom the thread itself is none yet.
#[tokio::test]
async fn a_pause_is_told_to_those_who_know_of_the_thread() {
    let bench = bench_of_three();
    bench.agent("dan");
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    let dnd = json!({"state": "dnd", "seconds": 600});
    assert_eq!(bench.call_as("cid", "PUT", "/v1/agents/cid/availability", dnd).await.0, 200);
    for number in 1..60 {
        in_thread(&bench, thread, "ann", &["ben", "cid"], &number.to_string());
    }
    in_thread(&bench, thread, "ann", &["ben", "dan"], "60");
    for (agent, count) in [("ann", 1), ("ben", 61), ("cid", 0), ("dan", 0)] {
        let page = get(&bench, agent, "/v1/inbox?limit=200").await;
        assert_eq!(page["count"], json!(count), "{agent}: {page}");
    }
    for agent in ["cid", "dan"] {
        assert!(!takes_part(&bench, agent, thread).await, "{agent}");
    }
    let path = format!("/v1/threads/{}/resume", ulid(thread.0));
    assert_eq!(bench.call(&bench.admin, "POST", &path, NONE).await.0, 200);
    assert!(takes_part(&bench, "dan", thread).await);
    assert!(!takes_part(&bench, "cid", thread).await);
    bench.advance(601).await;
    assert!(takes_part(&bench, "cid", thread).await);
    assert_eq!(findings(&bench), [""; 0]);
}

/// The same of what waits with its thread.
#[tokio::test]
async fn who_waits_with_a_paused_thread_takes_no_part_yet() {
    let bench = bench_of_three();
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    (0..60).for_each(|number| in_thread(&bench, thread, "ann", &["ben"], &number.to_string()));
    in_thread(&bench, thread, "ann", &["cid"], "welcome");
    for path in [format!("/v1/threads/{}", ulid(thread.0)), format!("/v1/threads/{}/resume", ulid(thread.0))] {
        let method = if path.ends_with("resume") { "POST" } else { "GET" };
        let own = bench.key(Scope::Send, &["cid"]);
        assert_refused(&bench.call(&own, method, &path, NONE).await, (404, "not_found"), "takes part");
    }
    let path = format!("/v1/threads/{}/resume", ulid(thread.0));
    assert_eq!(bench.call(&bench.admin, "POST", &path, NONE).await.0, 200);
    assert!(takes_part(&bench, "cid", thread).await);
}

/// Whoever writes to a thread takes part in it, though all that came to him of it is held.
#[tokio::test]
async fn who_writes_takes_part_whatever_is_held_for_him() {
    let bench = bench_of_three();
    let away = json!({"state": "dnd", "hold_below": "urgent", "seconds": 7_200});
    assert_eq!(bench.call_as("ben", "PUT", "/v1/agents/ben/availability", away).await.0, 200);
    let thread = bench.post("ann", &["ben"], "0", |_| {}).thread;
    assert!(!takes_part(&bench, "ben", thread).await);
    in_thread(&bench, thread, "ben", &["ann"], "as I heard");
    assert!(takes_part(&bench, "ben", thread).await);
}

/// Many threads of one message each that went to many: those whose names are not shown are not looked up.
#[tokio::test]
async fn threads_of_many_tell_how_many_and_name_a_hundred() {
    let mut bench = Bench::new();
    bench.set(|workspace| workspace.limits = vec![(crate::limits::ACTIVE_AGENTS.code, None)]);
    let names: Vec<String> = (0..500).map(|number| format!("agent-{number:03}")).collect();
    for name in &names {
        bench.agent(name);
    }
    let others: Vec<&str> = names[1..].iter().map(String::as_str).collect();
    for number in 0..200 {
        bench.post("agent-000", &others, &number.to_string(), |_| {});
    }
    let listed = get(&bench, "agent-000", "/v1/threads?limit=200").await;
    let thread = &listed["threads"][0];
    assert_eq!((&listed["count"], &thread["participant_count"]), (&json!(200), &json!(500)));
    assert_eq!(thread["participants"], json!(names[..100]));
}

/// Whoever comes into a thread late sees what it is about of the oldest message that is for it, in both places; whoever is
/// only expected, for all of it is held, is told to nobody.
#[tokio::test]
async fn a_thread_is_about_what_one_has_of_it() {
    let bench = bench_of_three();
    bench.agent("dan");
    let thread = bench.post("ann", &["ben"], "a secret plan", |_| {}).thread;
    bench.advance(1).await;
    in_thread(&bench, thread, "ann", &["cid"], "the picnic");
    bench.advance(1).await;
    in_thread(&bench, thread, "cid", &["ann"], "the cake");
    let path = format!("/v1/threads/{}", ulid(thread.0));
    let about = async |agent: &str| {
        let alone = get(&bench, agent, &path).await["thread"].clone();
        let listed = get(&bench, agent, "/v1/threads").await["threads"][0].clone();
        assert_eq!(alone, listed, "{agent}");
        (alone["subject"].as_str().unwrap().to_owned(), alone["participants"].clone())
    };
    let all = json!(["ann", "ben", "cid"]);
    assert_eq!(about("ann").await, ("About a secret plan".to_owned(), all.clone()));
    assert_eq!(about("ben").await, ("About a secret plan".to_owned(), all.clone()));
    assert_eq!(about("cid").await, ("About the picnic".to_owned(), all.clone()));
    let dnd = json!({"state": "dnd", "seconds": 3_600});
    assert_eq!(bench.call_as("dan", "PUT", "/v1/agents/dan/availability", dnd).await.0, 200);
    bench.advance(1).await;
    in_thread(&bench, thread, "ann", &["dan"], "the surprise");
    assert_eq!(about("cid").await.1, all, "nothing of it has reached dan");
    let begun = bench.post("ann", &["ben", "dan"], "begun", |_| {}).thread;
    let seen = get(&bench, "ben", &format!("/v1/threads/{}", ulid(begun.0))).await["thread"].clone();
    assert_eq!((&seen["participants"], &seen["participant_count"]), (&json!(["ann", "ben"]), &json!(2)));
    let online = json!({"state": "online"});
    assert_eq!(bench.call_as("dan", "PUT", "/v1/agents/dan/availability", online).await.0, 200);
    let path = format!("/v1/threads/{}", ulid(thread.0));
    let seen = get(&bench, "dan", &path).await["thread"].clone();
    assert_eq!((&seen["subject"], &seen["participant_count"]), (&json!("About the surprise"), &json!(4)));
}

/// Whoever came later hears of a pause without what the thread is about to others.
#[tokio::test]
async fn a_pause_is_told_without_what_one_has_not_got() {
    let bench = bench_of_three();
    let thread = bench.post("ann", &["ben"], "a secret plan", |_| {}).thread;
    for number in 0..60 {
        in_thread(&bench, thread, "ann", &["cid"], &number.to_string());
    }
    for (agent, expected) in [
        ("ann", "Thread paused: About a secret plan"),
        ("ben", "Thread paused: About a secret plan"),
        ("cid", "Thread paused"),
    ] {
        let inbox = get(&bench, agent, "/v1/inbox?limit=200").await;
        let last = inbox["messages"].as_array().unwrap().last().unwrap()["subject"].clone();
        assert_eq!(last, json!(expected), "{agent}");
    }
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// A reminder's thread is not named after the message that began it.
#[tokio::test]
async fn a_thread_that_no_message_began_is_about_its_oldest() {
    let bench = bench_of_three();
    let body = json!({"text": "x", "subject": "standup", "repeat": "daily", "target": "ben"});
    assert_eq!(bench.call_as("ann", "POST", "/v1/reminders", body).await.0, 201);
    bench.advance(2 * 86_400).await;
    let listed = get(&bench, "ben", "/v1/threads").await;
    assert_eq!((&listed["count"], &listed["threads"][0]["subject"]), (&json!(1), &json!("Reminder: standup")));
}
