//! A running container: one loop over all that can happen to it, until nothing of it is left.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitOptions};
use serde::{Deserialize, Serialize};

use super::init::Report;
use super::order::RunOrder;
use crate::WallClock;
use crate::cgroup::{Group, SharedTime, Usage};
use crate::files::Files;
use crate::kernel;
use crate::logs::StreamWriter;
use crate::model::{ContainerState, EndReason, Outcome, Sample, Stream};
use crate::protocol::{self, Action, Answer, Refusal, Reply};

/// A sample each second for ten minutes, then every five; 3,600 in all: what a run shows as its utilization.
const FINE_SAMPLES: u32 = 600;
const SAMPLES_MAX: u32 = 3600;
const FINE: Duration = Duration::from_secs(1);
const COARSE: Duration = Duration::from_secs(5);
/// Processor time that a supervisor has for nothing: reading a few lines, a stop. What takes more is the container's
/// doing, and counts against what that one may take.
const FREE_TIME: Duration = Duration::from_millis(30);
/// How much of what a container writes is taken in within how long, about 30 MiB a second; what writes faster waits, as at
/// any pipe. A flood of which the last few MiB are kept would else take the disk from everybody.
const TAKEN_BYTES_MAX: usize = 3 << 20;
const TAKEN_WITHIN: Duration = Duration::from_millis(100);
/// What a line counts besides its bytes: a million empty ones are more work than a megabyte of text.
const LINE_BYTES: usize = 16;
/// How long whoever connects may take to say what they want.
const CALLER_PATIENCE: Duration = Duration::from_secs(2);

/// What the runner asks a supervisor.
#[derive(Serialize, Deserialize)]
pub(crate) enum Ask {
    /// How it stands: [`Standing`].
    Standing,
    /// To do something.
    Act(Action),
}

/// How a container stands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Standing {
    pub state: ContainerState,
    pub started_at_micros: i64,
    pub paused_micros: u64,
    /// What the file behind its writable layer takes on the disk, in bytes; 0 where there is none.
    #[serde(default)]
    pub written_bytes: u64,
}

/// A container whose command was executed.
pub(super) struct Made {
    pub init: Pid,
    pub started_at_micros: i64,
    /// The processor time of its group when its command was about to start.
    pub cpu_before_micros: u64,
    pub report: OwnedFd,
    pub stdout: File,
    pub stderr: File,
    pub control: UnixListener,
    /// Behind its writable layer, where that is one.
    pub scratch: Option<File>,
}

struct Watch<'a> {
    made: Made,
    order: &'a RunOrder,
    group: &'a Group,
    clock: &'a dyn WallClock,
    started_at_micros: i64,
    started: Instant,
    /// Since when it is paused.
    paused: Option<Instant>,
    /// The pauses before.
    paused_before: Duration,
    /// When a stop loses its patience.
    grace_until: Option<Instant>,
    /// Why everything was killed.
    killed_for: Option<EndReason>,
    /// What process 1 said last.
    ended: Option<Report>,
    samples: File,
    sample_count: u32,
    next_sample: Instant,
    /// When the last sample was taken, and the processor time until then.
    last_sample: (Instant, u64),
    own_time: OwnTime,
    /// What was taken in of its output, in bytes, and since when.
    taken: (Instant, usize),
}

/// Whose processor time it is that this process takes.
enum OwnTime {
    /// Its own, until it has taken so much.
    Free { until: Duration },
    /// The container's.
    Shared(SharedTime),
    /// Its own: nothing is left of the container, or sharing is not possible here.
    Apart,
}

