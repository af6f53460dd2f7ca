//! What a runner tells its supervisors: by a socket, so that no secret of a container's environment lies on a disk or in
//! an argument. In frames as of the [protocol](crate::protocol): to the process it starts, on its standard input, the
//! [`Duty`]. To a supervisor, by a socket of its own, the [`Shape`] of its container; then the [`RunOrder`], or `null` if
//! it is not needed after all. The input ends early when the runner is gone.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::description::{ContainerDescription, ContainerId};
use crate::protocol::ScratchKind;
use crate::records::ImageConfig;

/// The longest that a frame may be: beyond any description.
pub(crate) const ORDER_BYTES_MAX: usize = 64 << 20;

/// What to do.
#[derive(Serialize, Deserialize)]
pub(crate) enum Duty {
    /// Makes a root file system, says how it went ([`Probed`]), and ends.
    Probe(ProbeOrder),
    /// Makes supervisors for as long as the runner lives: for each socket that comes along with a frame (`null`) one, a child
    /// of the runner, which says first who it is ([`Nursed`]) by that socket.
    Nurse(Preparation),
}

/// The process id of the supervisor that was made, as it says itself; or why there is none.
pub(crate) type Nursed = Result<i32, String>;

/// What supervisors have in common.
#[derive(Serialize, Deserialize)]
pub(crate) struct Preparation {
    /// The runner's directory.
    pub directory: PathBuf,
    /// Path of the control group of all containers of this runner.
    pub group: String,
}

/// All of a container that does not depend on whose it is, what it runs and what it may take: the runner has one made
/// ahead.
#[derive(Serialize, Deserialize)]
pub(crate) struct Shape {
    pub config: ImageConfig,
    pub root: RootOrder,
    /// Path of its own control group.
    pub group: String,
}

/// What the container is for.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunOrder {
    pub id: ContainerId,
    /// The container's own directory: lock, socket, streams, outcome.
    pub directory: PathBuf,
    pub description: ContainerDescription,
}

/// Its root file system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RootOrder {
    /// Unpacked layers, topmost first.
    pub layers: Vec<PathBuf>,
    /// What root inside is outside.
    pub first_id: u32,
    /// The user outside whose the user namespace is: nobody else's at the same time, also where all share their ids.
    pub owner_id: u32,
    pub idmapped: bool,
    pub scratch: ScratchKind,
    pub scratch_bytes: u64,
    /// The empty file system to begin with, where `scratch` is a loop device.
    pub template: Option<PathBuf>,
}

/// What to try.
#[derive(Serialize, Deserialize)]
pub(crate) struct ProbeOrder {
    pub directory: PathBuf,
    pub root: RootOrder,
}

/// How a probe went: none, or the reason.
pub(crate) type Probed = Option<String>;
