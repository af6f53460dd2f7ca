//! What is made before it is asked for. Making a container takes longer than running a short command in it; what does not
//! depend on whose container it is (root file system, namespaces, control groups, mounts, filters) is made while nobody
//! waits: a spare supervisor always, and a whole container once two of a kind have come in a row.
//!
//! Nothing that has run is used again. What was made ahead lacks a name, a command and its environment, and nothing has
//! been executed in it.

use std::io;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use rustix::process::Pid;

use super::nursery::{Nursery, Supervisor};
use super::shared::{IDS_FIRST, Like, Shared, Standby};
use super::watcher::spawn_watcher;
use crate::image::IDS;
use crate::protocol::ScratchKind;
use crate::records::ImageRecord;
use crate::supervisor::{Preparation, RootOrder, RunOrder, Shape, make_template};

/// File systems for writable layers that are kept, one for each size.
const TEMPLATES_MAX: usize = 16;

impl Shared {
    /// Has a supervisor begin with a container of this kind.
    pub(super) fn begin(&self, like: &Like, image: &ImageRecord, slot: u32) -> io::Result<Standby> {
        let idmapped = self.features.idmapped_layers;
        let owner_id = IDS_FIRST + slot * IDS;
        let root = RootOrder {
            layers: image.layers.iter().rev().map(|layer| self.images.layer_path(layer)).collect(),
            first_id: if idmapped { owner_id } else { IDS_FIRST },
            owner_id,
            idmapped,
            scratch: self.features.scratch,
            scratch_bytes: like.scratch_bytes,
            template: self.template(like.scratch_bytes)?,
        };
        // No container can be called so, and nobody else has the slot.
        let group = format!("_{slot:04x}_{:016x}", self.clock.now_micros());
        let shape = Shape { config: image.config.clone(), root, group: format!("{}/{group}", self.group()) };
        let spare = self.spare().take();
        let spare = spare.and_then(|mut spare| spare.lives().then_some(spare));
        self.containers.groups.own(&group);
        let told = self.supervisor_told(spare, &shape);
        let child = told.inspect_err(|_| self.containers.groups.disown(&self.hierarchies.group(&group)))?;
        Ok(Standby { like: like.clone(), slot, group, child })
    }

    /// Tells a supervisor what to build: the one that was kept ready, or another one if that has just been killed.
    fn supervisor_told(&self, spare: Option<Supervisor>, shape: &Shape) -> io::Result<Supervisor> {
        if let Some(spare) = spare {
            match spare.tell(shape) {
                Ok(()) => return Ok(spare),
                Err(_) => spare.dismiss(),
            }
        }
        let child = self.supervisor()?;
        match child.tell(shape) {
            Ok(()) => Ok(child),
            Err(error) => {
                child.dismiss();
                Err(error)
            }
        }
    }

    /// The process that makes supervisors.
    pub(super) fn nursery(&self) -> Option<Pid> {
        self.containers.nursing.lock().unwrap_or_else(PoisonError::into_inner).process()
    }

    /// A supervisor that waits for its order.
    fn supervisor(&self) -> io::Result<Supervisor> {
        let mut nursing = self.containers.nursing.lock().unwrap_or_else(PoisonError::into_inner);
        nursing.supervisor(|| {
            let preparation = Preparation { directory: self.options.directory.clone(), group: self.group() };
            Nursery::start(self.options.supervisor_command(), preparation)
        })
    }

    fn spare(&self) -> MutexGuard<'_, Option<Supervisor>> {
        self.containers.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that there is a supervisor for the next container, and if that is likely to be like the last ones, a
    /// container.
    pub(super) fn get_ready(&self, like: Option<&Like>) {
        if let Some(like) = like
            && let Err(error) = self.make_standby(like)
        {
            tracing::warn!(%error, "no container is kept ready");
        }
        if self.spare().as_mut().is_some_and(Supervisor::lives) {
            return;
        }
        match self.supervisor() {
            // Nobody waits for it, and somebody else may have been faster.
            Ok(child) => self.spare().replace(child).into_iter().for_each(Supervisor::dismiss),
            Err(error) => tracing::warn!(%error, "no supervisor is kept ready"),
        }
    }

    fn make_standby(&self, like: &Like) -> io::Result<()> {
        let (image, slot, removals) = {
            let mut table = self.containers.table();
            if table.reserved.is_some() || table.standby.as_ref().is_some_and(|standby| standby.like == *like) {
                return Ok(());
            }
            // Others than this one come now.
            table.standby.take().into_iter().for_each(|other| self.dismiss(other));
            let image = self.images.find(like.image.as_str()).map_err(io::Error::other)?;
            let (Some(image), Some(slot)) = (image, table.free_slot()) else { return Ok(()) };
            table.reserved = Some((slot, like.clone()));
            (image, slot, table.removals)
        };
        let made = self.begin(like, &image, slot);
        let mut table = self.containers.table();
        table.reserved = None;
        self.containers.ready.notify_all();
        let made = made?;
        if table.removals == removals {
            table.standby = Some(made);
        } else {
            self.dismiss(made);
        }
        Ok(())
    }

    /// Has a container taken down that was made ahead. Its supervisor does that: killed in the middle of its work, it
    /// would leave processes behind that go on with it.
    pub(super) fn dismiss(&self, mut standby: Standby) {
        let group = self.hierarchies.group(&format!("{}/{}", self.group(), standby.group));
        let (owned, own) = (self.containers.groups.clone(), group.clone());
        let take_down = move || {
            // One that is gone is waited for as well.
            let _ = standby.child.tell(&None::<RunOrder>);
            let gone = standby.child.wait().and_then(|()| group.kill()).and_then(|()| group.remove());
            if let Err(error) = gone {
                tracing::warn!(%error, "what is left of a container that was kept ready stays for now");
            }
            owned.disown(&group);
        };
        if let Err(error) = spawn_watcher(take_down) {
            tracing::warn!(%error, "a container that was kept ready goes later");
            self.containers.groups.disown(&own);
        }
    }

    /// The empty file system of this size.
    fn template(&self, bytes: u64) -> io::Result<Option<PathBuf>> {
        if self.features.scratch != ScratchKind::Loop {
            return Ok(None);
        }
        let path = self.templates_directory().join(format!("{bytes}.img"));
        let _held = self.containers.templates.lock().unwrap_or_else(PoisonError::into_inner);
        if !path.exists() {
            self.make_room_for_template()?;
            make_template(&path, bytes)?;
        }
        Ok(Some(path))
    }

    /// Keeps the newest few: sizes are the client's to choose, and each takes room.
    fn make_room_for_template(&self) -> io::Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.templates_directory())? {
            let entry = entry?;
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
        found.sort();
        for (_, path) in found.iter().rev().skip(TEMPLATES_MAX - 1) {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}
