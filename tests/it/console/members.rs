//! Members: from the command line, and at their door.

use serde_json::{Value, json};

use super::{Browser, MEMBER, appliance, invited, is_turned_away, member_link, operator};
use crate::support::appliance::{Setup, stderr};

fn refused(arguments: &[&str]) -> String {
    let output = appliance().cli(arguments);
    // What the command line itself knows to be wrong is 2.
    assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
    stderr(&output)
}

#[test]
fn members_are_invited_permitted_forbidden_and_removed() {
    let appliance = appliance();
    let tenant = appliance.tenant();
    let member = |arguments: &[&str]| appliance.cli_json(&[&["member"], arguments, &["--tenant", &tenant]].concat());
    let made = member(&[
        "create",
        "Zoe@example.org",
        "--template",
        "translator",
        "--scope",
        r#"{"locale": "de"}"#,
        "--template",
        "viewer",
        "--permission",
        "ledger_reader",
    ]);
    assert_eq!(made["email"], "Zoe@example.org");
    assert_eq!((&made["status"], &made["templates"]), (&json!("pending"), &json!(["translator de", "viewer"])));
    assert_eq!(made["permissions"], json!(["ledger_reader"]));
    let more =
        member(&["permit", "zoe@EXAMPLE.org", "--permission", "decision_decide", "--permission", "ledger_reader"]);
    assert_eq!(more["permissions"], json!(["decision_decide", "ledger_reader"]));
    let id = made["member_id"].as_str().unwrap();
    let less = member(&["forbid", id, "--permission", "ledger_reader"]);
    assert_eq!(less["permissions"], json!(["decision_decide"]));
    assert_eq!(member(&["list"])["items"].as_array().unwrap().len(), 1);
    let gone = member(&["remove", id]);
    assert_eq!((&gone["status"], &gone["permissions"]), (&json!("removed"), &json!([])));
    let again = refused(&["member", "link", id, "--tenant", &tenant]);
    assert!(again.contains("the member is removed"), "{again}");
    assert!(refused(&["member", "link", "zoe@example.org", "--tenant", &tenant]).contains("no member"));
}

#[test]
fn what_makes_no_sense_is_told() {
    let appliance = appliance();
    let tenant = invited(appliance, "max@example.org");
    let create = |more: &[&str]| refused(&[&["member", "create"], more, &["--tenant", &tenant]].concat());
    assert!(create(&["nobody"]).contains("a member needs an e-mail address"));
    assert!(create(&["MAX@example.org"]).contains("a member has this address"));
    assert!(create(&["a@b.example", "--permission", "ledger_read"]).contains("did you mean ledger_reader?"));
    assert!(create(&["a@b.example", "--permission", "org_audit-read"]).contains("unknown permission"));
    assert!(create(&["a@b.example", "--template", "viewers"]).contains("unknown template"));
    let listed = appliance.cli_json(&["member", "list", "--tenant", &tenant]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "nothing of these was made");
    assert!(refused(&["member", "list", "--tenant", "nobody"]).contains("no tenant"));
    let forbid = ["member", "forbid", "x@y.example", "--tenant", &tenant, "--permission", "ledger_reader"];
    assert!(refused(&forbid).contains("no member has the address"));
}

#[test]
fn a_member_comes_in_by_a_link_that_the_audit_chain_tells_of() {
    let appliance = appliance();
    let tenant = invited(appliance, "eve@example.org");
    appliance.cli_json(&["member", "permit", "eve@example.org", "--tenant", &tenant, "--permission", "svc_run_read"]);
    let link = member_link(appliance, &tenant, "eve@example.org");
    assert!(link.starts_with(&Browser::at(appliance, "console").origin), "{link}");
    let browser = Browser::at(appliance, "console").sign_in(&link);
    assert!(browser.cookie().starts_with(&format!("{MEMBER}=")), "{}", browser.cookie());
    let home = browser.get("/");
    assert_eq!(home.status, 200, "{home:?}");
    assert!(home.text.contains("eve@example.org") && home.text.contains("svc_run_read"), "{}", home.text);
    for operators in ["/tenants", "/doctor", "/metrics", "/manual"] {
        assert_eq!(browser.get(operators).status, 404, "{operators}");
    }
    let auditor = appliance.persona("localization", &tenant, &["org_audit-read"]);
    let events = auditor.with("l10n-tenant", &tenant).get("/v1/audit/events").expect(200);
    let linked = events["events"].as_array().unwrap().iter().find(|event| event["action"] == "member.link");
    let linked = linked.unwrap_or_else(|| panic!("{events:#}"));
    assert!(linked["payload"]["uid"].is_u64(), "{linked}");
    let told = operator(appliance).get("/sessions").text;
    assert!(told.contains("eve@example.org") && told.contains("a member signed in"), "{told}");
}

