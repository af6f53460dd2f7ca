//! Finds out what the machine offers, by trying it: a supervisor makes a root file system and takes it down again.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use super::options::{RunnerOptions, RunnerStartError, failing};
use super::shared::IDS_FIRST;
use crate::cgroup::Hierarchies;
use crate::image::{make_private_directory, remove_tree};
use crate::protocol::{self, Features, ScratchKind};
use crate::supervisor::{Duty, ORDER_BYTES_MAX, ProbeOrder, Probed, RootOrder, make_template};

/// The writable layer of a probe.
const PROBE_BYTES: u64 = 16 << 20;

pub(super) fn probe(options: &RunnerOptions, hierarchies: &Hierarchies) -> Result<Features, RunnerStartError> {
    let directory = options.directory.join("probe");
    remove_tree(&directory).map_err(failing("a probe"))?;
    make_private_directory(&directory.join("layer")).map_err(failing("a probe"))?;
    let template = directory.join("template.img");
    let loops = match make_template(&template, PROBE_BYTES) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "no file systems can be made for writable layers");
            false
        }
    };
    let mut candidates = Vec::new();
    for idmapped in [true, false] {
        for scratch in [ScratchKind::Loop, ScratchKind::Tmpfs] {
            if (idmapped && options.shared_ids) || (scratch == ScratchKind::Loop && !loops) {
                continue;
            }
            candidates.push((idmapped, scratch));
        }
    }
    let mut reason = String::from("nothing could be tried");
    let mut found = None;
    for (idmapped, scratch) in candidates {
        let root = RootOrder {
            layers: vec![directory.join("layer")],
            first_id: IDS_FIRST,
            owner_id: IDS_FIRST,
            idmapped,
            scratch,
            scratch_bytes: PROBE_BYTES,
            template: Some(template.clone()),
        };
        match try_one(options, ProbeOrder { directory: directory.clone(), root })? {
            None => {
                let cgroup_version = hierarchies.version();
                found = Some(Features { cgroup_version, idmapped_layers: idmapped, scratch });
                break;
            }
            Some(error) => {
                tracing::info!(idmapped, ?scratch, error, "a kind of root file system does not work here");
                reason = error;
            }
        }
    }
    remove_tree(&directory).map_err(failing("a probe"))?;
    found.ok_or(RunnerStartError::Machine(reason))
}

fn try_one(options: &RunnerOptions, order: ProbeOrder) -> Result<Probed, RunnerStartError> {
    let (socket, theirs) = UnixStream::pair().map_err(failing("a supervisor's socket"))?;
    let mut command = options.supervisor_command();
    let command = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(failing("starting a supervisor"))?;
    let told = protocol::send(&socket, &Duty::Probe(order), None);
    let heard = told.and_then(|()| protocol::receive(&socket, ORDER_BYTES_MAX));
    child.wait().map_err(failing("a supervisor"))?;
    let heard = heard.map_err(failing("a supervisor's answer"))?;
    heard
        .map(|(probed, _)| probed)
        .ok_or_else(|| failing("a supervisor")(io::Error::from(io::ErrorKind::UnexpectedEof)))
}
