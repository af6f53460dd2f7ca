//! What is known of a container: its state, its outcome, its samples, its lines.

use serde::{Deserialize, Serialize};

use crate::description::ContainerId;
use crate::digest::Digest;

/// Where a container stands. States only go down this list, except between running and paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    /// Its root file system and namespaces are being made.
    Starting,
    /// Its command runs.
    Running,
    /// All its processes are frozen, as the kernel reports.
    Paused,
    /// It has an [`Outcome`]; nothing of it runs any more.
    Ended,
}

/// A container, as the runner sees it at the moment of asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStatus {
    /// Its name.
    pub id: ContainerId,
    /// Where it stands.
    pub state: ContainerState,
    /// Its image.
    pub image: Digest,
    /// When its command was executed, in microseconds since 1970.
    pub started_at_micros: Option<i64>,
    /// For how long it has been paused, in microseconds, the pause that goes on included.
    pub paused_micros: u64,
    /// How it ended: there exactly when `state` is [`ContainerState::Ended`].
    pub outcome: Option<Outcome>,
}

/// Why a container ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Its command ended by itself, or within the grace period of a stop: see `exit_code` and `signal`.
    Exited,
    /// It was told to be killed.
    Killed,
    /// It ran out of its time and was killed.
    TimedOut,
    /// It did not end within the grace period of a stop and was killed.
    GraceExpired,
    /// Its command never ran, for what was asked for cannot be run: the text says why.
    StartFailed(String),
    /// Its command never ran, for the machine failed or the runner was ended in the middle: the text says more. The same
    /// under another name may come to run.
    NotMade(String),
    /// Its supervisor vanished before it could report. What was left of the container has been killed; what it did
    /// until then, and how it would have ended, nobody knows.
    Lost,
}

/// How a container ended. Written once, durably, before anything of the container is cleaned up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why.
    pub reason: EndReason,
    /// What its command returned, if it returned.
    pub exit_code: Option<i32>,
    /// The signal its command was ended by, if it was.
    pub signal: Option<i32>,
    /// The kernel killed at least one of its processes for exceeding the memory limit, whatever the exit code says.
    pub oom_killed: bool,
    /// When its command was executed, in microseconds since 1970; none if it never was.
    pub started_at_micros: Option<i64>,
    /// When it ended, in microseconds since 1970.
    pub finished_at_micros: i64,
    /// For how long it was paused, in microseconds.
    pub paused_micros: u64,
    /// The most memory it had, in bytes.
    pub peak_memory_bytes: u64,
    /// Processor time of all its processes, in microseconds.
    pub cpu_micros: u64,
    /// What it wrote to standard output.
    pub stdout: StreamTotals,
    /// What it wrote to standard error.
    pub stderr: StreamTotals,
}

/// What went through a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Bytes written by the container, kept or not.
    pub bytes: u64,
    /// Lines, kept or not; a line over 64 KiB counts once for each 64 KiB.
    pub lines: u64,
    /// Lines in the middle that were not kept.
    pub dropped_lines: u64,
}

/// One of the two streams of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number in its stream, from 0, counting those that were not kept.
    pub number: u64,
    /// When it was read, in microseconds since 1970; never before the line above.
    pub at_micros: i64,
    /// Its text without the line end; what is not UTF-8 is shown as U+FFFD.
    pub text: String,
    /// The line goes on in the next one: it was longer than 64 KiB.
    pub continues: bool,
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPage {
    /// Lines in order. Where a number is not one more than the number before it, the lines between were not kept.
    pub lines: Vec<LogLine>,
    /// Ask from here next time; equal to what was asked for if nothing is there yet.
    pub next_line: u64,
    /// The container has ended and this page reaches the end of the stream.
    pub complete: bool,
    /// Where the next line lies: who passes it on is answered without a search.
    #[serde(default)]
    pub bookmark: Option<Bookmark>,
}

/// Where a line lies in what is kept of a stream. Of use for nothing but the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookmark {
    /// The first line of the segment that has it.
    pub segment: u64,
    /// Its number.
    pub line: u64,
    /// Where it begins in the segment's file, in bytes.
    pub offset: u64,
    /// When the line before it was read, in microseconds since 1970.
    pub at_micros: i64,
}

/// Where in a stream the lines are that were looked for, at the moment of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSpan {
    /// The number of the first of them. Where lines before it were not kept, nobody knows of which of those they would
    /// have been: then it is the number of the first that was not kept.
    pub from_line: u64,
    /// The number of the line that will be written next.
    pub end_line: u64,
    /// How many of them are kept.
    pub lines: u64,
    /// There are more before them, which were not looked for because of their number.
    pub is_cut: bool,
}

/// What a container used, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, in microseconds since 1970.
    pub at_micros: i64,
    /// It was paused.
    pub paused: bool,
    /// Processor time since the sample before, in hundredths of a core: 100 is one full core.
    pub cpu_percent: f64,
    /// Memory, in bytes, without caches that can be dropped.
    pub memory_bytes: u64,
    /// Its limit, in bytes.
    pub memory_limit_bytes: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Read from disks since the start, in bytes.
    pub io_read_bytes: u64,
    /// Written to disks since the start, in bytes.
    pub io_write_bytes: u64,
}

/// What a pruning took away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The images, by digest.
    pub images: Vec<Digest>,
    /// How many layers went with them.
    pub layers: u32,
    /// Bytes of the files of those layers.
    pub bytes: u64,
}

/// An image in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// The digest of its manifest; of a docker-archive, which has none, that of its configuration.
    pub digest: Digest,
    /// The names it has here, sorted.
    pub names: Vec<String>,
    /// Unpacked size of its layers in bytes; layers that images share count for each.
    pub size_bytes: u64,
    /// How many layers it has.
    pub layers: u32,
    /// When it was imported, in microseconds since 1970.
    pub imported_at_micros: i64,
    /// It was pulled for a run and is nobody's import: it may go when room is short and no run uses it.
    #[serde(default)]
    pub is_pulled: bool,
    /// When a container of it was started last, to a day, in microseconds since 1970; none: never.
    #[serde(default)]
    pub used_at_micros: Option<i64>,
}

/// A layer of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// The digest of its uncompressed archive.
    pub digest: Digest,
    /// What it takes unpacked, in bytes.
    pub bytes: u64,
}

/// Room on the runner's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRoom {
    /// Free, in bytes.
    pub free_bytes: u64,
    /// What of that was promised to containers that run, in bytes: what they have not written yet of what they may.
    pub promised_bytes: u64,
    /// How many containers of the kind that was asked about still find room.
    pub containers: u64,
}
