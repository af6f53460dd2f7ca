//! The ledger from outside, and the books that its tests write.

mod access;
mod as_of;
mod authorization;
mod bulk;
mod contract;
mod idempotency;
mod input;
mod linear;
mod operator;
mod partner;
mod postings;

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client, unique};

/// A tenant's ledger with one asset type of scale 2, for tests.
pub struct Books {
    /// A key that may do everything with the tenant's own ledger.
    pub client: Client,
    pub tenant_id: String,
    pub asset_type_id: String,
}

/// Far enough for every test that keeps real time.
pub const FUTURE: &str = "2999-12-31T23:59:59+00:00";

impl Books {
    pub fn open(appliance: &Appliance) -> Books {
        let tenant_id = appliance.tenant();
        let client = appliance.persona("ledger", &tenant_id, &[]);
        let body = json!({"code": format!("EUR{}", unique()), "kind": "fiat", "scale": 2});
        let asset = client.post("/v1/asset-types", &body).expect(201);
        Books { client, tenant_id, asset_type_id: text(&asset, "asset_type_id") }
    }

    /// An account with the floor that is the default.
    pub fn account(&self, normal_side: &str) -> String {
        let body = json!({"asset_type_id": self.asset_type_id, "name": "account", "normal_side": normal_side});
        text(&self.client.post("/v1/accounts", &body).expect(201), "account_id")
    }

    /// A debit-normal account without a floor: where money comes from.
    pub fn source(&self) -> String {
        let body = json!({
            "asset_type_id": self.asset_type_id, "name": "source", "normal_side": "debit", "balance_floor": null,
        });
        text(&self.client.post("/v1/accounts", &body).expect(201), "account_id")
    }

    pub fn post(&self, debit: &str, credit: &str, amount: &str) -> Answer {
        self.client.post("/v1/transactions", &transfer(debit, credit, amount))
    }

    pub fn hold(&self, debit: &str, credit: &str, amount: &str) -> Answer {
        let mut body = transfer(debit, credit, amount);
        body["pending"] = json!(true);
        body["expires_at"] = json!(FUTURE);
        self.client.post("/v1/transactions", &body)
    }

    pub fn settle(&self, transaction_id: &str, how: &str) -> Answer {
        self.client.post(&format!("/v1/transactions/{transaction_id}/{how}"), &json!({}))
    }

    pub fn patch(&self, account_id: &str, body: &Value) -> Answer {
        self.client.patch(&format!("/v1/accounts/{account_id}"), body)
    }

    pub fn available(&self, account_id: &str) -> String {
        text(&self.client.get(&format!("/v1/accounts/{account_id}/balance")).expect(200), "available")
    }
}

pub fn transfer(debit: &str, credit: &str, amount: &str) -> Value {
    json!({"entries": [
        {"account_id": debit, "direction": "debit", "amount": amount},
        {"account_id": credit, "direction": "credit", "amount": amount},
    ]})
}

pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}")).to_owned()
}

/// The answer is this refusal, in the envelope, with Retry-After exactly if it is transient; its details.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    let body = answer.json();
    let error = body["error"].as_object().unwrap_or_else(|| panic!("no envelope: {answer:?}"));
    assert_eq!((answer.status, error["code"].as_str().unwrap()), (status, code), "{answer:?}");
    assert!(error.keys().all(|key| ["code", "message", "details"].contains(&key.as_str())), "{answer:?}");
    assert!(!error["message"].as_str().unwrap().is_empty());
    assert_eq!(body.as_object().unwrap().len(), 1, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/json");
    let transient = matches!(status, 429 | 503)
        || ["ACCOUNT_NOT_ACTIVE", "LOCK_TIMEOUT", "CONFLICT_RETRY", "POSTING_FROZEN"].contains(&code);
    assert_eq!(answer.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0), transient, "{answer:?}");
    error.get("details").cloned().unwrap_or(Value::Null)
}
