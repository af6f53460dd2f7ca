//! Workspaces and keys at the command line.

use serde_json::json;

use crate::support::appliance::{Setup, shared, stderr, stdout, unique};
use crate::support::messaging::Workspace;

#[test]
fn a_workspace_is_made_shown_and_listed() {
    let tenant = shared().tenant();
    let slug = format!("w{}", unique());
    let create = ["messaging", "workspace", "create", &slug, "--tenant", &tenant, "--encrypted", "--name", "Ann's"];
    let made = shared().cli_json(&create);
    let expected = (&json!(slug), &json!(tenant), &json!(true), &json!("Ann's"));
    assert_eq!((&made["slug"], &made["tenant_id"], &made["encrypted"], &made["name"]), expected);
    assert_eq!(made["workspace_id"].as_str().unwrap().len(), 26);
    assert_eq!((&made["status"], &made["ingress_policy"]), (&json!("active"), &json!("closed")));
    assert_eq!(shared().cli_json(&["messaging", "workspace", "show", &slug]), made);
    let listed = shared().cli_json(&["messaging", "workspace", "list", "--tenant", &tenant]);
    assert_eq!(listed, json!({"items": [made]}));
    let again = shared().cli(&create);
    assert_eq!((again.status.code(), stdout(&again)), (Some(1), String::new()));
    assert!(stderr(&again).contains("already"), "{}", stderr(&again));
    shared().cli_json(&["messaging", "workspace", "delete", &slug, "--yes"]);
    assert_eq!(shared().cli_json(&["messaging", "workspace", "list", "--tenant", &tenant]), json!({"items": []}));
    assert_eq!(shared().cli_json(&["messaging", "workspace", "show", &slug])["status"], "deleted");
    assert_eq!(shared().cli(&create).status.code(), Some(1), "its slug stays taken");
    assert_eq!(shared().cli(&["messaging", "workspace", "activate", &slug]).status.code(), Some(1));
}

