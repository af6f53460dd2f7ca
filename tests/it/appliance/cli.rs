//! The command line: help, exit codes, tenants, keys, what is said without an appliance.

use crate::support::appliance::{quintet, run, shared, stderr, stdout, unique};

/// Every command there is. A command that is not here does not exist yet.
const COMMANDS: [&[&str]; 68] = [
    &["init"],
    &["serve"],
    &["demo"],
    &["status"],
    &["doctor"],
    &["backup"],
    &["backup", "create"],
    &["backup", "list"],
    &["restore"],
    &["verify"],
    &["tenant"],
    &["tenant", "create"],
    &["tenant", "list"],
    &["tenant", "show"],
    &["tenant", "suspend"],
    &["tenant", "activate"],
    &["key"],
    &["key", "issue"],
    &["key", "list"],
    &["key", "revoke"],
    &["member"],
    &["member", "create"],
    &["member", "list"],
    &["member", "permit"],
    &["member", "forbid"],
    &["member", "remove"],
    &["member", "link"],
    &["console"],
    &["core"],
    &["core", "show"],
    &["core", "fail"],
    &["core", "restore"],
    &["schedule"],
    &["schedule", "list"],
    &["workflow"],
    &["workflow", "list"],
    &["workflow", "show"],
    &["workflow", "cancel"],
    &["webhook"],
    &["webhook", "list"],
    &["webhook", "show"],
    &["webhook", "enable"],
    &["webhook", "test"],
    &["webhook", "deliveries"],
    &["webhook", "redeliver"],
    &["messaging"],
    &["messaging", "workspace"],
    &["messaging", "workspace", "create"],
    &["messaging", "workspace", "list"],
    &["messaging", "workspace", "show"],
    &["messaging", "workspace", "limits"],
    &["messaging", "workspace", "ingress"],
    &["messaging", "workspace", "suspend"],
    &["messaging", "workspace", "activate"],
    &["messaging", "workspace", "delete"],
    &["messaging", "key"],
    &["messaging", "key", "issue"],
    &["messaging", "key", "list"],
    &["messaging", "key", "revoke"],
    &["messaging", "agent", "list"],
    &["messaging", "agent", "retire"],
    &["messaging", "thread", "resume"],
    &["messaging", "undeliverable"],
    &["clock", "advance"],
    &["clock", "show"],
    &["config", "check"],
    &["config", "print"],
    &["render"],
];

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let output = run(&[command, &["--help"]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        let text = stdout(&output);
        assert!(text.contains(&format!("Usage: quintet {}", command.join(" "))), "{command:?}: {text}");
        assert_eq!(stderr(&output), "", "{command:?}");
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let cases: [&[&str]; 15] = [
        &["backup", "create"],
        &["restore", "x"],
        &["restore", "--data", "x"],
        &["tenant", "show", ""],
        &["tenant", "suspend", ""],
        &["key", "issue", "--tenant", ""],
        &["key", "revoke", ""],
        &["frobnicate"],
        &["serve", "--frobnicate"],
        &["tenant", "create"],
        &["key", "issue"],
        &["clock", "advance", "-5"],
        &["serve", "--log-level", "==="],
        &["render"],
        &["render", "-", "-o", "x.gif"],
    ];
    for arguments in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert_ne!(stderr(&output), "", "{arguments:?}");
    }
}

