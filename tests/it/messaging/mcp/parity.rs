//! A tool's answer is its route's: every tool that is listed, against the routes that it names.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{answered, call, speak};
use crate::support::appliance::{Answer, Client, shared};
use crate::support::messaging::{Agent, Workspace};

/// A call of a tool and the request that does the same.
pub struct Case {
    pub tool: &'static str,
    pub arguments: Value,
    pub method: &'static str,
    pub path: String,
    /// Null: none.
    pub body: Value,
    /// What the request is answered with.
    pub status: u16,
    /// Members that the tool has besides.
    pub besides: &'static [&'static str],
}

impl Case {
    /// The request, by an agent's own client.
    pub fn answer(&self, client: &Client) -> Answer {
        let body = if self.body.is_null() { String::new() } else { self.body.to_string() };
        client.send(self.method, &self.path, &[("content-type", "application/json")], body.as_bytes())
    }

    /// Whether what a client made of the call is what the route answers.
    #[track_caller]
    pub fn agrees(&self, result: &Value, answer: &Answer) {
        let Case { tool, arguments, status, besides, .. } = self;
        assert_eq!(answer.status, *status, "{tool} {arguments}: {}", answer.text);
        assert_eq!(result["isError"].as_bool().unwrap_or(false), *status >= 400, "{tool} {arguments}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(settled(&text), settled(&result["structuredContent"]), "{tool}");
        let mut told = settled(&text);
        for member in *besides {
            assert!(told.as_object_mut().unwrap().remove(*member).is_some(), "{tool} lacks {member}: {told}");
        }
        match status {
            204 => assert_eq!(told, json!({"status": "ok"})),
            _ => assert_eq!(told, settled(&answer.json()), "{tool} {arguments}"),
        }
    }
}

/// What is different each time it is told, made the same: ids, instants, how long ago something was.
pub fn settled(value: &Value) -> Value {
    const AGES: [&str; 4] = ["last_seen_seconds", "last_pong_seconds", "echo_delay_ms", "keepalive_age_seconds"];
    match value {
        Value::String(text) if text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) => json!("ID"),
        Value::String(text) if text.len() > 19 && text.as_bytes()[10] == b'T' && text.ends_with('Z') => {
            json!("INSTANT")
        }
        Value::Array(values) => values.iter().map(settled).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let is_age = AGES.contains(&name.as_str());
                (name.clone(), if is_age { json!("AGE") } else { settled(value) })
            };
            let told =
                members.iter().filter(|(name, _)| !["liveness_challenge", "request_id"].contains(&name.as_str()));
            Value::Object(told.map(member).collect())
        }
        // A client may write 1.0 as 1.
        Value::Number(number) => json!(number.as_f64()),
        plain => plain.clone(),
    }
}

/// Two agents who have written to each other.
pub struct Scene {
    pub ann: Agent,
    pub ben: Agent,
    /// A message of Ben's to Ann, with an attachment; its delivery and its thread.
    pub message: String,
    pub delivery: String,
    pub thread: String,
}

impl Scene {
    pub fn of(workspace: &Workspace<'_>) -> Scene {
        let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
        for agent in [&ann, &ben] {
            agent.client.post("/v1/rooms/builds/join", &json!({})).expect(200);
        }
        let files = json!([{"filename": "notes.txt", "content_type": "text/plain", "content_base64": "bm90ZXM="}]);
        let further = json!({"subject": "Ready", "attachments": files, "cc": ["room:builds"], "require_ack": true});
        let sent = ben.send_with(&["ann"], "Have a look?\n\nAt src.", further).expect(202);
        let text = |name: &str| sent[name].as_str().unwrap().to_owned();
        let delivery = ann.inbox(0)[0]["delivery_id"].as_str().unwrap().to_owned();
        Scene { message: text("id"), thread: text("thread_id"), delivery, ann, ben }
    }

    fn draft(&self) -> String {
        let draft = self.ann.client.post("/v1/drafts", &json!({"to": ["ben"], "text": "d"})).expect(201);
        draft["id"].as_str().unwrap().to_owned()
    }

