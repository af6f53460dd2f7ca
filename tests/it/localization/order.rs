//! In which order a request is judged: the first fault in it answers.

use serde_json::json;

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

#[test]
fn things_and_permissions_come_before_what_a_body_says() {
    let desk = Desk::open(shared());
    let (workspace, project) = (desk.workspace(), desk.project());
    let viewer = desk.template(shared(), "viewer", &json!({}));
    let bad_tag = json!({"locales": ["-"]});
    let bad_source = json!({"source_locale": "zh"});
    let at = |project: &str, rest: &str| format!("/v1/projects/{project}{rest}");
    let project_id = text(&project, "id");
    for (rest, etag, body) in [("/locales", "\"v0\"", &bad_tag), ("/source-locale", "\"s0\"", &bad_source)] {
        refused(&desk.put_if_match(&at(NOBODY, rest), etag, body), 404, "not_found");
        refused(&viewer.put_if_match(&at(&project_id, rest), etag, body), 403, "forbidden");
        assert_eq!(desk.put_if_match(&at(&project_id, rest), etag, body).status, 422);
        // What the tag says comes before the state that is expected.
        assert_eq!(desk.put_if_match(&at(&project_id, rest), "\"x\"", body).status, 422);
        let unknown = json!({"colour": "red"});
        refused(&viewer.put_if_match(&at(NOBODY, rest), etag, &unknown), 400, "unknown_field");
    }
    let create =
        |workspace_id: &str| json!({"workspace_id": workspace_id, "slug": "abc", "name": "n", "source_locale": "zh"});
    refused(&desk.post("/v1/projects", &create(NOBODY)), 404, "not_found");
    refused(&viewer.post("/v1/projects", &create(&text(&workspace, "id"))), 403, "forbidden");
    refused(&desk.post("/v1/projects", &create(&text(&workspace, "id"))), 422, "locale_script_required");
}

#[test]
fn what_the_path_names_comes_before_the_permission() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let nobody = shelf.desk.template(shared(), "org_billing", &json!({}));
    let file = |file_id: &str, rest: &str| shelf.path(&format!("/files/{file_id}{rest}"));
    for rest in ["/export", "/context", "/imports/5/manifest"] {
        refused(&nobody.get(&file(NOBODY, rest)), 404, "not_found");
        refused(&nobody.get(&file(&file_id, rest)), 403, "forbidden");
    }
    refused(&nobody.get(&file(&file_id, "/imports/1/manifest")), 404, "not_found");
    // A tag that the query names, and what does not go with the file, come behind both.
    refused(&nobody.get(&file(&file_id, "/export?locale=zh")), 403, "forbidden");
    refused(&nobody.get(&file(&file_id, "/export?locale=de&fallback=x")), 400, "invalid_parameter");
    let body = json!({"keys": [{"path": "z", "min_length": 2, "max_length": 1}]});
    refused(&nobody.json("PUT", &file(&file_id, "/context"), &body), 403, "forbidden");
    refused(&shelf.desk.json("PUT", &file(&file_id, "/context"), &body), 422, "key_unknown");
    // A tag in the path comes before the key.
    let translation = |key: &str, tag: &str| format!("/v1/keys/{key}/translations/{tag}");
    refused(&nobody.json("PUT", &translation(NOBODY, "zh"), &json!({"text": "x"})), 422, "locale_script_required");
    refused(&nobody.json("PUT", &translation(NOBODY, "de"), &json!({"text": "x"})), 404, "not_found");
    let plural = json!({"forms": {"other": "x"}});
    refused(&nobody.json("PUT", &translation(&shelf.key_id("a"), "de"), &plural), 403, "forbidden");
}

#[test]
fn a_member_that_is_not_known_comes_before_one_that_is_wrong() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B"}));
    let path = shelf.path(&format!("/files/{file_id}/context"));
    for (keys, code, field) in [
        (json!([{"path": "a", "max_length": 0}, {"path": "b", "colour": 1}]), "unknown_field", "keys[1].colour"),
        (json!([{"path": "a", "max_length": 0}, {"path": "a"}]), "invalid_field", "keys[0].max_length"),
    ] {
        let problem = refused(&shelf.desk.json("PUT", &path, &json!({ "keys": keys })), 400, code);
        assert_eq!(problem["field"], field);
    }
}

#[test]
fn an_upload_is_judged_by_size_then_by_what_its_body_is() {
    let shelf = Shelf::open(shared());
    let path = shelf.path("/files?kind=json&path=a.json");
    let send = |headers: &[(&str, &str)], body: &[u8]| {
        let key = fresh_key();
        let own = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        shelf.desk.send("POST", &path, &[&own[..], headers].concat(), body)
    };
    // Nobody takes off what a sender has put around a file.
    for coding in ["gzip", "br", "deflate, gzip", "zstd"] {
        refused(&send(&[("content-encoding", coding)], b"{}"), 415, "unsupported_media_type");
    }
    assert_eq!(send(&[("content-encoding", "identity")], b"{}").status, 201);
    let large = vec![b' '; 52_428_801];
    refused(&send(&[("content-encoding", "gzip")], &large), 413, "upload_too_large");
}

#[test]
fn localization_judges_what_a_request_says_before_it_looks_a_key_up() {
    let shelf = Shelf::open(shared());
    let key = fresh_key();
    let send = |path: &str, kind: &str, body: &[u8]| {
        shelf.desk.send("POST", path, &[("idempotency-key", key.as_str()), ("content-type", kind)], body)
    };
    let path = "/v1/workspaces";
    let other = br#"{"slug": "other", "name": "Order"}"#;
    shelf.desk.json_under(&key, "POST", path, &json!({"slug": "order", "name": "Order"})).expect(201);
    refused(&send(path, "application/json", other), 422, "idempotency_key_reused");
    refused(&send(path, "application/json", b"{"), 400, "malformed_json");
    refused(&send(path, "application/json", b"{\"slug\": 1}"), 400, "invalid_field");
    refused(&send("/v1/workspaces?x=1", "application/json", other), 400, "unknown_parameter");
    refused(&send(path, "text/plain", other), 415, "unsupported_media_type");
    refused(&send(path, "application/json", &vec![b'x'; 300_000]), 413, "payload_too_large");
    // A file is read after that.
    refused(&shelf.upload_under(&key, "kind=json&path=a.json", b"{"), 422, "idempotency_key_reused");
    refused(&shelf.upload("kind=json&path=a.json", b"{"), 422, "malformed");
}
