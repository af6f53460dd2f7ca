//! The same files over HTTP, against the real binary: uploaded (received, sealed, read, compared, stored, audited,
//! durable) and exported in a locale.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http;

/// A running appliance with a project.
pub struct Server {
    child: Child,
    _directory: tempfile::TempDir,
    agent: ureq::Agent,
    base: String,
    tenant_id: String,
    api_key: String,
    project: String,
    requests: u32,
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
    command.args(arguments).args(["--data", data]).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

impl Server {
    /// Starts it in a directory of its own.
    pub fn start() -> Server {
        let directory = tempfile::tempdir().unwrap();
        let data: PathBuf = directory.path().join("data");
        let text = data.to_str().unwrap();
        let child = quintet(&["serve"], text).stdout(Stdio::null()).spawn().unwrap();
        while !data.join("addresses.json").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let addresses: Value = serde_json::from_slice(&std::fs::read(data.join("addresses.json")).unwrap()).unwrap();
        let command = |arguments: &[&str]| -> Value {
            let output = quintet(arguments, text).arg("--json").output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let tenant_id = command(&["tenant", "create", "bench"])["tenant_id"].as_str().unwrap().to_owned();
        let api_key = command(&["key", "issue", "--tenant", &tenant_id])["api_key"].as_str().unwrap().to_owned();
        let base = format!("http://{}", addresses["localization"].as_str().unwrap());
        let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).build().into();
        let mut server = Server {
            child,
            _directory: directory,
            agent,
            base,
            tenant_id,
            api_key,
            project: String::new(),
            requests: 0,
        };
        let workspace = server.send("POST", "/v1/workspaces", json!({"slug": "bench", "name": "Bench"}).to_string());
        let workspace: Value = serde_json::from_slice(&workspace).unwrap();
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        let project: Value = serde_json::from_slice(&server.send("POST", "/v1/projects", project.to_string())).unwrap();
        server.project = format!("/v1/projects/{}", project["id"].as_str().unwrap());
        server
    }

    fn send(&mut self, method: &str, path: &str, body: String) -> Vec<u8> {
        self.requests += 1;
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("bench-{}", self.requests))
            .header("content-type", "application/json");
        let mut response = match method {
            "GET" => self.agent.run(request.body(()).unwrap()).unwrap(),
            _ => self.agent.run(request.body(body).unwrap()).unwrap(),
        };
        response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }

    /// Uploads a file to as many paths as there are rounds, then exports one of them in a locale; the best of each.
    pub fn import_and_export(&mut self, query: &str, text: &str, rounds: usize) -> (Duration, Duration) {
        let mut file_id = String::new();
        let mut best_import = Duration::MAX;
        for round in 0..rounds {
            let name = format!("{}-{round}", query.replace(['=', '&'], "-"));
            let (path, body) = (format!("{}/files?{query}&path={name}", self.project), text.to_owned());
            let begun = Instant::now();
            let imported = self.send("POST", &path, body);
            best_import = best_import.min(begun.elapsed());
            let imported: Value = serde_json::from_slice(&imported).unwrap();
            file_id = imported["file_id"].as_str().unwrap().to_owned();
        }
        let export = format!("{}/files/{file_id}/export?locale=de", self.project);
        let mut best_export = Duration::MAX;
        for _ in 0..rounds {
            let begun = Instant::now();
            // Nothing is translated: but for the root of a rails file, it is the upload.
            assert_eq!(self.send("GET", &export, String::new()).len(), text.len());
            best_export = best_export.min(begun.elapsed());
        }
        (best_import, best_export)
    }
}