#[test]
fn members_end_their_own_sessions_and_nobody_elses() {
    let appliance = appliance();
    let tenant = invited(appliance, "one@example.org");
    appliance.cli_json(&["member", "create", "two@example.org", "--tenant", &tenant]);
    let come = |email: &str| Browser::at(appliance, "console").sign_in(&member_link(appliance, &tenant, email));
    let (first, second, other) = (come("one@example.org"), come("one@example.org"), come("two@example.org"));
    let ids = |browser: &Browser| -> Vec<String> {
        let page = browser.get("/sessions").text;
        let ids = page.split("name=\"session\" value=\"").skip(1);
        ids.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let (own, others) = (ids(&first), ids(&other));
    assert_eq!((own.len(), others.len()), (2, 1));
    let end = |browser: &Browser, id: &str| browser.post("/sessions/end", &format!("kind=own&session={id}")).status;
    assert_eq!(end(&first, &others[0]), 404);
    assert_eq!(other.get("/").status, 200);
    assert_eq!(end(&first, &own[1]), 303);
    assert!(is_turned_away(&second.get("/")) && first.get("/").status == 200);
    // An operator ends anybody's.
    let operator = operator(appliance);
    assert_eq!(operator.post("/sessions/end", &format!("kind=member&session={}", others[0])).status, 303);
    assert!(is_turned_away(&other.get("/")));
}

#[test]
fn who_is_removed_or_suspended_is_out_at_once() {
    let appliance = appliance();
    let tenant = invited(appliance, "sue@example.org");
    let browser = Browser::at(appliance, "console").sign_in(&member_link(appliance, &tenant, "sue@example.org"));
    let waiting = member_link(appliance, &tenant, "sue@example.org");
    appliance.cli_json(&["tenant", "suspend", &tenant]);
    assert_eq!(browser.get("/").status, 403);
    appliance.cli_json(&["tenant", "activate", &tenant]);
    assert_eq!(browser.get("/").status, 200);
    appliance.cli_json(&["member", "remove", "sue@example.org", "--tenant", &tenant]);
    assert!(is_turned_away(&browser.get("/")));
    let late = Browser::at(appliance, "console").post("/sign-in", &format!("link={}", super::token_of(&waiting)));
    assert_eq!(late.status, 403);
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn under_a_name_of_its_own() {
    let appliance = Setup::new().env("QUINTET_CONSOLE__PUBLIC_URL", "https://console.example.com").start();
    let tenant = invited(&appliance, "ann@example.org");
    let link = member_link(&appliance, &tenant, "ann@example.org");
    assert!(link.starts_with("https://console.example.com/sign-in#"), "{link}");
    let local = Browser::at(&appliance, "console");
    let public = Browser {
        host: "console.example.com".to_owned(),
        origin: "https://console.example.com".to_owned(),
        ..local.clone()
    };
    let plain = Browser { origin: "http://console.example.com".to_owned(), ..public.clone() };
    assert_eq!(plain.post("/sign-in", "link=x").status, 403);
    assert_eq!(public.sign_in(&link).get("/").status, 200);
}

#[test]
fn a_listener_that_is_off_has_no_links() {
    let setup = Setup::new().env("QUINTET_LISTEN__CONSOLE", "off").env("QUINTET_LISTEN__OPERATIONS", "off");
    let appliance = setup.start();
    let tenant = invited(&appliance, "ann@example.org");
    for arguments in [&["console"][..], &["member", "link", "ann@example.org", "--tenant", &tenant]] {
        let output = appliance.cli(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("is off"), "{}", stderr(&output));
    }
    let value: Value = appliance.cli_json(&["status"]);
    assert!(value["services"].as_array().unwrap().iter().all(|service| service["name"] != "console"));
}

/// Of the deeds that operators see, how many of a kind are about this.
fn deeds(operator: &Browser, act: &str, about: &str) -> usize {
    let page = operator.get("/sessions").text.replace("&#39;", "'");
    let (act, about) = (format!("<td>{act}</td>"), format!("<code>{about}</code>"));
    page.split("<tr>").filter(|row| row.contains(&act) && row.contains(&about)).count()
}

/// The ids of a member's own sessions.
fn own_sessions(member: &Browser) -> Vec<String> {
    let page = member.get("/sessions").text;
    let ids = page.split("name=\"session\" value=\"").skip(1);
    ids.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn who_invites_and_removes_is_told_to_operators_and_in_the_chain() {
    let appliance = Setup::new().start();
    let (tenant, operator) = (appliance.tenant(), operator(&appliance));
    let of_tenant = ["--tenant", tenant.as_str()];
    let made = appliance.cli_json(&[&["member", "create", "zoe@example.org"], &of_tenant[..]].concat());
    let id = made["member_id"].as_str().unwrap();
    for _ in 0..2 {
        appliance.cli_json(&[&["member", "remove", id], &of_tenant[..]].concat());
    }
    assert_eq!(deeds(&operator, "a member invited", id), 1);
    assert_eq!(deeds(&operator, "a member removed", id), 1, "once");
    let auditor = appliance.persona("localization", &tenant, &["org_audit-read"]);
    let events = auditor.with("l10n-tenant", &tenant).get("/v1/audit/events").expect(200);
    for action in ["member.create", "member.remove"] {
        let event = events["events"].as_array().unwrap().iter().find(|event| event["action"] == action);
        assert!(event.is_some_and(|event| event["payload"]["uid"].is_u64()), "{action}: {events:#}");
    }
}

#[test]
fn sessions_that_end_for_newer_ones_or_with_their_member_leave_deeds() {
    let appliance = Setup::new().start();
    let (tenant, operator) = (invited(&appliance, "zoe@example.org"), operator(&appliance));
    let link = || member_link(&appliance, &tenant, "zoe@example.org");
    let come = || Browser::at(&appliance, "console").sign_in(&link());
    let ended = |id: &str| deeds(&operator, "a member's session ended", id);
    let first = come();
    let before = own_sessions(&first).remove(0);
    // The same browser signs in anew.
    let again = first.sign_in(&link());
    assert_eq!(ended(&before), 1);
    let oldest = own_sessions(&again).remove(0);
    // Fifty are kept.
    let mut last = come();
    for _ in 1..50 {
        last = come();
    }
    assert!(is_turned_away(&again.get("/")));
    assert_eq!(ended(&oldest), 1);
    let left = own_sessions(&last);
    assert_eq!(left.len(), 50);
    appliance.cli_json(&["member", "remove", "zoe@example.org", "--tenant", &tenant]);
    assert!(is_turned_away(&last.get("/")));
    assert!(left.iter().all(|id| ended(id) == 1));
}

#[test]
fn a_link_of_a_suspended_tenant_is_good_once_it_is_active_again() {
    let appliance = appliance();
    let tenant = invited(appliance, "kim@example.org");
    let link = member_link(appliance, &tenant, "kim@example.org");
    appliance.cli_json(&["tenant", "suspend", &tenant]);
    let browser = Browser::at(appliance, "console");
    let early = browser.post("/sign-in", &format!("link={}", super::token_of(&link)));
    assert_eq!(early.status, 403);
    assert!(early.text.contains("The tenant is suspended"), "{}", early.text);
    let reason = refused(&["member", "link", "kim@example.org", "--tenant", &tenant]);
    assert!(reason.contains("the tenant is suspended"), "{reason}");
    appliance.cli_json(&["tenant", "activate", &tenant]);
    assert_eq!(browser.sign_in(&link).get("/").status, 200);
}
