//! The demo's endpoint: where its own receiver listens, which is another port at every start.

use std::net::SocketAddr;

use data_encoding::HEXLOWER;
use http::StatusCode;
use quintet_platform::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::content::{Line, Service};
use super::receiver::Receiver;
use crate::cli::CliError;

/// The demo's endpoint.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhooksContent {
    /// Its id; empty: there is none yet.
    pub endpoint_id: String,
    /// Its secret.
    pub secret: String,
}

impl WebhooksContent {
    /// Makes the endpoint, or tells it where the receiver is now.
    pub async fn make(&mut self, address: SocketAddr, key: &str, receiver: &Receiver) -> Result<(), CliError> {
        let drawn = HEXLOWER.encode(&secrets::random_bytes::<8>());
        let prefix = format!("demo-webhook-{drawn}");
        let service = Service { name: "runs", address, key, tenant_id: "", key_prefix: &prefix };
        if !self.endpoint_id.is_empty() {
            let path = format!("/api/v1/webhooks/{}", self.endpoint_id);
            let change = json!({"url": receiver.url(), "active": true});
            let (status, answer) = service.call("PATCH", &path, &prefix, &change).await?;
            match status {
                StatusCode::OK => {
                    receiver.believe(&self.secret);
                    return Ok(());
                }
                // Somebody has tried how to delete it.
                StatusCode::NOT_FOUND => {}
                _ => return Err(CliError::failed(format!("runs answered {status} to PATCH {path}: {answer}"))),
            }
        }
        let body = json!({"url": receiver.url(), "events": ["run.terminal"], "description": "the demo's own receiver"});
        let made = service.create("/api/v1/webhooks", "endpoint", &body).await?;
        let text = |name: &str| made.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        (self.endpoint_id, self.secret) = (text("endpoint_id"), text("secret"));
        receiver.believe(&self.secret);
        Ok(())
    }

    /// A line to paste into a shell: have the receiver told something.
    pub fn curl_lines(&self, address: SocketAddr, key: &str) -> Vec<Line> {
        let test = format!(
            "curl -s -X POST http://{address}/api/v1/webhooks/{}/test -H 'Authorization: Bearer {key}'",
            self.endpoint_id
        );
        vec![Line::new(
            "send a webhook: a receiver of the demo's own prints it here, as it does when a container has ended",
            test,
        )]
    }
}
