//! How a command fails: an exit code, a reason, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;

use quintet_storage::{OpenError, read_format};

use crate::admin::client::CallError;
use crate::admin::problem::{Problem, ProblemCode};
use crate::config::Problems;
use crate::shell::quoted;
use crate::start_error::StartError;

/// What to do about a FORMAT file that is damaged or gone.
pub const FORMAT_CURE: &str = "nothing was changed; put FORMAT back from any copy or backup of this directory (it never changes), then `quintet verify` checks the rest; or `quintet verify --salvage DEST` makes it from what the log says; or `quintet restore BACKUP --data DEST` goes back to a backup";

/// A command's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliError {
    /// The process' exit code.
    pub code: u8,
    /// What went wrong.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl CliError {
    /// Something failed.
    pub const FAILED: u8 = 1;
    /// The command line makes no sense.
    pub const USAGE: u8 = 2;
    /// Another process holds the data directory.
    pub const IN_USE: u8 = 3;
    /// Stored data is damaged.
    pub const DAMAGED: u8 = 4;

    /// A failure without advice.
    #[must_use]
    pub fn failed(reason: impl fmt::Display) -> CliError {
        CliError { code: Self::FAILED, reason: reason.to_string(), hint: None }
    }

    /// The same failure with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> CliError {
        self.hint = Some(hint.to_string());
        self
    }

    /// The same failure with another exit code.
    #[must_use]
    pub fn code(mut self, code: u8) -> CliError {
        self.code = code;
        self
    }
}

impl From<Problems> for CliError {
    fn from(problems: Problems) -> Self {
        CliError::failed(format!("the configuration has mistakes\n{problems}"))
            .hint("correct them; `quintet config check FILE` tells what is left")
    }
}

impl From<CallError> for CliError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotRunning(data_dir) => {
                let path = data_dir.display();
                let flag = match read_format(&data_dir) {
                    Ok(Some(format)) if format.rehearsal => " --rehearsal-clock",
                    _ => "",
                };
                CliError::failed(format!("no appliance runs on {path}")).hint(format!(
                    "start one with `quintet serve --data {path}{flag}`, or name the directory of a running one with --data"
                ))
            }
            CallError::NotAllowed(data_dir) => {
                CliError::failed(format!("this user may not talk to the appliance on {}", data_dir.display()))
                    .hint("run the command as root or as the user that runs the appliance")
            }
            CallError::Unreachable(data_dir, error) => {
                CliError::failed(format!("the appliance on {} cannot be reached: {error}", data_dir.display()))
                    .hint("name the data directory of a running appliance with --data")
            }
            CallError::NoConnection(data_dir, waited) => {
                let seconds = waited.as_secs();
                let path = data_dir.display();
                CliError::failed(format!("the appliance on {path} has taken no connection for {seconds} s"))
                    .hint("it hangs or does too much at once: see its log, and restart it if it does not recover")
            }
            CallError::NoAnswer(data_dir, waited) => {
                let seconds = waited.as_secs();
                let path = data_dir.display();
                CliError::failed(format!("the appliance on {path} has not answered for {seconds} s"))
                    .hint("what was asked may still be done: look before asking again; if `quintet status` hangs as well, see its log and restart it")
            }
            CallError::Broken(reason) => CliError::failed(format!("the appliance did not answer properly: {reason}"))
                .hint("see the appliance's log"),
            CallError::Refused(_, problem) => problem.into(),
        }
    }
}

/// The exit code of each problem an appliance tells.
fn exit_code(code: ProblemCode) -> u8 {
    match code {
        ProblemCode::Damaged => CliError::DAMAGED,
        ProblemCode::Unusable => CliError::USAGE,
        ProblemCode::NotFound
        | ProblemCode::Conflict
        | ProblemCode::Busy
        | ProblemCode::StorageFull
        | ProblemCode::Stopped
        | ProblemCode::OutcomeUnknown
        | ProblemCode::TooLarge
        | ProblemCode::Io
        | ProblemCode::Failed => CliError::FAILED,
    }
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> Self {
        CliError { code: exit_code(problem.code), reason: problem.message, hint: problem.hint }
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let reason = error.to_string();
        match error {
            StartError::Open { directory, error } => open_error(&directory, &error),
            StartError::RootKeyMissing(_) => CliError::failed(reason)
                .code(Self::DAMAGED)
                .hint("put it back from a backup or a copy of the data directory; without it sealed values cannot be read"),
            StartError::RootKeyDamaged { .. } => CliError::failed(reason).code(Self::DAMAGED).hint(
                "nothing was changed; put the key back from a backup or a copy of the data directory, or name the right file (an absent one for a new directory) in storage.root_key",
            ),
            StartError::RootKeyDirectory { .. } => CliError::failed(reason)
                .hint("make its directory, writable for this user, or name another place in storage.root_key"),
            StartError::RootKeyRefused { hint, .. } => CliError::failed(reason).hint(hint),
            StartError::Exposed(path) => CliError::failed(reason)
                .hint(format!("look whether everything in it is yours, then `chmod 700 {}`", path.display())),
            StartError::TooFewFiles { .. } => CliError::failed(reason)
                .hint("raise the hard limit: `ulimit -Hn 65536` as root, LimitNOFILE=65536 in a systemd unit"),
            StartError::Clock(failure) | StartError::AuditKey(failure) | StartError::RootKeyUnchecked(failure) => {
                let code = ProblemCode::of(&failure);
                CliError { code: exit_code(code), reason, hint: code.hint().map(str::to_string) }
            }
            StartError::Bind { name, address, error } => bind_error(name, &address, &error),
            StartError::NotEmpty(path) => CliError::failed(reason)
                .hint(format!("name an empty or absent directory, or start `quintet serve --data {}`", path.display())),
            StartError::Tls(_) => CliError::failed(reason).hint(
                "name a certificate and its key in PEM form in tls.cert and tls.key; `quintet config check FILE` tries them",
            ),
            StartError::ToldToStop | StartError::Io { .. } => CliError::failed(reason),
        }
    }
}