/// The processor time of this process.
fn time_taken() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Watches it until it has ended, and says how it did.
pub(super) fn watch(
    made: Made,
    order: &RunOrder,
    files: &Files,
    group: &Group,
    clock: &dyn WallClock,
) -> io::Result<Outcome> {
    let (now, cpu_before_micros) = (Instant::now(), made.cpu_before_micros);
    let mut stdout = StreamWriter::new(&files.streams(), Stream::Stdout);
    let mut stderr = StreamWriter::new(&files.streams(), Stream::Stderr);
    let mut watch = Watch {
        order,
        group,
        clock,
        started_at_micros: made.started_at_micros,
        made,
        started: now,
        paused: None,
        paused_before: Duration::ZERO,
        grace_until: None,
        killed_for: None,
        ended: None,
        samples: files.samples_writer()?,
        sample_count: 0,
        next_sample: now + FINE,
        last_sample: (now, cpu_before_micros),
        own_time: OwnTime::Free { until: time_taken() + FREE_TIME },
        taken: (now, 0),
    };
    if let Err(error) = files.put_start(watch.started_at_micros) {
        tracing::warn!(%error, "the start is not noted");
    }
    let (mut open_out, mut open_err) = (true, true);
    loop {
        let takes_more = watch.takes_more();
        let ready = watch.wait(open_out && takes_more, open_err && takes_more)?;
        if ready.stdout {
            open_out = watch.drain(Stream::Stdout, &mut stdout)?;
        }
        if ready.stderr {
            open_err = watch.drain(Stream::Stderr, &mut stderr)?;
        }
        if ready.control {
            watch.answer();
        }
        if ready.report && !watch.hear()? {
            break;
        }
        watch.keep_time()?;
        watch.share_time();
    }
    // Process 1 is gone, and with it everything in its namespace. What it has written lies in the pipes.
    watch.leave_time();
    watch.drain_to_end(Stream::Stdout, &mut stdout, open_out)?;
    watch.drain_to_end(Stream::Stderr, &mut stderr, open_err)?;
    watch.outcome(&mut stdout, &mut stderr)
}

/// What can be read.
#[derive(Default)]
struct Ready {
    stdout: bool,
    stderr: bool,
    control: bool,
    report: bool,
}

