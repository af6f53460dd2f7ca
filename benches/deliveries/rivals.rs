//! Those that deliveries are compared with: BullMQ on Redis, and PgQueuer on PostgreSQL, each as durable as it can be, in a
//! directory of its own and on a unix socket.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::postgres::Postgres;
use super::processes::cpu_seconds;

/// Something that delivers.
pub struct Rival {
    /// What it is called.
    pub name: &'static str,
    server: Server,
    directory: tempfile::TempDir,
    packages: PathBuf,
}

enum Server {
    Redis(Child),
    Postgres(Postgres),
}

impl Rival {
    /// BullMQ, whose Redis syncs before it answers.
    pub fn bullmq(packages: &Path) -> Rival {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let redis = Command::new("redis-server")
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
        Rival {
            name: "BullMQ, Redis with appendfsync always",
            server: Server::Redis(redis),
            directory,
            packages: packages.into(),
        }
    }

    /// PgQueuer, on PostgreSQL as it is by default.
    pub fn pgqueuer(packages: &Path) -> Rival {
        let server = Server::Postgres(Postgres::start());
        let directory = tempfile::tempdir().unwrap();
        Rival { name: "PgQueuer, PostgreSQL", server, directory, packages: packages.into() }
    }

    /// A worker that has so many deliveries to make, of this body to this address, and makes them once it is told to.
    pub fn worker(&self, sink: &str, count: usize, at_once: usize, body: &Path) -> Worker {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/deliveries");
        let mut command = match &self.server {
            Server::Redis(_) => {
                let mut node = Command::new("node");
                node.arg(scripts.join("bullmq.cjs")).arg(self.directory.path().join("socket"));
                node.env("NODE_PATH", self.packages.join("node_modules"));
                node
            }
            Server::Postgres(server) => {
                let mut python = Command::new(self.packages.join("python/bin/python3"));
                python.arg(scripts.join("pgqueuer.py")).arg(server.socket());
                python
            }
        };
        command.arg(sink).args([count, at_once].map(|number| number.to_string())).arg(body);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{}", self.name);
        Worker(child)
    }

    /// What it has used so far, in seconds: the worker and the server.
    pub fn cpu_seconds(&self, worker: &Worker) -> f64 {
        let server = match &self.server {
            Server::Redis(child) => child.id(),
            Server::Postgres(server) => server.id(),
        };
        cpu_seconds(worker.0.id()) + cpu_seconds(server)
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        if let Server::Redis(child) = &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A rival's process. It ends when this is dropped.
pub struct Worker(Child);

impl Worker {
    /// Has it begin.
    pub fn begin(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
