//! The same units and queries over HTTP, against the real binary: imported as TMX, asked for by keys whose sources are the
//! queries.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http;

/// How often each query is asked.
const ROUNDS: usize = 5;
const CALLERS: usize = 8;

/// A running appliance with a project.
pub struct Server {
    child: Child,
    _directory: tempfile::TempDir,
    agent: ureq::Agent,
    base: String,
    tenant_id: String,
    api_key: String,
    project: String,
    requests: AtomicU64,
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

/// Escapes what stands between the tags of XML.
fn escaped(text: &str) -> String {
    let written = |character: char| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\r' => "&#13;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(written).collect()
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
        let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(300))).build().into();
        let requests = AtomicU64::new(0);
        let mut server =
            Server { child, _directory: directory, agent, base, tenant_id, api_key, project: String::new(), requests };
        let workspace = json!({"slug": "bench", "name": "Bench"});
        let workspace = server.send("POST", "/v1/workspaces", "application/json", workspace.to_string());
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        let project = server.send("POST", "/v1/projects", "application/json", project.to_string());
        server.project = format!("/v1/projects/{}", project["id"].as_str().unwrap());
        server
    }

    fn send(&self, method: &str, path: &str, media_type: &str, body: String) -> Value {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("bench-{number}"))
            .header("content-type", media_type);
        let mut response = match method {
            "GET" => self.agent.run(request.body(()).unwrap()).unwrap(),
            _ => self.agent.run(request.body(body).unwrap()).unwrap(),
        };
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// Imports units as TMX; how long that took.
    pub fn fill(&mut self, sources: &[String]) -> Duration {
        let mut document = String::from(concat!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\"><header creationtool=\"bench\" ",
            "creationtoolversion=\"1\" segtype=\"block\" o-tmf=\"none\" adminlang=\"en\" srclang=\"en\" ",
            "datatype=\"plaintext\"/><body>\n"
        ));
        for (number, source) in sources.iter().enumerate() {
            let source = escaped(source);
            writeln!(
                document,
                "<tu><tuv xml:lang=\"en\"><seg>{source}</seg></tuv><tuv xml:lang=\"de\"><seg>{number} {source}</seg></tuv></tu>"
            )
            .unwrap();
        }
        document.push_str("</body></tmx>\n");
        let begun = Instant::now();
        let told = self.send("POST", &format!("{}/memory", self.project), "application/x-tmx+xml", document);
        assert_eq!(told["written"], sources.len(), "{told}");
        begun.elapsed()
    }

    /// Asks for suggestions for keys whose sources are these: how long the first answer took, which makes the index, and
    /// how many milliseconds those of one caller and of eight took, sorted.
    pub fn ask(&self, queries: &[String], expected: &[Vec<u8>]) -> (Duration, [Vec<f64>; 2]) {
        let member = |(number, query): (usize, &String)| (format!("k{number}"), json!(query));
        let file: serde_json::Map<String, Value> = queries.iter().enumerate().map(member).collect();
        let path = format!("{}/files?kind=json&path=queries.json", self.project);
        self.send("POST", &path, "application/json", Value::Object(file).to_string());
        let listed = self.send("GET", &format!("{}/keys?limit=500", self.project), "", String::new());
        let listed = listed["keys"].as_array().unwrap();
        assert_eq!(listed.len(), queries.len());
        let place = |key: &Value| key["path"].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let keys: Vec<(String, usize)> =
            listed.iter().map(|key| (key["id"].as_str().unwrap().to_owned(), place(key))).collect();
        let ask = |(key_id, place): &(String, usize)| {
            let begun = Instant::now();
            let told = self.send("GET", &format!("/v1/keys/{key_id}/suggestions/de"), "", String::new());
            let took = begun.elapsed();
            let scores = told["suggestions"].as_array().unwrap().iter().map(|one| one["score"].as_u64().unwrap() as u8);
            assert_eq!(scores.collect::<Vec<u8>>(), expected[*place], "{told}");
            took
        };
        let first = ask(&keys[0]);
        let rounds = || -> Vec<f64> {
            let mut all = Vec::new();
            for _ in 0..ROUNDS {
                all.extend(keys.iter().map(|key| ask(key).as_secs_f64() * 1e3));
            }
            all
        };
        let mut one = rounds();
        let mut eight: Vec<f64> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(rounds)).collect();
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
        });
        one.sort_by(f64::total_cmp);
        eight.sort_by(f64::total_cmp);
        (first, [one, eight])
    }
}
