//! Messaging as its public client meets it: the unmodified `rodmena-agentbus` of PyPI, as `tests/messaging/fetch.sh` installs
//! it, in a home and checkouts of its own. What it says is what is asserted: it is the judge of shapes.

mod doctor;
mod hooks;
mod sealed;
mod setup;
mod verbs;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::appliance::{Appliance, stderr, stdout, unique};

/// Where the client is installed.
fn installed() -> &'static Path {
    static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
        let top = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        let fetched = Command::new(format!("{top}/tests/messaging/fetch.sh")).output().unwrap();
        assert!(fetched.status.success(), "{}", stderr(&fetched));
        PathBuf::from(stdout(&fetched).trim())
    });
    &INSTALLED
}

/// A workspace, and the operator's key of it.
struct Workspace {
    slug: String,
    key: String,
}

impl Workspace {
    fn new(appliance: &Appliance) -> Workspace {
        let slug = format!("team-{}", unique());
        let tenant = appliance.tenant();
        appliance.cli_json(&["messaging", "workspace", "create", &slug, "--tenant", &tenant]);
        let key = issue(appliance, &slug, "admin", &[]);
        Workspace { slug, key }
    }
}

/// A new key of a workspace, bound to these agents.
fn issue(appliance: &Appliance, slug: &str, scope: &str, agents: &[&str]) -> String {
    let mut arguments = vec!["messaging", "key", "issue", "--workspace", slug, "--scope", scope];
    for agent in agents {
        arguments.extend(["--agent", agent]);
    }
    appliance.cli_json(&arguments)["api_key"].as_str().unwrap().to_owned()
}

/// A machine of somebody's: a home directory, and checkouts beside it.
struct Machine {
    directory: tempfile::TempDir,
    base_url: String,
}

impl Machine {
    fn new(appliance: &Appliance) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        let machine = Machine { directory, base_url: format!("http://{}", appliance.address("messaging")) };
        // Without one, the first registration in a container counts as that of a passing guest.
        machine.at_home().succeed(&["device-id"]);
        machine
    }

    /// One that is signed in with the operator's key of a workspace.
    fn signed_in(appliance: &Appliance, workspace: &Workspace) -> Machine {
        let machine = Machine::new(appliance);
        machine.at_home().succeed(&["signin", &workspace.key]);
        machine
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// The client, run outside every checkout.
    fn at_home(&self) -> Place<'_> {
        self.place("home")
    }

    /// A directory beside the home.
    fn place(&self, name: &str) -> Place<'_> {
        Place { machine: self, directory: self.directory.path().join(name), variables: Vec::new() }
    }

    /// A new checkout of a repository.
    fn checkout(&self, name: &str, origin: &str) -> Place<'_> {
        let place = self.place(name);
        git(self.directory.path(), &["init", "-q", name]);
        git(&place.directory, &["remote", "add", "origin", origin]);
        place
    }
}

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", stderr(&output));
}

/// A directory that the client is run in, with what its environment has besides.
#[derive(Clone)]
struct Place<'m> {
    machine: &'m Machine,
    directory: PathBuf,
    variables: Vec<(String, String)>,
}

impl Place<'_> {
    fn with(&self, name: &str, value: &str) -> Self {
        let mut place = self.clone();
        place.variables.push((name.to_owned(), value.to_owned()));
        place
    }

    /// A program of the client's, ready to be run with nothing of this process's environment.
    fn program(&self, name: &str) -> Command {
        let programs = installed().join("python/bin");
        let mut command = Command::new(programs.join(name));
        command.env_clear().current_dir(&self.directory).stdin(Stdio::null());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
        command.env("HOME", self.machine.home()).env("AGENTBUS_BASE_URL", &self.machine.base_url);
        // Nothing leaves this machine: what it asks of others is refused at once.
        command.env("http_proxy", "http://127.0.0.1:9").env("https_proxy", "http://127.0.0.1:9");
        command.env("no_proxy", "127.0.0.1,localhost").env("AGENTBUS_SDK_MAX_RETRIES", "0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a verb.
    fn run(&self, arguments: &[&str]) -> Output {
        self.program("agentbus").args(arguments).output().unwrap()
    }

    /// Runs a verb, which must succeed; what it printed.
    fn succeed(&self, arguments: &[&str]) -> String {
        self.end(arguments, 0)
    }

    /// Runs a verb, which must end like this; what it printed on standard output.
    fn end(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "agentbus {arguments:?}:\n{said}");
        stdout(&output)
    }

    /// Runs a verb, which must be refused; what it printed on standard error.
    fn refused(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "agentbus {arguments:?}:\n{said}");
        stderr(&output)
    }

    /// Runs a verb that answers with JSON.
    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.succeed(&[&["--json"], arguments].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("agentbus {arguments:?}: {error}\n{text}"))
    }

    /// The agent that works here.
    fn agent(&self) -> String {
        let text = std::fs::read_to_string(self.directory.join(".agentbus/agent")).unwrap();
        text.trim().to_owned()
    }
}

/// Two agents of one repository, each in a checkout of its own.
struct Pair {
    machine: Machine,
}

const ORIGIN: &str = "git@github.com:acme/api.git";

impl Pair {
    fn new(appliance: &Appliance, workspace: &Workspace) -> Pair {
        let machine = Machine::signed_in(appliance, workspace);
        for (directory, role) in [("one", "builder"), ("other", "tester")] {
            machine.checkout(directory, ORIGIN).succeed(&["register", "--role", role]);
        }
        Pair { machine }
    }

    fn place(&self, name: &str) -> Place<'_> {
        self.machine.place(name)
    }

    fn one(&self) -> Place<'_> {
        self.place("one")
    }

    fn other(&self) -> Place<'_> {
        self.place("other")
    }
}

/// Asserts that a text has all of these.
#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}
