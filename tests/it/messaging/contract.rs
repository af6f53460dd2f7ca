//! Messaging against its own description: every answer has the documented shape, every code is provoked by a test.

use serde_json::{Value, json};

use crate::support::appliance::{Client, Setup, shared};
use crate::support::contract::faults;
use crate::support::messaging::{Workspace, refused};

#[test]
fn a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let workspace = Workspace::open(&appliance);
    let key = workspace.admin_key.clone();
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let admin = appliance.client("messaging", &key);
    let answer = admin.post("/v1/invites", &json!({}));
    refused(&answer, 503, "storage_full");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    admin.get("/v1/keys").expect(200);
    assert_eq!(appliance.stranger("messaging").get("/readyz").status, 200);
}

/// Sends a request, and holds its answer against what the document says of it.
#[track_caller]
pub fn described(client: &Client, document: &Value, (method, template): (&str, &str), path: &str, body: &str) -> Value {
    let answer = client.send(method, path, &[("content-type", "application/json")], body.as_bytes());
    let operation = &document["paths"][template][method.to_lowercase()];
    let response = &operation["responses"][answer.status.to_string()];
    let schema = &response["content"][answer.header("content-type")]["schema"];
    assert!(schema.is_object(), "{method} {path}: {} is not described: {answer:?}", answer.status);
    let found = faults(document, schema, &answer.json(), "");
    assert!(found.is_empty(), "{method} {path}: {found:#?}\n{answer:?}");
    if answer.status >= 400 {
        assert!(response["x-codes"].as_array().unwrap().contains(&answer.json()["code"]), "{answer:?}");
    }
    answer.json()
}

#[test]
fn answers_of_the_operators_routes_have_the_documented_shapes() {
    let document = shared().stranger("messaging").get("/openapi.json").expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let workspace = Workspace::open(shared());
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&workspace.admin, &document, (method, template), path, body)
    };
    ask("GET", "/healthz", "/healthz", "");
    ask("GET", "/readyz", "/readyz", "");
    let made = ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"read"}"#);
    ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"read","delivery":"one-time-url"}"#);
    ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"none"}"#);
    ask("POST", "/v1/keys", "/v1/keys", "{");
    ask("GET", "/v1/keys", "/v1/keys", "");
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    ask("DELETE", "/v1/keys/{key_id}", &path, "");
    ask("DELETE", "/v1/keys/{key_id}", "/v1/keys/nothing", "");
    ask("GET", "/v1/keys/once/{token}", "/v1/keys/once/nothing", "");
    ask("POST", "/v1/invites", "/v1/invites", "");
    ask("POST", "/v1/invites", "/v1/invites", r#"{"ttl_seconds":1}"#);
    ask("GET", "/v1/usage", "/v1/usage", "");
    ask("GET", "/v1/usage", "/v1/usage?a=b", "");
    ask("GET", "/v1/limits", "/v1/limits", "");
    let llms = shared().stranger("messaging").get("/llms.txt");
    assert!(llms.status == 200 && llms.text.contains("### POST /v1/keys"), "{llms:?}");
}
