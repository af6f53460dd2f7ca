//! The Idempotency-Keys of requests that are being served.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use quintet_platform::idempotency::RequestDigest;
use quintet_storage::Uuid;

use crate::refusal::Refusal;

/// The Idempotency-Keys of requests that are being served, each with its tenant.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<HashMap<(Uuid, String), RequestDigest>>>);

/// Takes its key out of the set when it is dropped.
pub struct Guard {
    all: InFlight,
    key: (Uuid, String),
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl InFlight {
    /// Lets a request in.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyInProgress`] beside the same request, [`Refusal::IdempotencyKeyReused`] beside another.
    pub fn enter(&self, tenant_id: Uuid, key: &str, digest: RequestDigest) -> Result<Guard, Refusal> {
        let key = (tenant_id, key.to_owned());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&key) {
            Some(known) if *known == digest => Err(Refusal::IdempotencyInProgress),
            Some(_) => Err(Refusal::IdempotencyKeyReused),
            None => {
                all.insert(key.clone(), digest);
                Ok(Guard { all: self.clone(), key })
            }
        }
    }
}
