//! Grants from outside: given and taken back over HTTP, what each template opens and what it does not, and everything that a
//! grantor may not do.

use std::collections::{BTreeMap, BTreeSet};

use quintet_platform::service::Route;
use serde_json::{Value, json};

use crate::localization::accounts::{account, path_of};
use crate::localization::files::Shelf;
use crate::localization::members::{NOBODY, key_of};
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, fresh_key, shared};

/// A grant's answer.
fn grant(desk: &Desk, principal: &Value, template: &str, scope: &Value) -> Answer {
    let body = json!({"principal_id": principal["id"], "template": template, "scope": scope});
    desk.post("/v1/grants", &body)
}

/// A fresh service account with these grants, as its own key sees the tenant.
fn grantee(desk: &Desk, grants: &[(&str, Value)]) -> (Value, Desk) {
    let account = account(desk, "grantee");
    for (template, scope) in grants {
        grant(desk, &account, template, scope).expect(201);
    }
    let own = key_of(desk, &path_of(&account));
    (account, own)
}

fn revoke(desk: &Desk, grant: &Value) -> Answer {
    desk.send("DELETE", &format!("/v1/grants/{}", text(grant, "id")), &[], b"")
}

fn permissions(desk: &Desk) -> BTreeSet<String> {
    let me = desk.get("/v1/me").expect(200);
    me["permissions"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_granted_holds_at_once_and_what_is_revoked_no_more() {
    let desk = Desk::open(shared());
    let project = desk.project();
    let (account, own) = grantee(&desk, &[]);
    let scope = json!({"project_id": project["id"], "locale": "de-at"});
    let made = grant(&desk, &account, "translator", &scope).expect(201);
    let short_id = text(&project, "short_id");
    let expected: Vec<String> =
        ["read", "export", "loc_de-AT_translate"].iter().map(|what| format!("p_{short_id}_{what}")).collect();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(made["state"], "granted");
    assert_eq!(made["permissions"], json!(sorted));
    assert_eq!(made["scope"], json!({"project_id": project["id"], "locale": "de-AT"}));
    let target = format!("p_{short_id}");
    assert_eq!(made["intents"], json!([{"target": target, "permissions": expected, "state": "granted"}]));
    assert_eq!(permissions(&own), sorted.into_iter().collect());
    own.get(&format!("/v1/projects/{}", text(&project, "id"))).expect(200);
    let listed = desk.get("/v1/grants").expect(200);
    assert_eq!(listed, json!({"grants": [made]}));
    let revoked = revoke(&desk, &made).expect(200);
    assert_eq!((&revoked["state"], &revoked["permissions"]), (&json!("revoked"), &json!([])));
    assert_eq!(revoked["intents"][0]["state"], "revoked");
    refused(&own.get(&format!("/v1/projects/{}", text(&project, "id"))), 403, "forbidden");
    assert_eq!(permissions(&own), BTreeSet::new());
    assert_eq!(revoke(&desk, &made).expect(200), revoked, "again: the same");
    // Texts as they were granted are in the grant; by short ids one is told what one may.
    let wide = grant(&desk, &account, "viewer", &json!({})).expect(201);
    assert_eq!((&wide["permissions"], &wide["intents"][0]["target"]), (&json!(["p_*_read"]), &json!("org")));
    assert_eq!(permissions(&own), BTreeSet::from([format!("p_{short_id}_read")]));
}

#[test]
fn grants_that_make_no_sense() {
    let desk = Desk::open(shared());
    let project = desk.project();
    let foreign = Desk::open(shared()).project();
    let (account, _) = grantee(&desk, &[]);
    let beside = desk.workspace();
    let id = &account["id"];
    let body = |template: &str, scope: Value| json!({"principal_id": id, "template": template, "scope": scope});
    for (body, status, code) in [
        (json!({}), 400, "invalid_field"),
        (json!({"principal_id": id}), 400, "invalid_field"),
        (json!({"principal_id": "x", "template": "viewer"}), 400, "invalid_field"),
        (body("nobody", json!({})), 400, "invalid_field"),
        (body("viewer", json!([])), 400, "invalid_field"),
        (body("viewer", json!(null)), 400, "invalid_field"),
        (body("viewer", json!({"project_id": 7})), 400, "invalid_field"),
        (body("viewer", json!({"project_id": "x"})), 400, "invalid_field"),
        (body("viewer", json!({"locale": "de"})), 400, "invalid_field"),
        (body("translator", json!({"locale": "x".repeat(41)})), 400, "invalid_field"),
        (body("ws_admin", json!({})), 400, "invalid_field"),
        (body("org_admin", json!({"workspace_id": project["workspace_id"]})), 400, "invalid_field"),
        (body("viewer", json!({"project": "x", "project_id": 7})), 400, "unknown_field"),
        (json!({"principal_id": 7, "template": "viewer", "scope": {"x": 1}}), 400, "unknown_field"),
        (json!({"principal_id": NOBODY, "template": "viewer"}), 404, "not_found"),
        (body("viewer", json!({"project_id": foreign["id"]})), 404, "not_found"),
        (body("viewer", json!({"workspace_id": foreign["workspace_id"]})), 404, "not_found"),
        // What a tag says comes behind what there is.
        (body("translator", json!({"project_id": foreign["id"], "locale": "zh"})), 404, "not_found"),
        (body("translator", json!({"project_id": project["id"], "locale": "zh"})), 422, "locale_script_required"),
        (body("viewer", json!({"project_id": project["id"], "workspace_id": beside["id"]})), 400, "invalid_field"),
    ] {
        refused(&desk.post("/v1/grants", &body), status, code);
    }
    assert_eq!(desk.get("/v1/grants").expect(200), json!({"grants": []}));
    refused(&desk.get("/v1/grants?limit=1"), 400, "unknown_parameter");
    for path in [format!("/v1/grants/{NOBODY}"), "/v1/grants/x".to_owned()] {
        refused(&desk.send("DELETE", &path, &[], b""), 404, "not_found");
    }
    // Another tenant's grant, and another tenant's principal.
    let made = grant(&desk, &account, "viewer", &json!({})).expect(201);
    let stranger = Desk::open(shared());
    refused(&revoke(&stranger, &made), 404, "not_found");
    refused(&grant(&stranger, &account, "viewer", &json!({})), 404, "not_found");
    assert_eq!(desk.get("/v1/grants").expect(200), json!({"grants": [made]}));
}

#[test]
fn a_repeat_grants_once() {
    let desk = Desk::open(shared());
    let (account, _) = grantee(&desk, &[]);
    let (key, body) = (fresh_key(), json!({"principal_id": account["id"], "template": "viewer"}));
    let first = desk.json_under(&key, "POST", "/v1/grants", &body).expect(201);
    let again = desk.json_under(&key, "POST", "/v1/grants", &body);
    assert_eq!((again.json(), again.header("idempotent-replayed")), (first.clone(), "true"));
    assert_eq!(desk.get("/v1/grants").expect(200)["grants"].as_array().unwrap().len(), 1);
    // Without a key it is another grant, and each is revoked by itself.
    let second = grant(&desk, &account, "viewer", &json!({})).expect(201);
    assert_ne!(second["id"], first["id"]);
}

/// Attempts to get further than one may: who, what, and that it is refused.
#[test]
fn nobody_grants_or_revokes_more_than_he_holds() {
    let desk = Desk::open(shared());
    let here = desk.workspace();
    let (project, elsewhere) = (desk.project_in(&here), desk.project());
    let (someone, _) = grantee(&desk, &[]);
    let (in_here, in_project) = (json!({"workspace_id": here["id"]}), json!({"project_id": project["id"]}));
    let (there, in_there) =
        (json!({"workspace_id": elsewhere["workspace_id"]}), json!({"project_id": elsewhere["id"]}));
    let with = |scope: &Value, locale: &str| {
        let mut scope = scope.clone();
        scope["locale"] = json!(locale);
        scope
    };
    let none = json!({});
    let (_, manager) = grantee(&desk, &[("member_manager", none.clone())]);
    let (_, ws_admin) = grantee(&desk, &[("ws_admin", in_here.clone())]);
    let german = with(&in_project, "de");
    let (_, germans) = grantee(&desk, &[("member_manager", none.clone()), ("project_manager", german.clone())]);
    let (_, lead) = grantee(&desk, &[("project_manager", none.clone())]);
    let (_, admin) = grantee(&desk, &[("org_admin", none.clone())]);
    let (_, both) = grantee(&desk, &[("ws_admin", in_here.clone()), ("project_manager", in_there.clone())]);
    let key = Desk::of(shared(), &desk.tenant_id, &["--permission", "org_members-manage", "--permission", "p_*_read"]);
    let refusals = [
        ("a manager of members: everything", &manager, "org_admin", &none),
        ("a manager of members: reading one project", &manager, "viewer", &in_project),
        ("an administrator of a workspace: another workspace", &ws_admin, "ws_admin", &there),
        ("an administrator of a workspace: a project of another", &ws_admin, "viewer", &in_there),
        ("an administrator of a workspace: all projects", &ws_admin, "viewer", &none),
        ("an administrator of a workspace: managing members", &ws_admin, "member_manager", &none),
        ("one for German: all locales", &germans, "translator", &in_project),
        ("one for German: French", &germans, "translator", &with(&in_project, "fr")),
        ("one for German: Austrian German", &germans, "translator", &with(&in_project, "de-AT")),
        ("one for German: approving", &germans, "approver", &german),
        ("one for German: in all projects", &germans, "translator", &with(&none, "de")),
        ("one for German: in the workspace", &germans, "translator", &with(&in_here, "de")),
        ("a manager of projects, who grants nothing", &lead, "viewer", &in_project),
        ("a manager of a project beside his workspace", &both, "viewer", &in_there),
        ("a key with permissions of its own: more than those", &key, "ci", &in_project),
    ];
    for (attempt, who, template, scope) in refusals {
        let answer = grant(who, &someone, template, scope);
        println!("{attempt}: {} {}", answer.status, answer.json()["code"]);
        refused(&answer, 403, "forbidden");
    }
    for (who, template, scope) in [
        (&manager, "member_manager", &none),
        (&ws_admin, "ws_admin", &in_here),
        (&ws_admin, "approver", &german),
        (&ws_admin, "project_manager", &in_project),
        (&ws_admin, "viewer", &in_here),
        (&germans, "translator", &german),
        (&germans, "member_manager", &none),
        (&both, "ci", &in_project),
        (&key, "viewer", &none),
        (&key, "viewer", &in_there),
        (&admin, "org_admin", &none),
        (&admin, "ws_admin", &there),
    ] {
        let made = grant(who, &someone, template, scope).expect(201);
        // Whoever may grant it may take it back; whoever may not, may not; whoever asks for what there is not is told so.
        if template == "org_admin" || template == "ws_admin" {
            for other in [&manager, &germans, &lead, &key] {
                refused(&revoke(other, &made), 403, "forbidden");
            }
        }
        refused(&revoke(&lead, &made), 403, "forbidden");
        refused(&lead.send("DELETE", &format!("/v1/grants/{NOBODY}"), &[], b""), 404, "not_found");
        assert_eq!(revoke(who, &made).expect(200)["state"], "revoked");
        refused(&revoke(&lead, &made), 403, "forbidden");
    }
    // What one grants oneself is no more than one has; and what was taken from a grantor he grants no more.
    let (account, own) = grantee(&desk, &[]);
    let first = grant(&desk, &account, "org_admin", &none).expect(201);
    let second = grant(&own, &account, "org_admin", &none).expect(201);
    revoke(&desk, &first).expect(200);
    grant(&own, &someone, "viewer", &none).expect(201);
    revoke(&desk, &second).expect(200);
    refused(&grant(&own, &someone, "viewer", &none), 403, "forbidden");
    refused(&own.get("/v1/grants"), 403, "forbidden");
}

/// What each template confers, written down apart from the product: the words of the contract and the design.
const CONFERS: [(&str, &str); 16] = [
    (
        "org_admin",
        "members audit billing admin read manage files-write export glossary-write release translate review approve",
    ),
    ("org_auditor", "audit read"),
    ("org_billing", "billing"),
    ("member_manager", "members"),
    ("ws_admin", "admin read manage files-write export glossary-write release translate review approve"),
    ("project_manager", "read manage files-write export glossary-write release translate review"),
    ("viewer", "read"),
    ("translator", "read export translate"),
    ("reviewer", "read export translate review"),
    ("approver", "read export review approve"),
    ("ci", "read files-write export"),
    ("push", "read files-write"),
    ("build", "read export"),
    ("publisher", "read export release"),
    ("runner", "read export translate"),
    ("terminologist", "read glossary-write"),
];

/// A call of a route: what it takes (any of these words; none: nothing but a credential), and how it is sent. A call that
/// goes through changes nothing that another needs: most are refused for another reason behind the permission.
struct Call {
    route: &'static str,
    takes: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn call(route: &'static str, takes: &'static str, path: String, body: &Value) -> Call {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Call { route, takes, path, headers: vec![("content-type", "application/json".to_owned())], body }
}

impl Call {
    fn with(mut self, name: &'static str, value: &str) -> Call {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same at another path.
    fn at(&self, path: String) -> Call {
        Call { path, headers: self.headers.clone(), body: self.body.clone(), ..*self }
    }

    fn send(&self, desk: &Desk) -> Answer {
        let method = self.route.split(' ').next().unwrap();
        let key = fresh_key();
        let mut headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("idempotency-key", &key));
        if self.body.is_empty() {
            headers.retain(|(name, _)| *name != "content-type");
        }
        desk.send(method, &self.path, &headers, self.body.as_bytes())
    }
}

/// Every route of localization that asks who calls. Whoever adds a route adds what it takes here.
fn calls(shelf: &Shelf, project: &Value, someone: &Value) -> Vec<Call> {
    let desk = &shelf.desk;
    let none = &Value::Null;
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let key_id = shelf.key_id("a");
    let workspace = desk.get(&format!("/v1/workspaces/{}", text(project, "workspace_id"))).expect(200);
    let manifest = |seq: u64| shelf.path(&format!("/files/{file_id}/imports/{seq}/manifest"));
    let seq = (1..100).find(|seq| desk.get(&manifest(*seq)).status == 200).unwrap();
    let term = json!({"kind": "dnt", "source": "term"});
    let term_id = text(&desk.post(&shelf.path("/glossary"), &term).expect(201), "id");
    let of_project = |rest: &str| shelf.path(rest);
    let of_file = |rest: &str| shelf.path(&format!("/files/{file_id}{rest}"));
    let of_key = |rest: &str| format!("/v1/keys/{key_id}/{rest}");
    // A request for approval, of a draft in a locale that nobody else writes in.
    desk.json("PUT", &of_key("translations/fr"), &json!({"text": "x"})).expect(201);
    let in_french = json!({"file": file_id, "locale": "fr"});
    let request_id = text(&desk.post(&shelf.path("/approval-requests"), &in_french).expect(201), "id");
    let in_german = json!({"file": file_id, "locale": "de"});
    let switch = json!({"locale": "de", "enabled": true});
    let licence = json!({
        "locale": "zh", "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "x",
    });
    let release_id = text(&desk.post(&shelf.path("/releases"), none).expect(201), "id");
    let of_release = |rest: &str| format!("/v1/releases/{release_id}{rest}");
    let taken = json!({"slug": workspace["slug"], "name": "n"});
    let taken_project = json!({
        "workspace_id": workspace["id"], "slug": project["slug"], "name": "n", "source_locale": "en",
    });
    let wish = json!({"principal_id": NOBODY, "template": "viewer"});
    let standing = text(&grant(desk, someone, "viewer", &json!({"project_id": project["id"]})).expect(201), "id");
    let nowhere = json!({"url": "https://10.0.0.1/", "events": ["*"]});
    let nobody = |noun: &str, rest: &str| format!("/v1/{noun}/{NOBODY}{rest}");
    let xml = |call: Call, kind: &str| call.with("content-type", kind);
    let tagged = |call: Call, etag: &str| call.with("if-match", etag);
    let document = |route, takes, path, kind: &str| {
        let mut call = xml(call(route, takes, path, none), kind);
        call.body = "<x".to_owned();
        call
    };
    vec![
        call("GET /v1/me", "", "/v1/me".into(), none),
        call("GET /v1/locales", "", "/v1/locales".into(), none),
        call("POST /v1/locales/validate", "", "/v1/locales/validate".into(), &json!({"tag": "de"})),
        call("GET /v1/workspaces", "", "/v1/workspaces".into(), none),
        call("POST /v1/workspaces", "members", "/v1/workspaces".into(), &taken),
        call("GET /v1/workspaces/{workspace_id}", "", format!("/v1/workspaces/{}", text(&workspace, "id")), none),
        call("GET /v1/projects", "", "/v1/projects".into(), none),
        call("POST /v1/projects", "admin", "/v1/projects".into(), &taken_project),
        call("GET /v1/projects/{project_id}", "read", of_project(""), none),
        call("PATCH /v1/projects/{project_id}", "manage", of_project(""), &json!({})),
        call("GET /v1/projects/{project_id}/locales", "read", of_project("/locales"), none),
        tagged(
            call(
                "PUT /v1/projects/{project_id}/locales",
                "manage",
                of_project("/locales"),
                &json!({"locales": ["de"]}),
            ),
            "\"v999\"",
        ),
        call("GET /v1/projects/{project_id}/source-locale", "read", of_project("/source-locale"), none),
        tagged(
            call(
                "PUT /v1/projects/{project_id}/source-locale",
                "manage",
                of_project("/source-locale"),
                &json!({"source_locale": "de"}),
            ),
            "\"s999\"",
        ),
        call(
            "POST /v1/projects/{project_id}/files",
            "files-write",
            of_project("/files?kind=json&path=b.json"),
            &json!([]),
        ),
        call("GET /v1/projects/{project_id}/files", "read", of_project("/files"), none),
        call("GET /v1/projects/{project_id}/files/{file_id}/export", "export", of_file("/export"), none),
        call("GET /v1/projects/{project_id}/files/{file_id}/imports/{seq}/manifest", "read", manifest(seq), none),
        call("GET /v1/projects/{project_id}/files/{file_id}/context", "read", of_file("/context"), none),
        call(
            "PUT /v1/projects/{project_id}/files/{file_id}/context",
            "files-write",
            of_file("/context"),
            &json!({"keys": [{"path": "nowhere"}]}),
        ),
        call("GET /v1/projects/{project_id}/files/{file_id}/xliff", "export", of_file("/xliff?locale=de"), none),
        document(
            "POST /v1/projects/{project_id}/files/{file_id}/xliff",
            "translate",
            of_file("/xliff?locale=de"),
            "application/xliff+xml",
        ),
        call("GET /v1/projects/{project_id}/keys", "read", of_project("/keys"), none),
        call("GET /v1/projects/{project_id}/translations", "read", of_project("/translations"), none),
        call("GET /v1/projects/{project_id}/stats", "read", of_project("/stats"), none),
        call("GET /v1/projects/{project_id}/memory", "read", of_project("/memory"), none),
        document(
            "POST /v1/projects/{project_id}/memory",
            "glossary-write",
            of_project("/memory"),
            "application/x-tmx+xml",
        ),
        call("GET /v1/projects/{project_id}/glossary", "read", of_project("/glossary"), none),
        call(
            "POST /v1/projects/{project_id}/glossary",
            "glossary-write",
            of_project("/glossary"),
            &json!({"kind": "term"}),
        ),
        call(
            "GET /v1/projects/{project_id}/glossary/{term_id}",
            "read",
            of_project(&format!("/glossary/{term_id}")),
            none,
        ),
        call(
            "PUT /v1/projects/{project_id}/glossary/{term_id}",
            "glossary-write",
            of_project(&format!("/glossary/{term_id}")),
            &json!({"kind": "dnt"}),
        ),
        call(
            "DELETE /v1/projects/{project_id}/glossary/{term_id}",
            "glossary-write",
            of_project(&format!("/glossary/{NOBODY}")),
            none,
        ),
        call("GET /v1/projects/{project_id}/glossary/tbx", "read", of_project("/glossary/tbx"), none),
        document(
            "POST /v1/projects/{project_id}/glossary/tbx",
            "glossary-write",
            of_project("/glossary/tbx"),
            "application/x-tbx+xml",
        ),
        call("GET /v1/projects/{project_id}/style", "read", of_project("/style"), none),
        call(
            "PUT /v1/projects/{project_id}/style",
            "glossary-write",
            of_project("/style"),
            &json!({"locale": "zh", "scope": "default", "text": "x"}),
        ),
        call(
            "POST /v1/projects/{project_id}/translate",
            "translate release",
            of_project("/translate"),
            &json!({"file": file_id, "locale": "de"}),
        ),
        call("GET /v1/projects/{project_id}/releases", "read", of_project("/releases"), none),
        call("POST /v1/projects/{project_id}/releases", "release", of_project("/releases"), none),
        call("GET /v1/releases/{release_id}", "read", of_release(""), none),
        call("GET /v1/releases/{release_id}/manifest", "read", of_release("/manifest"), none),
        call("GET /v1/releases/{release_id}/archive", "read", of_release("/archive"), none),
        call("POST /v1/releases/{release_id}/withdraw", "release", of_release("/withdraw"), none),
        call(
            "POST /v1/projects/{project_id}/approval-requests",
            "release",
            of_project("/approval-requests"),
            &in_german,
        ),
        call("GET /v1/approval-requests/{request_id}", "read", format!("/v1/approval-requests/{request_id}"), none),
        call("GET /v1/projects/{project_id}/licences", "read", of_project("/licences"), none),
        call("POST /v1/projects/{project_id}/licences", "release", of_project("/licences"), &licence),
        call("PUT /v1/projects/{project_id}/policy", "manage", of_project("/policy"), &switch),
        call("POST /v1/projects/{project_id}/policy-approve", "release", of_project("/policy-approve"), &in_german),
        call("GET /v1/audit/events", "audit", "/v1/audit/events?limit=1".into(), none),
        call("GET /v1/audit/export", "audit", "/v1/audit/export?format=cef&from_seq=1&to_seq=1".into(), none),
        call("GET /v1/audit/verify", "audit", "/v1/audit/verify".into(), none),
        call("GET /v1/keys/{key_id}/translations/{locale}", "read", of_key("translations/de"), none),
        call(
            "PUT /v1/keys/{key_id}/translations/{locale}",
            "translate",
            of_key("translations/de"),
            &json!({"forms": {"other": "x"}}),
        ),
        call(
            "POST /v1/keys/{key_id}/translations/{locale}/transition",
            "review",
            of_key("translations/de/transition"),
            &json!({"action": "review"}),
        ),
        call(
            "POST /v1/keys/{key_id}/translations/{locale}/transition",
            "review",
            of_key("translations/de/transition"),
            &json!({"action": "reject"}),
        ),
        call(
            "POST /v1/keys/{key_id}/translations/{locale}/transition",
            "approve",
            of_key("translations/de/transition"),
            &json!({"action": "approve"}),
        ),
        call(
            "POST /v1/keys/{key_id}/translations/{locale}/transition",
            "approve",
            of_key("translations/de/transition"),
            &json!({"action": "revoke"}),
        ),
        call("GET /v1/keys/{key_id}", "read", of_key("").trim_end_matches('/').to_owned(), none),
        call("GET /v1/keys/{key_id}/annotations/{locale}", "read", of_key("annotations/de"), none),
        call("POST /v1/keys/{key_id}/check/{locale}", "read translate", of_key("check/de"), &json!({"text": "x"})),
        call("GET /v1/keys/{key_id}/suggestions/{locale}", "read", of_key("suggestions/de"), none),
        call("GET /v1/members", "members", "/v1/members".into(), none),
        call("POST /v1/members", "members", "/v1/members".into(), &json!({"email": "taken@example.org"})),
        call("GET /v1/members/{member_id}", "members", nobody("members", ""), none),
        call("DELETE /v1/members/{member_id}", "members", nobody("members", ""), none),
        call("POST /v1/members/{member_id}/erase", "members", nobody("members", "/erase"), none),
        call("GET /v1/members/{member_id}/keys", "members", nobody("members", "/keys"), none),
        call("POST /v1/members/{member_id}/keys", "members", nobody("members", "/keys"), &json!({})),
        call("GET /v1/service-accounts", "members", "/v1/service-accounts".into(), none),
        call("POST /v1/service-accounts", "members", "/v1/service-accounts".into(), &json!({"label": "x"})),
        call("DELETE /v1/service-accounts/{service_account_id}", "members", nobody("service-accounts", ""), none),
        call(
            "GET /v1/service-accounts/{service_account_id}/keys",
            "members",
            nobody("service-accounts", "/keys"),
            none,
        ),
        call(
            "POST /v1/service-accounts/{service_account_id}/keys",
            "members",
            nobody("service-accounts", "/keys"),
            &json!({}),
        ),
        call("DELETE /v1/api-keys/{key_id}", "members", "/v1/api-keys/00000000000000000000000000".into(), none),
        call("GET /v1/settings", "members", "/v1/settings".into(), none),
        call("PATCH /v1/settings", "members", "/v1/settings".into(), &json!({})),
        call("GET /v1/webhooks", "members", "/v1/webhooks".into(), none),
        call("POST /v1/webhooks", "members", "/v1/webhooks".into(), &nowhere),
        call("GET /v1/webhooks/{endpoint_id}", "members", nobody("webhooks", ""), none),
        call("PATCH /v1/webhooks/{endpoint_id}", "members", nobody("webhooks", ""), &json!({})),
        call("DELETE /v1/webhooks/{endpoint_id}", "members", nobody("webhooks", ""), none),
        call("POST /v1/webhooks/{endpoint_id}/rotate-secret", "members", nobody("webhooks", "/rotate-secret"), none),
        call("POST /v1/webhooks/{endpoint_id}/test", "members", nobody("webhooks", "/test"), none),
        call("GET /v1/webhooks/{endpoint_id}/deliveries", "members", nobody("webhooks", "/deliveries"), none),
        call("GET /v1/webhooks/deliveries", "members", "/v1/webhooks/deliveries".into(), none),
        call(
            "POST /v1/webhooks/deliveries/{delivery_id}/redeliver",
            "members",
            "/v1/webhooks/deliveries/1/redeliver".into(),
            none,
        ),
        call("GET /v1/grants", "members", "/v1/grants".into(), none),
        call("POST /v1/grants", "members admin", "/v1/grants".into(), &wish),
        // Whoever has neither reading nor this may not take reading away; whoever may has taken it, and it stays taken.
        call("DELETE /v1/grants/{grant_id}", "admin", format!("/v1/grants/{standing}"), none),
    ]
}

/// Every template, granted over HTTP, calls every route: what is refused is what the two tables above say, and nothing else.
#[test]
fn every_template_opens_the_routes_that_it_should_and_no_others() {
    let shelf = Shelf::open(shared());
    let desk = &shelf.desk;
    let project = desk.get(&shelf.path("")).expect(200);
    let (someone, _) = grantee(desk, &[]);
    desk.post("/v1/members", &json!({"email": "taken@example.org"})).expect(201);
    let calls = calls(&shelf, &project, &someone);
    let told: BTreeSet<&str> = calls.iter().map(|call| call.route).collect();
    // A session's own routes take no key.
    let takes_keys = |route: &&Route| !["", "session"].contains(&route.permission);
    let served = quintet_localization::served().filter(takes_keys).map(Route::template);
    let untold: Vec<String> = served.filter(|route| !told.contains(route.as_str())).collect();
    assert_eq!(untold, Vec::<String>::new(), "routes whose permission stands in no line of `calls`");
    let mut table: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (template, words) in CONFERS {
        let scope = match template {
            "ws_admin" => json!({"workspace_id": project["workspace_id"]}),
            _ => json!({}),
        };
        let (_, own) = grantee(desk, &[(template, scope)]);
        let has: BTreeSet<&str> = words.split(' ').collect();
        for call in &calls {
            let expected = call.takes.is_empty() || call.takes.split(' ').any(|word| has.contains(word));
            let answer = match call.route {
                // What was deleted is not there for the next one.
                "DELETE /v1/projects/{project_id}/glossary/{term_id}" => {
                    let made = desk.post(&shelf.path("/glossary"), &json!({"kind": "dnt", "source": template}));
                    let path = shelf.path(&format!("/glossary/{}", text(&made.expect(201), "id")));
                    call.at(path).send(&own)
                }
                _ => call.send(&own),
            };
            let is_let_in = answer.status != 403;
            if is_let_in != expected || answer.status == 401 || answer.status == 500 {
                wrong.push(format!("{template}: {} {} takes {:?}: {answer:?}", call.route, call.body, call.takes));
            }
            table.entry(template).or_default().push(answer.status.to_string());
        }
    }
    println!("what each call is answered with; 403 is what a template does not open");
    println!("{:60} {}", "", CONFERS.map(|(template, _)| format!("{template:>15}")).concat());
    for (place, call) in calls.iter().enumerate() {
        let row: String = CONFERS.iter().map(|(template, _)| format!("{:>15}", table[template][place])).collect();
        println!("{:60} {row}", format!("{} [{}]", call.route, call.takes));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
