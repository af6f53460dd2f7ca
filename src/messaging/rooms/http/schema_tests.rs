//! Schemas of rooms as callers see them.

use serde_json::{Value, json};

use crate::rooms::join;
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;
const PATH: &str = "/v1/rooms/build/schema";

fn with_member(bench: Bench) -> Bench {
    let ann = bench.agent("ann");
    bench.agent("ben");
    bench.run(move |tx, _| join(tx, ann, "build")).unwrap();
    bench
}

#[tokio::test]
async fn members_set_it_and_everybody_reads_it() {
    let bench = with_member(Bench::new());
    let (status, none) = bench.call_as("ben", "GET", PATH, NONE).await;
    assert_eq!((status, &none["schema"], &none["version"]), (200, &NONE, &json!(0)));
    let schema = json!({"type": "object", "required": ["x"]});
    let (status, set) = bench.call_as("ann", "PUT", PATH, json!({"schema": schema})).await;
    assert_eq!((status, &set["room"], &set["schema"], &set["version"]), (200, &json!("build"), &schema, &json!(1)));
    assert_eq!(bench.call(&bench.admin, "GET", PATH, NONE).await.1["schema"], schema);
    let (_, cleared) = bench.call_as("ann", "PUT", PATH, json!({"schema": null})).await;
    assert_eq!((&cleared["schema"], &cleared["version"]), (&NONE, &json!(2)));
}

#[tokio::test]
async fn what_is_no_schema_and_who_may_not() {
    let bench = with_member(Bench::new());
    let put = |agent: &'static str, path: &'static str, body: Value| bench.call_as(agent, "PUT", path, body);
    assert_refused(&put("ben", PATH, json!({"schema": {}})).await, (403, "permission_denied"), "join");
    assert_refused(&put("ann", "/v1/rooms/none/schema", json!({"schema": {}})).await, (404, "not_found"), "room");
    assert_refused(&bench.call_as("ann", "GET", "/v1/rooms/none/schema", NONE).await, (404, "not_found"), "room");
    for schema in
        [json!(5), json!({"type": "thing"}), json!({"$ref": "https://x.example/s"}), json!({"a": "x".repeat(17_000)})]
    {
        assert_refused(&put("ann", PATH, json!({"schema": schema})).await, (422, "validation_error"), "schema");
    }
    assert_refused(&put("ann", PATH, json!({})).await, (422, "validation_error"), "required");
    let encrypted = with_member(Bench::encrypted());
    let refused = encrypted.call_as("ann", "PUT", PATH, json!({"schema": {}})).await;
    assert_refused(&refused, (422, "sealing_required"), "sealed");
    assert_eq!(encrypted.call_as("ann", "PUT", PATH, json!({"schema": null})).await.0, 200);
}
