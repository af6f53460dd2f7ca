//! Room on the runner's disk: what containers were promised of it, and whether one more finds some.
//!
//! A container may write its writable layer full, and its output up to what is kept of it. That is promised when it
//! starts: counted, not allocated. So a container is started only where the reserve stays free even if it and all that
//! run write everything they may; whoever finds no room has had nothing made, and can come again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::shared::{Shared, Table};
use crate::description::{ContainerId, OUTPUT_BYTES_MAX};
use crate::model::DiskRoom;
use crate::protocol::{Refusal, ScratchKind};
use crate::supervisor::{Ask, Standing};

/// How long one supervisor, and all of them, may take to say what was written: what is not said counts as not written.
const SAYING_PATIENCE: Duration = Duration::from_secs(1);
const SAYING_PATIENCE_ALL: Duration = Duration::from_secs(5);

/// What containers have written to their writable layers, in bytes, as far as it was asked.
pub(super) type Written = BTreeMap<ContainerId, u64>;

impl Shared {
    /// What a container is promised: what it may write to the disk.
    pub(super) fn promise(&self, scratch_bytes: u64) -> u64 {
        let layer_bytes = if self.features.scratch == ScratchKind::Loop { scratch_bytes } else { 0 };
        layer_bytes.saturating_add(OUTPUT_BYTES_MAX)
    }

    /// What is kept free where a caller wants so much, or does not say.
    pub(super) fn reserve(&self, asked_bytes: Option<u64>) -> u64 {
        asked_bytes.unwrap_or(self.options.limits.disk_reserve_bytes)
    }

    /// Refuses what needs more than is left. To be asked with the table that the promise is going to be noted in.
    pub(super) fn find_room(
        &self,
        table: &Table,
        needed_bytes: u64,
        reserve_bytes: u64,
        written: &Written,
    ) -> Result<(), Refusal> {
        let free_bytes = self.free_bytes()?;
        let left_bytes = free_bytes.saturating_sub(promised(table, written)).saturating_sub(reserve_bytes);
        if needed_bytes <= left_bytes { Ok(()) } else { Err(Refusal::NoRoom { needed_bytes, left_bytes }) }
    }

    /// How many containers more with such a writable layer find room.
    pub(super) fn room(&self, scratch_bytes: u64, reserve_bytes: Option<u64>) -> Result<DiskRoom, Refusal> {
        let written = self.written();
        let free_bytes = self.free_bytes()?;
        let promised_bytes = promised(&self.containers.table(), &written);
        let left_bytes = free_bytes.saturating_sub(promised_bytes).saturating_sub(self.reserve(reserve_bytes));
        let containers = left_bytes.checked_div(self.promise(scratch_bytes)).unwrap_or(0);
        Ok(DiskRoom { free_bytes, promised_bytes, containers })
    }

    /// What an import leaves free: the reserve and a quarter of it, so that it never comes so far that nothing can be
    /// written any more, and what containers were promised.
    pub(super) fn import_reserve(&self, reserve_bytes: u64) -> u64 {
        let written = self.written();
        let promised_bytes = promised(&self.containers.table(), &written);
        reserve_bytes.saturating_add(reserve_bytes / 4).saturating_add(promised_bytes)
    }

    /// What every container has written, asked of its supervisor: where the disk is ample nobody needs to know.
    pub(super) fn written(&self) -> Written {
        let living: Vec<ContainerId> = {
            let table = self.containers.table();
            let living = table.rows.iter().filter(|(_, row)| row.started && row.record.outcome.is_none());
            living.map(|(id, _)| id.clone()).collect()
        };
        let until = Instant::now() + SAYING_PATIENCE_ALL;
        let in_time = living.into_iter().take_while(|_| Instant::now() < until);
        let said = in_time.filter_map(|id| {
            let standing: Standing = self.ask_within(&id, &Ask::Standing, SAYING_PATIENCE).ok()?;
            Some((id, standing.written_bytes))
        });
        said.collect()
    }

    fn free_bytes(&self) -> Result<u64, Refusal> {
        let found = rustix::fs::statvfs(&self.options.directory);
        let disk = found.map_err(|error| Refusal::Failed(error.to_string()))?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

/// What is still to come of what containers were promised.
fn promised(table: &Table, written: &Written) -> u64 {
    let living = table.rows.iter().filter(|(_, row)| row.record.outcome.is_none());
    let still = living.map(|(id, row)| {
        let written = written.get(id).copied().unwrap_or(0);
        row.record.promised_bytes.saturating_sub(written)
    });
    still.fold(0, u64::saturating_add)
}
