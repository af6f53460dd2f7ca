//! Asking what addresses a name stands for.
//!
//! The system's resolver holds a thread until it has an answer or has given up, which takes some ten seconds where a name
//! server keeps silent; nobody can call it off. Whoever names such names must not take all threads that there are: a
//! [`Party`] has so many lookups under way and no more, and so have all of them together.

use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use uuid::Uuid;

use super::error::EgressError;

/// Lookups under way for one party, and for all, but for a few that everybody has. Threads for work that blocks are 512.
const OF_A_PARTY_MAX: usize = 32;
const OF_ALL_MAX: usize = 256;
/// What a party has however many others have, until there are so many in all.
const OF_A_PARTY_ALWAYS: usize = 4;
const OF_ALL_EVER: usize = 448;

/// An extension of a request: on whose account somebody is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Party(pub Uuid);

impl Party {
    /// Images' registries, which tenants name: all of them together.
    pub const REGISTRIES: Party = Party(Uuid::from_u128(1));
    /// What an operator asks about names that tenants have given.
    pub const OPERATOR: Party = Party(Uuid::from_u128(2));
    /// The appliance itself, for addresses of its configuration: it has a party's share, and no more.
    const APPLIANCE: Party = Party(Uuid::nil());
}

/// The lookups under way on somebody's account. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Lookups(Arc<Inner>);

#[derive(Default)]
struct Inner {
    held: Mutex<HashMap<Party, usize>>,
    /// One has its answer.
    left: Notify,
}

/// One of them. Whoever drops it has its answer.
struct Place {
    all: Lookups,
    party: Party,
}

impl Lookups {
    fn held(&self) -> MutexGuard<'_, HashMap<Party, usize>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses of a name, as they are now: nothing is remembered of an earlier look. Waits while the party, or all
    /// of them, have too many lookups under way; without a party, while the appliance itself has.
    ///
    /// # Errors
    /// [`EgressError::Unresolved`]
    pub(super) async fn ask(
        &self,
        host: String,
        port: u16,
        party: Option<Party>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let place = self.enter(party.unwrap_or(Party::APPLIANCE)).await;
        let asked = tokio::task::spawn_blocking(move || {
            // It goes when the resolver has answered, whether or not anybody waits for that any more.
            let _place = place;
            (host.as_str(), port).to_socket_addrs().map(Iterator::collect)
        });
        let found = asked.await.map_err(|_| EgressError::Unresolved)?;
        found.map_err(|_| EgressError::Unresolved)
    }

    async fn enter(&self, party: Party) -> Place {
        loop {
            let left = self.0.left.notified();
            if let Some(place) = self.try_enter(party) {
                return place;
            }
            left.await;
        }
    }

    fn try_enter(&self, party: Party) -> Option<Place> {
        let mut held = self.held();
        let own = held.get(&party).copied().unwrap_or(0);
        let most = if own < OF_A_PARTY_ALWAYS { OF_ALL_EVER } else { OF_ALL_MAX };
        if own >= OF_A_PARTY_MAX || held.values().sum::<usize>() >= most {
            return None;
        }
        held.insert(party, own + 1);
        Some(Place { all: self.clone(), party })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.all.held();
        match held.get_mut(&self.party) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(held.remove(&self.party)),
        }
        drop(held);
        self.all.0.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_has_all_lookups_and_who_finds_none_waits() {
        let lookups = Lookups::default();
        let enter = |party: u128| lookups.try_enter(Party(Uuid::from_u128(party)));
        let mut held: Vec<Place> = (0..OF_A_PARTY_MAX).map(|_| enter(1).unwrap()).collect();
        assert!(enter(1).is_none(), "one party has its share");
        let others = 2..=u128::try_from(OF_ALL_MAX / OF_A_PARTY_MAX).unwrap();
        held.extend(
            others.flat_map(|party| (0..OF_A_PARTY_MAX).map(move |_| party)).map(|party| enter(party).unwrap()),
        );
        assert_eq!(held.len(), OF_ALL_MAX);
        held.extend((0..OF_A_PARTY_ALWAYS).map(|_| enter(99).unwrap()));
        assert!(enter(99).is_none(), "who comes last has a few, and no more");
        let waits = tokio::time::timeout(Duration::from_secs(60), lookups.enter(Party(Uuid::from_u128(99))));
        assert!(waits.await.is_err());
        let (entered, ()) = tokio::join!(lookups.enter(Party(Uuid::from_u128(99))), async { held.truncate(200) });
        held.push(entered);
        held.clear();
        assert!(lookups.held().is_empty());
    }

    #[tokio::test]
    async fn names_are_asked_for() {
        let lookups = Lookups::default();
        let party = Some(Party(Uuid::nil()));
        let found = lookups.ask("localhost".to_owned(), 80, party).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()));
        assert_eq!(lookups.ask("no-such-name.invalid".to_owned(), 80, party).await, Err(EgressError::Unresolved));
        assert!(lookups.held().is_empty());
    }

    /// Nor does the appliance itself take all threads, when the name server keeps silent that it asks for each request.
    #[tokio::test(start_paused = true)]
    async fn what_is_asked_on_nobodys_account_is_bounded_too() {
        let lookups = Lookups::default();
        let mut held: Vec<Place> = (0..OF_A_PARTY_MAX).map(|_| lookups.try_enter(Party::APPLIANCE).unwrap()).collect();
        let ask = || lookups.ask("localhost".to_owned(), 80, None);
        assert!(tokio::time::timeout(Duration::from_secs(60), ask()).await.is_err(), "it waits");
        held.pop();
        assert!(ask().await.is_ok());
    }
}
