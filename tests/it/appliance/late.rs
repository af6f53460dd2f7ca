//! What a request stands on may end while its body is under way: then it does nothing.

use serde_json::json;

use crate::support::appliance::{Setup, fresh_key};
use crate::support::late::Late;

#[test]
fn a_key_that_was_revoked_meanwhile_changes_nothing() {
    let appliance = Setup::new().start();
    let timer = json!({"name": "t", "url": "https://example.com/", "fire_at": "2100-01-01T00:00:00Z"});
    for (service, path, body) in [
        ("ledger", "/v1/asset-types", json!({"code": "EUR", "scale": 2, "name": "Euro"})),
        ("runs", "/v1/timers", timer),
    ] {
        for ends in ["revoked", "suspended"] {
            let tenant_id = appliance.tenant();
            let (key_id, key) = appliance.key(&tenant_id, &[]);
            let client = appliance.client(service, &key);
            let idempotency_key = fresh_key();
            let headers = [("content-type", "application/json"), ("idempotency-key", idempotency_key.as_str())];
            let body = body.to_string();
            let late = || Late::begin(&appliance, service, &client, ("POST", path), &headers, body.as_bytes());
            let (first, second) = (late(), late());
            let (status, answer) = first.end();
            assert!(status < 300, "{answer}");
            match ends {
                "revoked" => appliance.cli_json(&["key", "revoke", &key_id]),
                _ => appliance.cli_json(&["tenant", "suspend", &tenant_id]),
            };
            // Not even what was answered before is told again.
            let (status, answer) = second.end();
            assert_eq!(status, if ends == "revoked" { 401 } else { 403 }, "{service}: {answer}");
        }
    }
}
