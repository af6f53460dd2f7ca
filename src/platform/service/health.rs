//! Whether a service can work, as far as its memory goes; each service says it in its contract's words.

use quintet_storage::{Failure, Room};

use crate::Foundation;

/// What keeps a service from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// Writing has stopped after a failure.
    WritingStopped,
    /// What is stored cannot be read.
    Unreadable,
    /// Free disk space is below the reserve: reading goes on.
    DiskReserve,
}

impl Ailment {
    /// What is the matter, in a few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Ailment::WritingStopped => "storage has stopped; a restart clears it",
            Ailment::Unreadable => "storage cannot be read",
            Ailment::DiskReserve => "free disk space is below the reserve; what is stored can be read",
        }
    }
}

/// What ails a service whose rows can be read if `probe` can; the worst first.
pub fn ailment<T>(foundation: &Foundation, probe: Result<T, Failure>) -> Option<Ailment> {
    if foundation.store.stop_reason().is_some() {
        Some(Ailment::WritingStopped)
    } else if probe.is_err() {
        Some(Ailment::Unreadable)
    } else if foundation.store.room() != Room::Ample {
        Some(Ailment::DiskReserve)
    } else {
        None
    }
}