    /// Cases of tools as Ann calls them: what succeeds, what the route refuses, what it does not know. Where the same cannot
    /// be done twice, the tool does it to something else than the request.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = self.looking();
        cases.extend(self.keeping());
        cases.extend(self.writing());
        cases.extend(self.approving());
        cases
    }

    fn looking(&self) -> Vec<Case> {
        let nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let Scene { message, delivery, thread, .. } = self;
        let inbox = |query: &str| format!("/v1/inbox{query}");
        let one = |id: &str| format!("/v1/deliveries/{id}");
        vec![
            get("bus_whoami", json!({}), "/v1/whoami".to_owned(), 200),
            get("bus_whoami", json!({"agent": "ann"}), "/v1/whoami".to_owned(), 200),
            get("bus_whoami", json!({"agnt": "x"}), "/v1/whoami?agnt=".to_owned(), 422),
            get("bus_phonebook", json!({}), "/v1/agents".to_owned(), 200),
            get("bus_phonebook", json!({"query": "be"}), "/v1/agents?q=be".to_owned(), 200),
            get("bus_phonebook", json!({"label": "a", "capability": null}), "/v1/agents?label=a".to_owned(), 200),
            get("bus_phonebook", json!({"label": ["a", "b=ü"]}), "/v1/agents?label=a&label=b%3D%C3%BC".to_owned(), 200),
            get("bus_inbox", json!({}), inbox(""), 200),
            get("bus_inbox", json!({"limit": 1, "unread": true}), inbox("?limit=1&unread=true"), 200),
            get("bus_inbox", json!({"limit": "1", "cursor": 1}), inbox("?limit=1&cursor=1"), 200),
            get("bus_inbox", json!({"limit": 0}), inbox("?limit=0"), 422),
            // As long as something is unread.
            Case {
                besides: &["waited_out"],
                ..get("bus_wait", json!({"cursor": 0}), inbox("?unread=true&wait=25&cursor=0"), 200)
            },
            Case {
                besides: &["waited_out"],
                ..get("bus_wait", json!({"seconds": 1, "cursor": 99}), inbox("?unread=true&wait=1&cursor=99"), 200)
            },
            get("bus_read", json!({"delivery_id": delivery}), one(delivery), 200),
            get("bus_read", json!({"delivery_id": message}), one(message), 200),
            get("bus_read", json!({"delivery_id": nobody}), one(nobody), 404),
            get("bus_read", json!({"delivery_id": "a/b ?"}), one("a%2Fb%20%3F"), 404),
            get("bus_thread", json!({"thread_id": thread}), format!("/v1/threads/{thread}"), 200),
            get("bus_thread", json!({"thread_id": nobody}), format!("/v1/threads/{nobody}"), 404),
            get("bus_usage", json!({}), "/v1/usage".to_owned(), 200),
            get("bus_status", json!({}), "/v1/agents/ann/availability".to_owned(), 200),
            get("bus_status", json!({"state": null, "reason": null}), "/v1/agents/ann/availability".to_owned(), 200),
            get("bus_health", json!({}), "/v1/agents/ann/health".to_owned(), 200),
            get("bus_health", json!({"target": "ben"}), "/v1/agents/ben/health".to_owned(), 200),
            get("bus_health", json!({"target": "none"}), "/v1/agents/none/health".to_owned(), 404),
            get("bus_room_history", json!({"room": "builds"}), "/v1/rooms/builds/history".to_owned(), 200),
            get(
                "bus_room_history",
                json!({"room": "builds", "limit": 1, "since": "2026-01-01T00:00:00Z"}),
                "/v1/rooms/builds/history?limit=1&since=2026-01-01T00:00:00Z".to_owned(),
                200,
            ),
            get("bus_room_history", json!({"room": "none"}), "/v1/rooms/none/history".to_owned(), 404),
            get("bus_room_schema", json!({"room": "builds"}), "/v1/rooms/builds/schema".to_owned(), 200),
        ]
    }

    fn keeping(&self) -> Vec<Case> {
        let (one, other) = (self.draft(), self.draft());
        let drafts = || "/v1/drafts".to_owned();
        let draft = |id: &str| format!("/v1/drafts/{id}");
        let Scene { delivery, .. } = self;
        let noted = |what: &str| format!("/v1/deliveries/{delivery}/{what}");
        let own = |what: &str| format!("/v1/agents/ann/{what}");
        let registered = json!({"name": "ann", "capabilities": ["tests"]});
        vec![
            case("bus_register", registered.clone(), "POST", "/v1/agents/register".to_owned(), registered, 200),
            case(
                "bus_register",
                json!({"name": "ben"}),
                "POST",
                "/v1/agents/register".to_owned(),
                json!({"name": "ben"}),
                403,
            ),
            case(
                "bus_tag",
                json!({"set": {"skill:review": ""}}),
                "PATCH",
                own("labels"),
                json!({"set": {"skill:review": ""}}),
                200,
            ),
            case("bus_tag", json!({"remove": "x"}), "PATCH", own("labels"), json!({"remove": "x"}), 422),
            case("bus_heartbeat", json!({}), "POST", own("heartbeat"), Value::Null, 200),
            case("bus_ack", json!({"delivery_id": delivery}), "POST", noted("ack"), Value::Null, 200),
            case("bus_ack", json!({"delivery_id": "x"}), "POST", "/v1/deliveries/x/ack".to_owned(), Value::Null, 404),
            case(
                "bus_label",
                json!({"delivery_id": delivery, "add": ["todo"]}),
                "POST",
                noted("labels"),
                json!({"add": ["todo"]}),
                200,
            ),
            case(
                "bus_busy",
                json!({"seconds": 60, "reason": "r"}),
                "POST",
                own("busy"),
                json!({"seconds": 60, "reason": "r"}),
                200,
            ),
            case("bus_busy", json!({"seconds": 0}), "POST", own("busy"), json!({"seconds": 0}), 200),
            case(
                "bus_status",
                json!({"state": "dnd", "seconds": 60}),
                "PUT",
                own("availability"),
                json!({"state": "dnd", "seconds": 60}),
                200,
            ),
            case("bus_status", json!({"state": "online"}), "PUT", own("availability"), json!({"state": "online"}), 200),
            case("bus_status", json!({"state": "gone"}), "PUT", own("availability"), json!({"state": "gone"}), 422),
            case("bus_draft", json!({"action": "list"}), "GET", drafts(), Value::Null, 200),
            case(
                "bus_draft",
                json!({"action": "create", "to": "ben", "text": "t"}),
                "POST",
                drafts(),
                json!({"to": ["ben"], "text": "t"}),
                201,
            ),
            case(
                "bus_draft",
                json!({"action": "update", "draft_id": one, "subject": "s"}),
                "PATCH",
                draft(&one),
                json!({"subject": "s"}),
                200,
            ),
            case(
                "bus_draft",
                json!({"action": "send", "draft_id": one}),
                "POST",
                draft(&other) + "/send",
                Value::Null,
                202,
            ),
            case(
                "bus_draft",
                json!({"action": "send", "draft_id": one}),
                "POST",
                draft(&other) + "/send",
                Value::Null,
                404,
            ),
            case("bus_draft", json!({"action": "delete", "draft_id": one}), "DELETE", draft(&one), Value::Null, 204),
            case(
                "bus_room_schema",
                json!({"room": "none", "schema": true}),
                "PUT",
                "/v1/rooms/none/schema".to_owned(),
                json!({"schema": true}),
                404,
            ),
            case(
                "bus_room_schema",
                json!({"room": "builds", "schema": "x"}),
                "PUT",
                "/v1/rooms/builds/schema".to_owned(),
                json!({"schema": "x"}),
                422,
            ),
        ]
    }

    fn writing(&self) -> Vec<Case> {
        let Scene { message, delivery, thread, .. } = self;
        let messages = || "/v1/messages".to_owned();
        let reply = |id: &str| format!("/v1/messages/{id}/reply");
        let plain = json!({"to": ["ben"], "subject": "s", "text": "t"});
        let loose = |further: Value| {
            let mut all = json!({"to": "ben", "text": "t"});
            all.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            all
        };
        let listed = |further: Value| {
            let mut all = loose(further);
            all["to"] = json!(["ben"]);
            all
        };
        let forwarded = json!({"to": ["ben"], "subject": "Fwd: s", "text": "n"});
        vec![
            case("bus_send", plain.clone(), "POST", messages(), plain, 202),
            case(
                "bus_send",
                loose(json!({"payload": {"a": [1.50]}, "thread_id": thread})),
                "POST",
                messages(),
                listed(json!({"payload": {"a": [1.50]}, "thread_id": thread})),
                202,
            ),
            case(
                "bus_send",
                loose(json!({"cc": "room:builds", "priority": "urgent"})),
                "POST",
                messages(),
                listed(json!({"cc": ["room:builds"], "priority": "urgent"})),
                202,
            ),
            case(
                "bus_send",
                loose(json!({"guarantee": "fire_and_forget"})),
                "POST",
                messages(),
                listed(json!({"guarantee": "fire_and_forget"})),
                202,
            ),
            case("bus_send", json!({"text": "t"}), "POST", messages(), json!({"text": "t"}), 422),
            case(
                "bus_send",
                json!({"to": ["nobody", "room:none"]}),
                "POST",
                messages(),
                json!({"to": ["nobody", "room:none"]}),
                422,
            ),
            case("bus_send", json!({"to": "tag:none"}), "POST", messages(), json!({"to": ["tag:none"]}), 422),
            case(
                "bus_send",
                loose(json!({"thread_id": "x"})),
                "POST",
                messages(),
                listed(json!({"thread_id": "x"})),
                404,
            ),
            case(
                "bus_send",
                loose(json!({"priority": "now"})),
                "POST",
                messages(),
                listed(json!({"priority": "now"})),
                422,
            ),
            case(
                "bus_reply",
                json!({"message_id": message, "text": "r"}),
                "POST",
                reply(message),
                json!({"text": "r"}),
                202,
            ),
            case(
                "bus_reply",
                json!({"message_id": delivery, "text": "r", "reply_all": true}),
                "POST",
                reply(delivery),
                json!({"text": "r", "reply_all": true}),
                202,
            ),
            case("bus_reply", json!({"message_id": "x"}), "POST", reply("x"), json!({}), 404),
            case(
                "bus_forward",
                json!({"delivery_id": delivery, "to": "ben", "text": "n"}),
                "POST",
                messages(),
                forwarded,
                202,
            ),
            case(
                "bus_forward",
                json!({"delivery_id": delivery, "to": ["none"]}),
                "POST",
                messages(),
                json!({"to": ["none"]}),
                422,
            ),
            case(
                "bus_thread_resume",
                json!({"thread_id": thread}),
                "POST",
                format!("/v1/threads/{thread}/resume"),
                Value::Null,
                200,
            ),
            case(
                "bus_thread_resume",
                json!({"thread_id": "x"}),
                "POST",
                "/v1/threads/x/resume".to_owned(),
                Value::Null,
                404,
            ),
        ]
    }
}