#[test]
fn the_version_is_told() {
    assert_eq!(stdout(&run(&["--version"])), format!("quintet {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_an_appliance_there_is_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let cases: [&[&str]; 7] = [
        &["status"],
        &["backup", "list"],
        &["backup", "create", "/nowhere/backup"],
        &["tenant", "list"],
        &["key", "issue", "--tenant", "x"],
        &["clock", "show"],
        &["clock", "advance", "5"],
    ];
    for arguments in cases {
        let output = run(&[arguments, &["--data", data]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(&format!("no appliance runs on {data}")), "{arguments:?}: {said}");
        assert!(said.contains(&format!("quintet serve --data {data}")), "{arguments:?}: {said}");
    }
}

#[test]
fn the_hint_on_a_rehearsal_directory_names_the_clock() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    assert!(run(&["init", "--data", data, "--rehearsal-clock"]).status.success());
    let output = run(&["status", "--data", data]);
    let expected = format!("quintet serve --data {data} --rehearsal-clock");
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_reached_is_told_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = run(&["status", "--data", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Not a directory"), "{}", stderr(&output));
}

#[test]
fn the_data_directory_is_found_by_flag_configuration_or_environment() {
    let data = shared().data().to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("q.toml");
    std::fs::write(&file, format!("data_dir = {data:?}\n")).unwrap();
    let ways: [(&[&str], Option<&str>); 3] =
        [(&["--data", data], None), (&["--config", file.to_str().unwrap()], None), (&[], Some(data))];
    for (arguments, variable) in ways {
        let mut command = quintet();
        command.args(["status", "--json"]).args(arguments);
        if let Some(value) = variable {
            command.env("QUINTET_DATA_DIR", value);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        let status: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(status["pid"], shared().pid());
    }
}

#[test]
fn tenants_are_created_listed_shown_suspended_and_activated() {
    let appliance = shared();
    let name = format!("acme-{}", unique());
    let created = appliance.cli_json(&["tenant", "create", &name]);
    let id = created["tenant_id"].as_str().unwrap();
    assert_eq!(created["name"], name.as_str());
    assert_eq!(created["status"], "active");
    assert_eq!(created["services"], serde_json::json!(["localization", "runs", "ledger", "messaging", "diagrams"]));
    assert!(created["created_at"].as_str().unwrap().ends_with('Z'));
    let members: Vec<_> = created.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 5, "{members:?}");

    let listed = appliance.cli_json(&["tenant", "list"]);
    assert!(listed["items"].as_array().unwrap().contains(&created));
    assert_eq!(appliance.cli_json(&["tenant", "show", id]), created);
    assert_eq!(appliance.cli_json(&["tenant", "show", &name]), created);
    assert_eq!(appliance.cli_json(&["tenant", "suspend", id])["status"], "suspended");
    assert_eq!(appliance.cli_json(&["tenant", "show", id])["status"], "suspended");
    assert_eq!(appliance.cli_json(&["tenant", "activate", id])["status"], "active");

    let table = stdout(&appliance.cli(&["tenant", "list"]));
    assert!(table.starts_with("TENANT"), "{table}");
    assert!(table.contains(&name), "{table}");
}

#[test]
fn a_tenant_may_be_given_its_id_and_services() {
    let appliance = shared();
    let id = "0190a5f0-0000-7000-8000-000000000001";
    let arguments = ["tenant", "create", "given", "--id", id, "--services", "ledger,diagrams"];
    let created = appliance.cli_json(&arguments);
    assert_eq!(created["tenant_id"], id);
    assert_eq!(created["services"], serde_json::json!(["ledger", "diagrams"]));
    let again = appliance.cli(&arguments);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("exists"), "{}", stderr(&again));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let appliance = shared();
    let tenant = appliance.tenant();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["tenant", "create", "x", "--id", "nonsense"], 2, "not a UUID"),
        (&["tenant", "create", "x", "--services", "leger"], 2, "did you mean ledger?"),
        (&["tenant", "create", ""], 2, "a name has 1 to 255 characters"),
        (&["tenant", "show", "nobody"], 1, "no tenant"),
        (&["key", "issue", "--tenant", "nobody"], 1, "no tenant"),
        (&["key", "issue", "--tenant", &tenant, "--permission", "ledger_poter"], 2, "did you mean ledger_poster?"),
        (&["key", "revoke", "nonsense"], 1, "no such key"),
        (&["clock", "advance", "5"], 1, "real time"),
    ];
    for (arguments, code, expected) in cases {
        let output = appliance.cli(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn keys_are_issued_listed_and_revoked() {
    let appliance = shared();
    let tenant = appliance.tenant();
    let arguments =
        ["key", "issue", "--tenant", &tenant, "--label", "till 4", "--permission", "ledger_reader", "--ttl-days", "30"];
    let issued = appliance.cli_json(&arguments);
    let members: Vec<&str> = issued.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec!["key_id", "api_key", "tenant_id", "label", "permissions", "expires_at"];
    expected.sort_unstable();
    assert_eq!(members.iter().copied().collect::<std::collections::BTreeSet<_>>(), expected.into_iter().collect());
    assert!(issued["api_key"].as_str().unwrap().starts_with("rak_"));
    assert_eq!(issued["tenant_id"], tenant.as_str());
    assert_eq!(issued["label"], "till 4");
    assert_eq!(issued["permissions"], serde_json::json!(["ledger_reader"]));
    assert!(issued["expires_at"].is_string());

    let listed = appliance.cli_json(&["key", "list", "--tenant", &tenant]);
    let keys = listed["items"].as_array().unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0]["key_id"], issued["key_id"]);
    assert!(!listed.to_string().contains(issued["api_key"].as_str().unwrap()));
    assert!(keys[0]["revoked_at"].is_null());

    let key_id = issued["key_id"].as_str().unwrap();
    let revoked = appliance.cli_json(&["key", "revoke", key_id]);
    assert_eq!(revoked, serde_json::json!({ "key_id": key_id, "revoked": true }));
    let listed = appliance.cli_json(&["key", "list", "--tenant", &tenant]);
    assert!(listed["items"][0]["revoked_at"].is_string());
}

#[test]
fn a_key_without_permissions_named_gets_the_ordinary_ones() {
    let appliance = shared();
    let issued = appliance.cli_json(&["key", "issue", "--tenant", &appliance.tenant()]);
    let mut expected: Vec<&str> = ["ledger_admin", "ledger_poster", "ledger_reader", "diagrams_render"].to_vec();
    expected.extend(quintet_localization::KEY_PERMISSIONS);
    expected.extend(quintet_runs::PERMISSIONS);
    expected.sort_unstable();
    assert_eq!(issued["permissions"], serde_json::json!(expected));
    assert!(issued["expires_at"].is_null());
    assert!(issued["label"].is_null());
}

#[test]
fn a_quiet_issue_prints_the_key_alone() {
    let appliance = shared();
    let output = appliance.cli(&["key", "issue", "--tenant", &appliance.tenant(), "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("rak_"), "{text}");
    assert_eq!(appliance.client("ledger", text.trim()).get("/v1/accounts").status, 200);
}

#[test]
fn a_revoked_key_is_refused_on_the_next_request() {
    let appliance = shared();
    let tenant = appliance.tenant();
    let (key_id, key) = appliance.key(&tenant, &[]);
    let client = appliance.client("ledger", &key);
    let listed = || stdout(&appliance.cli(&["key", "list", "--tenant", &tenant]));
    assert!(listed().contains("  never  "), "{}", listed());
    client.get("/v1/accounts").expect(200);
    assert!(listed().contains("LAST USED") && !listed().contains("never"), "{}", listed());
    appliance.cli_json(&["key", "revoke", &key_id]);
    client.get("/v1/accounts").expect(401);
}

#[test]
fn a_suspended_tenant_is_refused_until_it_is_activated() {
    let appliance = shared();
    let tenant = appliance.tenant();
    let client = appliance.persona("ledger", &tenant, &[]);
    client.get("/v1/accounts").expect(200);
    appliance.cli_json(&["tenant", "suspend", &tenant]);
    client.get("/v1/accounts").expect(403);
    appliance.cli_json(&["tenant", "activate", &tenant]);
    client.get("/v1/accounts").expect(200);
}

#[test]
fn names_cannot_drive_the_terminal() {
    let appliance = shared();
    let name = format!("evil-{}\u{1b}[2J", unique());
    let output = appliance.cli(&["tenant", "create", &name]);
    assert!(!stdout(&output).contains('\u{1b}'));
    assert!(!stderr(&output).contains('\u{1b}'));
}
