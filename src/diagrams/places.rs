//! Places for what takes memory while it arrives: so many at once, and fewer for each source address, so that no stranger
//! takes them all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The places.
pub struct Places {
    at_once: usize,
    of_a_source: usize,
    taken: Mutex<HashMap<Option<IpAddr>, usize>>,
}

/// One that is taken; dropped, it is free again.
pub struct Place<'p> {
    places: &'p Places,
    source: Option<IpAddr>,
}

impl Places {
    /// So many, and of them so many for each address.
    pub fn new(at_once: usize, of_a_source: usize) -> Places {
        Places { at_once, of_a_source, taken: Mutex::default() }
    }

    /// Takes one for an address; `None`: there is none for it.
    pub fn enter(&self, source: Option<IpAddr>) -> Option<Place<'_>> {
        let mut taken = self.taken();
        let own = taken.get(&source).copied().unwrap_or_default();
        if own >= self.of_a_source || taken.values().sum::<usize>() >= self.at_once {
            return None;
        }
        taken.insert(source, own + 1);
        Some(Place { places: self, source })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(count) = taken.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn nobody_takes_them_all() {
        let places = Places::new(3, 2);
        let of = |last| Some(Ipv4Addr::new(192, 0, 2, last).into());
        let held = [places.enter(of(1)), places.enter(of(1))];
        assert!(held.iter().all(Option::is_some) && places.enter(of(1)).is_none());
        let other = places.enter(of(2));
        assert!(other.is_some() && places.enter(of(3)).is_none(), "all are taken");
        drop(held);
        assert!(places.enter(of(3)).is_some());
        drop(other);
        assert!(places.taken().is_empty(), "nothing is kept of addresses without places");
    }
}
