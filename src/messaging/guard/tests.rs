//! Rules as they are written and as they fit, and checks that go the whole way.

use quintet_platform::json::{Json, Limits, parse};
use serde_json::{Value, json};

use super::model::{Fit, Use, first};
use super::{file, rows};
use crate::approvals::decide::decide;
use crate::approvals::model::{Act, Choice, How};
use crate::identity::Scope;
use crate::model::ApprovalId;
use crate::testing::{Bench, assert_refused};

fn set(bench: &Bench, rules: Value) {
    let (rules, workspace) = (file::read(&rules.to_string()).unwrap(), bench.workspace.no);
    bench.run(move |tx, now| Ok(rows::set_rules(tx, now, workspace, rules)?)).unwrap();
}

async fn check(bench: &Bench, agent: &str, tool: &str, input: Value) -> Value {
    let body = json!({"tool_name": tool, "tool_input": input});
    let (status, told) = bench.call_as(agent, "POST", "/v1/guard/check", body).await;
    assert_eq!(status, 200, "{told}");
    told
}

/// Decides the approval that an answer names.
fn say(bench: &Bench, answer: &Value, choice: Choice) {
    let id = quintet_platform::ids::parse_ulid(answer["approval_id"].as_str().unwrap()).unwrap();
    let key = (bench.workspace.no, ApprovalId(id));
    let act = Act { by: "ann".to_owned(), how: How::Cli, source: String::new(), reason: "because".to_owned() };
    bench.run(move |tx, now| decide(tx, now, key, choice, act).map(drop)).unwrap();
}

#[test]
fn rules_are_read_as_they_are_written() {
    let text = r#"[{"tool":"Bash","field":"command","contains":"rm ","agents":["ci-*"],"action":"deny","reason":"no"},
        {"tool":"mcp__*","action":"approval","kind":"deploy"},{"tool":"*","action":"allow"}]"#;
    let rules = file::read(text).unwrap();
    let written = quintet_platform::json::to_compact(&file::write(&rules));
    assert_eq!(file::read(&written).unwrap(), rules);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(file::read("[]").unwrap(), []);
}

