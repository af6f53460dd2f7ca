//! Members from outside: invited, removed, erased, and that nothing is left of whom was erased.

use std::path::Path;

use serde_json::{Value, json};

use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, fresh_key, run, shared, stderr};

pub const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// Invites a member.
pub fn invite(desk: &Desk, email: &str) -> Value {
    desk.post("/v1/members", &json!({"email": email, "display_name": "Zoë Quill"})).expect(201)
}

/// A key of a member or service account, by the path of its holder.
pub fn key_of(desk: &Desk, holder: &str) -> Desk {
    let issued = desk.post(&format!("{holder}/keys"), &json!({})).expect(201);
    Desk { client: desk.client.with_key(&text(&issued, "api_key")), tenant_id: desk.tenant_id.clone() }
}

#[test]
fn members_are_invited_read_and_listed() {
    let desk = Desk::open(shared());
    let member = invite(&desk, "Zoe@Example.org");
    assert_eq!((&member["status"], &member["email"]), (&json!("pending"), &json!("Zoe@Example.org")));
    assert_eq!(member["display_name"], "Zoë Quill");
    assert_eq!(text(&member, "short_id").len(), 10);
    let path = format!("/v1/members/{}", text(&member, "id"));
    assert_eq!(desk.get(&path).expect(200), member);
    // One live member an address, whatever its case.
    refused(&desk.post("/v1/members", &json!({"email": "zoe@EXAMPLE.org"})), 409, "conflict");
    let bare = desk.post("/v1/members", &json!({"email": "bare@example.org"})).expect(201);
    assert!(bare.get("display_name").is_none(), "{bare}");
    for number in 0..3 {
        invite(&desk, &format!("m{number}@example.org"));
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = desk.get(&format!("/v1/members?limit=2{cursor}")).expect(200);
        seen.extend(page["members"].as_array().unwrap().iter().map(|member| text(member, "id")));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(seen.len() == 5 && seen.is_sorted() && seen[0] == text(&member, "id"), "{seen:?}");
    for (body, code) in [
        (json!({}), "invalid_field"),
        (json!({"email": "x"}), "invalid_field"),
        (json!({"email": null}), "invalid_field"),
        (json!({"email": format!("{}@b.example", "a".repeat(250))}), "invalid_field"),
        (json!({"email": "a@b", "display_name": "x".repeat(201)}), "invalid_field"),
        (json!({"email": "a\u{202e}@b"}), "invalid_field"),
        (json!({"email": "a@b", "display_name": "Zo\u{1b}[31m"}), "invalid_field"),
        (json!({"email": "x", "colour": 1}), "unknown_field"),
        (json!([]), "invalid_body"),
    ] {
        let answer = desk.post("/v1/members", &body);
        refused(&answer, 400, code);
        assert!(!answer.text.contains("@b"), "errors do not echo what was sent: {answer:?}");
    }
    // Whoever does not manage members is told nothing, not even what there is.
    let viewer = desk.template(shared(), "viewer", &json!({}));
    for path in [path.as_str(), &format!("/v1/members/{NOBODY}"), "/v1/members", "/v1/members/x"] {
        refused(&viewer.get(path), 403, "forbidden");
    }
    refused(&viewer.post("/v1/members", &json!({"email": "a@b"})), 403, "forbidden");
    refused(&viewer.post("/v1/members", &json!({"email": 1})), 400, "invalid_field");
    for path in [format!("/v1/members/{NOBODY}"), "/v1/members/x".to_owned()] {
        refused(&desk.get(&path), 404, "not_found");
        refused(&desk.json("DELETE", &path, &Value::Null), 404, "not_found");
        refused(&desk.send("POST", &format!("{path}/erase"), &[], b""), 404, "not_found");
    }
    // Another tenant's are nobody's.
    let other = Desk::open(shared());
    refused(&other.get(&path), 404, "not_found");
    refused(&other.send("DELETE", &path, &[], b""), 404, "not_found");
    refused(&other.send("POST", &format!("{path}/erase"), &[], b""), 404, "not_found");
    refused(&other.post(&format!("{path}/keys"), &json!({})), 404, "not_found");
    assert_eq!(other.get("/v1/members").expect(200)["members"], json!([]));
    assert_eq!(desk.get(&path).expect(200), member);
}

#[test]
fn a_member_acts_by_its_key_until_it_is_removed() {
    let desk = Desk::open(shared());
    let project = desk.project();
    let member = invite(&desk, "zoe@example.org");
    let path = format!("/v1/members/{}", text(&member, "id"));
    // Its keys work from the start, and may nothing before it is granted anything.
    let own = key_of(&desk, &path);
    let me = own.get("/v1/me").expect(200);
    assert_eq!((&me["kind"], &me["principal_id"], &me["permissions"]), (&json!("member"), &member["id"], &json!([])));
    let of_project = format!("/v1/projects/{}", text(&project, "id"));
    refused(&own.get(&of_project), 403, "forbidden");
    let wish = json!({"principal_id": member["id"], "template": "viewer", "scope": {"project_id": project["id"]}});
    let grant = desk.post("/v1/grants", &wish).expect(201);
    own.get(&of_project).expect(200);
    let removed = desk.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!((&removed["status"], &removed["email"]), (&json!("removed"), &json!("zoe@example.org")));
    // In the next request, and for good.
    refused(&own.get(&of_project), 401, "unauthenticated");
    refused(&own.get("/v1/me"), 401, "unauthenticated");
    assert_eq!(desk.send("DELETE", &path, &[], b"").expect(200), removed, "again: the same");
    let grants = desk.get("/v1/grants").expect(200);
    let found = grants["grants"].as_array().unwrap().iter().find(|one| one["id"] == grant["id"]).unwrap();
    assert_eq!((&found["state"], &found["permissions"]), (&json!("revoked"), &json!([])));
    let keys = desk.get(&format!("{path}/keys")).expect(200);
    assert!(keys["keys"][0]["revoked_at"].is_string(), "{keys}");
    refused(&desk.post(&format!("{path}/keys"), &json!({})), 409, "conflict");
    refused(&desk.post("/v1/grants", &wish), 404, "not_found");
    // The address may be invited anew: as somebody else, with nothing of the first.
    let anew = invite(&desk, "ZOE@example.org");
    assert!(anew["id"] != member["id"] && anew["short_id"] != member["short_id"]);
    let own = key_of(&desk, &format!("/v1/members/{}", text(&anew, "id")));
    refused(&own.get(&of_project), 403, "forbidden");
}

/// Every file below a directory that has these bytes.
fn files_with(directory: &Path, wanted: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_with(&entry.path(), wanted));
        } else if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            if bytes.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted)) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn nothing_is_left_of_whom_was_erased() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let desk = Desk::open(&appliance);
    let (email, name) = ("quixotic.zebra@unlikely.example", "Quixotic Zebra");
    let body = json!({"email": email, "display_name": name});
    let key = fresh_key();
    let member = desk.json_under(&key, "POST", "/v1/members", &body).expect(201);
    let path = format!("/v1/members/{}", text(&member, "id"));
    let again = desk.json_under(&key, "POST", "/v1/members", &body);
    assert_eq!((again.json(), again.header("idempotent-replayed")), (member.clone(), "true"));
    let own = key_of(&desk, &path);
    own.get("/v1/me").expect(200);
    // What keys are called may tell of the person, in every answer that is remembered.
    let keys = format!("{path}/keys");
    let labelled = desk.post(&keys, &json!({"label": "Zebra's laptop"})).expect(201);
    assert_eq!(desk.get(&keys).expect(200)["keys"][1]["label"], "Zebra's laptop");
    let of_key = format!("/v1/api-keys/{}", text(&labelled, "key_id"));
    let revoking = fresh_key();
    let revoked = desk.json_under(&revoking, "DELETE", &of_key, &Value::Null).expect(200);
    assert_eq!(revoked["label"], "Zebra's laptop");
    assert_eq!(desk.json_under(&revoking, "DELETE", &of_key, &Value::Null).expect(200), revoked);
    refused(&desk.json_under(&key, "POST", "/v1/members", &json!({"email": "x@y"})), 422, "idempotency_key_reused");
    let removing = fresh_key();
    desk.json_under(&removing, "DELETE", &path, &Value::Null).expect(200);
    let erase = format!("{path}/erase");
    let erased = desk.send("POST", &erase, &[], b"").expect(200);
    let pseudonym = format!("{}@erased.invalid", text(&member, "short_id"));
    assert_eq!((&erased["status"], &erased["email"]), (&json!("erased"), &json!(pseudonym)));
    assert!(erased.get("display_name").is_none(), "{erased}");
    assert_eq!(erased["created_at"], member["created_at"]);
    assert_eq!(desk.send("POST", &erase, &[], b"").expect(200), erased, "again: the same");
    assert_eq!(desk.send("DELETE", &path, &[], b"").expect(200), erased, "it is removed already");
    refused(&own.get("/v1/me"), 401, "unauthenticated");
    // What was remembered under a key went with the member's own: nobody knows whether this is what was asked then. Where
    // the path says who is meant, a repeat is told the member as it is now.
    refused(&desk.json_under(&key, "POST", "/v1/members", &body), 422, "idempotency_key_reused");
    let again = desk.json_under(&removing, "DELETE", &path, &Value::Null);
    assert_eq!((again.status, again.json(), again.header("idempotent-replayed")), (200, erased.clone(), "true"));
    refused(
        &desk.json_under(&key, "POST", "/v1/workspaces", &json!({"slug": "w1", "name": "w"})),
        422,
        "idempotency_key_reused",
    );
    assert_eq!(desk.json_under(&fresh_key(), "DELETE", &of_key, &Value::Null).expect(200)["label"], "");
    // Nothing of the person is in any answer, in the log of the process, or anywhere on the disk.
    let id = text(&member, "id");
    for path in ["/v1/members", path.as_str(), "/v1/grants", "/v1/service-accounts", &format!("{path}/keys"), "/v1/me"]
    {
        let answer = desk.get(path);
        assert!(!answer.text.contains("zebra") && !answer.text.contains("Zebra"), "{path}: {answer:?}");
        if path.starts_with("/v1/members") && !path.ends_with("keys") {
            assert!(answer.text.contains(&id), "{path}: {answer:?}");
        }
    }
    assert!(!appliance.log().to_lowercase().contains("zebra"), "{}", appliance.log());
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
    assert_eq!(appliance.stop(), Some(0));
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
    // What was asked cannot be tried either: no digest of it is there without the member's key.
    let sent = body.to_string();
    let parts: [&[u8]; 4] = [b"POST", b"/v1/members", b"", sent.as_bytes()];
    let asked = quintet_platform::secrets::digest_parts(&parts);
    assert_eq!(files_with(parent.path(), &asked[..16]), Vec::<String>::new());
    for wanted in [email, name, "zebra"] {
        assert_eq!(files_with(parent.path(), wanted.as_bytes()), Vec::<String>::new(), "{wanted}");
    }
    // And what is not sealed is there, so that the search would have found it.
    assert_ne!(files_with(parent.path(), b"member.erase"), Vec::<String>::new());
    // The address may be invited anew.
    let appliance = Setup::new().on(&data).start();
    let desk = Desk::of(&appliance, &desk.tenant_id, &[]);
    let anew = desk.post("/v1/members", &body).expect(201);
    assert_eq!(desk.get(&path).expect(200), erased);
    assert_eq!(anew["status"], "pending");
}

