//! Approvals from outside: who decides and who does not, the page of a link in a real browser and without one, waits that
//! end with the verdict, and kills between a verdict and the message that tells of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::contract::described;
use crate::support::appliance::{
    Answer, Appliance, Client, Setup, in_browser, run, shared, shared_rehearsal, stderr, stdout,
};
use crate::support::messaging::{Agent, Workspace, refused};

/// The id of an approval that an agent raises.
fn raise(agent: &Agent, body: Value) -> String {
    agent.client.post("/v1/approvals", &body).expect(201)["id"].as_str().unwrap().to_owned()
}

fn status(agent: &Agent, id: &str) -> Value {
    agent.client.get(&format!("/v1/approvals/{id}")).expect(200)["status"].clone()
}

/// The path of a link that the command line makes.
fn link(appliance: &Appliance, id: &str, further: &[&str]) -> String {
    let output = appliance.cli(&[&["messaging", "approval", "link", id], further].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let url = stdout(&output).trim().to_owned();
    let base = format!("http://{}", appliance.address("messaging"));
    url.strip_prefix(&base).unwrap_or_else(|| panic!("{url} is not at {base}")).to_owned()
}

/// A form from a page of this origin.
fn form(client: &Client, path: &str, origin: &str, body: &str) -> Answer {
    let fields = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin)];
    client.send("POST", path, &fields, body.as_bytes())
}

fn decide(appliance: &Appliance, id: &str, further: &[&str]) -> std::process::Output {
    appliance.cli(&[&["messaging", "approval", "decide", id], further].concat())
}