#[test]
fn a_rule_that_is_none_is_refused_with_its_place() {
    for (text, words) in [
        ("", "no JSON"),
        ("{}", "array"),
        ("[1]", "rule 1"),
        (r#"[{"tool":"a","action":"allow"},{"action":"allow"}]"#, "rule 2.tool"),
        (r#"[{"tool":"a"}]"#, "rule 1.action"),
        (r#"[{"tool":"a","action":"ask"}]"#, "rule 1.action"),
        (r#"[{"tool":"a?","action":"deny"}]"#, "rule 1.tool"),
        (r#"[{"tool":"a","agents":["[x]"],"action":"deny"}]"#, "rule 1.agents"),
        (r#"[{"tool":"a","agents":"x","action":"deny"}]"#, "rule 1.agents"),
        (r#"[{"tool":"a","contains":"","action":"deny"}]"#, "rule 1.contains"),
        (r#"[{"tool":"a","kind":"x","action":"deny"}]"#, "rule 1.kind"),
        (r#"[{"tool":"a","kind":"X","action":"approval"}]"#, "rule 1.kind"),
        (r#"[{"tool":"a","action":"deny","Reason":"x"}]"#, "rule 1.Reason"),
        (r#"[{"tool":"a","tool":"b","action":"deny"}]"#, "twice"),
    ] {
        let refusal = format!("{:?}", file::read(text).unwrap_err());
        assert!(refusal.contains(words), "{text}: {refusal}");
    }
    let many = |count: usize| format!("[{}]", vec![r#"{"tool":"a","action":"deny"}"#; count].join(","));
    assert!(file::read(&many(100)).is_ok());
    assert!(file::read(&many(101)).is_err());
    assert!(file::read(&" ".repeat(file::FILE_BYTES_MAX + 1)).is_err());
}

#[test]
fn the_first_rule_that_fits_counts() {
    let rules = file::read(
        r#"[{"tool":"Bash","field":"command","contains":"rm -rf","action":"deny"},
            {"tool":"Bash","agents":["trusted-*"],"action":"allow"},
            {"tool":"Write","field":"file_path","action":"approval"},
            {"tool":"*","contains":"secret","action":"deny"},
            {"tool":"Bash","action":"approval"}]"#,
    )
    .unwrap();
    let place = |agent: &str, tool: &str, input: &str, is_truncated| {
        let tool_input: Json = parse(input.as_bytes(), Limits::default()).unwrap();
        let wanted = Use { tool_name: tool.to_owned(), tool_input, is_truncated };
        first(&rules, agent, &wanted).map(|(place, _, fit)| (place, fit == Fit::Yes))
    };
    let cut = "x".repeat(4_020);
    let cut = |name: &str| format!("{{\"{name}\":\"{cut}\"}}");
    for (agent, tool, input, expected) in [
        ("a", "Bash", r#"{"command":"rm -rf /"}"#, Some((1, true))),
        ("trusted-1", "Bash", r#"{"command":"rm -rf /"}"#, Some((1, true))),
        ("trusted-1", "Bash", r#"{"command":"ls"}"#, Some((2, true))),
        ("a", "Bash", r#"{"command":"ls"}"#, Some((5, true))),
        ("a", "Bash", r#"{"command":["rm -rf"]}"#, Some((1, true))),
        ("a", "Bash", r#"{"other":"rm -rf"}"#, Some((5, true))),
        ("a", "Write", r#"{"file_path":"x"}"#, Some((3, true))),
        ("a", "Write", r#"{"path":"x"}"#, None),
        ("a", "Read", r#"{"a":{"b":["the secret"]}}"#, Some((4, true))),
        ("a", "Read", r#"{"secret":1}"#, None),
        ("a", "Read", "{}", None),
    ] {
        assert_eq!(place(agent, tool, input, false), expected, "{agent} {tool} {input}");
        assert_eq!(place(agent, tool, input, true), expected, "whatever is short was not cut");
    }
    assert_eq!(place("a", "Bash", &cut("command"), false), Some((5, true)));
    assert_eq!(place("a", "Bash", &cut("command"), true), Some((1, false)), "what was cut may have it");
    assert_eq!(place("a", "Read", &cut("text"), true), Some((4, false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rules_all_is_allowed_and_with_them_what_they_say() {
    let bench = Bench::new();
    bench.agent("builder");
    assert_eq!(check(&bench, "builder", "Bash", json!({"command": "ls"})).await["decision"], "allow");
    for wrong in [json!({}), json!({"tool_name": ""}), json!({"tool_name": "x", "tool_input": 1})] {
        let refused = bench.call_as("builder", "POST", "/v1/guard/check", wrong).await;
        assert_refused(&refused, (422, "validation_error"), "tool_");
    }
    set(&bench, json!([{"tool": "Bash", "action": "deny", "reason": "not here"}, {"tool": "Read", "action": "allow"}]));
    let denied = check(&bench, "builder", "Bash", json!({})).await;
    assert_eq!(
        (&denied["decision"], &denied["reason"], &denied["rule"]),
        (&json!("deny"), &json!("not here"), &json!(1))
    );
    assert_eq!(check(&bench, "builder", "Read", json!({})).await["rule"], 2);
    assert_eq!(check(&bench, "builder", "Write", json!({})).await["decision"], "allow");
    // Whoever asks goes on without an answer: what cannot be read is a no.
    for wrong in [json!({}), json!([]), json!({"tool_name": "x", "tool_input": 1}), json!("{")] {
        let (status, told) = bench.call_as("builder", "POST", "/v1/guard/check", wrong).await;
        assert_eq!((status, &told["decision"]), (200, &json!("deny")), "{told}");
    }
    let deep = json!({"tool_name": "Read", "tool_input": (0..40).fold(json!(1), |inner, _| json!({"a": inner}))});
    assert_eq!(bench.call_as("builder", "POST", "/v1/guard/check", deep).await.1["decision"], "deny");
    let refused = bench.call(&bench.admin, "POST", "/v1/guard/check", json!({"tool_name": "x"})).await;
    assert_refused(&refused, (403, "permission_denied"), "agent");
    let reader = bench.key(Scope::Read, &["builder"]);
    let (status, told) = bench.call(&reader, "POST", "/v1/guard/check", json!({"tool_name": "Read"})).await;
    assert_eq!((status, &told["decision"]), (200, &json!("allow")), "any scope");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_allows_one_use() {
    let bench = Bench::new();
    bench.agent("builder");
    bench.agent("other");
    set(&bench, json!([{"tool": "Bash", "action": "approval", "reason": "production"}]));
    let input = json!({"command": "deploy", "n": 1.0});
    let first = check(&bench, "builder", "Bash", input.clone()).await;
    let id = first["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(first["decision"], "deny");
    assert!(first["reason"].as_str().unwrap().contains(&format!("agentbus approval {id} --wait 300")), "{first}");
    let again = check(&bench, "builder", "Bash", json!({"n": 1, "command": "deploy"})).await;
    assert_eq!(again["approval_id"], json!(id), "the same use, however it is written");
    let (_, record) = bench.call_as("builder", "GET", &format!("/v1/approvals/{id}"), Value::Null).await;
    assert_eq!(
        (&record["title"], &record["summary"], &record["proposed_action"]),
        (
            &json!("builder: Bash deploy"),
            &json!("production"),
            &json!({"tool_input": {"command": "deploy", "n": 1}, "tool_name": "Bash"})
        )
    );
    let others = check(&bench, "other", "Bash", input.clone()).await;
    assert_ne!(others["approval_id"], json!(id), "another agent's use is another one");
    say(&bench, &first, Choice::Approve);
    assert_eq!(check(&bench, "other", "Bash", input.clone()).await["approval_id"], others["approval_id"]);
    let allowed = check(&bench, "builder", "Bash", input.clone()).await;
    assert_eq!((&allowed["decision"], &allowed["approval_id"]), (&json!("allow"), &json!(id)));
    let denied = check(&bench, "builder", "Bash", input.clone()).await;
    assert_eq!(denied["decision"], "deny");
    assert_ne!(denied["approval_id"], json!(id), "it is used up");
    say(&bench, &denied, Choice::Reject);
    let raised = check(&bench, "builder", "Bash", input.clone()).await;
    assert_ne!(raised["approval_id"], denied["approval_id"]);
    say(&bench, &raised, Choice::Approve);
    bench.advance(3_600).await;
    let late = check(&bench, "builder", "Bash", input.clone()).await;
    assert_eq!(late["decision"], "deny", "it is good for an hour");
    say(&bench, &late, Choice::Approve);
    bench.advance(3_599).await;
    assert_eq!(check(&bench, "builder", "Bash", input).await["decision"], "allow");
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_put_before_a_person_is_denied() {
    let mut bench = Bench::new();
    bench.agent("builder");
    set(
        &bench,
        json!([{"tool": "Bash", "action": "approval"}, {"tool": "Deploy", "action": "approval", "kind": "gone"}]),
    );
    let body = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "truncated": true});
    let (_, cut) = bench.call_as("builder", "POST", "/v1/guard/check", body).await;
    let large = check(&bench, "builder", "Bash", json!({"command": "x".repeat(70_000)})).await;
    let unset = check(&bench, "builder", "Deploy", json!({})).await;
    for (told, words) in [(&cut, "cut"), (&large, "65536 bytes"), (&unset, "nobody approves kind gone")] {
        assert_eq!((&told["decision"], &told["approval_id"]), (&json!("deny"), &Value::Null), "{told}");
        assert!(told["reason"].as_str().unwrap().contains(words), "{told}");
    }
    bench.set(|workspace| workspace.limits = vec![(crate::limits::APPROVALS_PER_DAY.code, Some(0))]);
    let over = check(&bench, "builder", "Bash", json!({})).await;
    assert!(over["decision"] == "deny" && over["reason"].as_str().unwrap().contains("approvals_per_day"), "{over}");
    bench.context.store.shutdown();
    let stopped = check(&bench, "builder", "Bash", json!({})).await;
    assert!(
        stopped["decision"] == "deny" && stopped["reason"].as_str().unwrap().contains("writing_stopped"),
        "{stopped}"
    );
}

/// Whoever the rule asks now must have said yes: an approval of another kind is none.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_another_kind_is_none() {
    let bench = Bench::new();
    bench.agent("builder");
    let asked = async || check(&bench, "builder", "Bash", json!({"command": "ls"})).await;
    set(&bench, json!([{"tool": "Bash", "action": "approval"}]));
    say(&bench, &asked().await, Choice::Approve);
    set(&bench, json!([{"tool": "Bash", "action": "approval", "kind": "gone"}]));
    assert_eq!(asked().await["decision"], "deny");
    set(&bench, json!([{"tool": "Bash", "action": "approval"}]));
    assert_eq!(asked().await["decision"], "allow");
}