impl Watch<'_> {
    fn wait(&self, open_out: bool, open_err: bool) -> io::Result<Ready> {
        let mut waited =
            vec![PollFd::new(&self.made.report, PollFlags::IN), PollFd::new(&self.made.control, PollFlags::IN)];
        if open_out {
            waited.push(PollFd::new(&self.made.stdout, PollFlags::IN));
        }
        if open_err {
            waited.push(PollFd::new(&self.made.stderr, PollFlags::IN));
        }
        let left = self.next_deadline().saturating_duration_since(Instant::now());
        // Rounded up: a deadline that is a little early would be waited for in a circle.
        let left = left + Duration::from_millis(1);
        let timeout =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(1), tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut signs = waited.iter().map(|waited| !waited.revents().is_empty());
        let mut next = || signs.next().unwrap_or(false);
        let (report, control) = (next(), next());
        Ok(Ready { report, control, stdout: open_out && next(), stderr: open_err && next() })
    }

    fn next_deadline(&self) -> Instant {
        let timeout = self.timeout_at().filter(|_| self.killed_for.is_none());
        let grace = self.grace_until.filter(|_| self.killed_for.is_none());
        let more = (self.taken.1 >= TAKEN_BYTES_MAX).then(|| self.taken.0 + TAKEN_WITHIN);
        [timeout, grace, more].into_iter().flatten().fold(self.next_sample, Instant::min)
    }

    /// Whether output is taken in now.
    fn takes_more(&mut self) -> bool {
        if self.taken.0.elapsed() >= TAKEN_WITHIN {
            self.taken = (Instant::now(), 0);
        }
        self.taken.1 < TAKEN_BYTES_MAX
    }

    /// Its time runs only while it does.
    fn timeout_at(&self) -> Option<Instant> {
        let allowed = Duration::from_secs(self.order.description.limits.timeout_seconds);
        if self.paused.is_some() { None } else { self.started.checked_add(allowed + self.paused_before) }
    }

    fn keep_time(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.killed_for.is_none() && self.ended.is_none() {
            if self.grace_until.is_some_and(|until| now >= until) {
                self.kill(EndReason::GraceExpired)?;
            } else if self.timeout_at().is_some_and(|until| now >= until) {
                self.kill(EndReason::TimedOut)?;
            }
        }
        if now >= self.next_sample {
            self.sample(now)?;
            let step = if self.sample_count < FINE_SAMPLES { FINE } else { COARSE };
            self.next_sample = if self.sample_count < SAMPLES_MAX {
                // From where it should have been, unless that is long past.
                (self.next_sample + step).max(now)
            } else {
                now + Duration::from_secs(86_400)
            };
        }
        Ok(())
    }

    fn sample(&mut self, now: Instant) -> io::Result<()> {
        let usage = self.group.usage();
        self.note(now, &usage)
    }

    fn note(&mut self, now: Instant, usage: &Usage) -> io::Result<()> {
        let (before, last) = self.last_sample;
        let passed = now.saturating_duration_since(before).as_micros().max(1);
        let used = usage.cpu_micros.saturating_sub(last);
        #[expect(clippy::cast_precision_loss, reason = "microseconds between two samples: far below 2^53")]
        let cpu_percent = (used as f64 * 10_000.0 / passed as f64).round() / 100.0;
        let sample = Sample {
            at_micros: self.clock.now_micros(),
            paused: self.paused.is_some(),
            cpu_percent,
            memory_bytes: usage.memory_bytes,
            memory_limit_bytes: usage.memory_limit_bytes,
            pids: usage.pids,
            io_read_bytes: usage.io_read_bytes,
            io_write_bytes: usage.io_write_bytes,
        };
        let mut line = serde_json::to_vec(&sample)?;
        line.push(b'\n');
        // A full disk costs samples, not the container. Half a line would make the ones after it unreadable.
        let before = self.samples.metadata().map(|metadata| metadata.len());
        if let Err(error) = self.samples.write_all(&line) {
            tracing::warn!(%error, "a sample is lost");
            if let Ok(before) = before {
                let _ = self.samples.set_len(before);
            }
        }
        self.sample_count += 1;
        self.last_sample = (now, usage.cpu_micros);
        Ok(())
    }

    /// Takes in what is there; false once the stream has ended.
    fn drain(&mut self, stream: Stream, writer: &mut StreamWriter) -> io::Result<bool> {
        let source = if stream == Stream::Stdout { &mut self.made.stdout } else { &mut self.made.stderr };
        let mut buffer = [0; 1 << 16];
        match source.read(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                let content = buffer.get(..count).unwrap_or_default();
                let lines = content.iter().filter(|byte| **byte == b'\n').count();
                self.taken.1 += count + lines * LINE_BYTES;
                let now = self.clock.now_micros();
                let taken = writer.take(content, now);
                // A full disk costs lines. It must not stop what is written from being drained.
                if let Err(error) = taken {
                    tracing::warn!(%error, "output is lost");
                }
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Takes in all that is left.
    fn drain_to_end(&mut self, stream: Stream, writer: &mut StreamWriter, mut is_open: bool) -> io::Result<()> {
        while is_open {
            let source = if stream == Stream::Stdout { &self.made.stdout } else { &self.made.stderr };
            match rustix::event::poll(&mut [PollFd::new(source, PollFlags::IN)], None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => is_open = self.drain(stream, writer)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Hears process 1; false once it is gone.
    fn hear(&mut self) -> io::Result<bool> {
        match Report::read(&self.made.report) {
            Ok(None) => Ok(false),
            Ok(Some(report)) => {
                self.ended = Some(report);
                Ok(true)
            }
            // It was woken for nothing.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// What its writable layer takes on the disk, as far as it has got there.
    fn written_bytes(&self) -> u64 {
        const SECTOR_BYTES: u64 = 512;
        let found = self.made.scratch.as_ref().and_then(|file| rustix::fs::fstat(file).ok());
        found.map_or(0, |found| u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(SECTOR_BYTES))
    }

    fn kill(&mut self, reason: EndReason) -> io::Result<()> {
        if self.killed_for.is_none() {
            self.killed_for = Some(reason);
        }
        self.resume_clock();
        self.leave_time();
        self.group.kill()
    }

    /// What it does for a container that gives it much to do counts against that one.
    fn share_time(&mut self) {
        if !matches!(self.own_time, OwnTime::Free { until } if time_taken() > until) {
            return;
        }
        self.own_time = match self.group.share_time() {
            Ok(shared) => OwnTime::Shared(shared),
            Err(error) => {
                tracing::warn!(%error, "the work of a supervisor does not count against its container");
                OwnTime::Apart
            }
        };
    }

    /// What ends a container must not wait for the time that one has used up.
    fn leave_time(&mut self) {
        if let OwnTime::Shared(shared) = std::mem::replace(&mut self.own_time, OwnTime::Apart)
            && let Err(error) = shared.leave()
        {
            tracing::warn!(%error, "a supervisor stays in its container's group");
        }
    }

    fn resume_clock(&mut self) {
        if let Some(since) = self.paused.take() {
            self.paused_before += since.elapsed();
        }
    }

    fn paused_for(&self) -> Duration {
        self.paused_before + self.paused.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn state(&self) -> ContainerState {
        if self.paused.is_some() { ContainerState::Paused } else { ContainerState::Running }
    }

    /// Hears everybody who has connected. Whoever does not say what they want in time is not waited for.
    fn answer(&mut self) {
        while let Ok((caller, _)) = self.made.control.accept() {
            if let Err(error) = self.answer_one(&caller) {
                tracing::warn!(%error, "a call was not answered");
            }
        }
    }

    fn answer_one(&mut self, caller: &UnixStream) -> io::Result<()> {
        caller.set_nonblocking(false)?;
        caller.set_read_timeout(Some(CALLER_PATIENCE))?;
        caller.set_write_timeout(Some(CALLER_PATIENCE))?;
        let Some((ask, _)) = protocol::receive(caller, protocol::CALL_BYTES_MAX)? else { return Ok(()) };
        match ask {
            Ask::Standing => {
                let standing = Standing {
                    state: self.state(),
                    started_at_micros: self.started_at_micros,
                    paused_micros: micros(self.paused_for()),
                    written_bytes: self.written_bytes(),
                };
                protocol::send(caller, &standing, None)
            }
            Ask::Act(action) => {
                let answer = match self.act(action) {
                    Ok(()) => Answer::Ok(Reply::Done),
                    Err(refusal) => Answer::Refused(refusal),
                };
                protocol::send(caller, &answer, None)
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<(), Refusal> {
        let failed = |error: io::Error| Refusal::Failed(error.to_string());
        let state = self.state();
        let allowed = match action {
            Action::Pause | Action::Stop | Action::Signal(_) => state == ContainerState::Running,
            Action::Resume => state == ContainerState::Paused,
            Action::Kill => true,
        };
        if !allowed || self.ended.is_some() {
            let state = if self.ended.is_some() { ContainerState::Ended } else { state };
            return Err(Refusal::WrongState { state });
        }
        match action {
            Action::Pause => {
                self.group.freeze().map_err(failed)?;
                self.paused = Some(Instant::now());
                Ok(())
            }
            Action::Resume => {
                self.group.thaw().map_err(failed)?;
                self.resume_clock();
                Ok(())
            }
            Action::Stop => {
                if self.grace_until.is_none() {
                    let grace = Duration::from_secs(self.order.description.limits.grace_seconds);
                    self.grace_until = Some(Instant::now() + grace);
                }
                kernel::send_signal(self.made.init, libc::SIGTERM).map_err(failed)
            }
            Action::Kill => self.kill(EndReason::Killed).map_err(failed),
            Action::Signal(signal) => kernel::send_signal(self.made.init, signal).map_err(failed),
        }
    }

    fn outcome(mut self, stdout: &mut StreamWriter, stderr: &mut StreamWriter) -> io::Result<Outcome> {
        let status = rustix::process::waitpid(Some(self.made.init), WaitOptions::empty())?.map(|(_, status)| status);
        self.resume_clock();
        let now = self.clock.now_micros();
        let usage = self.group.usage();
        if self.sample_count == 0 {
            self.note(Instant::now(), &usage)?;
        }
        let (exit_code, signal) = match self.ended {
            Some(Report::Exited(code)) => (Some(code), None),
            Some(Report::Signaled(signal)) => (None, Some(signal)),
            // Process 1 itself was killed, and the command with it.
            _ => (None, status.and_then(|status| status.terminating_signal()).or(Some(libc::SIGKILL))),
        };
        // What was told to die and had ended by itself before has ended by itself.
        let by_itself = matches!(self.ended, Some(Report::Exited(_)))
            || matches!(self.ended, Some(Report::Signaled(signal)) if signal != libc::SIGKILL);
        let reason = match self.killed_for.take() {
            Some(reason) if !by_itself => reason,
            _ => EndReason::Exited,
        };
        let totals = |writer: &mut StreamWriter| {
            writer.finish(now).unwrap_or_else(|error| {
                tracing::warn!(%error, "output is lost");
                writer.totals()
            })
        };
        Ok(Outcome {
            reason,
            exit_code,
            signal,
            oom_killed: usage.oom_kills > 0,
            started_at_micros: Some(self.started_at_micros),
            finished_at_micros: now.max(self.started_at_micros),
            paused_micros: micros(self.paused_before),
            peak_memory_bytes: usage.memory_peak_bytes,
            cpu_micros: usage.cpu_micros.saturating_sub(self.made.cpu_before_micros),
            stdout: totals(stdout),
            stderr: totals(stderr),
        })
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
