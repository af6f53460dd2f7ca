//! The demo's content, posted through the services' public HTTP interfaces like anybody else's.
//!
//! A repetition changes nothing: what was made is remembered, and every request has an Idempotency-Key of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use quintet_platform::clock::rfc3339;
use quintet_platform::secrets;
use quintet_storage::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::cli::CliError;

/// How long the demo's hold stays open.
const HOLD_SECONDS: i64 = 7 * 24 * 3600;

/// How often a request is tried that the service asks to repeat.
const TRIES: u32 = 20;

/// The accounts: a short name, its name in the ledger, the side that increases it.
const ACCOUNTS: [(&str, &str, &str); 4] = [
    ("cash", "Cash at the bank", "debit"),
    ("alice", "Customer Alice", "credit"),
    ("bob", "Customer Bob", "credit"),
    ("fees", "Fees earned", "credit"),
];

/// What the demo has posted to the ledger.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerContent {
    /// What every Idempotency-Key of this content begins with; no other content has it.
    #[serde(default)]
    key_prefix: String,
    /// When the demo's hold lapses; RFC 3339. Fixed before the first post, so that a repetition is the same request.
    hold_expires_at: String,
    /// The accounts' ids by short name.
    accounts: BTreeMap<String, String>,
    /// Whether everything was posted.
    is_complete: bool,
}

/// Whether the ledger accepts this key.
pub async fn is_key_accepted(address: SocketAddr, key: &str) -> Result<bool, CliError> {
    let (status, _) = Service { name: "the ledger", address, key, tenant_id: "", key_prefix: "" }
        .call("GET", "/v1/accounts?limit=1", "", &Value::Null)
        .await?;
    Ok(status != StatusCode::UNAUTHORIZED)
}

impl LedgerContent {
    /// Content of its own, not posted yet.
    pub fn draw() -> LedgerContent {
        let key_prefix = format!("demo-{}", HEXLOWER.encode(&secrets::random_bytes::<8>()));
        LedgerContent { key_prefix, ..LedgerContent::default() }
    }

    /// Fixes what depends on the time. Whether anything changed.
    pub fn plan(&mut self, now: Timestamp) -> bool {
        if !self.hold_expires_at.is_empty() {
            return false;
        }
        self.hold_expires_at = rfc3339(now.plus_seconds(HOLD_SECONDS));
        true
    }

    /// Posts what is missing. Whether anything changed.
    pub async fn post(&mut self, address: SocketAddr, key: &str) -> Result<bool, CliError> {
        if self.is_complete {
            return Ok(false);
        }
        let ledger = Service { name: "the ledger", address, key, tenant_id: "", key_prefix: &self.key_prefix };
        let euro = ledger
            .create("/v1/asset-types", "asset-eur", &json!({ "code": "EUR", "kind": "fiat", "scale": 2 }))
            .await?;
        for (short, name, normal_side) in ACCOUNTS {
            let account = json!({
                "asset_type_id": euro.get("asset_type_id"),
                "name": name,
                "normal_side": normal_side,
                "metadata": { "demo": true, "role": short },
            });
            let made = ledger.create("/v1/accounts", &format!("account-{short}"), &account).await?;
            let id = made.get("account_id").and_then(Value::as_str).unwrap_or_default();
            self.accounts.insert(short.to_string(), id.to_string());
        }
        for (name, transaction) in self.transactions() {
            ledger.create("/v1/transactions", name, &transaction).await?;
        }
        self.is_complete = true;
        Ok(true)
    }

