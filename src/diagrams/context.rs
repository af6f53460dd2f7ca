//! What the room needs to serve: the foundation of all services, and its own parts.

use std::sync::Arc;
use std::time::Duration;

use quintet_platform::Foundation;
use quintet_platform::service::Turns;

use crate::engine::Engine;
use crate::generate::Generator;
use crate::places::Places;
use crate::pool::{Pool, PoolReading};
use crate::store::Results;
use crate::tables::TotalsRow;

/// After how long of drawings waiting without a break the service calls itself degraded.
pub(crate) const SATURATED_TIME: Duration = Duration::from_secs(10);
/// Bodies that are not small, held at once.
pub(crate) const LARGE_BODIES_MAX: usize = 32;
/// Those of them that one source address may have.
pub(crate) const LARGE_BODIES_OF_A_SOURCE_MAX: usize = 8;

/// What diagrams need to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Parts>);

/// Large messages of models that are read, and written, at once.
const READERS: usize = 2;

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    /// What draws.
    pub engine: Engine,
    /// What writes DOT for a text, if anything does.
    pub generator: Option<Generator>,
    /// The threads that draw.
    pub pool: Pool,
    /// Kept pictures.
    pub results: Arc<Results>,
    /// Whether drawing and reading pictures takes a key.
    pub requires_key: bool,
    /// Places for bodies that are not small.
    pub(crate) large_bodies: Places,
    /// Where large messages of models are read, off the threads that serve.
    pub(crate) readers: Turns,
    /// After how long of drawings waiting without a break the service calls itself degraded.
    pub saturated_time: Duration,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

/// What this service needs besides the foundation of all.
pub struct Settings {
    /// What draws.
    pub engine: Engine,
    /// What writes DOT for a text, if anything does.
    pub generator: Option<Generator>,
    /// The threads that draw.
    pub pool: Pool,
    /// Whether drawing and reading pictures takes a key.
    pub requires_key: bool,
    /// How many MiB of pictures are kept.
    pub cache_mb: u32,
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts.
    #[must_use]
    pub fn new(foundation: Foundation, settings: Settings) -> Context {
        let Settings { engine, generator, pool, requires_key, cache_mb } = settings;
        let results = Arc::new(Results::new(foundation.store.clone(), foundation.clock.clone(), cache_mb));
        Context(Arc::new(Parts {
            foundation,
            engine,
            generator,
            pool,
            results,
            requires_key,
            large_bodies: Places::new(LARGE_BODIES_MAX, LARGE_BODIES_OF_A_SOURCE_MAX),
            readers: Turns::new(READERS),
            saturated_time: SATURATED_TIME,
        }))
    }

    /// What the threads have done and are about to do, and what is stored, for metrics.
    #[must_use]
    pub fn reading(&self) -> (PoolReading, TotalsRow) {
        (self.pool.reading(), self.results.totals().unwrap_or_default())
    }
}
