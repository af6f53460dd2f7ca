//! Who may what in localization: credentials, the tenant header, templates and scopes, Idempotency-Keys, the audit chain.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, fresh_key, run, shared, stderr};

#[test]
fn a_credential_and_its_tenant() {
    let desk = Desk::open(shared());
    let me = desk.get("/v1/me").expect(200);
    assert_eq!((&me["tenant_id"], &me["kind"]), (&json!(desk.tenant_id), &json!("service_account")));
    let stranger = shared().stranger("localization");
    let answer = stranger.send("GET", "/v1/me", &[("l10n-tenant", &desk.tenant_id)], b"");
    refused(&answer, 401, "unauthenticated");
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    // Who asks comes before everything else about the request.
    refused(&stranger.get("/v1/workspaces?colour=red"), 401, "unauthenticated");
    let problem = refused(&desk.client.get("/v1/me"), 400, "invalid_parameter");
    assert_eq!(problem["field"], "L10n-Tenant");
    refused(&desk.client.send("GET", "/v1/me", &[("l10n-tenant", "x")], b""), 400, "invalid_parameter");
    let other = shared().tenant();
    refused(&desk.client.send("GET", "/v1/me", &[("l10n-tenant", &other)], b""), 403, "forbidden");
    shared().cli_json(&["tenant", "suspend", &desk.tenant_id]);
    refused(&desk.get("/v1/me"), 403, "forbidden");
    let unprovisioned = shared().cli_json(&["tenant", "create", "ledger only", "--services", "ledger"]);
    let tenant_id = text(&unprovisioned, "tenant_id");
    refused(&Desk::of(shared(), &tenant_id, &[]).get("/v1/me"), 403, "forbidden");
    let template = shared().cli(&["key", "issue", "--tenant", &tenant_id, "--template", "viewer"]);
    assert!(stderr(&template).contains("not provisioned"), "{}", stderr(&template));
}

