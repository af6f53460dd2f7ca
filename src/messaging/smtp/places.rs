//! How many connections there may be: in all, and of one source (6-messaging.md, M2).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_platform::limits::source_key;
use tokio::sync::Notify;

/// Connections in all, and of one source.
const CONNECTIONS_MAX: usize = 100;
const OF_A_SOURCE_MAX: usize = 20;

/// The connections that there are. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the number of the source: of IPv6 that is its network.
    held: Mutex<HashMap<u128, usize>>,
    left: Notify,
}

/// One of them. Whoever drops it has left.
#[derive(Debug)]
pub(super) struct Place {
    all: Places,
    source: u128,
}

impl Places {
    fn held(&self) -> MutexGuard<'_, HashMap<u128, usize>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection; `None`: there are too many.
    pub(super) fn enter(&self, source: IpAddr) -> Option<Place> {
        let source = source_key(source);
        let mut held = self.held();
        let all: usize = held.values().sum();
        let own = held.get(&source).copied().unwrap_or(0);
        if all >= CONNECTIONS_MAX || own >= OF_A_SOURCE_MAX {
            return None;
        }
        held.insert(source, own + 1);
        drop(held);
        Some(Place { all: self.clone(), source })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.held().values().sum()
    }

    /// Waits until there is none.
    pub(super) async fn emptied(&self) {
        loop {
            let left = self.0.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.all.held();
        match held.get_mut(&self.source) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(held.remove(&self.source)),
        }
        drop(held);
        self.all.0.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_has_its_share_and_all_have_theirs() {
        let places = Places::default();
        let of = |source: u8| places.enter(IpAddr::from([192, 0, 2, source]));
        let mut held: Vec<Place> = (0..OF_A_SOURCE_MAX).map(|_| of(1).unwrap()).collect();
        assert!(of(1).is_none());
        for source in 2..6 {
            held.extend((0..OF_A_SOURCE_MAX).map(|_| of(source).unwrap()));
        }
        assert!(of(6).is_none());
        held.pop();
        assert!(of(6).is_some());
        held.clear();
        assert_eq!(places.count(), 0);
        // Whoever has an address of IPv6 has a whole network of them.
        let of = |address: String| places.enter(address.parse().unwrap());
        let _held: Vec<Place> = (0..OF_A_SOURCE_MAX).map(|host| of(format!("2001:db8::{host:x}")).unwrap()).collect();
        assert!(of("2001:db8::ffff".to_owned()).is_none());
        assert!(of("2001:db8:0:1::1".to_owned()).is_some());
    }
}
