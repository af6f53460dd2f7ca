//! The desk as the service that takes decisions.

use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_storage::{Abort, Store, Uuid};

use super::list::get_decision;
use super::raise::{RaiseHere, raise};
use crate::decisions::{DecisionService, Raise, Raised, Reading, Unavailable};
use crate::refusal::Refusal;

/// How long raising may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// The desk.
#[derive(Clone)]
pub struct Desk {
    store: Store,
}

impl Desk {
    /// The desk of a store.
    #[must_use]
    pub fn new(store: Store) -> Desk {
        Desk { store }
    }
}

impl DecisionService for Desk {
    fn raise(&self, wanted: Raise) -> BoxFuture<'_, Result<Raised, Unavailable>> {
        Box::pin(async move {
            let verb = move |tx: &mut quintet_storage::WriteTx<'_>, now| {
                raise(tx, now, RaiseHere(wanted)).map_err(Abort::<Refusal>::Failed)
            };
            match self.store.write(Instant::now() + WRITER_TIME, verb).await {
                Ok(decision) => Ok(Raised {
                    decision_id: decision.decision_id.to_string(),
                    context_hash: Some(decision.context_hash),
                    review_url: None,
                }),
                Err(abort) => Err(Unavailable(format!("the desk cannot take it: {abort:?}"))),
            }
        })
    }

    fn look<'s>(&'s self, decision_id: &'s str) -> BoxFuture<'s, Result<Reading, Unavailable>> {
        Box::pin(async move {
            let id: Uuid = decision_id.parse().map_err(|_| Unavailable("no decision of the desk".to_owned()))?;
            match get_decision(&self.store.read(), id) {
                Ok(Some(decision)) => Ok(decision.reading()),
                Ok(None) => Err(Unavailable("no decision of the desk".to_owned())),
                Err(failure) => Err(Unavailable(failure.to_string())),
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), Unavailable>> {
        Box::pin(async { Ok(()) })
    }
}