impl Scene {
    fn approving(&self) -> Vec<Case> {
        let asked = json!({"title": "Deploy", "summary": "v42", "proposed_action": {"b": 1.50, "a": ["\u{e9}"]}});
        let raised = self.ann.client.post("/v1/approvals", &asked).expect(201);
        let id = raised["id"].as_str().unwrap();
        let approvals = || "/v1/approvals".to_owned();
        let one = |rest: &str| format!("/v1/approvals/{id}{rest}");
        vec![
            case("bus_request_approval", asked.clone(), "POST", approvals(), asked, 201),
            case("bus_request_approval", json!({"title": ""}), "POST", approvals(), json!({"title": ""}), 422),
            case(
                "bus_request_approval",
                json!({"title": "a", "kind": "none"}),
                "POST",
                approvals(),
                json!({"title": "a", "kind": "none"}),
                409,
            ),
            get("bus_approval_status", json!({"approval_id": id}), one(""), 200),
            get("bus_approval_status", json!({"approval_id": id, "wait": 1}), one("?wait=1"), 200),
            get("bus_approval_status", json!({"approval_id": "x"}), "/v1/approvals/x".to_owned(), 404),
        ]
    }
}

fn case(tool: &'static str, arguments: Value, method: &'static str, path: String, body: Value, status: u16) -> Case {
    Case { tool, arguments, method, path, body, status, besides: &[] }
}

