//! Those that sends are compared with: PostgreSQL with the schema beside this file, and Redis Streams, each durable, in a
//! directory of its own and on a unix socket, driven by what their makers measure them with.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::postgres::Postgres;
use super::processes::{cpu_seconds, succeed};

/// What was measured of one: sends a second, and its CPU for each in microseconds.
pub type Measured = (f64, f64);

const SCHEMA: &str = include_str!("schema.sql");

/// PostgreSQL, with so many agents.
pub struct Inboxes {
    server: Postgres,
    directory: tempfile::TempDir,
    agents: usize,
}

impl Inboxes {
    /// Starts it.
    pub fn start(agents: usize) -> Inboxes {
        let inboxes = Inboxes { server: Postgres::start(), directory: tempfile::tempdir().unwrap(), agents };
        // Its programs run as another user, who must come in here.
        succeed(Command::new("chmod").arg("711").arg(inboxes.directory.path()));
        let insert = "insert into agents (id, name) select n, 'agent-' || n from generate_series(1";
        inboxes.sql(&format!("{SCHEMA}; {insert}, {agents}) n; analyze"));
        inboxes
    }

    fn sql(&self, statements: &str) {
        let file = self.directory.path().join("statements");
        std::fs::write(&file, statements).unwrap();
        succeed(self.server.client("psql").args(["-qAt", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file).arg("bench"));
    }

    /// Sends bodies of so many bytes over so many connections.
    pub fn measure(&self, connections: usize, bytes: usize, notifies: bool, length: Duration) -> Measured {
        let (agents, body) = (self.agents, "x".repeat(bytes));
        let script = format!(
            "\\set f random(1, {agents})\n\\set t random(1, {agents})\n\\set k random(1, 4611686018427387903)\n\
             select send('bench-' || :client_id || '-' || :k, :f, :t, '{body}', {notifies});\n"
        );
        let file = self.directory.path().join("script");
        std::fs::write(&file, script).unwrap();
        let (clients, seconds) = (connections.to_string(), length.as_secs().to_string());
        let mut pgbench = self.server.client("pgbench");
        pgbench.args(["-n", "-M", "prepared", "-c", &clients, "-j", "2", "-T", &seconds, "-f"]).arg(&file).arg("bench");
        let before = cpu_seconds(self.server.id());
        let output = pgbench.stdin(Stdio::null()).output().unwrap();
        let cpu = cpu_seconds(self.server.id()) - before;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok());
        let rate: f64 = rate.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
        (rate, cpu * 1e6 / (rate * length.as_secs_f64()))
    }
}

/// Redis, which syncs before it answers.
pub struct Streams {
    child: Child,
    directory: tempfile::TempDir,
}

impl Streams {
    /// Starts it.
    pub fn start() -> Streams {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(directory.path())
            .arg("--unixsocket")
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !socket.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Streams { child, directory }
    }

    /// Adds bodies of so many bytes to the streams of so many agents over so many connections.
    pub fn measure(&self, connections: usize, bytes: usize, agents: usize, count: usize) -> Measured {
        let (connections, agents, count_text) = (connections.to_string(), agents.to_string(), count.to_string());
        let mut bench = Command::new("redis-benchmark");
        bench.arg("-s").arg(socket(self.directory.path())).args(["-c", &connections, "-n", &count_text]);
        bench.args(["-r", &agents, "--csv", "XADD", "inbox:__rand_int__", "*", "body", &"x".repeat(bytes)]);
        let before = cpu_seconds(self.child.id());
        let output = bench.stdin(Stdio::null()).output().unwrap();
        let cpu = cpu_seconds(self.child.id()) - before;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.lines().last().unwrap_or_default();
        // The command's own text comes first, and may have commas.
        let rate = last.rsplit("\",\"").nth(6).or_else(|| last.split("\",\"").nth(1));
        let rate: f64 = rate.and_then(|rate| rate.trim_matches('"').parse().ok()).unwrap_or_else(|| panic!("{text}"));
        (rate, cpu * 1e6 / count as f64)
    }
}

fn socket(directory: &Path) -> std::path::PathBuf {
    directory.join("socket")
}

impl Drop for Streams {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
