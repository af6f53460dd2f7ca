//! The supervisor of one container: a process of its own with a single thread, which makes the container, reads its
//! output, takes samples, keeps its time, does what the runner asks, and writes how it ended. Supervisors are made by one
//! process that the runner has started for that (`nursery`).
//!
//! It never trusts that anybody is there: the runner may go and come back.

mod init;
mod nursery;
mod order;
mod rootfs;
mod spec;
mod watch;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use libcontainer::container::builder::ContainerBuilder;
use libcontainer::notify_socket::NotifySocket;
use libcontainer::syscall::syscall::SyscallType;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::FdFlags;
use rustix::process::{Pid, WaitOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use order::{Duty, Nursed, ORDER_BYTES_MAX, Preparation, ProbeOrder, Probed, RootOrder, RunOrder, Shape};
pub(crate) use rootfs::make_template;
pub(crate) use watch::{Ask, Standing};

use crate::WallClock;
use crate::cgroup::{Group, Hierarchies, Visit};
use crate::files::Files;
use crate::kernel;
use crate::model::{EndReason, Outcome};
use crate::protocol;
use init::{Init, Report, Wanted};
use rootfs::Workplace;
use watch::Made;

/// What a supervisor tells the runner once the command was executed.
#[derive(Serialize, Deserialize)]
pub(crate) struct Started {
    pub at_micros: i64,
}

/// What libcontainer knows the container as: a supervisor has one.
const CONTAINER: &str = "container";
/// How long process 1 may take from its start to the command's.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How many directories below one another an image's working directory may be.
const DIRECTORIES_MAX: usize = 128;
/// For how long an outcome is tried to be written.
const OUTCOME_PATIENCE: Duration = Duration::from_secs(600);

/// The whole life of the process that a runner starts, and of the supervisors that come of it: takes its duty from standard
/// input, a socket, does it, and returns. The process must have a single thread, and does nothing else.
///
/// # Errors
///
/// When nothing could be done and nothing was written down; the runner sees that no outcome is there.
pub fn supervise(clock: &dyn WallClock) -> io::Result<()> {
    let runner = UnixStream::from(rustix::io::dup(rustix::stdio::stdin())?);
    rustix::io::fcntl_setfd(&runner, FdFlags::CLOEXEC)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    std::env::set_current_dir("/")?;
    match told(&runner)? {
        Some(Duty::Probe(order)) => probe(&order, &runner),
        Some(Duty::Nurse(preparation)) => nursery::nurse(&preparation, runner, |own, hierarchies| {
            let workplace = Workplace::make(&preparation.directory)?;
            obey(own, &Prepared { preparation: &preparation, hierarchies, workplace }, clock)
        }),
        None => Ok(()),
    }
}

/// A supervisor's whole life: makes a container as the runner wants it, and supervises it. Nothing if the runner is gone,
/// or needs nobody any more.
fn obey(runner: &UnixStream, prepared: &Prepared<'_>, clock: &dyn WallClock) -> io::Result<()> {
    let Some(shape) = told::<Shape>(runner)? else { return Ok(()) };
    let group = prepared.hierarchies.group(&shape.group);
    let built = build(&shape, prepared);
    if let Some(Some(order)) = told::<Option<RunOrder>>(runner)? {
        return run(&order, &shape, built, prepared, &group, runner, clock);
    }
    drop(built);
    clear(&group)
}

/// What the runner says next; none if it is gone.
fn told<T: DeserializeOwned>(runner: &UnixStream) -> io::Result<Option<T>> {
    Ok(protocol::receive(runner, ORDER_BYTES_MAX)?.map(|(told, _)| told))
}

/// For how long what cannot be killed or removed at once is tried again: it may wait for a disk.
const CLEARING_PATIENCE: Duration = Duration::from_secs(600);
const CLEARING_PAUSE: Duration = Duration::from_millis(200);

/// Ends what is left of a container and removes its control group. A supervisor has nothing else to do by then.
fn clear(group: &Group) -> io::Result<()> {
    again(|| group.kill().and_then(|()| group.remove()))
}

/// Does something until it works.
fn again(work: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let until = Instant::now() + CLEARING_PATIENCE;
    loop {
        match work() {
            Err(error) if Instant::now() < until => {
                tracing::warn!(%error, "a container is not gone yet");
                std::thread::sleep(CLEARING_PAUSE);
            }
            done => return done,
        }
    }
}

/// What is there before it is known what for.
struct Prepared<'a> {
    preparation: &'a Preparation,
    hierarchies: &'a Hierarchies,
    workplace: Workplace,
}

