//! What an authorization system can be asked; and the appliance itself, which needs none.

use std::collections::HashSet;

use futures_util::future::BoxFuture;
use quintet_storage::Uuid;

/// An intent as the authorization system is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldIntent {
    /// In which tenant.
    pub tenant_id: Uuid,
    /// Whose.
    pub principal_id: Uuid,
    /// Its id.
    pub intent_id: Uuid,
    /// Where it holds, as text.
    pub target: String,
    /// What it confers, as texts.
    pub permissions: Vec<String>,
}

/// Why the authorization system did not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemFailure {
    /// It was asked too often within a second, and is not asked now.
    #[error("it is asked no more than 50 times a second")]
    Paced,
    /// It does not answer in time, or not at all, or it says that it cannot.
    #[error("it does not answer")]
    Away,
    /// It answers something else than yes.
    #[error("it does not say yes, but answers {0}")]
    Refused(u16),
    /// What it answers makes no sense.
    #[error("what it answers makes no sense")]
    Senseless,
}

/// A system that is to know of every intent.
pub trait AuthorizationSystem: Send + Sync + 'static {
    /// Whether there is such a system: what is granted holds once it has taken it, and no sooner.
    fn is_told(&self) -> bool;

    /// Has an intent be there. Again: the same.
    fn put<'a>(&'a self, intent: &'a ToldIntent) -> BoxFuture<'a, Result<(), SystemFailure>>;

    /// Has an intent be gone. Again, or one that never was there: the same.
    fn delete(&self, principal_id: Uuid, intent_id: Uuid) -> BoxFuture<'_, Result<(), SystemFailure>>;

    /// The ids of the intents that a principal has there.
    fn intents_of(&self, principal_id: Uuid) -> BoxFuture<'_, Result<HashSet<Uuid>, SystemFailure>>;

    /// Waits until it may be asked again, for those who have time.
    fn patience(&self) -> BoxFuture<'_, ()>;
}

/// No other system: what is stored here is all there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl AuthorizationSystem for Embedded {
    fn is_told(&self) -> bool {
        false
    }

    fn put<'a>(&'a self, _intent: &'a ToldIntent) -> BoxFuture<'a, Result<(), SystemFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn delete(&self, _principal_id: Uuid, _intent_id: Uuid) -> BoxFuture<'_, Result<(), SystemFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn intents_of(&self, _principal_id: Uuid) -> BoxFuture<'_, Result<HashSet<Uuid>, SystemFailure>> {
        Box::pin(async { Err(SystemFailure::Away) })
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
