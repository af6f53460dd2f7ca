//! Calls to a running appliance.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

#[path = "../appliance/mod.rs"]
mod appliance;

use appliance::Appliance;

/// The appliance.
pub struct Server {
    agent: ureq::Agent,
    appliance: Appliance,
}

impl Server {
    /// Starts it in a directory of its own.
    pub fn start() -> Server {
        let environment = [("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0"), ("QUINTET_RUNS__RUNNER_SOCKET", "off")];
        let appliance = Appliance::start(Path::new("."), &environment);
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(300)));
        let agent = config.http_status_as_error(false).max_idle_connections_per_host(32).build().into();
        Server { agent, appliance }
    }

    fn uri(&self, service: &str, path: &str) -> String {
        format!("http://{}{path}", self.appliance.address(service))
    }

    /// Reads; status and body.
    pub fn get(&self, service: &str, path: &str) -> (u16, Vec<u8>) {
        let request = self
            .agent
            .get(self.uri(service, path))
            .header("authorization", format!("Bearer {}", self.appliance.api_key));
        let mut answer = request.header("l10n-tenant", &self.appliance.tenant_id).call().unwrap();
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (answer.status().as_u16(), body)
    }

    /// Changes something; status and body.
    pub fn post(&self, service: &str, path: &str, key: &str, media_type: &str, body: &[u8]) -> (u16, Value) {
        let request = self
            .agent
            .post(self.uri(service, path))
            .header("authorization", format!("Bearer {}", self.appliance.api_key));
        let request = request.header("l10n-tenant", &self.appliance.tenant_id).header("idempotency-key", key);
        let mut answer = request.header("content-type", media_type).send(body).unwrap();
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (answer.status().as_u16(), serde_json::from_slice(&text).unwrap_or(Value::Null))
    }
}