#[test]
fn a_person_decides_at_the_command_line_and_no_key_does() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let id = raise(&ann, json!({"title": "Deploy v42", "proposed_action": {"version": 42}}));
    for client in [&ann.client, &workspace.admin, &workspace.client("full", &[])] {
        let answer = client.post(&format!("/v1/approvals/{id}/decision"), &json!({"verdict": "approved"}));
        refused(&answer, 403, "permission_denied");
    }
    let listed = shared().cli_json(&["messaging", "approval", "list", "--workspace", &workspace.slug]);
    assert_eq!((&listed["items"][0]["id"], &listed["items"][0]["status"]), (&json!(id), &json!("pending")));
    let shown = shared().cli(&["messaging", "approval", "show", &id]);
    assert!(stdout(&shown).contains(r#"{"version":42}"#), "{}", stdout(&shown));
    for wrong in [&["--verdict", "rejected"][..], &["--verdict", "maybe"], &["--verdict", "approved", "--by", "a\nb"]] {
        assert!(!decide(shared(), &id, wrong).status.success(), "{wrong:?}");
        assert_eq!(status(&ann, &id), "pending");
    }
    let decided = decide(shared(), &id, &["--verdict", "rejected", "--reason", "not today", "--json"]);
    assert!(decided.status.success(), "{}", stderr(&decided));
    let decided: Value = serde_json::from_str(&stdout(&decided)).unwrap();
    let login = String::from_utf8(std::process::Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    assert_eq!((&decided["decided_by"], &decided["decided_how"]), (&json!(login.trim()), &json!("cli")));
    assert!(decided["decided_from"].as_str().unwrap().contains(login.trim()), "whoever --by names: {decided}");
    let told = ann.client.get(&format!("/v1/approvals/{id}")).expect(200);
    assert_eq!(told["outcome"]["feedback_for_agent"]["message"], "not today");
    let again = decide(shared(), &id, &["--verdict", "approved"]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    assert!(stderr(&again).contains("rejected already"), "{}", stderr(&again));
    assert_eq!(decide(shared(), "01KAJ5V0T1ZXCVBNM23456789A", &["--verdict", "approved"]).status.code(), Some(1));
    let answer = ann.client.post(&format!("/v1/approvals/{id}/cancel"), &json!({}));
    assert_eq!(refused(&answer, 409, "already_decided")["verdict"], "rejected");
    let inbox = ann.inbox(0);
    assert_eq!((inbox.len(), &inbox[0]["subject"]), (1, &json!("Approval rejected: Deploy v42")));
}

#[test]
fn kinds_are_the_operator_s() {
    let workspace = Workspace::open(shared());
    let (ann, slug) = (workspace.agent("ann"), workspace.slug.as_str());
    let kind = |arguments: &[&str]| {
        shared().cli(&[&["messaging", "approval", "kind"], arguments, &["--workspace", slug]].concat())
    };
    let body = json!({"title": "x", "kind": "deploy"});
    refused(&ann.client.post("/v1/approvals", &body), 409, "approvals_not_configured");
    let set =
        ["set", "deploy", "--approver", "ann@example.com", "--approver", "ben@example.com", "--expires-minutes", "30"];
    assert!(kind(&set).status.success());
    for wrong in [
        &["set", "Deploy"][..],
        &["set", "x", "--approver", "nobody"],
        &["set", "x", "--expires-minutes", "0"],
        &["remove", "x"],
    ] {
        assert!(!kind(wrong).status.success(), "{wrong:?}");
    }
    let listed = shared().cli_json(&["messaging", "approval", "kind", "list", "--workspace", slug]);
    let names: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|kind| &kind["kind"]).collect();
    assert_eq!(names, ["deploy", "generic"]);
    let id = raise(&ann, body.clone());
    let several = shared().cli(&["messaging", "approval", "link", &id]);
    assert!(!several.status.success() && stderr(&several).contains("--approver"), "{}", stderr(&several));
    let stranger = shared().cli(&["messaging", "approval", "link", &id, "--approver", "eve@example.com"]);
    assert!(!stranger.status.success(), "{}", stdout(&stranger));
    let path = link(shared(), &id, &["--approver", "ben@example.com"]);
    let page = shared().stranger("messaging").get(&path);
    assert!(page.status == 200 && page.text.contains("ben@example.com"), "{page:?}");
    assert!(kind(&["remove", "deploy"]).status.success());
    refused(&ann.client.post("/v1/approvals", &body), 409, "approvals_not_configured");
    assert_eq!(shared().stranger("messaging").get(&path).status, 410, "nobody approves it any more");
    let decided = decide(shared(), &id, &["--verdict", "approved"]);
    assert!(decided.status.success(), "{}", stderr(&decided));
}

#[test]
fn a_page_decides_once_and_from_itself_alone() {
    let appliance = Setup::new().env("RUST_LOG", "trace").start();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let id = raise(&ann, json!({"title": "Deploy <b>", "proposed_action": {"a": 1}}));
    let path = link(&appliance, &id, &[]);
    let (stranger, own) = (appliance.stranger("messaging"), format!("http://{}", appliance.address("messaging")));
    let port = appliance.address("ledger").to_owned();
    for method in ["GET", "HEAD"] {
        for _ in 0..3 {
            assert_eq!(stranger.send(method, &path, &[("user-agent", "MailScanner")], b"").status, 200);
        }
    }
    for origin in ["null", "http://evil.example", &format!("http://{port}"), "http://localhost"] {
        assert_eq!(form(&stranger, &path, origin, "verdict=approved").status, 403, "{origin}");
    }
    let none = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(stranger.send("POST", &path, &none, b"verdict=approved").status, 403);
    assert_eq!(form(&stranger, &format!("{path}A"), &own, "verdict=approved").status, 404);
    assert_eq!(form(&stranger, &path, &own, "verdict=rejected&reason=").status, 422);
    assert_eq!(status(&ann, &id), "pending");
    // Of two who press at once one is recorded.
    let other = link(&appliance, &id, &[]);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let pressing =
            [(&path, "verdict=approved"), (&other, "verdict=rejected&reason=no"), (&path, "verdict=approved")];
        let pressing =
            pressing.map(|(path, body)| scope.spawn(|| form(&appliance.stranger("messaging"), path, &own, body)));
        pressing.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410, 410]);
    for path in [&path, &other] {
        let over = stranger.get(path);
        assert!(over.status == 410 && !over.text.contains("<form"), "{over:?}");
    }
    assert_eq!(ann.inbox(0).len(), 1);
    let shown = appliance.cli_json(&["messaging", "approval", "show", &id]);
    assert_eq!((&shown["decided_how"], &shown["decided_from"]), (&json!("page"), &json!("127.0.0.1")));
    // What opens a page stands nowhere but where it was printed.
    let token = path.strip_prefix("/approve/").unwrap();
    assert!(!appliance.log().contains(token), "a link is in the log");
    let told = format!("{} {:?}", ann.client.get(&format!("/v1/approvals/{id}")).text, ann.inbox(0));
    assert!(!told.contains(token) && !shown.to_string().contains(token));
    let data = appliance.data().to_owned();
    let kept = std::process::Command::new("grep").args(["-rlF", token]).arg(&data).output().unwrap();
    assert_eq!(stdout(&kept), "", "a link is on disk");
}

