//! Mail with the outside, as others' programs meet it: swaks and Python's smtplib send, aiosmtpd is the relay, dkimpy signs,
//! dnslib is the name server (`tests/mails/fetch.sh`).

mod approvers;
mod crash;
mod incoming;
mod outgoing;
mod sign_up;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::appliance::{Appliance, Setup, stderr, stdout};
use crate::support::messaging::Workspace;

/// What agents' addresses end with.
const DOMAIN: &str = "mail.example";
/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where others' programs are installed.
fn installed() -> &'static Path {
    static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
        let fetched = Command::new(format!("{}/tests/mails/fetch.sh", top())).output().unwrap();
        assert!(fetched.status.success(), "{}", stderr(&fetched));
        PathBuf::from(stdout(&fetched).trim())
    });
    &INSTALLED
}

fn top() -> String {
    std::env::var("CARGO_MANIFEST_DIR").unwrap()
}

/// One of the scripts of `tests/mails`, with Python as it is installed for them.
fn script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(installed().join("python/bin/python3"));
    command.arg(format!("{}/tests/mails/{name}", top())).args(arguments);
    command
}

/// A server of somebody else's. It ends with this.
struct Server {
    child: Child,
    port: u16,
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(name: &str, arguments: &[&str]) -> Server {
        let mut child = script(name, arguments).stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap().push(line);
            }
        });
        Server { child, port, said }
    }

    /// Where it is.
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The mails that a relay has taken.
    fn mails(&self) -> Vec<Value> {
        self.said.lock().unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An appliance that takes mail in.
fn setup() -> Setup {
    Setup::new().env("QUINTET_MESSAGING__DOMAIN", DOMAIN).env("QUINTET_MESSAGING__SMTP_LISTEN", "127.0.0.1:0")
}

/// One that hands mail to this relay as well.
fn with_relay(relay: &Server) -> Setup {
    setup().env("QUINTET_MESSAGING__SMTP_RELAY", &relay.address())
}

/// A workspace that takes mail from outside.
fn open(appliance: &Appliance) -> Workspace<'_> {
    let workspace = Workspace::open(appliance);
    appliance.cli_json(&["messaging", "workspace", "ingress", &workspace.slug, "open"]);
    workspace
}

/// The address of an agent.
fn address(workspace: &Workspace<'_>, agent: &str) -> String {
    format!("agentbus+{}.{agent}@{DOMAIN}", workspace.slug)
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
