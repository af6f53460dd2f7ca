//! How many connections one listener serves at a time, and when the last of them has ended.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More than this no listener serves, however many files the process may open.
const CEILING: u32 = 4_096;

/// The connections of one listener; further ones wait in the kernel's queue. Clones count together.
#[derive(Clone, Debug)]
pub struct Connections {
    max: u32,
    free: Arc<Semaphore>,
}

impl Connections {
    /// None yet, and never more than `max` or the ceiling.
    #[must_use]
    pub fn new(max: u32) -> Connections {
        let max = max.clamp(1, CEILING);
        Connections { max, free: Arc::new(Semaphore::new(max as usize)) }
    }

    /// How many of them one source address may hold, unless it is a trusted proxy.
    #[must_use]
    pub fn of_a_source_max(&self) -> u32 {
        (self.max / 4).max(1)
    }

    /// How many connections may be on their way to being encrypted, beside those that are served.
    #[must_use]
    pub fn handshakes_max(&self) -> u32 {
        (self.max / 4).max(1)
    }

    /// Waits for room for one more. `None` cannot happen as long as nobody closes the count, and nobody does.
    pub async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        let _ = self.free.acquire_many(self.max).await;
    }
}