/// Tries to make a root file system, and says how it went.
fn probe(order: &ProbeOrder, runner: &UnixStream) -> io::Result<()> {
    let made = rootfs::let_go_of_host(&order.directory).and_then(|()| Workplace::make(&order.directory));
    let tried = made.and_then(|workplace| {
        let users = rootfs::user_namespace(&order.root)?;
        let tried = workplace.mount(&order.root, users.as_fd(), &order.directory).and_then(|()| {
            // What an idmapped layer is for: its root belongs to root inside.
            std::fs::write(workplace.root().join("written"), "")?;
            workplace.make_directory("a/b", order.root.first_id)
        });
        workplace.unmount();
        tried
    });
    let probed: Probed = tried.err().map(|error| error.to_string());
    protocol::send(runner, &probed, None)
}

fn run(
    order: &RunOrder,
    shape: &Shape,
    built: Result<Built, Cause>,
    prepared: &Prepared<'_>,
    group: &Group,
    runner: &UnixStream,
    clock: &dyn WallClock,
) -> io::Result<()> {
    let files = Files::new(order.directory.clone());
    let taken = files.complaints_writer().and_then(|complaints| {
        rustix::stdio::dup2_stderr(complaints)?;
        take(&files)
    });
    let lock = match taken {
        Ok(lock) => lock,
        Err(error) => {
            drop(built);
            clear(group)?;
            return Err(error);
        }
    };
    files.reserve_outcome();
    let begun = built.and_then(|built| {
        group.limit(&order.description.limits)?;
        // Making it took processor time as well.
        let cpu_before_micros = group.cpu_micros();
        let made = begin(built, order, shape, &prepared.workplace, runner, &files, clock)?;
        Ok(Made { cpu_before_micros, ..made })
    });
    let outcome = match begun {
        Ok(made) => watch::watch(made, order, &files, group, clock)?,
        Err(Cause::Asked(reason)) => start_failed(reason, clock),
        Err(Cause::Machine(reason)) => not_made(reason, clock),
    };
    // What cannot be killed yet has not ended.
    again(|| group.kill())?;
    put_outcome(&files, &outcome, &prepared.workplace)?;
    // Whoever waits for the outcome has no need to wait for the rest.
    drop(lock);
    clear(group)
}

/// Why a command does not run.
enum Cause {
    /// What was asked for cannot be: an image, a command, a limit.
    Asked(String),
    /// The machine failed, and the command has not run: it may another time.
    Machine(String),
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Cause {
        Cause::Machine(error.to_string())
    }
}

fn asked(error: impl std::fmt::Display) -> Cause {
    Cause::Asked(error.to_string())
}

/// Makes the container this supervisor's own, unless somebody has ended it meanwhile.
fn take(files: &Files) -> io::Result<File> {
    let lock = files.try_lock()?.ok_or_else(|| io::Error::other("it has a supervisor"))?;
    if files.outcome()?.is_some() {
        return Err(io::Error::other("it has ended"));
    }
    Ok(lock)
}

