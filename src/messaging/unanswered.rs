//! Names that no name server would answer for: nobody waits for them again for a while.
//!
//! What a name server does answer, its records or that there are none, is remembered where it is asked. That it does not
//! is remembered nowhere else, and every mail of such a sender would wait until the time is up.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mail_auth::{DnsError, Error, ResolverCache, Txt};
use tokio::time::Instant;

/// For how long a name is not asked for again.
const KEPT: Duration = Duration::from_secs(60);
/// Names that are remembered: whoever sends under more of them at a time only makes himself wait.
const NAMES_MAX: usize = 4_096;

/// The names, in lower case and with a dot at the end, each with the instant from which it is asked for again.
#[derive(Default)]
pub(crate) struct Unanswered(Mutex<HashMap<Box<str>, Instant>>);

impl fmt::Debug for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unanswered").finish_non_exhaustive()
    }
}

impl Unanswered {
    /// Nobody answered for this name.
    pub(crate) fn note(&self, name: &str) {
        let now = Instant::now();
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= NAMES_MAX {
            names.retain(|_, until| *until > now);
        }
        if names.len() < NAMES_MAX {
            names.insert(name.into(), now + KEPT);
        }
    }

    /// Whether nobody answered for it a moment ago.
    pub(crate) fn has<Q: Hash + Eq + ?Sized>(&self, name: &Q) -> bool
    where
        Box<str>: Borrow<Q>,
    {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(name).is_some_and(|until| *until > Instant::now())
    }
}

/// Whoever looks for the record of such a name finds the failure. What is answered is not kept here.
impl ResolverCache<Box<str>, Txt> for Unanswered {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.has(name).then(|| Txt::Error(Error::Dns(DnsError::Resolver("nobody answered a moment ago".to_owned()))))
    }

    fn remove<Q>(&self, _: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: Txt, _: std::time::Instant) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_name_is_forgotten_after_its_time_and_names_are_bounded() {
        let unanswered = Unanswered::default();
        unanswered.note("a.example.");
        assert!(unanswered.has("a.example.") && !unanswered.has("b.example."));
        tokio::time::advance(KEPT).await;
        assert!(!unanswered.has("a.example."));
        for number in 0..=NAMES_MAX {
            unanswered.note(&format!("{number}.example."));
        }
        let kept = |unanswered: &Unanswered| unanswered.0.lock().unwrap().len();
        assert_eq!(kept(&unanswered), NAMES_MAX);
        tokio::time::advance(KEPT).await;
        unanswered.note("a.example.");
        assert_eq!((kept(&unanswered), unanswered.has("a.example.")), (1, true));
    }
}
