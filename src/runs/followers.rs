//! Who follows a run at the moment: so many in all, and so many of one tenant.
//!
//! When all places are taken, whoever holds most gives one up to a tenant that holds less, the one that it has had for
//! longest: so however many a few tenants hold, another one still gets its first.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::TenantId;

/// How many follow at a time.
const FOLLOWERS_MAX: usize = 256;
/// How many of one tenant.
const OF_TENANT_MAX: usize = 64;

/// Those who follow. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Followers(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    last_number: u64,
    places: BTreeMap<u64, (TenantId, Arc<AtomicBool>)>,
}

/// A place among them, until it is dropped.
pub(crate) struct Place {
    followers: Followers,
    number: u64,
    is_given_up: Arc<AtomicBool>,
}

impl Followers {
    /// A place for a tenant; none if it holds too many, or all are taken and nobody holds more than it would.
    pub(crate) fn enter(&self, tenant_id: TenantId) -> Option<Place> {
        let mut held = self.held();
        let own = held.places.values().filter(|(holder, _)| *holder == tenant_id).count();
        if own >= OF_TENANT_MAX {
            return None;
        }
        if held.places.len() >= FOLLOWERS_MAX {
            held.give_up_one(own + 1)?;
        }
        held.last_number += 1;
        let (number, is_given_up) = (held.last_number, Arc::new(AtomicBool::new(false)));
        held.places.insert(number, (tenant_id, Arc::clone(&is_given_up)));
        Some(Place { followers: self.clone(), number, is_given_up })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Takes the oldest place from whoever holds most, if those are more than so many.
    fn give_up_one(&mut self, more_than: usize) -> Option<()> {
        let mut counts: HashMap<TenantId, usize> = HashMap::new();
        for (tenant_id, _) in self.places.values() {
            *counts.entry(*tenant_id).or_default() += 1;
        }
        let (most, _) = counts.into_iter().filter(|(_, count)| *count > more_than).max_by_key(|(_, count)| *count)?;
        let number = self.places.iter().find(|(_, (tenant_id, _))| *tenant_id == most).map(|(number, _)| *number)?;
        let (_, is_given_up) = self.places.remove(&number)?;
        is_given_up.store(true, Ordering::SeqCst);
        Some(())
    }
}

impl Place {
    /// Whether somebody else has it now.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.followers.held().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;

    fn tenant(number: usize) -> TenantId {
        TenantId(Uuid::from_u128(number as u128))
    }

    #[test]
    fn a_tenant_has_its_share_and_shuts_nobody_out() {
        let followers = Followers::default();
        let mut places: Vec<Place> = (0..OF_TENANT_MAX).map(|_| followers.enter(tenant(0)).unwrap()).collect();
        assert!(followers.enter(tenant(0)).is_none(), "its share is taken");
        for number in 1..4 {
            places.extend((0..OF_TENANT_MAX).map(|_| followers.enter(tenant(number)).unwrap()));
        }
        assert_eq!(places.len(), FOLLOWERS_MAX);
        assert!(!places.iter().any(Place::is_given_up));
        // All are taken by four: each of many others gets one, and the same one as many as they keep.
        let firsts: Vec<Place> = (4..100).map(|number| followers.enter(tenant(number)).unwrap()).collect();
        let mut more: Vec<Place> = Vec::new();
        while let Some(place) = followers.enter(tenant(4)) {
            more.push(place);
        }
        let kept: Vec<usize> = (0..4)
            .map(|number| {
                places
                    .iter()
                    .skip(number * OF_TENANT_MAX)
                    .take(OF_TENANT_MAX)
                    .filter(|place| !place.is_given_up())
                    .count()
            })
            .collect();
        let (fewest, most) = (kept.iter().min().unwrap(), kept.iter().max().unwrap());
        assert!(more.len() + 1 >= *fewest && most - fewest <= 1, "{kept:?} and {}", more.len() + 1);
        assert!(!firsts.iter().chain(&more).any(Place::is_given_up));
        assert!(places[0].is_given_up() && !places[OF_TENANT_MAX - 1].is_given_up(), "the oldest goes first");
        assert_eq!(followers.held().places.len(), FOLLOWERS_MAX);
        drop((places, firsts, more));
        assert!(followers.held().places.is_empty());
    }
}
