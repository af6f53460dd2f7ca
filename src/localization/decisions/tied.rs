//! What ties this room to the service that takes its decisions.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_platform::secrets::Secret;
use quintet_storage::Uuid;

use super::service::DecisionService;

/// The service, and what is known of it.
#[derive(Clone)]
pub struct Decisions {
    /// The service.
    pub service: Arc<dyn DecisionService>,
    /// By which policy decisions are taken.
    pub policy: String,
    /// What webhooks are signed with; none: nobody has said.
    pub webhook_secret: Option<Secret>,
    /// Whether the service is this appliance's own desk.
    pub is_embedded: bool,
    /// Subjects whose decision is being raised right now.
    in_flight: Arc<Mutex<HashSet<Uuid>>>,
}

impl fmt::Debug for Decisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decisions").field("is_embedded", &self.is_embedded).finish_non_exhaustive()
    }
}

/// A decision that is being raised, for as long as this lives.
pub struct InFlight {
    all: Arc<Mutex<HashSet<Uuid>>>,
    id: Uuid,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        held(&self.all).remove(&self.id);
    }
}

fn held(all: &Mutex<HashSet<Uuid>>) -> MutexGuard<'_, HashSet<Uuid>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Decisions {
    /// Ties to a service.
    #[must_use]
    pub fn new(service: Arc<dyn DecisionService>, policy: String, webhook_secret: Option<Secret>) -> Decisions {
        Decisions { service, policy, webhook_secret, is_embedded: false, in_flight: Arc::default() }
    }

    /// The same, where the service is this appliance's own desk.
    #[must_use]
    pub fn embedded(mut self) -> Decisions {
        self.is_embedded = true;
        self
    }

    /// Says that the decision of a subject is being raised.
    #[must_use]
    pub fn enter(&self, id: Uuid) -> InFlight {
        held(&self.in_flight).insert(id);
        InFlight { all: Arc::clone(&self.in_flight), id }
    }

    /// Whether any decision is being raised.
    #[must_use]
    pub fn is_any_in_flight(&self) -> bool {
        !held(&self.in_flight).is_empty()
    }

    /// Whether that of a subject is.
    #[must_use]
    pub fn is_in_flight(&self, id: Uuid) -> bool {
        held(&self.in_flight).contains(&id)
    }
}