fn get(tool: &'static str, arguments: Value, path: String, status: u16) -> Case {
    case(tool, arguments, "GET", path, Value::Null, status)
}

/// What tools do that are more than one route, each in a test of its own below.
pub const BY_THEMSELVES: [&str; 2] = ["bus_attachment", "bus_verify_sender"];

#[test]
fn every_tool_is_its_route() {
    let scene = Scene::of(&Workspace::open(shared()));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let listed = speak(&scene.ann.client, "/mcp/", &[], list).expect(200)["result"]["tools"].clone();
    let mut names: BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    for case in scene.cases() {
        let result = call(&scene.ann.client, case.tool, &case.arguments);
        case.agrees(&result, &case.answer(&scene.ann.client));
        names.remove(case.tool);
    }
    for name in BY_THEMSELVES {
        names.remove(name);
    }
    assert!(names.is_empty(), "tools without a case: {names:?}");
}

#[test]
fn an_attachment_is_told_as_its_route_sends_it() {
    let Scene { ann, delivery, message, .. } = Scene::of(&Workspace::open(shared()));
    for id in [&delivery, &message] {
        let told = answered(&ann.client, "bus_attachment", &json!({"delivery_id": id, "index": 0}));
        let answer = ann.client.get(&format!("/v1/deliveries/{id}/attachments/0"));
        assert_eq!(
            (&told["text"], &told["content_type"]),
            (&json!(answer.text), &json!(answer.header("content-type")))
        );
        let expected = json!({
            "delivery_id": delivery, "message_id": message, "index": 0, "filename": "notes.txt",
            "content_type": "text/plain", "size": 5, "content_base64": "bm90ZXM=", "text": "notes",
        });
        assert_eq!(told, expected);
    }
    assert_eq!(answered(&ann.client, "bus_attachment", &json!({"delivery_id": delivery}))["index"], 0);
    assert_eq!(ann.inbox(0)[0]["read_at"], Value::Null, "none of that marks it read");
    for (arguments, status, code) in [
        (json!({"delivery_id": delivery, "index": 1}), 404, "not_found"),
        (json!({"delivery_id": "x"}), 404, "not_found"),
        (json!({}), 422, "validation_error"),
        (json!({"delivery_id": delivery, "index": -1}), 422, "validation_error"),
        (json!({"delivery_id": delivery, "index": 0, "as": "text"}), 422, "validation_error"),
    ] {
        super::refused(&ann.client, "bus_attachment", &arguments, status, code);
    }
}