    fn transactions(&self) -> [(&'static str, Value); 5] {
        let leg = |account: &str, direction: &str, amount: &str| json!({ "account_id": self.accounts.get(account), "direction": direction, "amount": amount });
        let posting = |description: &str, entries: &[Value]| json!({ "description": description, "metadata": { "demo": true }, "entries": entries });
        let mut hold =
            posting("Hold: Alice books a hotel", &[leg("alice", "debit", "120.00"), leg("bob", "credit", "120.00")]);
        if let Some(members) = hold.as_object_mut() {
            members.insert("pending".into(), true.into());
            members.insert("expires_at".into(), self.hold_expires_at.clone().into());
        }
        [
            (
                "deposit-alice",
                posting("Alice pays in", &[leg("cash", "debit", "1000.00"), leg("alice", "credit", "1000.00")]),
            ),
            ("deposit-bob", posting("Bob pays in", &[leg("cash", "debit", "250.00"), leg("bob", "credit", "250.00")])),
            (
                "payment",
                posting(
                    "Alice pays Bob, less a fee",
                    &[leg("alice", "debit", "43.00"), leg("bob", "credit", "42.50"), leg("fees", "credit", "0.50")],
                ),
            ),
            ("withdrawal", posting("Bob withdraws", &[leg("bob", "debit", "20.00"), leg("cash", "credit", "20.00")])),
            ("hold", hold),
        ]
    }

    /// Lines to paste into a shell: post a transaction, read a balance.
    pub fn curl_lines(&self, address: SocketAddr, key: &str) -> Vec<Line> {
        let account = |short: &str| self.accounts.get(short).cloned().unwrap_or_default();
        let body = json!({
            "description": "Alice pays Bob",
            "entries": [
                { "account_id": account("alice"), "direction": "debit", "amount": "1.00" },
                { "account_id": account("bob"), "direction": "credit", "amount": "1.00" },
            ],
        });
        let post = format!(
            "curl -s http://{address}/v1/transactions -H 'Authorization: Bearer {key}' -H \"Idempotency-Key: $(date +%s%N)\" -H 'Content-Type: application/json' -d '{body}'"
        );
        let read =
            format!("curl -s http://{address}/v1/accounts/{}/balance -H 'Authorization: Bearer {key}'", account("bob"));
        vec![Line::new("post a transaction: Alice pays Bob 1.00", post), Line::new("read Bob's balance", read)]
    }
}

/// The demo's diagram.
const DIAGRAM: &str = include_str!("../../../assets/diagrams/examples/work.dot");

/// Draws the demo's diagram; where it is. Drawing it again changes nothing.
pub async fn draw_diagram(address: SocketAddr, key: &str) -> Result<String, CliError> {
    let caller = Service { name: "diagrams", address, key, tenant_id: "", key_prefix: "" };
    let (status, answer) = caller.call("POST", "/graphs?format=svg", "", &json!({ "dotfile": DIAGRAM })).await?;
    match answer.get("url").and_then(Value::as_str) {
        Some(url) => Ok(url.to_owned()),
        None => Err(CliError::failed(format!("the diagrams answered {status} to POST /graphs: {answer}"))),
    }
}

/// Lines to paste into a shell: the demo's diagram, and one of one's own.
pub fn diagram_lines(address: SocketAddr, key: Option<&str>, url: &str) -> Vec<Line> {
    let credential = key.map(|key| format!(" -H 'Authorization: Bearer {key}'")).unwrap_or_default();
    let body = json!({ "dotfile": "digraph { rankdir=LR; idea -> draft -> release }" });
    vec![
        Line::new("fetch the demo's diagram (or open its address in a browser)", format!("curl -s {url}{credential}")),
        Line::new("draw a diagram", format!("curl -s 'http://{address}/graphs?format=svg'{credential} -d '{body}'")),
    ]
}

/// A line to paste into a shell.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What it does.
    pub about: &'static str,
    /// The line.
    pub command: String,
}

impl Line {
    /// A line and what it does.
    pub fn new(about: &'static str, command: String) -> Line {
        Line { about, command }
    }
}

/// A service's public interface, as far as the demo needs it.
pub struct Service<'a> {
    /// What it is called in complaints.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// The key to show it.
    pub key: &'a str,
    /// The tenant to name; empty: none.
    pub tenant_id: &'a str,
    /// What every Idempotency-Key begins with.
    pub key_prefix: &'a str,
}

impl Service<'_> {
    /// Makes something; `name` tells its Idempotency-Key from the others of this content.
    pub async fn create(&self, path: &str, name: &str, body: &Value) -> Result<Value, CliError> {
        self.change("POST", path, name, body).await
    }

    /// [`Service::create`] with another method.
    pub async fn change(&self, method: &str, path: &str, name: &str, body: &Value) -> Result<Value, CliError> {
        let (status, answer) = self.call(method, path, &format!("{}-{name}", self.key_prefix), body).await?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(CliError::failed(format!("{} answered {status} to {method} {path}: {answer}", self.name)).hint(
            "start the demo on a fresh directory with --data DIR, or remove demo.json: it then makes another tenant",
        ))
    }

    /// Sends a request, again if the service asks for it.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        name: &str,
        body: &Value,
    ) -> Result<(StatusCode, Value), CliError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (status, headers, answer) = self.exchange(method, path, name, body).await?;
            let is_transient = status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE;
            if !is_transient || tries >= TRIES {
                return Ok((status, answer));
            }
            tokio::time::sleep(retry_after(&headers)).await;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the demo calls its own listener on this machine, nothing outside")]
    async fn exchange(
        &self,
        method: &str,
        path: &str,
        name: &str,
        body: &Value,
    ) -> Result<(StatusCode, HeaderMap, Value), CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::failed(format!("talking to {}: {error}", self.name));
        let stream = TcpStream::connect(self.address).await.map_err(|error| failed(&error))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
        tokio::spawn(connection);
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key));
        if !self.tenant_id.is_empty() {
            request = request.header("l10n-tenant", self.tenant_id);
        }
        if !body.is_null() {
            request = request.header("idempotency-key", name).header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(Bytes::from(text))).map_err(|error| failed(&error))?;
        let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        Ok((status, headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }
}

/// How long the service asks to wait.
fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1).min(5))
}
