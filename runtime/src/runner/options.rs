//! How a runner is set up, and how it does not start.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::cgroup::Hierarchies;
use crate::image::ImageLimits;

/// How a runner is set up.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// Its directory, on a disk. Root's alone (0700), by a path without links on which nobody else can put anything;
    /// made if it is missing.
    pub directory: PathBuf,
    /// Its socket. The directory it lies in is made if it is missing, below root's own.
    pub socket: PathBuf,
    /// The control group below which those of containers are made, by its path from the roots of the hierarchies, where
    /// somebody has made one and left it to the runner: an init system that owns the tree. None: `/quintet`, which the
    /// runner makes.
    pub control_group: Option<String>,
    /// The group whose members may speak to it, besides root.
    pub client_group: Option<u32>,
    /// What images may be.
    pub limits: ImageLimits,
    /// Containers that run at once, at most; 1 to 4,096.
    pub containers_max: u32,
    /// Do not map the owners of layers even where the kernel can: all containers then share one range of ids.
    pub shared_ids: bool,
    /// The program of supervisors and its arguments: the product itself.
    pub supervisor: Vec<String>,
    /// The product's version.
    pub version: String,
}

impl RunnerOptions {
    /// Where the control groups of runners lie, without the slash before it.
    pub(super) fn groups(&self) -> &str {
        self.control_group.as_deref().unwrap_or("quintet").trim_matches('/')
    }

    /// A group that was named must be there: one that the runner made itself would be in somebody else's tree.
    pub(super) fn check_groups(&self, hierarchies: &Hierarchies) -> Result<(), RunnerStartError> {
        let Some(named) = &self.control_group else { return Ok(()) };
        let is_plain = named.starts_with('/') && named.split('/').all(|part| part != ".." && part != ".");
        if is_plain && hierarchies.is_made(named) {
            return Ok(());
        }
        Err(RunnerStartError::Machine(format!(
            "there is no control group {named}: is quintet-containers.service running?"
        )))
    }

    /// The command that makes a supervisor. It gets nothing of the runner's environment.
    pub(super) fn supervisor_command(&self) -> Command {
        let mut words = self.supervisor.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).env_clear();
        command
    }
}

/// A runner does not start.
#[derive(Debug, thiserror::Error)]
pub enum RunnerStartError {
    /// Another one holds the directory.
    #[error("another runner holds {0}")]
    InUse(PathBuf),
    /// What was named is no place for a runner: nothing was touched there.
    #[error("the runner's directory is refused: {0}")]
    Place(String),
    /// It is not root.
    #[error("the runner must be started by root")]
    NotRoot,
    /// The machine lacks something.
    #[error("this machine cannot run containers: {0}")]
    Machine(String),
    /// Something failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

pub(super) fn failing<E: std::fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> RunnerStartError {
    let what = what.into();
    move |error| RunnerStartError::Io { what, source: io::Error::other(error.to_string()) }
}
