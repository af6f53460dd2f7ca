//! Process 1 of a container: starts the command, hands signals on to it, reaps what is orphaned, and tells the
//! supervisor how it went. It is a copy of the supervisor with nothing left open, not a program of the image.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use libcontainer::oci_spec::runtime::Spec;
use libcontainer::workload::{Executor, ExecutorError, ExecutorSetEnvsError, ExecutorValidationError};
use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use crate::kernel::{self, Forked};

/// What process 1 writes to the supervisor, five bytes each: a letter and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command was executed.
    Started,
    /// It could not be: `errno`.
    NotStarted(i32),
    /// It returned.
    Exited(i32),
    /// It was ended by a signal.
    Signaled(i32),
}

impl Report {
    const LENGTH: usize = 5;

    /// Takes the next one from process 1; none: it is gone.
    pub fn read(report: &OwnedFd) -> io::Result<Option<Report>> {
        let mut bytes = [0; Self::LENGTH];
        // Five bytes are written at once, and a pipe does not tear so few.
        match rustix::io::read(report, &mut bytes)? {
            0 => Ok(None),
            _ => Report::from_bytes(bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
        }
    }

    fn to_bytes(self) -> [u8; Self::LENGTH] {
        let (letter, number) = match self {
            Report::Started => (b'S', 0),
            Report::NotStarted(errno) => (b'N', errno),
            Report::Exited(code) => (b'X', code),
            Report::Signaled(signal) => (b'K', signal),
        };
        let [a, b, c, d] = number.to_be_bytes();
        [letter, a, b, c, d]
    }

    fn from_bytes(bytes: [u8; Self::LENGTH]) -> Option<Report> {
        let [letter, number @ ..] = bytes;
        let number = i32::from_be_bytes(number);
        match letter {
            b'S' => Some(Report::Started),
            b'N' => Some(Report::NotStarted(number)),
            b'X' => Some(Report::Exited(number)),
            b'K' => Some(Report::Signaled(number)),
            _ => None,
        }
    }
}

/// Runs in the container's namespaces, as its user, with its capabilities, once libcontainer has made all that.
#[derive(Clone)]
pub(super) struct Init {
    /// Where reports go: a descriptor that process 1 inherits.
    pub report: RawFd,
    /// Where the [`Wanted`] comes from: another one.
    pub wanted: RawFd,
}

/// What process 1 is to run, which is not known yet when it is made.
#[derive(Serialize, Deserialize)]
pub(super) struct Wanted {
    pub command: Vec<String>,
    pub environment: Vec<String>,
}

impl Wanted {
    /// Tells process 1. It reads only once it was started, and a pipe holds less than this may be.
    pub fn send(&self, to: &mut File) -> io::Result<()> {
        let body = serde_json::to_vec(self)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        to.write_all(&[&length.to_be_bytes()[..], body.as_slice()].concat())
    }

