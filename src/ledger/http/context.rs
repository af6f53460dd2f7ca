//! What the ledger needs to serve.

use std::sync::Arc;

use quintet_platform::Foundation;
use quintet_platform::limits::RateLimiter;
use quintet_platform::service::Turns;

/// How many source addresses the edge remembers at a time.
const EDGE_SOURCES_MAX: usize = 65_536;
/// How many requests look at many rows, or at a large body, at a time.
pub(super) const TURNS: usize = 4;

/// What the ledger needs to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    pub(super) edge: RateLimiter,
    /// Those of requests that look at many rows, or at a body of more than a few kilobytes.
    pub(super) turns: Turns,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts. `edge_rate_per_second`: requests from each source address, 0 switches the limit
    /// off; `edge_burst`: how many of them at once.
    #[must_use]
    pub fn new(foundation: Foundation, edge_rate_per_second: u32, edge_burst: u32) -> Context {
        let edge = RateLimiter::new(edge_rate_per_second, edge_burst, EDGE_SOURCES_MAX);
        Context(Arc::new(Parts { foundation, edge, turns: Turns::new(TURNS) }))
    }
}
