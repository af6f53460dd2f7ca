//! What a runner tells a supervisor: on its standard input, so that no secret of a container's environment lies on a
//! disk or in an argument. First a line, a [`Preparation`] or `null`; then, once there is one, the [`Order`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::description::{ContainerDescription, ContainerId};
use crate::image::ImageConfig;
use crate::protocol::ScratchKind;

/// What to do.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// Makes a root file system, says how it went in one line of JSON ([`Probed`]), and ends.
    Probe(ProbeOrder),
    /// Makes a container and supervises it.
    Run(Box<RunOrder>),
}

/// What a supervisor does before it knows which container is to be its own: the runner keeps one ready, since a program
/// that starts and moves to another control group takes longer than a container.
#[derive(Serialize, Deserialize)]
pub(crate) struct Preparation {
    /// The runner's directory.
    pub directory: PathBuf,
    /// As in [`RunOrder`].
    pub group: String,
}

/// A container to be made.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunOrder {
    pub id: ContainerId,
    /// The container's own directory: lock, socket, streams, outcome.
    pub directory: PathBuf,
    pub description: ContainerDescription,
    pub config: ImageConfig,
    pub root: RootOrder,
    /// Path of the control group of all containers of this runner; the container's lies below it.
    pub group: String,
}

/// Its root file system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RootOrder {
    /// Unpacked layers, topmost first.
    pub layers: Vec<PathBuf>,
    /// What root inside is outside.
    pub first_id: u32,
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