    /// Its length comes first: process 1 has a copy of the other end, which therefore never closes.
    fn receive(from: &mut File) -> io::Result<Wanted> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut body = Vec::new();
        from.take(u32::from_be_bytes(length).into()).read_to_end(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

/// The same as the kernel takes it.
struct Command {
    words: Vec<CString>,
    environment: Vec<CString>,
}

impl Executor for Init {
    fn exec(&self, _: &Spec) -> Result<(), ExecutorError> {
        let report = kernel::inherited(self.report);
        let ended = self.run(&report);
        let code = match ended {
            Ok(code) => code,
            Err(error) => {
                let _ = tell(&report, Report::NotStarted(error.raw_os_error().unwrap_or(libc::EIO)));
                127
            }
        };
        kernel::exit_now(code)
    }

    /// The last thing that is asked before process 1 waits to be started, as long as that may take.
    fn validate(&self, _: &Spec) -> Result<(), ExecutorValidationError> {
        settle_in().map_err(|error| ExecutorValidationError::ArgValidationError(error.to_string()))
    }

    fn setup_envs(&self, _: HashMap<String, String>) -> Result<(), ExecutorSetEnvsError> {
        Ok(())
    }
}

fn tell(report: &OwnedFd, what: Report) -> io::Result<()> {
    rustix::io::write(report, &what.to_bytes())?;
    Ok(())
}

/// What process 1 does before it knows what to run.
fn settle_in() -> io::Result<()> {
    // Whatever happens to the supervisor, nothing of the container is left without one.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::thread::set_name(c"init")?;
    // What runs as the same user inside must not look into it: not into its memory, a copy of the supervisor's, nor its
    // descriptors, by which it reports.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // A blocked signal waits for process 1 instead of being lost on it.
    kernel::block_signals(true)?;
    for filter in crate::seccomp::filters() {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

impl Init {
    fn run(&self, report: &OwnedFd) -> io::Result<i32> {
        let wanted = Wanted::receive(&mut File::from(kernel::inherited(self.wanted)))?;
        let wanted = Command { words: c_strings(&wanted.command)?, environment: c_strings(&wanted.environment)? };
        kernel::close_all_but(self.report)?;
        let (failed, fail) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(report, rustix::io::FdFlags::CLOEXEC)?;
        let command = match kernel::fork_unchecked()? {
            Forked::Child => {
                let error = wanted.take_over();
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = rustix::io::write(&fail, &errno.to_be_bytes());
                kernel::exit_now(127)
            }
            Forked::Parent(command) => command,
        };
        drop(fail);
        let mut errno = [0; 4];
        if rustix::io::retry_on_intr(|| rustix::io::read(&failed, &mut errno))? == errno.len() {
            return Err(io::Error::from_raw_os_error(i32::from_be_bytes(errno)));
        }
        drop(failed);
        tell(report, Report::Started)?;
        attend(command, report)
    }
}

impl Command {
    /// Returns only if it cannot be executed.
    fn take_over(&self) -> io::Error {
        // Signals from a terminal, of which there is none, would go to the command's own group.
        let _ = rustix::process::setpgid(None, None);
        kernel::default_signals();
        if let Err(error) = kernel::block_signals(false) {
            return error;
        }
        let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
        for candidate in self.candidates() {
            let error = kernel::execute(&candidate, &self.words, &self.environment);
            match error.raw_os_error() {
                // As a shell does: go on looking, and remember what could have been executed.
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                Some(libc::EACCES) => worst = error,
                _ => return error,
            }
        }
        worst
    }

    /// Where the command may lie: the path itself if it has a slash, else in each directory of PATH.
    fn candidates(&self) -> Vec<CString> {
        let Some(program) = self.words.first() else { return Vec::new() };
        if program.as_bytes().contains(&b'/') {
            return vec![program.clone()];
        }
        let path = self.environment.iter().find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="));
        let directories = path.unwrap_or(b"/usr/bin:/bin").split(|byte| *byte == b':');
        let joined = directories.map(|directory| {
            let directory: &[u8] = if directory.is_empty() { b"." } else { directory };
            CString::new([directory, b"/", program.as_bytes()].concat())
        });
        joined.filter_map(Result::ok).collect()
    }
}

/// Until the command ends: hands on signals, reaps. What else runs then ends with process 1.
fn attend(command: Pid, report: &OwnedFd) -> io::Result<i32> {
    loop {
        let signal = kernel::wait_for_signal()?;
        if signal != libc::SIGCHLD {
            // The command may just have ended; then SIGCHLD is next.
            let _ = kernel::send_signal(command, signal);
            continue;
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid != command {
                continue;
            }
            if let Some(code) = status.exit_status() {
                tell(report, Report::Exited(code))?;
                return Ok(code);
            }
            if let Some(signal) = status.terminating_signal() {
                tell(report, Report::Signaled(signal))?;
                return Ok(128 + signal);
            }
        }
    }
}

/// Text as the kernel takes it.
fn c_strings(texts: &[String]) -> io::Result<Vec<CString>> {
    texts.iter().map(|text| CString::new(std::ffi::OsStr::new(text).as_bytes()).map_err(io::Error::other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_they_were_written() {
        for report in [Report::Started, Report::NotStarted(2), Report::Exited(-1), Report::Signaled(9)] {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
        assert_eq!(Report::from_bytes(*b"?0000"), None);
    }

    #[test]
    fn a_command_is_looked_for_where_its_own_path_says() {
        let look = |program: &str, environment: &[&str]| -> Vec<String> {
            let own = |texts: &[&str]| c_strings(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
            let command = Command { words: own(&[program]).unwrap(), environment: own(environment).unwrap() };
            command.candidates().into_iter().map(|path| path.into_string().unwrap()).collect()
        };
        assert_eq!(look("true", &["HOME=/", "PATH=/a:/b"]), ["/a/true", "/b/true"]);
        assert_eq!(look("true", &[]), ["/usr/bin/true", "/bin/true"]);
        assert_eq!(look("./true", &["PATH=/a"]), ["./true"]);
        assert_eq!(look("true", &["PATH=:/a"]), ["./true", "/a/true"]);
    }
}
