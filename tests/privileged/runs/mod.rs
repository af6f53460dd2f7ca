//! Runs with real containers: the whole way from a request to an exit code, and what becomes of it when things are
//! killed in between.

mod agents;
mod control;
mod disk;
mod ends;
mod hangs;
mod logs;
mod metered;
mod own_runner;
mod pulled;
mod restarts;
mod slots;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::containers::TestRunner;
use crate::support::appliance::{Answer, Appliance, Client, Setup};

const PATIENCE: Duration = Duration::from_secs(60);
/// Until a run ends, which may have to wait for others: on an emulated machine a disk takes its time.
const END_PATIENCE: Duration = Duration::from_secs(240);
/// The states in which a run stays.
const TERMINAL: [&str; 4] = ["exited", "failed", "timeout", "killed"];

/// An appliance with a runner of its own.
pub struct House {
    pub runner: TestRunner,
    environment: Vec<(String, String)>,
    configuration: Option<String>,
    /// Whether the server's clock is one that is set.
    is_rehearsal: bool,
    data: tempfile::TempDir,
    appliance: Option<Appliance>,
}

/// The house of tests that stop nothing.
pub fn shared() -> Option<&'static House> {
    static SHARED: LazyLock<Option<House>> = LazyLock::new(|| House::start(&[("WORKERS", "300")]));
    SHARED.as_ref()
}

impl House {
    /// Starts one with these variables `QUINTET_RUNS__…`; says why if that is not possible here.
    pub fn start(environment: &[(&str, &str)]) -> Option<House> {
        House::start_with(environment, None)
    }

    /// The same with a configuration file of this text.
    pub fn start_with(environment: &[(&str, &str)], configuration: Option<String>) -> Option<House> {
        Some(House::on(TestRunner::make(&[])?, environment, configuration, false))
    }

    /// The same with this runner and, if so wanted, a clock that is set.
    pub fn on(
        runner: TestRunner,
        environment: &[(&str, &str)],
        configuration: Option<String>,
        is_rehearsal: bool,
    ) -> House {
        // What tests write is small: many of them find room on one disk.
        let environment = [("SCRATCH_MB", "64")].iter().chain(environment);
        let environment = environment.map(|(name, value)| (format!("QUINTET_RUNS__{name}"), (*value).to_owned()));
        let mut house = House {
            runner,
            configuration,
            environment: environment.collect(),
            is_rehearsal,
            data: tempfile::tempdir().unwrap(),
            appliance: None,
        };
        house.serve();
        house
    }

    /// Starts the server, again after it was stopped or killed.
    pub fn serve(&mut self) {
        let socket = self.runner.runner.socket().display().to_string();
        let mut setup = Setup::new().on(&self.data.path().join("data")).env("QUINTET_RUNS__RUNNER_SOCKET", &socket);
        for (name, value) in &self.environment {
            setup = setup.env(name, value);
        }
        if self.is_rehearsal {
            setup = setup.rehearsal();
        }
        if let Some(text) = &self.configuration {
            let path = self.data.path().join("quintet.toml");
            std::fs::write(&path, text).unwrap();
            setup = setup.arg("--config").arg(path.to_str().unwrap());
        }
        self.appliance = Some(setup.start());
        wait_until("the engine is up", || self.engine() == "up");
    }

    pub fn appliance(&self) -> &Appliance {
        self.appliance.as_ref().unwrap()
    }

    /// The appliance's directory.
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.data.path().join("data")
    }

    /// SIGKILL to the server.
    pub fn kill_server(&mut self) {
        self.appliance.take().unwrap().kill();
    }

    /// What /health says of the engine.
    pub fn engine(&self) -> String {
        let health = self.appliance().stranger("runs").get("/health").expect(200);
        health["engine"].as_str().unwrap().to_owned()
    }

    /// A new tenant's key with all ordinary permissions.
    pub fn tenant(&self) -> Tenant {
        self.tenant_of(&self.appliance().tenant())
    }

    /// A key of this tenant.
    pub fn tenant_of(&self, tenant_id: &str) -> Tenant {
        let key = self.appliance().key(tenant_id, &[]).1;
        Tenant { client: self.appliance().client("runs", &key), key }
    }

    /// The same tenant, after a restart.
    pub fn again(&self, tenant: &Tenant) -> Tenant {
        Tenant { client: self.appliance().client("runs", &tenant.key), key: tenant.key.clone() }
    }

    /// Nothing of any container is left: no record, no cgroup, no mount.
    pub fn assert_clean(&self) {
        wait_until("the runner has nothing left", || self.runner.runner.list().unwrap().is_empty());
        self.runner.assert_no_mounts();
        let containers = std::fs::read_dir(self.runner.state().join("containers")).unwrap();
        assert_eq!(containers.count(), 0, "directories of containers are left");
    }
}

/// A tenant's client.
pub struct Tenant {
    pub client: Client,
    key: String,
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A shell script as a submission.
pub fn script(script: &str) -> Value {
    json!({"image": "busybox:test", "command": ["sh", "-c", script], "memory_limit_mb": 64})
}

/// The same with more members.
pub fn script_with(text: &str, more: Value) -> Value {
    let mut body = script(text);
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

impl Tenant {
    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn submit(&self, body: &Value) -> String {
        let answer = self.client.post("/api/v1/runs", body).expect(202);
        answer["track_id"].as_str().unwrap().to_owned()
    }

    pub fn get(&self, track_id: &str) -> Value {
        self.client.get(&format!("/api/v1/runs/{track_id}")).expect(200)
    }

    /// Waits for the end of a run.
    pub fn wait(&self, track_id: &str) -> Value {
        let until = Instant::now() + END_PATIENCE;
        loop {
            let run = self.client.get(&format!("/api/v1/runs/{track_id}?wait=30")).expect(200);
            if TERMINAL.contains(&run["state"].as_str().unwrap()) {
                return run;
            }
            assert!(Instant::now() < until, "it does not end: {run}");
        }
    }

    /// Waits until a run is in this state.
    pub fn until(&self, track_id: &str, state: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let run = self.get(track_id);
            if run["state"] == state {
                return run;
            }
            let is_over = TERMINAL.contains(&run["state"].as_str().unwrap());
            assert!(Instant::now() < until && !is_over, "it does not become {state}: {run}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn result(&self, track_id: &str) -> Value {
        self.client.get(&format!("/api/v1/runs/{track_id}/result")).expect(200)
    }

    pub fn logs(&self, track_id: &str, query: &str) -> Value {
        self.client.get(&format!("/api/v1/runs/{track_id}/logs{query}")).expect(200)
    }

    /// The lines of standard output.
    pub fn lines(&self, track_id: &str) -> Vec<String> {
        let logs = self.logs(track_id, "");
        logs["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }

    pub fn control(&self, track_id: &str, action: &str) -> Answer {
        self.client.send("POST", &format!("/api/v1/runs/{track_id}/{action}"), &[], b"")
    }
}