#[test]
fn the_tenant_is_named_unless_there_is_one_alone() {
    let appliance = Setup::new().start();
    let create = |slug: &str| appliance.cli(&["messaging", "workspace", "create", slug]);
    assert!(stderr(&create("a")).contains("quintet tenant create"));
    let first = appliance.cli_json(&["tenant", "create", "first"]);
    appliance.cli_json(&["tenant", "create", "books", "--services", "ledger"]);
    let made = appliance.cli_json(&["messaging", "workspace", "create", "a"]);
    assert_eq!(made["tenant_id"], first["tenant_id"]);
    appliance.cli_json(&["tenant", "create", "second"]);
    assert!(stderr(&create("b")).contains("--tenant"));
    appliance.cli_json(&["messaging", "workspace", "create", "b", "--tenant", "second"]);
    let without = appliance.cli(&["messaging", "workspace", "create", "c", "--tenant", "books"]);
    assert!(stderr(&without).contains("not provisioned for messaging"), "{}", stderr(&without));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let workspace = Workspace::open(shared());
    let slug = workspace.slug.as_str();
    for (arguments, code, told) in [
        (vec!["workspace", "create", "A", "--tenant", &workspace.tenant_id], 2, "1 to 40 of a-z"),
        (vec!["workspace", "show", "nobody"], 1, "there is no workspace"),
        (vec!["workspace", "limits", slug, "colours=3"], 2, "there is no limit"),
        (vec!["workspace", "limits", slug, "webhooks"], 2, "NAME=VALUE"),
        (vec!["workspace", "limits", slug, "webhooks=many"], 2, "no whole number"),
        (vec!["workspace", "limits", slug, "webhooks=-1"], 2, "no whole number"),
        (vec!["workspace", "ingress", slug, "ajar"], 2, "open, closed"),
        (vec!["workspace", "delete", slug], 2, "--yes"),
        (vec!["key", "issue", "--workspace", slug], 2, "must name an agent"),
        (vec!["key", "issue", "--workspace", slug, "--scope", "owner"], 2, "read, send, full, admin"),
        (vec!["key", "issue", "--workspace", "nobody", "--scope", "read"], 1, "there is no workspace"),
        (vec!["key", "revoke", "abcdefghij"], 1, "there is no"),
        (vec!["agent", "retire", "nobody", "--workspace", slug], 1, "there is no agent"),
        (vec!["thread", "resume", "01890000000000000000000000"], 1, "there is no thread"),
        (vec!["undeliverable", "--workspace", "nobody"], 1, "there is no workspace"),
    ] {
        let arguments = [&["messaging"][..], &arguments].concat();
        let output = shared().cli(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn what_is_not_there_is_looked_up_with_commands_of_messaging() {
    let workspace = Workspace::open(shared());
    let slug = workspace.slug.as_str();
    for (arguments, hint) in [
        (vec!["workspace", "show", "nobody"], "quintet messaging workspace list"),
        (vec!["agent", "list", "--workspace", "nobody"], "quintet messaging workspace list"),
        (vec!["key", "revoke", "abcdefghij"], "quintet messaging key list"),
        (vec!["agent", "retire", "nobody", "--workspace", slug], "quintet messaging agent list"),
        (vec!["thread", "resume", "01890000000000000000000000"], "GET /v1/threads"),
        (vec!["workspace", "limits", slug, "colours=3"], "quintet messaging workspace limits"),
    ] {
        let output = shared().cli(&[&["messaging"][..], &arguments].concat());
        assert!(stderr(&output).contains(hint), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("quintet key list"), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn keys_are_issued_listed_and_told_to_people() {
    let workspace = Workspace::open(shared());
    let of = ["--workspace", workspace.slug.as_str()];
    let issue = ["messaging", "key", "issue", "--scope", "send", "--agent", "a", "--agent", "b", "--label", "two"];
    let issued = shared().cli_json(&[&issue[..], &of].concat());
    assert_eq!((&issued["scope"], &issued["agents"]), (&json!("send"), &json!(["a", "b"])));
    assert_eq!((&issued["workspace"], &issued["label"]), (&json!(workspace.slug), &json!("two")));
    let id = issued["key_id"].as_str().unwrap();
    assert!(issued["api_key"].as_str().unwrap().starts_with(&format!("ab_sk_{id}_")));
    let quiet = shared().cli(&[&issue[..], &of, &["--quiet"]].concat());
    assert_eq!(stdout(&quiet).trim().len(), "ab_sk_".len() + 10 + 1 + 40);
    let listed = shared().cli(&[&["messaging", "key", "list"][..], &of].concat());
    let listed = stdout(&listed);
    assert!(listed.lines().any(|line| line.starts_with(id) && line.contains("a, b")), "{listed}");
    assert!(!listed.contains(issued["api_key"].as_str().unwrap()));
    let undeliverable = shared().cli_json(&[&["messaging", "undeliverable"][..], &of].concat());
    assert_eq!(undeliverable, json!({"items": []}));
}

#[test]
fn limits_and_ingress_are_set() {
    let workspace = Workspace::open(shared());
    let limits = ["messaging", "workspace", "limits", &workspace.slug];
    let set = shared().cli_json(&[&limits[..], &["webhooks=3", "messages_per_day=unlimited"]].concat());
    assert_eq!(set, shared().cli_json(&limits));
    let of = |name: &str| set["items"].as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap().clone();
    assert_eq!(of("webhooks"), json!({"name": "webhooks", "limit": 3, "usual": 10}));
    assert_eq!(of("messages_per_day"), json!({"name": "messages_per_day", "limit": null, "usual": 1000, "used": 0}));
    assert_eq!(of("operator_keys")["used"], 1);
    let ingress =
        |slug: &str, policy: &str| shared().cli(&["messaging", "workspace", "ingress", slug, policy, "--json"]);
    let opened: serde_json::Value = serde_json::from_slice(&ingress(&workspace.slug, "open").stdout).unwrap();
    assert_eq!(opened["ingress_policy"], "open");
    let sealed = Workspace::encrypted(shared());
    let refused = ingress(&sealed.slug, "open");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("encrypted"), "{}", stderr(&refused));
}

#[test]
fn the_appliance_tells_how_messaging_stands() {
    let appliance = Setup::new().start();
    appliance.cli_json(&["tenant", "create", "t"]);
    appliance.cli_json(&["messaging", "workspace", "create", "a"]);
    appliance.cli_json(&["messaging", "workspace", "create", "b"]);
    let status = appliance.cli_json(&["status"]);
    let expected = json!({"workspaces": 2, "active_agents": 0, "open_streams": 0, "messages_today": 0,
        "pending_approvals": 0});
    assert_eq!(status["messaging"], expected);
    let metrics = appliance.stranger("operations").get("/metrics").text;
    for line in ["quintet_messaging_workspaces 2.0", "quintet_messaging_agents 0.0", "quintet_messaging_streams 0.0"] {
        assert!(metrics.lines().any(|told| told == line), "{line}");
    }
    assert!(appliance.services().contains(&"messaging"));
    for path in ["/healthz", "/readyz"] {
        let told = appliance.stranger("messaging").get(path).expect(200);
        assert_eq!(told, json!({"status": "ok"}));
    }
}
