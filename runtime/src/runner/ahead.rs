//! What is made before it is asked for. Making a container takes longer than running a short command in it; what does not
//! depend on whose container it is (root file system, namespaces, control groups, mounts, filters) is made while nobody
//! waits: a spare supervisor always, and a whole container once two of a kind have come in a row.
//!
//! Nothing that has run is used again. What was made ahead lacks a name, a command and its environment, and nothing has
//! been executed in it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::PoisonError;

use serde::Serialize;

use super::shared::{IDS_FIRST, Like, Shared, Standby};
use crate::image::IDS;
use crate::protocol::ScratchKind;
use crate::records::ImageRecord;
use crate::supervisor::{Order, Preparation, RootOrder, RunOrder, Shape, make_template};

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
        let order = Order::Make(Box::new(Shape {
            config: image.config.clone(),
            root,
            group: format!("{}/{group}", self.group()),
        }));
        let spare = self.containers.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let spare = spare.and_then(|mut spare| matches!(spare.try_wait(), Ok(None)).then_some(spare));
        let mut child = spare.map_or_else(|| self.supervisor(), Ok)?;
        self.containers.groups.own(&group);
        let told = child.stdin.as_mut().map(|stdin| tell(stdin, &order));
        if let Err(error) = told.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())) {
            self.containers.groups.disown(&self.hierarchies.group(&group));
            return Err(error);
        }
        Ok(Standby { like: like.clone(), slot, group, child })
    }

    /// A supervisor that waits for its order.
    fn supervisor(&self) -> io::Result<Child> {
        let mut command = self.options.supervisor_command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let preparation = Preparation { directory: self.options.directory.clone(), group: self.group() };
        let told = child.stdin.as_mut().map(|stdin| tell(stdin, &preparation));
        told.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(child)
    }

    /// Sees to it that there is a supervisor for the next container, and if that is likely to be like the last ones, a
    /// container.
    pub(super) fn get_ready(&self, like: Option<&Like>) {
        if let Some(like) = like
            && let Err(error) = self.make_standby(like)
        {
            tracing::warn!(%error, "no container is kept ready");
        }
        let mut spare = self.containers.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = spare.as_mut()
            && matches!(child.try_wait(), Ok(None))
        {
            return;
        }
        match self.supervisor() {
            Ok(child) => *spare = Some(child),
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
            let told = standby.child.stdin.take().map(|mut stdin| tell(&mut stdin, &None::<RunOrder>));
            drop(told);
            let gone = standby.child.wait().and_then(|_| group.kill()).and_then(|()| group.remove());
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

/// Tells a supervisor something.
pub(super) fn tell(stdin: &mut ChildStdin, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stdin.write_all(&line)
}

/// Does something in a thread of its own.
pub(super) fn spawn_watcher(watch: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("watcher".into()).stack_size(256 << 10).spawn(watch).map(|_| ())
}
