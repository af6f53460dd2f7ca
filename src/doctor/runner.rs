//! The runner: whether it is there, may be talked to, is of this version, and what it found of the machine.

use std::io;
use std::path::Path;

use quintet_runtime::{Features, Hello, Runner, RunnerError, ScratchKind};

use super::subject::{Finding, Subject};
use crate::own_runner;

/// How a runner is started.
const START: &str = "`systemctl start quintet-runner`, or `sudo quintet runner --group quintet &`.";

/// How another one takes its place.
const RESTART: &str = "`systemctl restart quintet-runner`: containers go on meanwhile.";

/// What became of a call to a runner.
enum Called {
    /// It answered.
    Answered(Hello),
    /// Nothing is where its socket should be, and whether `serve` would start one there itself.
    Absent { is_made_by_serve: bool },
    /// It could not be called.
    Failed(RunnerError),
}

/// Whether containers can be started.
pub fn check_runner(subject: &Subject) -> Vec<Finding> {
    let Ok(config) = &subject.config else { return Vec::new() };
    let Some(place) = own_runner::place(config) else {
        let says = "There is to be none (runs.runner_socket is \"off\"): no containers here.";
        return vec![Finding::ok("runner", says)];
    };
    let is_made_by_serve = rustix::process::geteuid().is_root() && subject.status().is_none();
    let called = match place.socket.try_exists() {
        Ok(false) => Called::Absent { is_made_by_serve },
        _ => Runner::new(&place.socket).hello().map_or_else(Called::Failed, Called::Answered),
    };
    runner(&place.socket, &called, env!("CARGO_PKG_VERSION"))
}

fn runner(socket: &Path, called: &Called, own_version: &str) -> Vec<Finding> {
    let name = "runner";
    let at = socket.display();
    let finding = match called {
        Called::Answered(hello) if hello.version != own_version => Finding::warning(
            name,
            format!("It answers at {at}, but is of version {}; this is {own_version}.", hello.version),
            RESTART,
        ),
        Called::Answered(hello) => {
            let says = format!("It answers at {at}: version {}, control groups of version", hello.version);
            return [
                vec![Finding::ok(name, format!("{says} {}.", hello.features.cgroup_version))],
                offers(&hello.features),
            ]
            .concat();
        }
        Called::Absent { is_made_by_serve: true } => {
            Finding::ok(name, format!("None is at {at} yet; `quintet serve` starts one itself when root starts it."))
        }
        Called::Absent { .. } => Finding::warning(name, format!("Nothing is at {at}: runs wait."), START),
        Called::Failed(RunnerError::Unavailable { source, .. }) => match source.kind() {
            io::ErrorKind::PermissionDenied => Finding::warning(
                name,
                format!("This user may not talk to the one at {at}."),
                "Run this as root or as the user that runs the appliance, which must be of the runner's group: \
                 `usermod -aG quintet USER`.",
            ),
            io::ErrorKind::ConnectionRefused => {
                Finding::warning(name, format!("Nobody listens at {at} any more: runs wait."), START)
            }
            _ => Finding::warning(name, format!("The one at {at} does not answer ({source}): runs wait."), RESTART),
        },
        Called::Failed(error) => {
            Finding::problem(name, format!("The one at {at} does not understand: {error}."), RESTART)
        }
    };
    vec![finding]
}

/// What the runner found of the machine, where it could be better.
fn offers(features: &Features) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !features.idmapped_layers {
        findings.push(Finding::warning(
            "runner",
            "All containers share one range of ids: owners of layers cannot be mapped here.",
            "Run a kernel of version 5.19 or newer with runs.runner_dir on ext4, XFS or Btrfs, and the runner without \
             --shared-ids; then `systemctl restart quintet-runner`.",
        ));
    }
    if features.scratch == ScratchKind::Tmpfs {
        findings.push(Finding::warning(
            "runner",
            "What containers write lies in their memory: no file system can be made on a loop device here.",
            "`apt-get install e2fsprogs && modprobe loop`, then `systemctl restart quintet-runner`.",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    fn hello(version: &str, idmapped_layers: bool, scratch: ScratchKind) -> Called {
        let features = Features { cgroup_version: 2, idmapped_layers, scratch };
        Called::Answered(Hello { protocol: 1, version: version.into(), instance: "i".into(), features })
    }

    fn failed(kind: io::ErrorKind) -> Called {
        Called::Failed(RunnerError::Unavailable { socket: "/r.sock".into(), source: io::Error::from(kind) })
    }

    #[test]
    fn whatever_becomes_of_a_call_is_told() {
        let start = "`systemctl start quintet-runner`, or `sudo quintet runner --group quintet &`.";
        let restart = "`systemctl restart quintet-runner`: containers go on meanwhile.";
        let answers = "ok: It answers at /r.sock: version 1.0, control groups of version 2.";
        let cases = [
            (hello("1.0", true, ScratchKind::Loop), answers.to_string()),
            (
                hello("1.0", false, ScratchKind::Tmpfs),
                format!(
                    "{answers}\nwarning: All containers share one range of ids: owners of layers cannot be mapped here. \
                     => Run a kernel of version 5.19 or newer with runs.runner_dir on ext4, XFS or Btrfs, and the runner \
                     without --shared-ids; then `systemctl restart quintet-runner`.\nwarning: What containers write lies \
                     in their memory: no file system can be made on a loop device here. => `apt-get install e2fsprogs && \
                     modprobe loop`, then `systemctl restart quintet-runner`."
                ),
            ),
            (
                hello("0.9", true, ScratchKind::Loop),
                format!("warning: It answers at /r.sock, but is of version 0.9; this is 1.0. => {restart}"),
            ),
            (
                Called::Absent { is_made_by_serve: true },
                "ok: None is at /r.sock yet; `quintet serve` starts one itself when root starts it.".to_string(),
            ),
            (
                Called::Absent { is_made_by_serve: false },
                format!("warning: Nothing is at /r.sock: runs wait. => {start}"),
            ),
            (
                failed(io::ErrorKind::PermissionDenied),
                "warning: This user may not talk to the one at /r.sock. => Run this as root or as the user that runs the \
                 appliance, which must be of the runner's group: `usermod -aG quintet USER`."
                    .to_string(),
            ),
            (
                failed(io::ErrorKind::ConnectionRefused),
                format!("warning: Nobody listens at /r.sock any more: runs wait. => {start}"),
            ),
            (
                failed(io::ErrorKind::UnexpectedEof),
                format!(
                    "warning: The one at /r.sock does not answer (unexpected end of file): runs wait. => {restart}"
                ),
            ),
            (
                Called::Failed(RunnerError::Confused),
                format!(
                    "problem: The one at /r.sock does not understand: the runner answered something else than was \
                     asked. => {restart}"
                ),
            ),
        ];
        for (called, expected) in cases {
            let findings = runner(Path::new("/r.sock"), &called, "1.0");
            assert_eq!(findings.iter().map(told).collect::<Vec<_>>().join("\n"), expected);
        }
    }
}