#[test]
fn a_browser_decides_without_scripts() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("release-bot");
    let action = json!({
        "run": "deploy.sh --environment production --version 42.1.0", "services": ["api", "worker", "scheduler"],
        "notes": "Migrates 3 tables. \u{202e}Looks harmless. <script>alert(1)</script> שלום",
    });
    let summary =
        "Version 42.1.0 has passed all tests on staging.\nIt migrates three tables and takes some five minutes.";
    let raised = |title: &str| {
        let context = json!({"commit": "c320d86", "tests": {"passed": 1_204, "failed": 0}});
        let body = json!({"title": title, "summary": summary, "proposed_action": action, "context": context});
        raise(&ann, body)
    };
    let (rejected, approved, open) = (raised("Deploy v42.1.0 to production"), raised("Second"), raised("Third"));
    let url = |id: &str| format!("http://{}{}", shared().address("messaging"), link(shared(), id, &[]));
    let given = json!({"rejected": url(&rejected), "approved": url(&approved), "open": url(&open)});
    let Some(said) = in_browser("messaging/approve_page.mjs", &given) else { return };
    assert!(said.ends_with("all is well\n"), "{said}");
    let told = ann.client.get(&format!("/v1/approvals/{rejected}")).expect(200);
    assert_eq!(
        (&told["status"], &told["outcome"]["feedback_for_agent"]["message"]),
        (&json!("rejected"), &json!("Not on a Friday"))
    );
    assert_eq!(status(&ann, &approved), "approved");
    assert_eq!(status(&ann, &open), "pending");
}

#[test]
fn a_wait_is_answered_by_the_verdict() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let id = raise(&ann, json!({"title": "x"}));
    let told = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ann.client.get(&format!("/v1/approvals/{id}?wait=55")).expect(200));
        std::thread::sleep(Duration::from_millis(200));
        assert!(decide(shared(), &id, &["--verdict", "approved"]).status.success());
        waiting.join().unwrap()
    });
    assert_eq!((&told["status"], &told["waited_out"]), (&json!("approved"), &json!(false)));
}

#[test]
fn what_nobody_decides_in_time_is_not_approved() {
    let workspace = Workspace::open(shared_rehearsal());
    let ann = workspace.agent("ann");
    let id = raise(&ann, json!({"title": "x", "expires_in_minutes": 1}));
    let path = link(shared_rehearsal(), &id, &[]);
    shared_rehearsal().cli_json(&["clock", "advance", "60"]);
    let own = format!("http://{}", shared_rehearsal().address("messaging"));
    assert_eq!(form(&shared_rehearsal().stranger("messaging"), &path, &own, "verdict=approved").status, 410);
    let late = decide(shared_rehearsal(), &id, &["--verdict", "approved"]);
    assert!(late.status.code() == Some(1) && stderr(&late).contains("timed out already"), "{}", stderr(&late));
    assert_eq!(status(&ann, &id), "timed_out");
    assert_eq!(ann.inbox(0)[0]["subject"], "Approval timed out: x");
}

