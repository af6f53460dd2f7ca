//! The real binary with one project in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http;

/// How many write translations at a time.
const WRITERS: usize = 32;

/// A running appliance with a project.
pub struct Server {
    child: Child,
    _directory: tempfile::TempDir,
    caller: Caller,
    project: String,
}

/// A caller with a connection of its own.
struct Caller {
    agent: ureq::Agent,
    base: String,
    tenant_id: String,
    api_key: String,
    name: String,
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

impl Caller {
    fn another(&self, name: String) -> Caller {
        let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(300))).build().into();
        let (base, tenant_id, api_key) = (self.base.clone(), self.tenant_id.clone(), self.api_key.clone());
        Caller { agent, base, tenant_id, api_key, name, requests: 0 }
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        self.requests += 1;
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("{}-{}", self.name, self.requests))
            .header("content-type", "application/json");
        let mut response = match method {
            "GET" => self.agent.run(request.body(()).unwrap()).unwrap(),
            _ => self.agent.run(request.body(body.to_owned()).unwrap()).unwrap(),
        };
        response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }
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
        let first = Caller {
            agent: ureq::Agent::new_with_defaults(),
            base,
            tenant_id,
            api_key,
            name: String::new(),
            requests: 0,
        };
        let mut caller = first.another("bench".into());
        let read = |body: Vec<u8>| -> Value { serde_json::from_slice(&body).unwrap() };
        let workspace = json!({"slug": "bench", "name": "Bench"}).to_string();
        let workspace = read(caller.send("POST", "/v1/workspaces", &workspace));
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        let project = read(caller.send("POST", "/v1/projects", &project.to_string()));
        let project = format!("/v1/projects/{}", project["id"].as_str().unwrap());
        Server { child, _directory: directory, caller, project }
    }

    /// Reads something of the project.
    pub fn get(&mut self, path: &str) -> Vec<u8> {
        let path = format!("{}{path}", self.project);
        self.caller.send("GET", &path, "")
    }

    /// Makes something in the project.
    pub fn post(&mut self, path: &str, body: &str) -> Vec<u8> {
        let path = format!("{}{path}", self.project);
        self.caller.send("POST", &path, body)
    }

    /// Sets something of the project.
    pub fn put(&mut self, path: &str, body: &str) -> Vec<u8> {
        let path = format!("{}{path}", self.project);
        self.caller.send("PUT", &path, body)
    }

    /// Uploads a JSON file.
    pub fn upload(&mut self, text: &str) {
        self.post("/files?kind=json&path=en.json", text);
    }

    /// The ids of all keys.
    pub fn keys(&mut self) -> Vec<String> {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let page: Value = serde_json::from_slice(&self.get(&format!("/keys?limit=500{cursor}"))).unwrap();
            ids.extend(page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return ids,
            }
        }
    }

    /// Writes every key's translation in each locale.
    pub fn translate(&mut self, keys: &[String], locales: &[&str], text: fn(usize, &str) -> String) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let mut caller = self.caller.another(format!("writer{writer}"));
                let next = &next;
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(key), locale) = (keys.get(at / locales.len()), locales[at % locales.len()]) else {
                            break;
                        };
                        let body = json!({"text": text(at / locales.len(), locale)}).to_string();
                        caller.send("PUT", &format!("/v1/keys/{key}/translations/{locale}"), &body);
                    }
                });
            }
        });
    }
}
