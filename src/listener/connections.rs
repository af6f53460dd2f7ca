//! How many connections one listener serves at a time, and when the last of them has ended.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many connections a site would serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// More than this it does not serve, however many files the process may open.
    pub ceiling: u32,
    /// One source address may hold one in so many of them, unless it is a trusted proxy.
    pub source_divisor: u32,
}

impl Capacity {
    /// For requests that are soon answered.
    pub const USUAL: Capacity = Capacity { ceiling: 4_096, source_divisor: 4 };
    /// For streams that are kept open, a thousand and more of them by the processes of one host.
    pub const STREAMS: Capacity = Capacity { ceiling: 16_384, source_divisor: 2 };
}

/// The connections of one listener; further ones wait in the kernel's queue. Clones count together.
#[derive(Clone, Debug)]
pub struct Connections {
    max: u32,
    of_a_source_max: u32,
    free: Arc<Semaphore>,
}

impl Connections {
    /// None yet, and never more than `granted` or the ceiling.
    #[must_use]
    pub fn new(capacity: Capacity, granted: u32) -> Connections {
        let max = granted.clamp(1, capacity.ceiling.max(1));
        let of_a_source_max = (max / capacity.source_divisor.max(1)).max(1);
        Connections { max, of_a_source_max, free: Arc::new(Semaphore::new(max as usize)) }
    }

    /// How many of them one source address may hold, unless it is a trusted proxy.
    #[must_use]
    pub fn of_a_source_max(&self) -> u32 {
        self.of_a_source_max
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_streams_of_one_host_leave_room_for_others() {
        let of = |capacity, granted| {
            let connections = Connections::new(capacity, granted);
            (connections.max, connections.of_a_source_max(), connections.handshakes_max())
        };
        assert_eq!(of(Capacity::USUAL, u32::MAX), (4_096, 1_024, 1_024));
        assert_eq!(of(Capacity::STREAMS, u32::MAX), (16_384, 8_192, 4_096));
        assert_eq!(of(Capacity::STREAMS, 3_000), (3_000, 1_500, 750));
        assert_eq!(of(Capacity::USUAL, 0), (1, 1, 1));
    }
}
