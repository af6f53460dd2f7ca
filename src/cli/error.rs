//! How a command fails: an exit code, a reason, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;

use quintet_storage::OpenError;

use crate::admin::client::CallError;
use crate::config::Problems;
use crate::start_error::StartError;

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
                CliError::failed(format!("no appliance runs on {path}")).hint(format!(
                    "start one with `quintet serve --data {path}`, or name the directory of a running one with --data"
                ))
            }
            CallError::NotAllowed(data_dir) => {
                CliError::failed(format!("this user may not talk to the appliance on {}", data_dir.display()))
                    .hint("run the command as root or as the user that runs the appliance")
            }
            CallError::Broken(reason) => CliError::failed(format!("the appliance did not answer properly: {reason}"))
                .hint("see the appliance's log"),
            CallError::Refused(_, problem) => {
                CliError { code: Self::FAILED, reason: problem.message, hint: problem.hint }
            }
        }
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let reason = error.to_string();
        match error {
            StartError::Open { directory, error } => open_error(&directory, &error),
            StartError::RootKeyMissing(_) | StartError::RootKeyDamaged { .. } => CliError::failed(reason)
                .code(Self::DAMAGED)
                .hint("put root.key back from a copy of the data directory; without it sealed values cannot be read"),
            StartError::Bind { name, address, error } => bind_error(name, &address, &error),
            StartError::NotEmpty(path) => CliError::failed(reason)
                .hint(format!("name an empty or absent directory, or start `quintet serve --data {}`", path.display())),
            StartError::Unsupported(_) | StartError::Clock(_) | StartError::Io { .. } => CliError::failed(reason),
        }
    }
}

fn open_error(directory: &Path, error: &OpenError) -> CliError {
    let path = directory.display();
    let failed = CliError::failed(error);
    match error {
        OpenError::InUse(_) => failed.code(CliError::IN_USE).hint(format!(
            "an appliance already runs on it: see `quintet status --data {path}`, or stop it first"
        )),
        OpenError::Damaged { .. } | OpenError::LogGap { .. } => failed.code(CliError::DAMAGED).hint(format!(
            "nothing was changed; keep the directory as it is: `cp -a {path} {path}.damaged`, then put a copy or backup in its place"
        )),
        OpenError::ClockMismatch { directory_is_rehearsal: true } => {
            failed.hint(format!("run `quintet serve --data {path} --rehearsal-clock`"))
        }
        OpenError::ClockMismatch { directory_is_rehearsal: false } => {
            failed.hint(format!("run `quintet serve --data {path}`, or rehearse on a directory of its own"))
        }
        OpenError::NotADataDirectory(_) => failed.hint("name an empty or absent directory with --data"),
        OpenError::NewerFormat { .. } => failed.hint("run the version of quintet that wrote it, or a newer one"),
        OpenError::Registry(_) | OpenError::Io { .. } => failed,
    }
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