#[test]
fn what_is_too_large_for_a_tool_goes_by_its_route() {
    let Scene { ann, ben, .. } = Scene::of(&Workspace::open(shared()));
    let files = json!([{"filename": "a.bin", "content_base64": "AAAA".repeat((2 << 20) / 3 + 1)}]);
    ben.send_with(&["ann"], "large", json!({"attachments": files})).expect(202);
    let delivery = ann.inbox(1)[0]["delivery_id"].clone();
    let asked = json!({"delivery_id": delivery});
    super::refused(&ann.client, "bus_attachment", &asked, 413, "payload_too_large");
    let forward = json!({"delivery_id": delivery, "to": "ann"});
    super::refused(&ann.client, "bus_forward", &forward, 413, "payload_too_large");
    let files = json!([{"filename": "b.bin", "content_base64": "AAAA".repeat((1 << 20) / 3)}]);
    ben.send_with(&["ann"], "not so large", json!({"attachments": files})).expect(202);
    let delivery = ann.inbox(2)[0]["delivery_id"].clone();
    let told = answered(&ann.client, "bus_attachment", &json!({"delivery_id": delivery}));
    assert_eq!((&told["content_base64"], &told["text"]), (&files[0]["content_base64"], &Value::Null));
}

#[test]
fn a_forwarded_message_has_the_words_and_the_attachments() {
    let Scene { ann, ben, delivery, .. } = Scene::of(&Workspace::open(shared()));
    let asked = json!({"delivery_id": delivery, "to": "ben", "cc": ["ann"], "text": "FYI", "priority": "urgent"});
    let sent = answered(&ann.client, "bus_forward", &asked);
    assert_eq!((&sent["delivery_count"], &sent["cc"]), (&json!(2), &json!(["ann"])));
    let row = ben.inbox(0).into_iter().find(|row| row["message_id"] == sent["id"]).unwrap();
    assert_eq!((&row["subject"], &row["priority"]), (&json!("Fwd: Ready"), &json!("urgent")));
    let whole = ben.client.get(&format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap())).expect(200);
    let text = whole["text_body"].as_str().unwrap();
    assert!(text.starts_with("FYI\n\nForwarded from ben <agentbus+"), "{text}");
    assert!(text.ends_with("Subject: Ready\n\n> Have a look?\n>\n> At src.\n"), "{text}");
    assert_eq!(whole["attachments"], json!([{"filename": "notes.txt", "content_type": "text/plain", "size": 5}]));
    let path = format!("/v1/deliveries/{}/attachments/0", row["delivery_id"].as_str().unwrap());
    assert_eq!(ben.client.get(&path).text, "notes");
}

