//! A real appliance for tests: the binary itself, on loopback, on free ports, in a directory of its own.
//!
//! [`shared`] is one instance for the whole test run; tests that change more than their own tenant, or that
//! stop and start, make their own with [`Setup`].

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http;

/// How long a start or a stop may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than any answer has, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Every listener, for `listen.NAME`.
const LISTENERS: [&str; 7] = ["localization", "runs", "ledger", "messaging", "diagrams", "operations", "console"];

/// The instance that tests share. It keeps real time.
pub fn shared() -> &'static Appliance {
    static SHARED: LazyLock<Appliance> = LazyLock::new(|| Setup::new().start());
    &SHARED
}

/// A second shared instance, whose clock is a rehearsal clock. Moving it moves it for every test: only
/// tests that do not mind use it.
pub fn shared_rehearsal() -> &'static Appliance {
    static SHARED: LazyLock<Appliance> = LazyLock::new(|| Setup::new().rehearsal().start());
    &SHARED
}

/// The binary under test, in an environment of its own: nothing of the caller's configuration leaks in.
pub fn quintet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    let strange =
        std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("QUINTET_") || name == "RUST_LOG");
    for name in strange {
        command.env_remove(name);
    }
    // Rooms limit the requests of one source address; all tests share one.
    command.env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0");
    // Root would start a runner for each; tests with containers name theirs.
    command.env("QUINTET_RUNS__RUNNER_SOCKET", "off");
    for name in LISTENERS {
        command.env(format!("QUINTET_LISTEN__{}", name.to_uppercase()), "127.0.0.1:0");
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command line to its end.
pub fn run(arguments: &[&str]) -> Output {
    quintet().args(arguments).output().unwrap()
}

/// What a command said on standard output, as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a command said on standard error, as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// How an appliance is to be started.
pub struct Setup {
    directory: Directory,
    command: &'static str,
    wrapper: Vec<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log_directory: Option<PathBuf>,
}

enum Directory {
    Own(tempfile::TempDir),
    Lent(PathBuf),
}

impl Directory {
    fn data(&self) -> PathBuf {
        match self {
            Directory::Own(parent) => parent.path().join("data"),
            Directory::Lent(path) => path.clone(),
        }
    }
}

impl Setup {
    /// `quintet serve` on a fresh directory.
    pub fn new() -> Setup {
        let directory = Directory::Own(tempfile::tempdir().unwrap());
        Setup {
            directory,
            command: "serve",
            wrapper: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            log_directory: None,
        }
    }

    /// On this data directory instead; it outlives the appliance.
    pub fn on(mut self, data: &Path) -> Setup {
        self.directory = Directory::Lent(data.to_path_buf());
        self
    }

    /// `quintet demo` instead.
    pub fn demo(mut self) -> Setup {
        self.command = "demo";
        self
    }

    /// Under a rehearsal clock.
    pub fn rehearsal(mut self) -> Setup {
        self.arguments.push("--rehearsal-clock".into());
        self
    }

    /// With one more argument.
    pub fn arg(mut self, argument: &str) -> Setup {
        self.arguments.push(argument.into());
        self
    }

    /// With a variable of the environment, `QUINTET_LEDGER__EDGE_BURST` for instance.
    pub fn env(mut self, name: &str, value: &str) -> Setup {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Under another program, which must become the binary (`strace -D …`).
    pub fn under(mut self, wrapper: &[&str]) -> Setup {
        self.wrapper = wrapper.iter().map(ToString::to_string).collect();
        self
    }

    /// With what it says kept in this directory, instead of beside its data.
    #[allow(dead_code, reason = "for disks that lose power or run full, in tests/privileged")]
    pub fn log_in(mut self, directory: &Path) -> Setup {
        self.log_directory = Some(directory.to_path_buf());
        self
    }

    /// Starts it and waits until it listens.
    pub fn start(self) -> Appliance {
        self.try_start().unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Starts it and waits until it listens, or says why it does not.
    pub fn try_start(self) -> Result<Appliance, String> {
        let data = self.directory.data();
        std::fs::create_dir_all(data.parent().unwrap()).unwrap();
        let log_path = data.with_extension(format!("{}.log", unique()));
        let log_path = self.log_directory.iter().fold(log_path, |path, other| other.join(path.file_name().unwrap()));
        let log = std::fs::File::create(&log_path).unwrap();
        let addresses_path = data.join("addresses.json");
        let _ = std::fs::remove_file(&addresses_path);
        let mut command = quintet();
        if let Some((program, arguments)) = self.wrapper.split_first() {
            command = wrapped(program, arguments, &command);
        }
        let mut child = command
            .arg(self.command)
            .arg("--data")
            .arg(&data)
            .args(&self.arguments)
            .envs(self.environment)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let addresses = loop {
            match std::fs::read_to_string(&addresses_path) {
                Ok(text) => break serde_json::from_str(&text).unwrap(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // Its disk is gone: it may have started all the same, but nobody can find it.
                Err(error) => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    return Err(format!("{}: {error}", addresses_path.display()));
                }
            }
            let log = || std::fs::read_to_string(&log_path).unwrap_or_default();
            if let Some(status) = child.try_wait().unwrap() {
                return Err(format!("the appliance ended with {status}:\n{}", log()));
            }
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("the appliance did not start:\n{}", log());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let guard = Guard::new(child.id(), &self.directory);
        Ok(Appliance { child, data, log_path, addresses, _guard: guard, _directory: self.directory })
    }
}

/// The same command line and environment, started by another program.
fn wrapped(program: &str, arguments: &[String], command: &Command) -> Command {
    let mut wrapped = Command::new(program);
    wrapped.args(arguments).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// Ends the appliance of a `static`, which is never dropped: a shell waits until this process is gone,
/// however it ended, then kills the child and removes its directory.
struct Guard(Child);

impl Guard {
    fn new(pid: u32, directory: &Directory) -> Guard {
        let own = match directory {
            Directory::Own(parent) => parent.path().to_path_buf(),
            Directory::Lent(_) => PathBuf::new(),
        };
        let script = r#"cat >/dev/null; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2""#;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "guard", &pid.to_string()]).arg(own);
        Guard(shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The child has been waited for by now, so its id is nobody's; the shell must not use it any more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running appliance.
pub struct Appliance {
    child: Child,
    data: PathBuf,
    log_path: PathBuf,
    addresses: BTreeMap<String, String>,
    _guard: Guard,
    _directory: Directory,
}

impl Drop for Appliance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Appliance {
    /// Its data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Where a service listens, `127.0.0.1:41233` for instance.
    pub fn address(&self, service: &str) -> &str {
        self.addresses.get(service).unwrap_or_else(|| panic!("{service} does not listen"))
    }

    /// The services that listen.
    pub fn services(&self) -> Vec<&str> {
        self.addresses.keys().map(String::as_str).collect()
    }

    /// A bare connection to a service.
    #[expect(clippy::disallowed_methods, reason = "tests call the appliance under test, on loopback")]
    pub fn connect(&self, service: &str) -> std::io::Result<TcpStream> {
        TcpStream::connect(self.address(service))
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log_path).unwrap()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits until it has; the exit code.
    pub fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.wait()
    }

    /// Kills it without warning.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let status =
            Command::new("/bin/sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended; the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "the appliance did not stop:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs a command that talks to it, `["tenant", "list"]` for instance.
    pub fn cli(&self, arguments: &[&str]) -> Output {
        quintet().args(arguments).arg("--data").arg(&self.data).output().unwrap()
    }

    /// Runs a command that talks to it with `--json`; it must succeed.
    pub fn cli_json(&self, arguments: &[&str]) -> Value {
        let output = self.cli(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A new tenant with a name of its own; its id.
    pub fn tenant(&self) -> String {
        let tenant = self.cli_json(&["tenant", "create", &format!("tenant-{}", unique())]);
        tenant["tenant_id"].as_str().unwrap().to_string()
    }

    /// A new key of a tenant with these permissions (none: the ordinary ones); `(key_id, api_key)`.
    pub fn key(&self, tenant_id: &str, permissions: &[&str]) -> (String, String) {
        let mut arguments = vec!["key", "issue", "--tenant", tenant_id];
        for permission in permissions {
            arguments.extend(["--permission", permission]);
        }
        let key = self.cli_json(&arguments);
        (key["key_id"].as_str().unwrap().to_string(), key["api_key"].as_str().unwrap().to_string())
    }

    /// A client of a service without a key.
    pub fn stranger(&self, service: &str) -> Client {
        Client::new(&format!("http://{}", self.address(service)), None)
    }

    /// A client of a service with this key.
    pub fn client(&self, service: &str, api_key: &str) -> Client {
        Client::new(&format!("http://{}", self.address(service)), Some(api_key))
    }

    /// A client of a service with a fresh key of this tenant.
    pub fn persona(&self, service: &str, tenant_id: &str, permissions: &[&str]) -> Client {
        self.client(service, &self.key(tenant_id, permissions).1)
    }
}

/// How many rounds a test makes: what this variable of the environment says, or as many as suit every change.
pub fn rounds(variable: &str, ordinary: usize) -> usize {
    let wish = std::env::var(variable).ok();
    wish.map_or(ordinary, |wish| wish.parse().unwrap_or_else(|_| panic!("{variable}={wish} is no number")))
}

/// Says why a test does nothing here. It is seen although the test passes.
pub fn say_skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_string();
    let _ = writeln!(std::io::stderr(), "{test}: skipped: {reason}");
}

/// Runs a script of tests/it that drives a real browser; what it printed. None where no browser is installed.
pub fn in_browser(script: &str, given: &Value) -> Option<String> {
    let top = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let tools = Command::new(format!("{top}/packaging/browser.sh")).arg("--where").output().unwrap();
    if !tools.status.success() {
        assert!(std::env::var_os("CI").is_none(), "packaging/browser.sh installs what this needs");
        say_skipped("there is no browser; packaging/browser.sh installs one");
        return None;
    }
    let mut node = Command::new("timeout");
    node.args(["--kill-after=5", "480", "node"]).arg(format!("{top}/tests/it/{script}"));
    let output = node.arg(stdout(&tools).trim()).arg(given.to_string()).output().unwrap();
    assert!(output.status.success(), "{}\n{}", stdout(&output), stderr(&output));
    Some(stdout(&output))
}

/// A number no other test of this run has.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A blocking HTTP client of one service.
#[derive(Clone)]
pub struct Client {
    base: String,
    api_key: Option<String>,
    fields: Vec<(String, String)>,
    agent: ureq::Agent,
}

/// An answer.
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its header fields.
    pub headers: http::HeaderMap,
    /// Its body; of one that is no text, what can be read of it.
    pub text: String,
    /// The same as it came.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Answer { status, headers, text, .. } = self;
        f.debug_struct("Answer").field("status", status).field("headers", headers).field("text", text).finish()
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A header field, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The body as JSON, if the status is this one.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}

impl Client {
    fn new(base: &str, api_key: Option<&str>) -> Client {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        Client { base: base.to_string(), api_key: api_key.map(str::to_string), fields: Vec::new(), agent }
    }

    /// One of the same service with another key.
    pub fn with_key(&self, api_key: &str) -> Client {
        Client::new(&self.base, Some(api_key))
    }

    /// Its key.
    pub fn api_key(&self) -> String {
        self.api_key.clone().unwrap_or_default()
    }

    /// The same, which sends this header field with each request.
    pub fn with(mut self, name: &str, value: &str) -> Client {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a request with these header fields; the body as it is.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// Sends a request that may find nobody to answer it.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(key) = &self.api_key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let own = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            request = request.header(name, value);
        }
        let mut response = if body.is_empty() && !matches!(method, "POST" | "PUT" | "PATCH") {
            self.agent.run(request.body(()).unwrap())?
        } else {
            self.agent.run(request.body(body).unwrap())?
        };
        let bytes = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), text, bytes })
    }

    /// Reads something.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Posts JSON under a fresh Idempotency-Key.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_under(&fresh_key(), path, body)
    }

    /// Posts JSON under this Idempotency-Key.
    pub fn post_under(&self, idempotency_key: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("idempotency-key", idempotency_key)];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// [`Client::post_under`] to an appliance that may go away meanwhile; `None` if no answer came.
    pub fn try_post_under(&self, idempotency_key: &str, path: &str, body: &Value) -> Option<Answer> {
        let headers = [("content-type", "application/json"), ("idempotency-key", idempotency_key)];
        self.try_send("POST", path, &headers, body.to_string().as_bytes()).ok()
    }

    /// Puts JSON.
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// Deletes something.
    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    /// Patches with JSON under a fresh Idempotency-Key.
    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("idempotency-key", &fresh_key())];
        self.send("PATCH", path, &headers, body.to_string().as_bytes())
    }
}

/// An Idempotency-Key no other request of this run has.
pub fn fresh_key() -> String {
    format!("it-{}-{}", std::process::id(), unique())
}
