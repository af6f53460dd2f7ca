//! What is fetched from the provider and kept for a while: one request at a time, and after one that came to nothing a
//! pause.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_storage::Timestamp;

/// How long nobody asks again after an attempt that came to nothing, in seconds: as long as callers are asked to wait.
const PAUSE_SECONDS: i64 = 5;

/// The provider gives no answer of use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Unavailable {
    what: &'static str,
    why: String,
}

impl Unavailable {
    pub(super) fn new(what: &'static str, why: impl fmt::Display) -> Unavailable {
        Unavailable { what, why: why.to_string() }
    }
}

/// Something fetched.
pub(super) struct Fetched<T> {
    known: Mutex<Known<T>>,
    /// Whoever holds it fetches; the others wait for what comes of it.
    fetching: tokio::sync::Mutex<()>,
}

struct Known<T> {
    /// What was fetched last, and when.
    value: Option<(Arc<T>, Timestamp)>,
    /// When an attempt came to nothing, if that was the last one, and why.
    failed: Option<(Timestamp, Unavailable)>,
}

impl<T> Default for Fetched<T> {
    fn default() -> Self {
        Fetched { known: Mutex::new(Known { value: None, failed: None }), fetching: tokio::sync::Mutex::new(()) }
    }
}

impl<T> Fetched<T> {
    /// What is known and at most so old; else what `fetch` answers. `now` is an instant for pacing.
    ///
    /// # Errors
    /// What `fetch` fails with, or failed with just now.
    pub(super) async fn get(
        &self,
        seconds_max: i64,
        now: impl Fn() -> Timestamp,
        fetch: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<Arc<T>, Unavailable> {
        if let Some(known) = self.fresh(seconds_max, now()) {
            return known;
        }
        let _alone = self.fetching.lock().await;
        if let Some(known) = self.fresh(seconds_max, now()) {
            return known;
        }
        let outcome = fetch.await.map(Arc::new);
        let mut known = self.known();
        match &outcome {
            Ok(value) => *known = Known { value: Some((Arc::clone(value), now())), failed: None },
            Err(unavailable) => known.failed = Some((now(), unavailable.clone())),
        }
        outcome
    }

    /// What can be answered without asking.
    fn fresh(&self, seconds_max: i64, now: Timestamp) -> Option<Result<Arc<T>, Unavailable>> {
        let is_within = |at: Timestamp, seconds: i64| now < at.plus_seconds(seconds);
        let known = self.known();
        if let Some((value, _)) = known.value.as_ref().filter(|(_, at)| is_within(*at, seconds_max)) {
            return Some(Ok(Arc::clone(value)));
        }
        let failed = known.failed.as_ref().filter(|(at, _)| is_within(*at, PAUSE_SECONDS));
        failed.map(|(_, unavailable)| Err(unavailable.clone()))
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