#[test]
fn a_sender_is_told_by_the_server() {
    let Scene { ann, delivery, message, .. } = Scene::of(&Workspace::open(shared()));
    let told = answered(&ann.client, "bus_verify_sender", &json!({"delivery_id": delivery}));
    assert_eq!(ann.inbox(0)[0]["read_at"], Value::Null, "who asks whom it is from has not read it");
    let whole = ann.client.get(&format!("/v1/deliveries/{delivery}")).expect(200);
    for member in ["delivery_id", "message_id", "sender_agent_name", "sender_address", "body_sha256", "provenance"] {
        assert_eq!(told[member], whole[member], "{member}");
    }
    assert_eq!(
        (&told["verdict_by"], &told["verified"], &told["signature_state"]),
        (&json!("server"), &json!(false), &json!("unsigned"))
    );
    assert!(told["note"].as_str().unwrap().contains("server's own verdict"), "{told}");
    assert_eq!(told["provenance"]["level"], "platform_attested");
    answered(&ann.client, "bus_verify_sender", &json!({"delivery_id": message}));
    super::refused(&ann.client, "bus_verify_sender", &json!({"delivery_id": "x"}), 404, "not_found");
}

#[test]
fn a_list_is_acknowledged_one_by_one() {
    let Scene { ann, ben, delivery, .. } = Scene::of(&Workspace::open(shared()));
    ben.send(&["ann"], "second");
    let second = ann.inbox(1)[0]["delivery_id"].clone();
    let told = answered(&ann.client, "bus_ack", &json!({"delivery_id": [delivery, second]}));
    assert_eq!((&told["count"], &told["failed"]), (&json!(2), &json!(0)));
    let states: Vec<&Value> = told["items"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["acked", "acked"]);
    let result = call(&ann.client, "bus_ack", &json!({"delivery_id": [delivery, "x", 7]}));
    let told = &result["structuredContent"];
    assert_eq!((&result["isError"], &told["count"], &told["failed"]), (&json!(true), &json!(3), &json!(2)));
    assert_eq!((&told["items"][1]["delivery_id"], &told["items"][1]["code"]), (&json!("x"), &json!("not_found")));
    assert_eq!((&told["items"][2]["delivery_id"], &told["items"][2]["status"]), (&json!(7), &json!(422)));
    for list in [json!([]), json!(vec!["x"; 101])] {
        super::refused(&ann.client, "bus_ack", &json!({"delivery_id": list}), 422, "validation_error");
    }
}

