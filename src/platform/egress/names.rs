//! Asking what addresses a name stands for.
//!
//! The system's resolver holds a thread until it has an answer or has given up, which takes some ten seconds where a name
//! server keeps silent; nobody can call it off. Whoever names such names must not take all threads that there are: a
//! [`Party`] has so many lookups under way and no more, and so have all of them together.

use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::error::EgressError;

/// Lookups under way for one party, and for all. Threads for work that blocks are 512.
const OF_A_PARTY_MAX: usize = 32;
const OF_ALL_MAX: usize = 256;

/// An extension of a request: on whose account somebody is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Party(pub Uuid);

/// The lookups under way on somebody's account. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Lookups(Arc<Mutex<HashMap<Party, usize>>>);

/// One of them. Whoever drops it has its answer.
struct Place {
    all: Lookups,
    party: Party,
}

impl Lookups {
    fn all(&self) -> MutexGuard<'_, HashMap<Party, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses of a name, as they are now: nothing is remembered of an earlier look.
    ///
    /// # Errors
    /// [`EgressError::Unresolved`], also if the party, or all of them, have too many lookups under way.
    pub(super) async fn ask(
        &self,
        host: String,
        port: u16,
        party: Option<Party>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let place = party.map(|party| self.enter(party)).transpose()?;
        let asked = tokio::task::spawn_blocking(move || {
            // It goes when the resolver has answered, whether or not anybody waits for that any more.
            let _place = place;
            (host.as_str(), port).to_socket_addrs().map(Iterator::collect)
        });
        let found = asked.await.map_err(|_| EgressError::Unresolved)?;
        found.map_err(|_| EgressError::Unresolved)
    }

    fn enter(&self, party: Party) -> Result<Place, EgressError> {
        let mut all = self.all();
        let own = all.get(&party).copied().unwrap_or(0);
        if own >= OF_A_PARTY_MAX || all.values().sum::<usize>() >= OF_ALL_MAX {
            return Err(EgressError::Unresolved);
        }
        all.insert(party, own + 1);
        Ok(Place { all: self.clone(), party })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.all.all();
        match all.get_mut(&self.party) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(all.remove(&self.party)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_all_lookups() {
        let lookups = Lookups::default();
        let enter = |party: u128| lookups.enter(Party(Uuid::from_u128(party)));
        let mut held: Vec<Place> = (0..OF_A_PARTY_MAX).map(|_| enter(1).unwrap()).collect();
        assert!(enter(1).is_err(), "one party has its share");
        let others = 2..=u128::try_from(OF_ALL_MAX / OF_A_PARTY_MAX).unwrap();
        held.extend(
            others.flat_map(|party| (0..OF_A_PARTY_MAX).map(move |_| party)).map(|party| enter(party).unwrap()),
        );
        assert_eq!(held.len(), OF_ALL_MAX);
        assert!(enter(99).is_err(), "and so have all of them");
        held.truncate(1);
        assert!(enter(99).is_ok() && enter(1).is_ok());
        held.clear();
        assert!(lookups.all().is_empty());
    }

    #[tokio::test]
    async fn names_are_asked_for() {
        let lookups = Lookups::default();
        let party = Some(Party(Uuid::nil()));
        let found = lookups.ask("localhost".to_owned(), 80, party).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()));
        assert_eq!(lookups.ask("no-such-name.invalid".to_owned(), 80, party).await, Err(EgressError::Unresolved));
        assert!(lookups.all().is_empty());
    }
}
