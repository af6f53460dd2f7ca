//! How many connections one source address may hold, so that nobody takes all of a listener's.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open connections by source address. Bounded by the listener's own limit on connections.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    each_max: u32,
    open: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// One connection's place; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    sources: Sources,
    source: IpAddr,
}

impl Sources {
    /// At most `each_max` connections of one address.
    pub(super) fn new(each_max: u32) -> Sources {
        Sources { each_max, open: Arc::default() }
    }

    /// A place for one more connection; `None` if the address has as many as it may.
    pub(super) fn enter(&self, source: IpAddr) -> Option<Place> {
        let mut open = self.open();
        let count = open.entry(source).or_default();
        if *count >= self.each_max {
            return None;
        }
        *count += 1;
        Some(Place { sources: self.clone(), source })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, u32>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.sources.open();
        if let Some(count) = open.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_gives_it_back() {
        let sources = Sources::new(2);
        let (a, b) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let first = sources.enter(a).unwrap();
        let _second = sources.enter(a).unwrap();
        assert!(sources.enter(a).is_none());
        let other = sources.enter(b).unwrap();
        drop(first);
        assert!(sources.enter(a).is_some(), "its place was given back");
        drop(other);
        assert_eq!(sources.open().len(), 1, "nothing is kept of addresses without connections");
    }
}