#[test]
fn whoever_waits_is_told_when_mail_comes() {
    let workspace = Workspace::open(shared());
    let Scene { ann, ben, delivery, .. } = Scene::of(&workspace);
    let wait = |cursor: u64| json!({"seconds": 50, "cursor": cursor});
    let told = answered(&ann.client, "bus_wait", &wait(0));
    assert_eq!((&told["count"], &told["waited_out"]), (&json!(1), &json!(false)), "what is unread comes at once");
    answered(&ann.client, "bus_read", &json!({"delivery_id": delivery}));
    let told = answered(&ann.client, "bus_wait", &json!({"seconds": 1}));
    assert_eq!((&told["messages"], &told["waited_out"]), (&json!([]), &json!(true)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| answered(&ann.client, "bus_wait", &wait(1)));
        ben.send(&["ann"], "second");
        let told = waiting.join().unwrap();
        assert_eq!((&told["count"], &told["waited_out"]), (&json!(1), &json!(false)), "{told}");
    });
    // However long it waited and whatever it called, nothing would start a turn of it.
    let health = answered(&ann.client, "bus_health", &json!({}));
    assert_eq!(
        (&health["wake_channel_state"], &health["subscriber_count"], &health["watcher_alive"]),
        (&json!("none"), &json!(0), &json!(false))
    );
    for seconds in [json!(0), json!(51), json!("x"), json!([1]), json!(1.5)] {
        super::refused(&ann.client, "bus_wait", &json!({"seconds": seconds}), 422, "validation_error");
    }
}

#[test]
fn a_rooms_schema_is_set_where_one_is_given_and_read_where_none_is() {
    let Scene { ann, .. } = Scene::of(&Workspace::open(shared()));
    let schema = |given: Value| answered(&ann.client, "bus_room_schema", &given);
    let wants = json!({"type": "object"});
    let set = schema(json!({"room": "builds", "schema": wants}));
    assert_eq!((&set["schema"], &set["version"]), (&wants, &json!(1)));
    // Clients that name every argument say null for those that they do not mean.
    for given in [json!({"room": "builds"}), json!({"room": "builds", "schema": null})] {
        assert_eq!(schema(given)["version"], 1);
    }
    assert_eq!(schema(json!({"room": "builds", "schema": {}}))["version"], 2);
    assert_eq!(ann.client.get("/v1/rooms/builds/schema").expect(200)["schema"], json!({}));
}

#[test]
fn a_repeat_under_its_key_is_answered_as_the_first() {
    let Scene { ann, ben, .. } = Scene::of(&Workspace::open(shared()));
    let before = ben.inbox(0).len();
    let message = json!({"to": "ben", "text": "once", "idempotency_key": "k1"});
    let first = answered(&ann.client, "bus_send", &message);
    assert_eq!(settled(&answered(&ann.client, "bus_send", &message)), settled(&first));
    // The route's own key is the same one.
    let answer = ann.client.post_under("k1", "/v1/messages", &json!({"to": ["ben"], "text": "once"}));
    assert_eq!((answer.status, &answer.json()["id"]), (202, &first["id"]));
    assert_eq!(ben.inbox(0).len(), before + 1);
    let other = json!({"to": "ben", "text": "other", "idempotency_key": "k1"});
    super::refused(&ann.client, "bus_send", &other, 422, "idempotency_mismatch");
    for key in [json!(""), json!("a\nb"), json!(7), json!("k".repeat(256))] {
        let message = json!({"to": "ben", "text": "t", "idempotency_key": key});
        super::refused(&ann.client, "bus_send", &message, 422, "validation_error");
    }
}

/// A tool asks, and a person decides: no tool does.
#[test]
fn an_approval_is_asked_for_and_decided_by_a_person() {
    let Scene { ann, .. } = Scene::of(&Workspace::open(shared()));
    let asked = json!({"title": "Deploy", "proposed_action": {"tag": "v42"}});
    let raised = answered(&ann.client, "bus_request_approval", &asked);
    let id = raised["id"].as_str().unwrap();
    let status = |wait: u64| answered(&ann.client, "bus_approval_status", &json!({"approval_id": id, "wait": wait}));
    assert_eq!((&status(1)["status"], &status(0)["outcome"]), (&json!("pending"), &Value::Null));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| status(55));
        let decide = ["messaging", "approval", "decide", id, "--verdict", "approved", "--by", "Ada"];
        shared().cli_json(&decide);
        assert_eq!(waiting.join().unwrap()["status"], "approved");
    });
    assert!(!call(&ann.client, "bus_approval_status", &json!({"approval_id": id})).to_string().contains("/approve/"));
}