#[test]
fn what_a_tenant_has_set_is_shown_as_it_was_set() {
    let desk = Desk::open(shared());
    assert_eq!(desk.get("/v1/settings").expect(200), json!({}));
    let patch = |body: &Value| desk.json("PATCH", "/v1/settings", body);
    assert_eq!(patch(&json!({"legal_approval_quorum": 2})).expect(200), json!({"legal_approval_quorum": 2}));
    let both = json!({"legal_approval_quorum": 2, "display_name": "Quill & Co"});
    assert_eq!(patch(&json!({"display_name": "Quill & Co"})).expect(200), both);
    assert_eq!(patch(&json!({})).expect(200), both);
    for (body, code) in [
        (json!({"legal_approval_quorum": 0}), "invalid_field"),
        (json!({"legal_approval_quorum": -1}), "invalid_field"),
        (json!({"legal_approval_quorum": 1.5}), "invalid_field"),
        (json!({"legal_approval_quorum": "2"}), "invalid_field"),
        (json!({"legal_approval_quorum": null}), "invalid_field"),
        (json!({"legal_approval_quorum": 1_u64 << 60}), "invalid_field"),
        (json!({"display_name": "x".repeat(201)}), "invalid_field"),
        (json!({"display_name": "a\nb"}), "invalid_field"),
        (json!({"quorum": 2}), "unknown_field"),
    ] {
        refused(&patch(&body), 400, code);
    }
    assert_eq!(desk.get("/v1/settings").expect(200), both);
    let viewer = desk.template(shared(), "viewer", &json!({}));
    refused(&viewer.get("/v1/settings"), 403, "forbidden");
    refused(&viewer.json("PATCH", "/v1/settings", &json!({})), 403, "forbidden");
    assert_eq!(Desk::open(shared()).get("/v1/settings").expect(200), json!({}), "each tenant its own");
}
