//! From an older format to the present one.
//!
//! Rows migrate by themselves when they are read (`codec`). What is left for this module is whatever concerns a
//! directory as a whole. A checkpoint of the old state is made first; each step runs as ordinary transactions through
//! the writer, before anybody else gets to it; the FORMAT file names the new version only when all of it is durable.
//! A crash in between runs the step again, so every step must be able to run twice.

use super::store::Store;
use crate::directory::format::{FORMAT_VERSION, Formats};
use crate::error::OpenError;

/// One step.
#[derive(Clone, Copy)]
pub(crate) struct Migration {
    /// The version it starts from; it leads to the next one.
    pub(crate) from: u32,
    /// What it does, run on the open store.
    pub(crate) run: fn(&Store) -> Result<(), String>,
}

/// The steps from the oldest version this binary opens to [`FORMAT_VERSION`], in order. There is one version so far.
pub(crate) const MIGRATIONS: &[Migration] = &[];

/// Which steps lead from a version to the newest one.
#[derive(Clone, Copy)]
pub(crate) struct Migrations {
    /// The newest version.
    pub(crate) newest: u32,
    /// All steps, in order.
    pub(crate) steps: &'static [Migration],
}

impl Migrations {
    /// What this binary has.
    pub(crate) const PRESENT: Migrations = Migrations { newest: FORMAT_VERSION, steps: MIGRATIONS };

    /// The versions that these steps lead from, and to.
    pub(crate) fn formats(self) -> Formats {
        Formats { oldest: self.steps.first().map_or(self.newest, |step| step.from), newest: self.newest }
    }

    /// Runs the steps that lead from a version here.
    ///
    /// # Errors
    /// What a step says; the directory still has its old version.
    pub(crate) fn run(self, version: u32, store: &Store) -> Result<(), OpenError> {
        for step in self.steps.iter().filter(|step| step.from >= version) {
            tracing::info!(from = step.from, "migrating the data directory");
            (step.run)(store).map_err(|e| OpenError::io(format!("migrating from format {}", step.from), e))?;
        }
        Ok(())
    }
}
