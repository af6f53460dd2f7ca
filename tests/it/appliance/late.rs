//! What a request stands on may end while its body is under way: then it does nothing.

use serde_json::json;

use crate::support::appliance::{Setup, fresh_key};
use crate::support::late::Late;

#[test]
fn a_key_that_was_revoked_meanwhile_changes_nothing() {
    let appliance = Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start();
    let webhook = json!({"url": "http://127.0.0.1:9/"});
    let timer = json!({"name": "t", "fire_at": "2001-02-03T04:05:06Z", "webhook": webhook});
    for (service, path, body) in [
        ("ledger", "/v1/asset-types", json!({"code": "EUR", "kind": "fiat", "scale": 2})),
        ("runs", "/api/v1/timers", timer),
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
