//! The Idempotency-Keys of requests that are being served, so that a second one beside the first is told at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use super::model::{RequestDigest, Scope};

/// What an answer is remembered under, and what the request was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// What the key is unique within.
    pub scope: Scope,
    /// What the request was.
    pub digest: RequestDigest,
}

/// The keys of requests that are being served. Clones share them.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<HashMap<FlightKey, RequestDigest>>>);

type FlightKey = (u8, Uuid, String, String);

/// Another request with the key is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// The same one.
    Same,
    /// Another one.
    Other,
}

/// Takes its key out of the set when it is dropped.
pub struct Guard {
    all: InFlight,
    key: FlightKey,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl InFlight {
    /// Enters a request for as long as the guard lives.
    ///
    /// # Errors
    /// Another request with its key is being served.
    pub fn enter(&self, entered: &Entered) -> Result<Guard, Beside> {
        let Scope { service, tenant_id, within, key } = &entered.scope;
        let key: FlightKey = (service.code(), *tenant_id, within.clone(), key.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&key) {
            Some(digest) if *digest == entered.digest => Err(Beside::Same),
            Some(_) => Err(Beside::Other),
            None => {
                all.insert(key.clone(), entered.digest);
                Ok(Guard { all: self.clone(), key })
            }
        }
    }
}
