//! What becomes of kept pictures when time passes: noted uses are stored, and what is over the bound is pruned.

use std::sync::Arc;

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Failure, Timestamp};

use crate::store::Results;
use crate::tables::RESULTS_BY_USE;

/// Uses of pictures that are noted in memory.
pub(crate) struct Uses(pub(crate) Arc<Results>);

impl Job for Uses {
    fn name(&self) -> &'static str {
        "diagrams.uses"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.0.uses_due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.0.store_uses())
    }
}

/// Pictures that are too many, the least recently used first. Whoever stores one too many says that it is due.
pub(crate) struct Pruning(pub(crate) Arc<Results>);

impl Job for Pruning {
    fn name(&self) -> &'static str {
        "diagrams.pruning"
    }

    fn agenda(&self) -> Option<u16> {
        Some(RESULTS_BY_USE.spec().tag)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        self.0.pruning_due()
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.0.prune())
    }
}
