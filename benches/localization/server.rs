//! What the measurements of localization share: the real binary in a directory of its own, with a tenant and a project; calls
//! to it; what it has taken.
#![allow(dead_code, reason = "each measurement needs a part")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http;

#[path = "../appliance/mod.rs"]
mod appliance;

use appliance::Appliance;

/// How many connections are kept open.
const CONNECTIONS: usize = 64;

/// A running appliance with a project.
pub struct Server {
    agent: ureq::Agent,
    appliance: Appliance,
    /// Where localization listens.
    pub address: String,
    /// The tenant.
    pub tenant_id: String,
    /// A key that may do everything in it.
    pub api_key: String,
    /// The path of the project.
    pub project: String,
    requests: AtomicU64,
}

impl Server {
    /// Starts it.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// Starts it with these variables besides.
    pub fn start_with(environment: &[(&str, &str)]) -> Server {
        let appliance = Appliance::start(&std::env::temp_dir(), environment);
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(300)))
            .max_idle_connections(CONNECTIONS)
            .max_idle_connections_per_host(CONNECTIONS)
            .http_status_as_error(false)
            .build()
            .into();
        let mut server = Server {
            agent,
            address: appliance.address("localization").to_owned(),
            tenant_id: appliance.tenant_id.clone(),
            api_key: appliance.api_key.clone(),
            appliance,
            project: String::new(),
            requests: AtomicU64::new(0),
        };
        let workspace = server.json("POST", "/v1/workspaces", &json!({"slug": "bench", "name": "Bench"}));
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        let project = server.json("POST", "/v1/projects", &project);
        server.project = format!("/v1/projects/{}", project["id"].as_str().unwrap());
        server
    }

    /// Kills it without warning and starts it anew.
    pub fn restart(&mut self) {
        self.appliance.restart(&[]);
        self.appliance.address("localization").clone_into(&mut self.address);
    }

    /// Runs a command that talks to it; what it says.
    pub fn command(&self, arguments: &[&str]) -> Value {
        self.appliance.command(arguments)
    }

    /// A path in the project.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.project)
    }

    /// Reads.
    pub fn get(&self, path: &str) -> Vec<u8> {
        self.send("GET", path, "", Vec::new())
    }

    /// Sends JSON and expects JSON.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> Value {
        serde_json::from_slice(&self.send(method, path, "application/json", body.to_string())).unwrap()
    }

    /// Sends something and expects to succeed; the body of the answer.
    pub fn send(&self, method: &str, path: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Vec<u8> {
        let (status, answer) = self.try_send(method, path, media_type, body);
        assert!(status < 300, "{method} {path}: {status} {}", String::from_utf8_lossy(&answer));
        answer
    }

    /// Sends something; the status and the body of the answer.
    pub fn try_send(&self, method: &str, path: &str, media_type: &str, body: impl Into<Vec<u8>>) -> (u16, Vec<u8>) {
        let mut response = self.send_unread(method, path, media_type, body);
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (response.status().as_u16(), body)
    }

    /// Sends something; the answer, whose body nobody reads unless the caller does.
    pub fn send_unread(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: impl Into<Vec<u8>>,
    ) -> http::Response<ureq::Body> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("bench-{number}"))
            .header("content-type", media_type);
        match method {
            "GET" => self.agent.run(request.body(()).unwrap()).unwrap(),
            _ => self.agent.run(request.body(body.into()).unwrap()).unwrap(),
        }
    }

    /// User and system time of the server so far (proc(5), stat; ticks are 10 ms on Linux).
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.appliance.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) as f64 / 100.0
    }

    /// The most memory that it has had since it started, or since [`Server::forget_peak`], in MiB.
    pub fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.appliance.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak.unwrap().trim().parse::<u64>().unwrap() / 1024
    }

    /// Counts its memory from now on.
    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.appliance.id()), "5").unwrap();
    }
}