/// Writes the outcome. A disk that is full gives room when the writable layer goes, or when somebody makes some.
fn put_outcome(files: &Files, outcome: &Outcome, workplace: &Workplace) -> io::Result<()> {
    let until = Instant::now() + OUTCOME_PATIENCE;
    loop {
        let error = match files.put_outcome(outcome) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        tracing::error!(%error, "an outcome cannot be written");
        if Instant::now() > until {
            return Err(error);
        }
        workplace.unmount();
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The outcome of a container whose command cannot run.
pub(crate) fn start_failed(reason: String, clock: &dyn WallClock) -> Outcome {
    without_start(EndReason::StartFailed(reason), clock)
}

/// The outcome of a container that the machine did not make.
pub(crate) fn not_made(reason: String, clock: &dyn WallClock) -> Outcome {
    without_start(EndReason::NotMade(reason), clock)
}

/// The outcome of a container of which nothing else is known.
pub(crate) fn without_start(reason: EndReason, clock: &dyn WallClock) -> Outcome {
    Outcome {
        reason,
        exit_code: None,
        signal: None,
        oom_killed: false,
        started_at_micros: None,
        finished_at_micros: clock.now_micros(),
        paused_micros: 0,
        peak_memory_bytes: 0,
        cpu_micros: 0,
        stdout: crate::model::StreamTotals::default(),
        stderr: crate::model::StreamTotals::default(),
    }
}

/// A container that lacks nothing but a command.
struct Built {
    init: Pid,
    /// By which process 1 is told what to run.
    wanted: File,
    report: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// Of the user it runs as, for a command whose environment does not say.
    home: String,
}

/// Makes a container up to the point at which its command is missing.
fn build(shape: &Shape, prepared: &Prepared<'_>) -> Result<Built, Cause> {
    let Prepared { preparation, hierarchies, workplace, .. } = prepared;
    let users = rootfs::user_namespace(&shape.root)?;
    workplace.mount(&shape.root, users.as_fd(), &preparation.directory)?;

    let (passwd, group) = (text_of(workplace, "etc/passwd"), text_of(workplace, "etc/group"));
    let user = spec::user(&shape.config.user, &passwd, &group).map_err(asked)?;
    if !shape.config.directory.is_empty() {
        let own = ["proc", "sys", "dev"];
        let first = shape.config.directory.split('/').find(|part| !part.is_empty() && *part != ".");
        if !shape.config.directory.starts_with('/') || first.is_some_and(|part| part == ".." || own.contains(&part)) {
            return Err(asked("the image's working directory is not one of its own"));
        }
        // Each is looked up from the root.
        if shape.config.directory.split('/').count() > DIRECTORIES_MAX {
            return Err(asked("the image's working directory lies too deep"));
        }
        workplace.make_directory(&shape.config.directory, shape.root.first_id).map_err(asked)?;
    }
    let configuration = spec::configuration(shape, &workplace.root(), &user, users.as_fd(), hierarchies);
    let configuration = serde_json::to_vec(&configuration).map_err(io::Error::other)?;
    std::fs::write(workplace.bundle().join("config.json"), configuration)?;

    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from);
    let ((stdout, out), (stderr, err), (report, reporting)) = (pipe()?, pipe()?, pipe()?);
    let (asked, wanted) = pipe()?;
    // The container may open its own end for reading and be faster: what was there when it was looked for may be gone
    // when it is read.
    for end in [&stdout, &stderr, &report] {
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK).map_err(io::Error::from)?;
    }
    for end in [&out, &err] {
        // So that the command may open /dev/stdout again.
        let (owner, group) = (shape.root.first_id + user.uid, shape.root.first_id + user.gid);
        rustix::fs::fchown(end, Some(rustix::fs::Uid::from_raw(owner)), Some(rustix::fs::Gid::from_raw(group)))
            .map_err(io::Error::from)?;
    }
    let container = ContainerBuilder::new(CONTAINER.to_owned(), SyscallType::default())
        .with_root_path(workplace.state())
        .map_err(io::Error::other)?
        .with_executor(Init { report: reporting.as_raw_fd(), wanted: asked.as_raw_fd() })
        .with_stdin(OwnedFd::from(File::open("/dev/null")?))
        .with_stdout(out)
        .with_stderr(err)
        .as_init(workplace.bundle())
        .with_systemd(false)
        .with_detach(true);
    let visit = hierarchies.group(&shape.group).visit()?;
    let container = container.build();
    visit.map_or(Ok(()), Visit::leave)?;
    let container = container.map_err(|error| io::Error::other(whole_story(&error)))?;
    let init = container.pid().map(|pid| pid.as_raw()).and_then(Pid::from_raw);
    let init = init.ok_or_else(|| io::Error::other("it has no process"))?;
    kernel::loopback_up(init)?;
    Ok(Built { init, wanted: wanted.into(), report, stdout, stderr, home: home_of(&passwd, user.uid) })
}

