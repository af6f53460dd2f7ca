//! The real binary in a directory of its own, with a tenant and a key for everything.
#![allow(dead_code, reason = "each measurement needs a part")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running appliance.
pub struct Appliance {
    child: Child,
    directory: tempfile::TempDir,
    addresses: Value,
    /// The tenant.
    pub tenant_id: String,
    /// A key that may do everything in it.
    pub api_key: String,
}

impl Drop for Appliance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Appliance {
    /// Starts it in a directory below this one, with these variables besides.
    pub fn start(parent: &Path, environment: &[(&str, &str)]) -> Appliance {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let (child, addresses) = serve(directory.path(), environment);
        let mut appliance = Appliance { child, directory, addresses, tenant_id: String::new(), api_key: String::new() };
        let tenant = appliance.command(&["tenant", "create", "bench"]);
        tenant["tenant_id"].as_str().unwrap().clone_into(&mut appliance.tenant_id);
        let key = appliance.command(&["key", "issue", "--tenant", &appliance.tenant_id]);
        key["api_key"].as_str().unwrap().clone_into(&mut appliance.api_key);
        appliance
    }

    /// Kills it without warning and starts it anew, at other addresses; when it was killed.
    pub fn restart(&mut self, environment: &[(&str, &str)]) -> Instant {
        let killed = Instant::now();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_file(self.directory.path().join("data/addresses.json")).unwrap();
        (self.child, self.addresses) = serve(self.directory.path(), environment);
        killed
    }

    /// Runs a command that talks to it; what it says.
    pub fn command(&self, arguments: &[&str]) -> Value {
        let output = quintet(self.directory.path(), &[], arguments).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What it has in memory.
    pub fn resident_mib(&self) -> u64 {
        self.resident_kib() / 1024
    }

    /// The same in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Where a service listens.
    pub fn address(&self, service: &str) -> &str {
        self.addresses[service].as_str().unwrap()
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

fn quintet(directory: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS", "CONSOLE"] {
        command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
    }
    command.envs(environment.iter().copied()).args(arguments).arg("--data").arg(directory.join("data"));
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts it; its process and where it listens.
fn serve(directory: &Path, environment: &[(&str, &str)]) -> (Child, Value) {
    let child = quintet(directory, environment, &["serve"]).stdout(Stdio::null()).spawn().unwrap();
    let addresses = directory.join("data/addresses.json");
    while !addresses.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    (child, serde_json::from_slice(&std::fs::read(addresses).unwrap()).unwrap())
}
