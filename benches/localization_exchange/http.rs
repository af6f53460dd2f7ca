//! The same over HTTP, against the real binary: wall clock, the server's CPU, and the peak of its memory.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http;

/// A running appliance with a project.
struct Server {
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
    fn start() -> Server {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
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
        let project = String::new();
        let mut server = Server { child, _directory: directory, agent, base, tenant_id, api_key, project, requests: 0 };
        let workspace = server.json("/v1/workspaces", &json!({"slug": "bench", "name": "Bench"}));
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        server.project = format!("/v1/projects/{}", server.json("/v1/projects", &project)["id"].as_str().unwrap());
        server
    }

    fn json(&mut self, path: &str, body: &Value) -> Value {
        serde_json::from_slice(&self.send("POST", path, "application/json", body.to_string().into_bytes())).unwrap()
    }

    fn send(&mut self, method: &str, path: &str, media_type: &str, body: Vec<u8>) -> Vec<u8> {
        self.requests += 1;
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("bench-{}", self.requests))
            .header("content-type", media_type);
        let mut response = match method {
            "GET" => self.agent.run(request.body(()).unwrap()).unwrap(),
            _ => self.agent.run(request.body(body).unwrap()).unwrap(),
        };
        response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }

    /// Seconds of CPU that it has taken, and the peak of its memory in MiB, in the real unit of each.
    fn usage(&self) -> (f64, u64) {
        let own = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap();
        let stat = own("stat");
        let mut fields =
            stat.rsplit(") ").next().unwrap().split(' ').skip(11).map(|field| field.parse::<f64>().unwrap());
        let ticks = fields.next().unwrap() + fields.next().unwrap();
        let peak = own("status")
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        (ticks / 100.0, peak.unwrap_or(0_u64) / 1024)
    }

    /// Does something, and prints what it took.
    fn measured<T>(&mut self, what: &str, work: impl FnOnce(&mut Server) -> T) -> T {
        let (before, _) = self.usage();
        let begun = Instant::now();
        let outcome = work(self);
        let wall = begun.elapsed();
        let (after, peak) = self.usage();
        println!("| {what} | {:.0} | {:.0} | {peak} |", wall.as_secs_f64() * 1e3, (after - before) * 1e3);
        outcome
    }
}

/// Prints what documents of as many keys cost over HTTP, in a file of these and in a memory.
pub fn over_http(source: &str, tmx: &str) {
    let mut server = Server::start();
    println!("\n| over HTTP | wall, ms | the server's CPU, ms | peak of its memory since its start, MiB |");
    println!("|---|---|---|---|");
    let path = format!("{}/files?kind=json&path=a.json", server.project);
    let imported = server.measured("string file uploaded", |server| {
        server.send("POST", &path, "application/octet-stream", source.as_bytes().to_vec())
    });
    let imported: Value = serde_json::from_slice(&imported).unwrap();
    let xliff = format!("{}/files/{}/xliff", server.project, imported["file_id"].as_str().unwrap());
    let out = server.measured("XLIFF without targets out", |server| {
        server.send("GET", &format!("{xliff}?locale=de"), "", Vec::new())
    });
    let document = String::from_utf8(out).unwrap();
    // The source itself, with something behind it, is a target that passes most checks.
    let mut filled = String::with_capacity(2 * document.len());
    for line in document.lines() {
        filled.push_str(line);
        filled.push('\n');
        if line.ends_with("</source>") && line.starts_with("<source") {
            filled.push_str(&line.replace("source", "target").replace("</target>", " (de)</target>"));
        } else if line.ends_with("</source>") {
            filled.push_str("<target>zweite Zeile</target>");
        }
    }
    for what in ["XLIFF in, every unit written", "XLIFF in again, nothing to write"] {
        let body = filled.clone().into_bytes();
        let answer = server.measured(what, |server| server.send("POST", &xliff, "application/xliff+xml", body));
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["skipped"], 0, "{}", answer["units"][0]);
    }
    server.measured("XLIFF with targets out", |server| {
        server.send("GET", &format!("{xliff}?locale=de"), "", Vec::new());
    });
    let memory = format!("{}/memory", server.project);
    server.measured("TMX in, every unit written", |server| {
        let answer = server.send("POST", &memory, "application/x-tmx+xml", tmx.as_bytes().to_vec());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["skipped"], 0, "{answer}");
    });
    server.measured("TMX out", |server| server.send("GET", &memory, "", Vec::new()));
    // Fifty megabytes of the worst that there is: a tag, a text, references, and units without end.
    let head = "<xliff version='1.2'><file source-language='en' target-language='de'><body>";
    let fill = |piece: &str| format!("{head}{}", piece.repeat((50_000_000 - head.len()) / piece.len()));
    let texts = [
        ("a tag of 50 MB", format!("{head}<trans-unit id='{}'/>", "x".repeat(50_000_000))),
        ("a text of 50 MB", format!("{head}<trans-unit><source>{}", "x".repeat(50_000_000))),
        ("a target of references of 50 MB", format!("{head}<trans-unit><target>{}", "&amp;".repeat(10_000_000))),
        (
            "units of 50 MB",
            fill(
                "<trans-unit id='00000000-0000-8000-8000-000000000000'><source>x</source><target>y</target></trans-unit>",
            ),
        ),
        ("tags of 50 MB", fill("<a>")),
    ];
    for (what, body) in texts {
        let path = xliff.clone();
        server.measured(what, |server| {
            let refused = server.try_send(&path, body.into_bytes());
            assert!(matches!(refused, 400..500), "{refused}");
        });
    }
}

impl Server {
    /// Sends what is refused; the status.
    fn try_send(&mut self, path: &str, body: Vec<u8>) -> u16 {
        self.requests += 1;
        let request = http::Request::builder()
            .method("POST")
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", &self.tenant_id)
            .header("idempotency-key", format!("bench-{}", self.requests))
            .header("content-type", "application/xliff+xml");
        match self.agent.run(request.body(body).unwrap()) {
            Ok(response) => response.status().as_u16(),
            Err(ureq::Error::StatusCode(status)) => status,
            Err(error) => panic!("{error}"),
        }
    }
}
