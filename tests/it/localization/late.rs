//! What a request stands on may end while its body is under way, or while others do what it waits for: then it does nothing.

use serde_json::{Value, json};

use crate::localization::members::{invite, key_of};
use crate::localization::{Desk, text};
use crate::support::appliance::{Appliance, fresh_key, shared};
use crate::support::late::Late;

/// A request of a desk that waits for its body.
fn late(appliance: &Appliance, desk: &Desk, (method, path): (&str, &str), kind: &str, body: &[u8], key: &str) -> Late {
    let headers = [("l10n-tenant", desk.tenant_id.as_str()), ("content-type", kind), ("idempotency-key", key)];
    Late::begin(appliance, "localization", &desk.client, (method, path), &headers, body)
}

fn late_json(appliance: &Appliance, desk: &Desk, path: &str, body: &Value, key: &str) -> Late {
    late(appliance, desk, ("POST", path), "application/json", body.to_string().as_bytes(), key)
}

fn key_id_of(desk: &Desk, path: &str) -> String {
    text(&desk.get(&format!("{path}/keys")).expect(200)["keys"][0], "key_id")
}

#[test]
fn who_was_shut_out_meanwhile_changes_nothing() {
    let appliance = shared();
    let desk = Desk::open(appliance);
    let other = desk.post("/v1/service-accounts", &json!({"label": "other"})).expect(201);
    let of_other = format!("/v1/service-accounts/{}", text(&other, "id"));
    let admin = |label: &str| {
        let account = desk.post("/v1/service-accounts", &json!({"label": label})).expect(201);
        let wish = json!({"principal_id": account["id"], "template": "org_admin"});
        desk.post("/v1/grants", &wish).expect(201);
        let path = format!("/v1/service-accounts/{}", text(&account, "id"));
        (key_of(&desk, &path), path)
    };
    // A key that was revoked; an account that was; a member that was removed.
    let (by_key, of_key) = admin("key");
    let (by_account, of_account) = admin("account");
    let member = invite(&desk, "late@example.org");
    desk.post("/v1/grants", &json!({"principal_id": member["id"], "template": "org_admin"})).expect(201);
    let of_member = format!("/v1/members/{}", text(&member, "id"));
    let by_member = key_of(&desk, &of_member);
    let key_path = format!("/v1/api-keys/{}", key_id_of(&desk, &of_key));
    for (by, ending) in [(&by_key, &key_path), (&by_account, &of_account), (&by_member, &of_member)] {
        let (repeated, key) = (json!({"label": "x"}), fresh_key());
        by.json_under(&key, "POST", "/v1/service-accounts", &repeated).expect(201);
        let repeat = late_json(appliance, by, "/v1/service-accounts", &repeated, &key);
        let keys = late_json(appliance, by, &format!("{of_other}/keys"), &json!({}), &fresh_key());
        let account = late_json(appliance, by, "/v1/service-accounts", &json!({"label": "y"}), &fresh_key());
        desk.send("DELETE", ending, &[], b"").expect(200);
        // Not even what was answered before is told again.
        let (status, answer) = repeat.end();
        assert!(status == 401 && answer.contains("unauthenticated"), "{answer}");
        // With an account its grants go, too, which may be seen first.
        for request in [keys, account] {
            let (status, answer) = request.end();
            assert!(status == 401 || status == 403 && ending != &key_path, "{answer}");
        }
    }
    assert_eq!(desk.get(&format!("{of_other}/keys")).expect(200)["keys"], json!([]));
}

#[test]
fn an_upload_of_who_was_shut_out_meanwhile_is_not_published() {
    let appliance = shared();
    let desk = Desk::open(appliance);
    let project = desk.project();
    let files = format!("/v1/projects/{}/files", text(&project, "id"));
    let account = desk.post("/v1/service-accounts", &json!({"label": "push"})).expect(201);
    let of_account = format!("/v1/service-accounts/{}", text(&account, "id"));
    desk.post("/v1/grants", &json!({"principal_id": account["id"], "template": "push"})).expect(201);
    let by = key_of(&desk, &of_account);
    let path = format!("{files}?kind=json&path=a.json");
    let upload = late(appliance, &by, ("POST", &path), "application/json", b"{\"a\": \"A\"}", &fresh_key());
    desk.send("DELETE", &of_account, &[], b"").expect(200);
    let (status, answer) = upload.end();
    assert!(matches!(status, 401 | 403), "{answer}");
    assert_eq!(desk.get(&files).expect(200)["files"], json!([]));
}

#[test]
fn a_tenant_that_was_suspended_meanwhile_changes_nothing() {
    let appliance = shared();
    let desk = Desk::open(appliance);
    let request = late_json(appliance, &desk, "/v1/members", &json!({"email": "late@example.org"}), &fresh_key());
    appliance.cli_json(&["tenant", "suspend", &desk.tenant_id]);
    let (status, answer) = request.end();
    assert_eq!(status, 403, "{answer}");
    appliance.cli_json(&["tenant", "activate", &desk.tenant_id]);
    assert_eq!(desk.get("/v1/members").expect(200)["members"], json!([]));
}
