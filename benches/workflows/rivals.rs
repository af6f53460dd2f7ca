//! Those that the engine is compared with: DBOS on PostgreSQL, and Restate, each as durable as it is by default.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::postgres::Postgres;
use super::processes::cpu_seconds;

/// What rivals are made of; it is fetched where it is missing.
pub fn packages() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/workflows/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the rivals cannot be had");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

fn python(packages: &Path, script: &str) -> Command {
    let mut command = Command::new(packages.join("python/bin/python3"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/workflows").join(script));
    command
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// DBOS: workflows of steps whose results are rows.
pub struct Dbos {
    worker: RefCell<Killed>,
    output: RefCell<BufReader<ChildStdout>>,
    server: Postgres,
}

impl Dbos {
    /// Starts it, with chains of so many steps.
    pub fn start(packages: &Path, nodes: usize) -> Dbos {
        let server = Postgres::start();
        let mut command = python(packages, "dbos_chain.py");
        command.arg(server.socket()).arg(nodes.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let dbos = Dbos { worker: RefCell::new(Killed(child)), output: RefCell::new(output), server };
        assert_eq!(dbos.line(), "ready\n");
        dbos
    }

    fn line(&self) -> String {
        let mut line = String::new();
        self.output.borrow_mut().read_line(&mut line).unwrap();
        line
    }

    /// Runs so many chains, so many at once: how long that took in all, and each.
    pub fn run(&self, chains: usize, at_once: usize) -> (f64, Vec<f64>) {
        let asked = format!("{chains} {at_once}\n");
        self.worker.borrow_mut().0.stdin.as_mut().unwrap().write_all(asked.as_bytes()).unwrap();
        let line = self.line();
        let mut numbers = line.split_whitespace().map(|number| number.parse::<f64>().unwrap());
        (numbers.next().unwrap(), numbers.collect())
    }

    /// What it has used so far, in seconds: the worker and the server.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.worker.borrow().0.id()) + cpu_seconds(self.server.id())
    }
}

/// Restate: services whose calls to each other are journaled.
pub struct Restate {
    worker: Killed,
    server: Killed,
    ingress: String,
    nodes: usize,
    _directory: tempfile::TempDir,
}

impl Restate {
    /// Starts it, with chains of so many calls.
    pub fn start(packages: &Path, nodes: usize) -> Restate {
        let directory = tempfile::tempdir().unwrap();
        let ports: Vec<String> = free_ports(4).iter().map(u16::to_string).collect();
        let worker = python(packages, "restate_chain.py").arg(&ports[0]).stderr(Stdio::null()).spawn().unwrap();
        let binary = packages.join("node_modules/@restatedev/restate-server-linux-x64/bin/restate-server");
        let mut server = Command::new(binary);
        server.args(["--node-name", "bench", "--base-dir"]).arg(directory.path());
        for (name, port) in [("INGRESS__", &ports[1]), ("ADMIN__", &ports[2]), ("", &ports[3])] {
            server.env(format!("RESTATE_{name}BIND_ADDRESS"), format!("127.0.0.1:{port}"));
        }
        server
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Killed(server.spawn().unwrap());
        let deployment = format!(r#"{{"uri":"http://127.0.0.1:{}","use_http_11":true}}"#, ports[0]);
        let deployments = format!("http://127.0.0.1:{}/deployments", ports[2]);
        let begun = Instant::now();
        while !post(&deployments, &deployment) {
            assert!(begun.elapsed() < Duration::from_secs(60), "Restate does not start");
            std::thread::sleep(Duration::from_millis(200));
        }
        let ingress = format!("http://127.0.0.1:{}/Chains/run", ports[1]);
        let restate = Restate { worker: Killed(worker), server, ingress, nodes, _directory: directory };
        while !post(&restate.ingress, &nodes.to_string()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "Restate runs no chain");
            std::thread::sleep(Duration::from_millis(200));
        }
        restate
    }

    /// Runs so many chains, so many at once: how long that took in all, and each.
    pub fn run(&self, chains: usize, at_once: usize) -> (f64, Vec<f64>) {
        let (begun, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        let each = std::thread::scope(|scope| {
            let caller = || {
                let mut took = Vec::new();
                while next.fetch_add(1, Ordering::Relaxed) < chains {
                    let begun = Instant::now();
                    assert!(post(&self.ingress, &self.nodes.to_string()), "a chain failed");
                    took.push(begun.elapsed().as_secs_f64());
                }
                took
            };
            let callers: Vec<_> = (0..at_once).map(|_| scope.spawn(caller)).collect();
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
        });
        (begun.elapsed().as_secs_f64(), each)
    }

    /// What it has used so far, in seconds: the worker and the server.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.worker.0.id()) + cpu_seconds(self.server.0.id())
    }
}

/// Posts something; whether that succeeded. A process for each takes a few milliseconds of a chain's hundreds.
fn post(url: &str, body: &str) -> bool {
    let command =
        ["--noproxy", "*", "-sfS", "-o", "/dev/null", "-H", "content-type: application/json", "-d", body, url];
    Command::new("curl").args(command).stderr(Stdio::null()).status().unwrap().success()
}

fn free_ports(count: usize) -> Vec<u16> {
    let all: Vec<_> = (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    all.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