#[test]
fn the_guard_says_what_its_rules_say() {
    let workspace = Workspace::open(shared());
    let (ann, slug) = (workspace.agent("ann"), workspace.slug.as_str());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.json");
    let guard = |verb: &str| shared().cli(&["messaging", "guard", verb, "--workspace", slug]);
    let set = |rules: &str| {
        std::fs::write(&file, rules).unwrap();
        shared().cli(&["messaging", "guard", "set", file.to_str().unwrap(), "--workspace", slug])
    };
    let check = |tool: &str| {
        ann.client.post("/v1/guard/check", &json!({"tool_name": tool, "tool_input": {"n": 1}})).expect(200)
    };
    assert_eq!(check("Bash")["decision"], "allow");
    let wrong = set(r#"[{"tool": "Bash", "action": "denied"}]"#);
    assert!(!wrong.status.success() && stderr(&wrong).contains("rule 1.action"), "{}", stderr(&wrong));
    let unset = set(r#"[{"tool": "Bash", "action": "approval", "kind": "none"}]"#);
    assert!(!unset.status.success() && stderr(&unset).contains("kind set"), "{}", stderr(&unset));
    assert_eq!(check("Bash")["decision"], "allow", "what is refused changes nothing");
    assert!(set(r#"[{"tool": "Write", "action": "deny"}, {"tool": "Bash", "action": "approval"}]"#).status.success());
    assert_eq!(check("Write")["decision"], "deny");
    let asked = check("Bash");
    let id = asked["approval_id"].as_str().unwrap();
    assert!(decide(shared(), id, &["--verdict", "approved"]).status.success());
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| check("Bash"))).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let allowed = answers.iter().filter(|answer| answer["decision"] == "allow").count();
    assert_eq!(allowed, 1, "an approval allows one use: {answers:?}");
    assert!(stdout(&guard("show")).contains("approval"));
    assert!(guard("clear").status.success());
    assert_eq!(check("Bash")["decision"], "allow");
}

#[test]
fn a_guard_answers_whatever_is_used_up() {
    let appliance =
        Setup::new().env("QUINTET_MESSAGING__RATE_PER_SECOND", "1").env("QUINTET_MESSAGING__RATE_BURST", "1").start();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    for _ in 0..5 {
        let answer = ann.client.post("/v1/guard/check", &json!({"tool_name": "Bash"}));
        assert_eq!(answer.expect(200)["decision"], "allow");
    }
}

fn verify(data: &Path) {
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}

/// A kill about a verdict: it is there with its message, or neither is.
#[test]
fn a_verdict_and_its_message_are_there_together_whenever_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let (slug, key) = {
        let workspace = Workspace::open(&appliance);
        (workspace.slug.clone(), workspace.admin_key.clone())
    };
    appliance.client("messaging", &key).post("/v1/agents/register", &json!({"name": "ann"})).expect(201);
    let (mut messages, mut decided) = (0, 0);
    for micros in [0, 200, 500, 1_000, 2_000, 5_000, 200_000] {
        let client = appliance.client("messaging", &key).with("x-agentbus-agent", "ann");
        let raised = client.post("/v1/approvals", &json!({"title": micros.to_string()})).expect(201);
        let id = raised["id"].as_str().unwrap().to_owned();
        let path = link(&appliance, &id, &[]);
        let (stranger, own) = (appliance.stranger("messaging"), format!("http://{}", appliance.address("messaging")));
        let fields = [("content-type", "application/x-www-form-urlencoded"), ("origin", own.as_str())];
        let answer = std::thread::scope(|scope| {
            let answer = scope.spawn(|| stranger.try_send("POST", &path, &fields, b"verdict=approved").ok());
            std::thread::sleep(Duration::from_micros(micros));
            appliance.kill();
            answer.join().unwrap()
        });
        appliance = Setup::new().on(&data).start();
        let client = appliance.client("messaging", &key).with("x-agentbus-agent", "ann");
        let told = client.get(&format!("/v1/approvals/{id}")).expect(200);
        let is_approved = told["status"] == "approved";
        assert!(is_approved || told["status"] == "pending", "{micros} us: {told}");
        assert!(answer.is_none_or(|answer| answer.status != 200) || is_approved, "what was recorded is lost");
        let found = client.get("/v1/inbox?limit=200").expect(200)["messages"].as_array().unwrap().len();
        assert_eq!(found, messages + usize::from(is_approved), "{micros} us: a verdict and its message");
        messages = found;
        decided += usize::from(is_approved);
    }
    assert!(decided > 0, "the last one had time enough");
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
    println!("{decided} of 7 verdicts of {slug} were durable");
}

#[test]
fn answers_of_approvals_have_the_documented_shapes() {
    let document = shared().stranger("messaging").get("/openapi.json").expect(200);
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&ann.client, &document, (method, template), path, body)
    };
    let raised = ask("POST", "/v1/approvals", "/v1/approvals", r#"{"title": "x", "context": {"a": [1]}}"#);
    let path = format!("/v1/approvals/{}", raised["id"].as_str().unwrap());
    ask("POST", "/v1/approvals", "/v1/approvals", r#"{"title": "x", "kind": "none"}"#);
    ask("POST", "/v1/approvals", "/v1/approvals", "{}");
    ask("GET", "/v1/approvals", "/v1/approvals?status=pending&limit=1", "");
    ask("GET", "/v1/approvals/{approval_id}", &format!("{path}?wait=1"), "");
    ask("GET", "/v1/approvals/{approval_id}", "/v1/approvals/x", "");
    ask("POST", "/v1/approvals/{approval_id}/decision", &format!("{path}/decision"), "{}");
    ask("POST", "/v1/approvals/{approval_id}/cancel", &format!("{path}/cancel"), "");
    ask("POST", "/v1/approvals/{approval_id}/cancel", &format!("{path}/cancel"), "");
    ask("GET", "/v1/approvals/{approval_id}", &path, "");
    ask("POST", "/v1/guard/check", "/v1/guard/check", r#"{"tool_name": "Bash", "tool_input": {}}"#);
    ask("POST", "/v1/guard/check", "/v1/guard/check", r#"{"tool_name": 7}"#);
}