fn open_error(directory: &Path, error: &OpenError) -> CliError {
    let path = directory.display();
    let failed = CliError::failed(error);
    match error {
        OpenError::InUse(_) => failed
            .code(CliError::IN_USE)
            .hint(format!("an appliance already runs on it: see `quintet status --data {path}`, or stop it first")),
        OpenError::Damaged { file, .. } if file.ends_with("FORMAT") => failed.code(CliError::DAMAGED).hint(FORMAT_CURE),
        OpenError::Damaged { .. } | OpenError::LogGap { .. } => damage(directory, failed),
        OpenError::ClockMismatch { directory_is_rehearsal: true } => {
            failed.hint(format!("run `quintet serve --data {path} --rehearsal-clock`"))
        }
        OpenError::ClockMismatch { directory_is_rehearsal: false } => {
            failed.hint(format!("run `quintet serve --data {path}`, or rehearse on a directory of its own"))
        }
        // What only a data directory holds tells that it was one.
        OpenError::NotADataDirectory(_) if ["wal", "live", "root.key"].iter().any(|n| directory.join(n).exists()) => {
            CliError::failed(format!("damage in {path}: the FORMAT file is missing"))
                .code(CliError::DAMAGED)
                .hint(FORMAT_CURE)
        }
        OpenError::NotADataDirectory(_) => failed.hint("name an empty or absent directory with --data"),
        OpenError::NewerFormat { .. } => failed.hint("run the version of quintet that wrote it, or a newer one"),
        OpenError::OlderFormat { .. } => failed.hint("run a version of quintet that still knows it, and then this one"),
        OpenError::Io { reason, .. } if reason.contains("No space left on device") => failed.hint(format!(
            "nothing is lost: make room on the file system of {path} and start again; a start needs about 64 MB"
        )),
        OpenError::Registry(_) | OpenError::Io { .. } => failed,
    }
}

fn damage(directory: &Path, failed: CliError) -> CliError {
    let path = quoted(directory);
    failed.code(CliError::DAMAGED).hint(format!(
        "nothing was changed; `quintet verify --data {path}` lists all damage, `quintet verify --data {path} --salvage DEST` saves what is sound into a new directory, `quintet restore BACKUP --data DEST` goes back to a backup"
    ))
}

fn bind_error(name: &str, address: &str, error: &io::Error) -> CliError {
    let variable = format!("QUINTET_LISTEN__{}", name.to_uppercase());
    let failed = CliError::failed(format!("cannot listen on {address} for {name}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failed.hint(format!(
            "another program has this port: `ss -ltnp` names it; stop it, or take a free port with {variable}=127.0.0.1:0"
        )),
        _ => failed.hint(format!("set another address with {variable} or listen.{name} in the configuration")),
    }
}

#[cfg(test)]
mod tests {
    use quintet_storage::Failure;

    use super::*;
    use crate::admin::task::TaskError;

    /// What the command line makes of a failure that a running appliance tells.
    fn told(failure: Failure) -> CliError {
        let sent = serde_json::to_string(&TaskError::from(failure).problem()).unwrap();
        serde_json::from_str::<Problem>(&sent).unwrap().into()
    }

    #[test]
    fn failures_of_a_running_appliance_keep_their_code_and_their_advice() {
        let damaged = told(Failure::Damaged("block 7".into()));
        assert_eq!(damaged.code, CliError::DAMAGED);
        assert!(damaged.reason.contains("block 7"));
        let full = told(Failure::StorageFull);
        assert_eq!(full.code, CliError::FAILED);
        let hint = full.hint.unwrap();
        assert!(hint.contains("free space") && hint.contains("resumes by itself"), "{hint}");
        assert_eq!(CliError::from(StartError::Clock(Failure::Damaged(String::new()))).code, CliError::DAMAGED);
        let later = r#"{"code":"of_a_later_version","message":"x"}"#;
        assert_eq!(CliError::from(serde_json::from_str::<Problem>(later).unwrap()).code, CliError::FAILED);
    }
}
