//! The real binary in a directory of its own, with a tenant and a key for everything.
#![allow(dead_code, reason = "each measurement needs a part")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A running appliance.
pub struct Appliance {
    child: Child,
    _directory: tempfile::TempDir,
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
        let data = directory.path().join("data");
        let quintet = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
            for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS"] {
                command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
            }
            command.envs(environment.iter().copied()).args(arguments).arg("--data").arg(&data);
            command.stdin(Stdio::null()).stderr(Stdio::null());
            command
        };
        let child = quintet(&["serve"]).stdout(Stdio::null()).spawn().unwrap();
        while !data.join("addresses.json").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let addresses = serde_json::from_slice(&std::fs::read(data.join("addresses.json")).unwrap()).unwrap();
        let command = |arguments: &[&str]| -> Value {
            let output = quintet(arguments).arg("--json").output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let tenant_id = command(&["tenant", "create", "bench"])["tenant_id"].as_str().unwrap().to_owned();
        let api_key = command(&["key", "issue", "--tenant", &tenant_id])["api_key"].as_str().unwrap().to_owned();
        Appliance { child, _directory: directory, addresses, tenant_id, api_key }
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
