//! The neighbour: PostgreSQL with the schema beside this file, in a directory of its own, on a unix socket, durable as it
//! is by default. Driven by pgbench.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");

/// A running server; stopped when it is dropped.
pub struct Postgres {
    programs: PathBuf,
    directory: PathBuf,
    clients: usize,
    rounds: std::cell::Cell<u32>,
}

impl Postgres {
    /// Starts one with so many accounts, or says why not.
    pub fn start(parent: &Path, accounts: usize, clients: usize) -> Result<Postgres, String> {
        let programs = newest_programs().ok_or("PostgreSQL is not installed (packaging/bench-prerequisites.sh)")?;
        let directory = parent.join("postgres");
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let postgres = Postgres { programs, directory, clients, rounds: 0.into() };
        if is_root() {
            // It refuses to be run by root.
            run(Command::new("chown").arg("postgres").arg(&postgres.directory))?;
            run(Command::new("chmod").arg("711").arg(parent))?;
        }
        let data = postgres.directory.join("data");
        run(postgres.program("initdb").args(["--no-instructions", "-A", "trust", "-U", "bench", "-D"]).arg(&data))?;
        let socket = postgres.directory.display();
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={socket} -c shared_buffers=256MB -c max_connections=200"
        );
        let log = postgres.directory.join("log");
        run(postgres.program("pg_ctl").args(["-w", "-o", &options, "-D"]).arg(&data).arg("-l").arg(&log).arg("start"))?;
        postgres.sql(SCHEMA)?;
        postgres.sql(&format!(
            "insert into accounts (id, name) select n, 'account ' || n from generate_series(1, {accounts}) n; analyze"
        ))?;
        Ok(postgres)
    }

    /// Postings a second, the server's CPU for each in microseconds, and what 99 of 100 took at most in milliseconds.
    pub fn measure(&self, hot: bool, accounts: usize, length: Duration) -> Result<(f64, f64, f64), String> {
        let round = self.rounds.replace(self.rounds.get() + 1);
        let debit = if hot { "1".to_owned() } else { format!("random(1, {accounts})") };
        // A random number of 62 bits and the client make a key that comes once.
        let script = format!(
            "\\set d {debit}\n\\set c (:d + random(0, {})) % {accounts} + 1\n\\set k random(1, 4611686018427387903)\n\
             select post('bench-{round}-' || :client_id || '-' || :k, :d, :c, 1.25);\n",
            accounts - 2
        );
        let file = self.directory.join(format!("script-{round}"));
        std::fs::write(&file, script).map_err(|error| error.to_string())?;
        let prefix = self.directory.join(format!("latency-{round}"));
        let clients = self.clients.to_string();
        let seconds = length.as_secs().to_string();
        let mut pgbench = self.program("pgbench");
        pgbench.args(["-n", "-M", "prepared", "-c", &clients, "-j", "2", "-T", &seconds, "-U", "bench", "-h"]);
        pgbench.arg(&self.directory).arg("-f").arg(&file).args(["-l", "--sampling-rate=0.2"]);
        pgbench.arg(format!("--log-prefix={}", prefix.display())).arg("postgres");
        let cpu_before = self.cpu_seconds();
        let output = run(&mut pgbench)?;
        let cpu = self.cpu_seconds() - cpu_before;
        let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok());
        let rate: f64 = rate.ok_or(output)?;
        let cpu_micros = cpu * 1e6 / (rate * length.as_secs_f64());
        Ok((rate, cpu_micros, self.percentile_millis(&format!("latency-{round}"))))
    }

    /// What the tables and their indexes take on disk for each posting.
    pub fn bytes_each(&self) -> Result<u64, String> {
        let sum = self.sql(
            "vacuum; select sum(pg_total_relation_size(oid)) / (select count(*) from transactions) \
             from pg_class where relname in ('transactions', 'entries', 'answers')",
        )?;
        sum.lines().rev().find_map(|line| line.trim().parse::<f64>().ok()).map(|bytes| bytes as u64).ok_or(sum)
    }

    /// What the server has used so far, with the processes of connections that are closed.
    fn cpu_seconds(&self) -> f64 {
        let pid = std::fs::read_to_string(self.directory.join("data/postmaster.pid")).unwrap_or_default();
        let pid = pid.lines().next().unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4);
        fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    fn percentile_millis(&self, prefix: &str) -> f64 {
        let files = std::fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap());
        let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
        let text: String = logs.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect();
        let micros = |line: &str| line.split(' ').nth(2)?.parse::<f64>().ok();
        let mut latencies: Vec<f64> = text.lines().filter_map(micros).collect();
        latencies.sort_unstable_by(f64::total_cmp);
        latencies.get(latencies.len() * 99 / 100).copied().unwrap_or(0.0) / 1000.0
    }

    fn sql(&self, statements: &str) -> Result<String, String> {
        let file = self.directory.join("statements");
        std::fs::write(&file, statements.replace("vacuum;", "vacuum;\n")).map_err(|error| error.to_string())?;
        run(self
            .program("psql")
            .args(["-qAt", "-v", "ON_ERROR_STOP=1", "-U", "bench", "-h"])
            .arg(&self.directory)
            .arg("-f")
            .arg(&file)
            .arg("postgres"))
    }

    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        if !is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.directory.join("data");
        let _ = run(self.program("pg_ctl").args(["-m", "immediate", "-D"]).arg(data).arg("stop"));
    }
}

fn newest_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    versions.map(|version| version.join("bin")).filter(|bin| bin.join("initdb").exists()).max()
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().map(|output| output.stdout).unwrap_or_default();
    output.starts_with(b"0")
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {complaint}{text}")) }
}
