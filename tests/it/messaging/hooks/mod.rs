//! Calls that become messages, and what is told to others.

mod crash;
mod inbound;
mod outbound;
mod verifiers;
mod within;

use data_encoding::{BASE64, HEXLOWER};
use quintet_platform::deliveries::hmac_sha256;
use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client};

/// An inbound endpoint, as whoever calls it knows it.
#[derive(Clone)]
pub struct Endpoint {
    pub url: String,
    /// Its address without what it is reached by.
    pub path: String,
    pub secret: String,
}

/// Header fields.
pub type Fields = Vec<(String, String)>;

impl Endpoint {
    /// Makes the one of an agent.
    pub fn make(client: &Client, agent: &str) -> Endpoint {
        let made = client.post(&format!("/v1/agents/{agent}/inbound"), &json!({"label": "ci"})).expect(201);
        Endpoint::of(&made)
    }

    pub fn of(made: &Value) -> Endpoint {
        let url = made["url"].as_str().unwrap().to_owned();
        let path = url[url.find("/in/").unwrap()..].to_owned();
        Endpoint { url, path, secret: made["secret"].as_str().unwrap().to_owned() }
    }

    /// The bytes that sign.
    pub fn key(&self) -> Vec<u8> {
        BASE64.decode(self.secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap()
    }

    /// In the form of Standard Webhooks.
    pub fn standard(&self, id: &str, at: i64, body: &[u8]) -> Fields {
        let at = at.to_string();
        let signature = hmac_sha256(&self.key(), &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        let signature = format!("v1,{}", BASE64.encode(&signature));
        fields(&[("webhook-id", id), ("webhook-timestamp", &at), ("webhook-signature", &signature)])
    }

    /// In messaging's own.
    pub fn own(&self, at: i64, body: &[u8]) -> Fields {
        let at = at.to_string();
        let signature = format!("v1={}", HEXLOWER.encode(&hmac_sha256(&self.key(), &[at.as_bytes(), b".", body])));
        fields(&[("x-agentbus-timestamp", &at), ("x-agentbus-signature", &signature)])
    }

    /// In that of runs.
    pub fn service(&self, id: &str, at: i64, body: &[u8]) -> Fields {
        let at = at.to_string();
        let signature = hmac_sha256(self.secret.as_bytes(), &[at.as_bytes(), b".", body]);
        let signature = format!("sha256={}", HEXLOWER.encode(&signature));
        fields(&[
            ("x-svc-timestamp", &at),
            ("x-svc-signature", &signature),
            ("x-svc-event-id", id),
            ("x-svc-event", "build.finished"),
        ])
    }

    /// Calls it.
    pub fn call(&self, client: &Client, fields: &[(String, String)], body: &[u8]) -> Answer {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        client.send("POST", &self.path, &fields, body)
    }
}

pub fn fields(all: &[(&str, &str)]) -> Fields {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The same fields, one of which is another or none.
pub fn with(all: &Fields, name: &str, value: Option<&str>) -> Fields {
    let mut all: Fields = all.iter().filter(|(known, _)| known != name).cloned().collect();
    all.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    all
}

/// Seconds since 1970 by the clock of an appliance that tests move.
pub fn told_seconds(appliance: &Appliance) -> i64 {
    let now = appliance.cli_json(&["clock", "show"])["now"].as_str().unwrap().to_owned();
    quintet_platform::clock::parse_rfc3339(&now).unwrap().as_micros() / 1_000_000
}

/// Seconds since 1970 by this machine's.
pub fn seconds() -> i64 {
    quintet_platform::clock::Clock::system().now().as_micros() / 1_000_000
}

pub fn advance(appliance: &Appliance, seconds: u64) {
    appliance.cli_json(&["clock", "advance", &seconds.to_string()]);
}
