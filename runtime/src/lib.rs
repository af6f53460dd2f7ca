//! Containers: from an image to a supervised process tree, with no daemon besides and no external tool.
//!
//! Three processes, all the same binary:
//!
//! - the **client** ([`Runner`]), without privileges, holds nothing but the path of a socket;
//! - the **runner** (root, no network) keeps images, records and directories, and starts supervisors;
//! - a **supervisor** for each container (root, single-threaded) makes the container, reads its output, takes samples,
//!   keeps its time, and writes how it ended. It outlives the runner, which finds it again by its lock and its socket.
//!
//! Supervisors are copies of one process that the runner has started for that. It keeps a supervisor ready for the next
//! container and, once two containers of the same image and size came in a row, a third container that lacks nothing but a
//! name and a command: at most one, which goes with the runner.
//!
//! Invariants:
//!
//! 1. A name is recorded durably before anything is started under it, and never started again.
//! 2. A container has an outcome or a living supervisor. Whoever finds neither kills what is left and records
//!    [`EndReason::Lost`], or [`EndReason::NotMade`] where its command certainly never ran.
//! 3. The outcome is durable before the container's cgroup and directories go.
//! 4. Nothing a client says becomes a path, a mount, a namespace or a capability.
//!
//! Reading order: `description` and `model` (what is said of containers), `protocol` and `client` (who says it to whom),
//! `pulse` (whether anybody answers), then the side that runs as root.
//!
//! Floor 0: it knows neither storage, nor HTTP, nor any room. Images come as open files: it makes no connection but to
//! unix sockets. The time is asked of a [`WallClock`].

mod cgroup;
mod client;
mod description;
mod digest;
mod files;
mod ground;
mod image;
mod kernel;
mod logs;
mod model;
pub mod protocol;
mod pulse;
mod records;
mod runner;
mod seccomp;
mod supervisor;

pub use cgroup::hold_control_group;
pub use client::{Runner, RunnerError};
pub use description::{ContainerDescription, ContainerId, InvalidDescription, Limits};
pub use digest::{Digest, NotADigest};
pub use image::ImageLimits;
pub use model::{
    Bookmark, ContainerState, ContainerStatus, DiskRoom, EndReason, ImageInfo, LayerInfo, LogLine, LogPage, LogSpan,
    Outcome, Pruned, Sample, Stream, StreamTotals,
};
pub use protocol::{Action, Features, Hello, ImportTerms, Refusal, ScratchKind};
pub use runner::{CONTAINER_IDS, RunnerOptions, RunnerStartError, Serving, is_roots_alone, start_runner};
pub use supervisor::supervise;

/// Tells the time of day. Deadlines and intervals are measured by the monotonic clock instead.
pub trait WallClock: Send + Sync {
    /// Microseconds since 1970, UTC.
    fn now_micros(&self) -> i64;
}
