//! Approvers are written to by mail, each with a link of his own, and webhooks are told of the verdict.

use serde_json::json;

use super::{DOMAIN, Server, until, with_relay};
use crate::support::messaging::Workspace;
use crate::support::receiver::Receiver;

#[test]
fn an_approver_decides_by_the_link_in_his_mail() {
    let (relay, receiver) = (Server::start("relay.py", &["fine"]), Receiver::start());
    let appliance = with_relay(&relay).env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let rules = appliance.data().parent().unwrap().join("rules.json");
    std::fs::write(&rules, r#"[{"tool": "Deploy", "action": "approval", "kind": "deploy"}]"#).unwrap();
    let kind = ["messaging", "approval", "kind", "set", "deploy", "--workspace", &workspace.slug];
    let approvers = ["--approver", "ada@example.com", "--approver", "ben@example.com"];
    assert!(appliance.cli(&[&kind[..], &approvers[..]].concat()).status.success());
    let set = appliance.cli(&["messaging", "guard", "set", rules.to_str().unwrap(), "--workspace", &workspace.slug]);
    assert!(set.status.success());
    let hook = json!({"url": receiver.url(204, "ann"), "agent": "ann", "events": ["approval.decided"]});
    ann.client.post("/v1/webhooks", &hook).expect(201);
    let raised = ann.client.post("/v1/approvals", &json!({"title": "Deploy v43", "kind": "deploy"})).expect(201);
    until("both are written to", || relay.mails().len() == 2);
    let mails = relay.mails();
    let mut to: Vec<&str> = mails.iter().map(|mail| mail["to"][0].as_str().unwrap()).collect();
    to.sort_unstable();
    assert_eq!(to, ["ada@example.com", "ben@example.com"]);
    let mine = mails.iter().find(|mail| mail["to"] == json!(["ada@example.com"])).unwrap();
    assert_eq!(mine["subject"], "Approval wanted: Deploy v43");
    assert!(mine["raw"].as_str().unwrap().contains(DOMAIN), "{mine}");
    let own = format!("http://{}", appliance.address("messaging"));
    let text = mine["text"].as_str().unwrap();
    let url = text.split_whitespace().find(|word| word.contains("/approve/")).unwrap();
    let path = url.strip_prefix(&own).unwrap_or_else(|| panic!("{url} is not at {own}"));
    let stranger = appliance.stranger("messaging");
    assert!(stranger.get(path).text.contains("Deploy v43"));
    let fields = [("content-type", "application/x-www-form-urlencoded"), ("origin", own.as_str())];
    assert_eq!(stranger.send("POST", path, &fields, b"verdict=approved").status, 200);
    let id = raised["id"].as_str().unwrap();
    let shown = appliance.cli_json(&["messaging", "approval", "show", id]);
    assert_eq!((&shown["status"], &shown["decided_by"]), (&json!("approved"), &json!("ada@example.com")));
    let told = receiver.wait("ann", 1)[0].body();
    assert_eq!((&told["type"], &told["agent"]), (&json!("approval.decided"), &json!("ann")));
    let thread = &ann.inbox(0)[0]["thread_id"];
    let data = json!({"approval_id": id, "kind": "deploy", "status": "approved", "thread_id": thread});
    assert_eq!(told["data"], data);
    // So is whoever approves the use of a tool.
    let asked = ann.client.post("/v1/guard/check", &json!({"tool_name": "Deploy", "tool_input": {}})).expect(200);
    assert_eq!(asked["decision"], "deny");
    until("both are written to again", || relay.mails().len() == 4);
    let token = path.strip_prefix("/approve/").unwrap();
    let kept = std::process::Command::new("grep").args(["-rlF", token]).arg(appliance.data()).output().unwrap();
    assert!(kept.stdout.is_empty() && !appliance.log().contains(token), "a link is on disk");
}
