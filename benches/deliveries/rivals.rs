//! Those that deliveries are compared with: BullMQ on Redis, and PgQueuer on PostgreSQL, each as durable as it can be, in a
//! directory of its own and on a unix socket.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    /// Where its programs are.
    Postgres(PathBuf),
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
        let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path());
        let programs = versions.map(|version| version.join("bin")).filter(|bin| bin.join("initdb").exists()).max();
        let (programs, directory) = (programs.unwrap(), tempfile::tempdir().unwrap());
        if is_root() {
            // It refuses to be run by root.
            succeed(Command::new("chown").arg("postgres").arg(directory.path()));
        }
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        succeed(
            program(&programs, "initdb").args(["--no-instructions", "-A", "trust", "-U", "bench", "-D"]).arg(&data),
        );
        let socket = directory.path().display();
        let options = format!("-c listen_addresses= -c unix_socket_directories={socket} -c shared_buffers=256MB");
        let start = ["-w", "-o", &options, "-D"];
        succeed(program(&programs, "pg_ctl").args(start).arg(&data).arg("-l").arg(&log).arg("start"));
        let server = Server::Postgres(programs);
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
            Server::Postgres(_) => {
                let mut python = Command::new(self.packages.join("python/bin/python3"));
                python.arg(scripts.join("pgqueuer.py")).arg(self.directory.path());
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
            Server::Postgres(_) => {
                let text = std::fs::read_to_string(self.directory.path().join("data/postmaster.pid")).unwrap();
                text.lines().next().unwrap().parse().unwrap()
            }
        };
        cpu_seconds(worker.0.id()) + cpu_seconds(server)
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        match &mut self.server {
            Server::Redis(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Server::Postgres(programs) => {
                let data = self.directory.path().join("data");
                succeed(program(programs, "pg_ctl").args(["-m", "immediate", "-D"]).arg(data).arg("stop"));
            }
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

/// What a process and its children have used so far, in seconds.
pub fn cpu_seconds(id: u32) -> f64 {
    // Behind the name, which may hold anything: state, parent, …, and from the 12th on its time and that of its children
    // that have ended.
    let fields = |id: u32| -> Option<Vec<String>> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some(stat.rsplit(')').next()?.split_whitespace().map(str::to_owned).collect())
    };
    let used =
        |fields: &[String]| fields[11..15].iter().map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0;
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let children = processes.filter_map(fields).filter(|fields| fields[1] == id.to_string());
    fields(id).map_or(0.0, |own| used(&own)) + children.map(|child| used(&child)).sum::<f64>()
}

fn program(programs: &Path, name: &str) -> Command {
    let program = programs.join(name);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0")
}

fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