#[test]
fn quotas_hold() {
    let appliance = Setup::new().start();
    let desk = Desk::open(&appliance);
    desk.get("/v1/me").expect(200);
    appliance.cli_json(&["tenant", "quota", &desk.tenant_id, "--service", "localization", "--monthly-calls", "2"]);
    desk.get("/v1/me").expect(200);
    let answer = desk.get("/v1/me");
    refused(&answer, 429, "quota_exceeded");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

/// What a key may do in two projects of one workspace and one of another, and over the tenant.
struct Estate {
    desk: Desk,
    workspaces: [Value; 2],
    /// Two in the first workspace, one in the second.
    projects: [Value; 3],
}

impl Estate {
    fn open() -> Estate {
        let desk = Desk::open(shared());
        let workspaces = [desk.workspace(), desk.workspace()];
        let projects =
            [desk.project_in(&workspaces[0]), desk.project_in(&workspaces[0]), desk.project_in(&workspaces[1])];
        Estate { desk, workspaces, projects }
    }

    fn permissions(&self, template: &str, scope: &Value) -> BTreeSet<String> {
        let me = self.desk.template(shared(), template, scope).get("/v1/me").expect(200);
        me["permissions"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// `words` in projects, by their places, and whole permissions.
    fn expected(&self, projects: &[usize], words: &[&str], whole: &[String]) -> BTreeSet<String> {
        let short = |place: &usize| text(&self.projects[*place], "short_id");
        let in_projects = projects.iter().flat_map(|place| {
            let short = short(place);
            words.iter().map(move |word| format!("p_{short}_{word}"))
        });
        in_projects.chain(whole.iter().cloned()).collect()
    }
}

#[test]
fn every_template_confers_what_its_table_says() {
    let estate = Estate::open();
    let all = [0, 1, 2];
    let everything = [
        "read",
        "manage",
        "files-write",
        "export",
        "glossary-write",
        "release",
        "anyloc_translate",
        "anyloc_review",
        "anyloc_approve",
    ];
    let workspace_admin = |place: usize| format!("ws_{}_admin", text(&estate.workspaces[place], "short_id"));
    let org = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let none = json!({});
    let mut admin = org(&["org_members-manage", "org_audit-read", "org_billing-read"]);
    admin.extend([workspace_admin(0), workspace_admin(1)]);
    assert_eq!(estate.permissions("org_admin", &none), estate.expected(&all, &everything, &admin));
    let auditor = org(&["org_audit-read"]);
    assert_eq!(estate.permissions("org_auditor", &none), estate.expected(&all, &["read"], &auditor));
    assert_eq!(estate.permissions("org_billing", &none), estate.expected(&[], &[], &org(&["org_billing-read"])));
    assert_eq!(estate.permissions("member_manager", &none), estate.expected(&[], &[], &org(&["org_members-manage"])));
    let first = json!({"workspace_id": estate.workspaces[0]["id"]});
    let expected = estate.expected(&[0, 1], &everything, &[workspace_admin(0)]);
    assert_eq!(estate.permissions("ws_admin", &first), expected);

    let project = json!({"project_id": estate.projects[2]["id"]});
    let german = json!({"project_id": estate.projects[2]["id"], "locale": "de-at"});
    let tables: [(&str, &[&str], &[&str]); 11] = [
        (
            "project_manager",
            &["read", "manage", "files-write", "export", "glossary-write", "release"],
            &["translate", "review"],
        ),
        ("viewer", &["read"], &[]),
        ("translator", &["read", "export"], &["translate"]),
        ("reviewer", &["read", "export"], &["translate", "review"]),
        ("approver", &["read", "export"], &["review", "approve"]),
        ("ci", &["read", "files-write", "export"], &[]),
        ("push", &["read", "files-write"], &[]),
        ("build", &["read", "export"], &[]),
        ("publisher", &["read", "export", "release"], &[]),
        ("runner", &["read", "export"], &["translate"]),
        ("terminologist", &["read", "glossary-write"], &[]),
    ];
    for (template, plain, of_locale) in tables {
        let words = |prefix: &str| -> Vec<String> {
            let of_locale = of_locale.iter().map(|word| format!("{prefix}_{word}"));
            plain.iter().map(|word| (*word).to_owned()).chain(of_locale).collect()
        };
        let (any, one) = (words("anyloc"), words("loc_de-AT"));
        let any: Vec<&str> = any.iter().map(String::as_str).collect();
        let one: Vec<&str> = one.iter().map(String::as_str).collect();
        assert_eq!(estate.permissions(template, &project), estate.expected(&[2], &any, &[]), "{template}");
        assert_eq!(estate.permissions(template, &first), estate.expected(&[0, 1], &any, &[]), "{template}");
        assert_eq!(estate.permissions(template, &none), estate.expected(&all, &any, &[]), "{template}");
        if of_locale.is_empty() {
            let issue = ["key", "issue", "--tenant", &estate.desk.tenant_id, "--template", template, "--scope"];
            let refused = shared().cli(&[&issue[..], &[&german.to_string()]].concat());
            assert_eq!(refused.status.code(), Some(2), "{template}");
        } else {
            assert_eq!(estate.permissions(template, &german), estate.expected(&[2], &one, &[]), "{template}");
        }
    }
}

#[test]
fn permissions_open_and_shut_doors() {
    let estate = Estate::open();
    let (desk, [here, beside, elsewhere]) = (&estate.desk, &estate.projects);
    let path = |project: &Value| format!("/v1/projects/{}", text(project, "id"));
    let viewer = desk.template(shared(), "viewer", &json!({"project_id": here["id"]}));
    viewer.get(&path(here)).expect(200);
    refused(&viewer.get(&path(beside)), 403, "forbidden");
    assert_eq!(viewer.get("/v1/projects").expect(200)["projects"], json!([here]));
    refused(&viewer.json("PATCH", &path(here), &json!({})), 403, "forbidden");
    refused(&viewer.post("/v1/workspaces", &json!({"slug": "ab", "name": "x"})), 403, "forbidden");
    let manager = desk.template(shared(), "project_manager", &json!({"workspace_id": estate.workspaces[0]["id"]}));
    manager.json("PATCH", &path(beside), &json!({"name": "x"})).expect(200);
    refused(&manager.json("PATCH", &path(elsewhere), &json!({})), 403, "forbidden");
    let body = |workspace: &Value| json!({"workspace_id": workspace["id"], "slug": "new", "name": "New", "source_locale": "de"});
    refused(&manager.post("/v1/projects", &body(&estate.workspaces[0])), 403, "forbidden");
    let admin = desk.template(shared(), "ws_admin", &json!({"workspace_id": estate.workspaces[0]["id"]}));
    refused(&admin.post("/v1/projects", &body(&estate.workspaces[1])), 403, "forbidden");
    let made = admin.post("/v1/projects", &body(&estate.workspaces[0])).expect(201);
    // What is granted in a workspace holds in its new projects, too.
    manager.json("PATCH", &path(&made), &json!({"name": "y"})).expect(200);
    refused(
        &manager.put_if_match(&format!("{}/locales", path(elsewhere)), "\"v0\"", &json!({"locales": ["de"]})),
        403,
        "forbidden",
    );
    refused(
        &viewer.put_if_match(&format!("{}/source-locale", path(here)), "\"s0\"", &json!({"source_locale": "de"})),
        403,
        "forbidden",
    );
    refused(&viewer.get(&format!("{}/locales", path(beside))), 403, "forbidden");
    refused(&viewer.get(&format!("{}/source-locale", path(beside))), 403, "forbidden");
    // A key narrower than everything, without a template.
    let reader = Desk::of(shared(), &desk.tenant_id, &["--permission", "p_*_read"]);
    assert_eq!(reader.get("/v1/projects").expect(200)["projects"].as_array().unwrap().len(), 4);
    refused(&reader.json("PATCH", &path(here), &json!({})), 403, "forbidden");
    // The ledger's permissions are nothing here.
    let ledger = Desk::of(shared(), &desk.tenant_id, &["--permission", "ledger_admin"]);
    assert_eq!(ledger.get("/v1/me").expect(200)["permissions"], json!([]));
    assert_eq!(ledger.get("/v1/projects").expect(200)["projects"], json!([]));
}

#[test]
fn scopes_that_make_no_sense() {
    let estate = Estate::open();
    let tenant = &estate.desk.tenant_id;
    let foreign = Desk::open(shared()).project();
    let issue = |template: &str, scope: &Value| {
        shared().cli(&["key", "issue", "--tenant", tenant, "--template", template, "--scope", &scope.to_string()])
    };
    for (template, scope, expected) in [
        ("nobody", json!({}), "unknown template"),
        ("viewer", json!({"project_id": foreign["id"]}), "no such workspace or project"),
        ("viewer", json!({"workspace_id": foreign["workspace_id"]}), "no such workspace or project"),
        (
            "viewer",
            json!({"project_id": estate.projects[2]["id"], "workspace_id": estate.workspaces[0]["id"]}),
            "scope.project_id",
        ),
        ("ws_admin", json!({}), "scope.workspace_id"),
        ("org_admin", json!({"project_id": estate.projects[0]["id"]}), "scope.project_id"),
        ("translator", json!({"locale": "zh"}), "several scripts"),
        ("viewer", json!({"colour": "red"}), "scope.colour"),
    ] {
        let output = issue(template, &scope);
        assert_eq!(output.status.code(), Some(2), "{template} {scope}");
        assert!(stderr(&output).contains(expected), "{template} {scope}: {}", stderr(&output));
    }
    let usage = run(&["key", "issue", "--tenant", "x", "--scope", "{}"]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn idempotency_keys() {
    let desk = Desk::open(shared());
    let (key, body) = (fresh_key(), json!({"slug": "twice", "name": "Twice"}));
    let first = desk.json_under(&key, "POST", "/v1/workspaces", &body);
    let again = desk.json_under(&key, "POST", "/v1/workspaces", &body);
    assert_eq!((first.status, again.status), (201, 201), "{again:?}");
    assert_eq!(first.text, again.text);
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), ("", "true"));
    let other = json!({"slug": "other", "name": "Twice"});
    refused(&desk.json_under(&key, "POST", "/v1/workspaces", &other), 422, "idempotency_key_reused");
    // Another principal's keys are its own, and so is another route's.
    let colleague = Desk::of(shared(), &desk.tenant_id, &[]);
    colleague.json_under(&key, "POST", "/v1/workspaces", &other).expect(201);
    // A refusal is not remembered: mend the reason, and the same request goes through.
    let key = fresh_key();
    let viewer = desk.template(shared(), "viewer", &json!({}));
    refused(&viewer.json_under(&key, "POST", "/v1/workspaces", &body), 403, "forbidden");
    refused(&desk.json_under(&key, "POST", "/v1/workspaces", &body), 409, "conflict");
    desk.json_under(&key, "POST", "/v1/workspaces", &json!({"slug": "third", "name": "Third"})).expect(201);
    // Without a key it is done as often as it is sent.
    let send =
        || desk.send("POST", "/v1/workspaces", &[("content-type", "application/json")], body.to_string().as_bytes());
    refused(&send(), 409, "conflict");
    for bad in ["", "x".repeat(201).as_str(), "a\tb"] {
        let answer = desk.json_under(bad, "POST", "/v1/workspaces", &other);
        assert_eq!(refused(&answer, 400, "invalid_parameter")["field"], "Idempotency-Key", "{bad:?}");
    }
    desk.json_under(&"é".repeat(200), "POST", "/v1/workspaces", &json!({"slug": "umlaut", "name": "x"})).expect(201);
}

#[test]
fn what_was_done_is_in_an_unbroken_chain() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let desk = Desk::open(&appliance);
    let project = desk.project();
    let path = format!("/v1/projects/{}", text(&project, "id"));
    desk.json("PATCH", &path, &json!({"name": "a name that nobody should find in the chain"})).expect(200);
    desk.put_if_match(&format!("{path}/locales"), "\"v0\"", &json!({"locales": ["de"]})).expect(200);
    desk.template(&appliance, "viewer", &json!({}));
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
    assert_eq!(appliance.stop(), Some(0));
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
}
