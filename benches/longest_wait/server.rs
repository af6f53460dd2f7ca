//! A running appliance with a tenant and a key for everything.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The appliance.
pub struct Server {
    child: Child,
    _directory: tempfile::TempDir,
    agent: ureq::Agent,
    addresses: Value,
    tenant_id: String,
    api_key: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quintet(arguments: &[&str], data: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS"] {
        command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
    }
    command.env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0").env("QUINTET_RUNS__RUNNER_SOCKET", "off");
    command.args(arguments).args(["--data", data]).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

impl Server {
    /// Starts it in a directory of its own.
    pub fn start() -> Server {
        let directory = tempfile::tempdir_in(".").unwrap();
        let data: PathBuf = directory.path().join("data");
        let text = data.to_str().unwrap();
        let child = quintet(&["serve"], text).stdout(Stdio::null()).spawn().unwrap();
        while !data.join("addresses.json").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let addresses = serde_json::from_slice(&std::fs::read(data.join("addresses.json")).unwrap()).unwrap();
        let command = |arguments: &[&str]| -> Value {
            let output = quintet(arguments, text).arg("--json").output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let tenant_id = command(&["tenant", "create", "bench"])["tenant_id"].as_str().unwrap().to_owned();
        let api_key = command(&["key", "issue", "--tenant", &tenant_id])["api_key"].as_str().unwrap().to_owned();
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(300)));
        let agent = config.http_status_as_error(false).max_idle_connections_per_host(32).build().into();
        Server { child, _directory: directory, agent, addresses, tenant_id, api_key }
    }

    fn uri(&self, service: &str, path: &str) -> String {
        format!("http://{}{path}", self.addresses[service].as_str().unwrap())
    }

    /// Reads; status and body.
    pub fn get(&self, service: &str, path: &str) -> (u16, Vec<u8>) {
        let request = self.agent.get(self.uri(service, path)).header("authorization", format!("Bearer {}", self.api_key));
        let mut answer = request.header("l10n-tenant", &self.tenant_id).call().unwrap();
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (answer.status().as_u16(), body)
    }

    /// Changes something; status and body.
    pub fn post(&self, service: &str, path: &str, key: &str, media_type: &str, body: &[u8]) -> (u16, Value) {
        let request = self.agent.post(self.uri(service, path)).header("authorization", format!("Bearer {}", self.api_key));
        let request = request.header("l10n-tenant", &self.tenant_id).header("idempotency-key", key);
        let mut answer = request.header("content-type", media_type).send(body).unwrap();
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (answer.status().as_u16(), serde_json::from_slice(&text).unwrap_or(Value::Null))
    }
}