/// Starts the command of a container that was built.
fn begin(
    built: Built,
    order: &RunOrder,
    shape: &Shape,
    workplace: &Workplace,
    runner: &UnixStream,
    files: &Files,
    clock: &dyn WallClock,
) -> Result<Made, Cause> {
    let Built { init, mut wanted, report, stdout, stderr, home } = built;
    let scratch = workplace.take_scratch();
    let command = spec::command(&order.description, &shape.config).map_err(asked)?;
    let mut environment = spec::environment(&order.description, &shape.config);
    if !environment.iter().any(|variable| variable.starts_with("HOME=")) {
        environment.push(format!("HOME={home}"));
    }
    std::fs::create_dir(files.streams())?;
    let control = files.listen()?;
    control.set_nonblocking(true)?;
    kernel::set_hostname(init, &spec::hostname(&order.id))?;
    let mut socket = NotifySocket::new(workplace.state().join(CONTAINER).join("notify.sock"));
    socket.notify_container_start().map_err(|error| io::Error::other(whole_story(&error)))?;
    let name = command.first().cloned().unwrap_or_default();
    // Whoever does not read it any more does not report either.
    let _ = Wanted { command, environment }.send(&mut wanted);

    // From here on it may have run: it is not asked for again.
    match first_report(&report).map_err(asked)? {
        Some(Report::Started) => {}
        Some(Report::NotStarted(errno)) => {
            let _ = rustix::process::waitpid(Some(init), WaitOptions::empty());
            let error = io::Error::from_raw_os_error(errno);
            return Err(asked(format!("{}: {error}", name.escape_debug())));
        }
        _ => return Err(asked("it ended before its command ran: too little memory, most likely")),
    }
    // Nobody may be there to read it.
    let started_at_micros = clock.now_micros();
    let _ = protocol::send(runner, &Started { at_micros: started_at_micros }, None);
    let (stdout, stderr) = (stdout.into(), stderr.into());
    Ok(Made { init, started_at_micros, cpu_before_micros: 0, report, stdout, stderr, control, scratch })
}

/// An error with all its causes: what libcontainer says at the top is seldom what happened.
fn whole_story(error: &dyn std::error::Error) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !story.contains(&text) {
            story = format!("{story}: {text}");
        }
        cause = error.source();
    }
    story
}

fn text_of(workplace: &Workplace, path: &str) -> String {
    workplace.read(path, 1 << 20).map(|content| String::from_utf8_lossy(&content).into_owned()).unwrap_or_default()
}

fn home_of(passwd: &str, uid: u32) -> String {
    let mut rows = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let row = rows.find(|row| row.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    row.and_then(|row| row.get(5).copied()).filter(|home| home.starts_with('/')).unwrap_or("/").to_owned()
}

/// Waits for what process 1 says of the command's start. None: it is gone.
fn first_report(report: &OwnedFd) -> io::Result<Option<Report>> {
    let until = Instant::now() + START_PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(0), tv_nsec: left.subsec_nanos().into() };
        let mut waited = [PollFd::new(report, PollFlags::IN)];
        match rustix::event::poll(&mut waited, Some(&timeout)) {
            Ok(0) => return Err(io::Error::other("its command did not start in time")),
            Ok(_) => return Report::read(report),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
