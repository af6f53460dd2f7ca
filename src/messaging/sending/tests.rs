//! Sending over the whole way: the order of checks, what is refused, what is held and told.

use serde_json::json;

use crate::testing::{Bench, assert_refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_an_agent_is_in_its_inbox() {
    let bench = Bench::new();
    bench.agent("alice");
    bench.agent("bob");
    let (status, sent) =
        bench.call_as("alice", "POST", "/v1/messages", json!({"to": ["bob"], "subject": "Hi", "text": "there"})).await;
    assert_eq!(status, 202, "{sent}");
    assert_eq!(sent["recipients"], json!(["bob"]));
    assert_eq!(sent["delivery_count"], 1);
    assert_eq!(sent["thread_id"], sent["id"]);
    let refused =
        bench.call_as("alice", "POST", "/v1/messages", json!({"to": ["bob", "carol"], "text": "there"})).await;
    assert_refused(&refused, (422, "unknown_recipient"), "carol");
}
