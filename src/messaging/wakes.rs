//! Who waits: a watch channel for each agent whose mail somebody waits for, which carries the newest place of its inbox, and
//! one for each key that somebody waits with. The channel is a hint, and what is stored the truth: whoever is woken reads it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// What is told of inboxes, as the store names it.
pub(crate) const TOPIC: u16 = 0x0500;
/// What is told of approvals: that one has its verdict.
pub(crate) const APPROVALS: u16 = 0x0550;

/// The channels, of agents or of keys. Clones share them.
pub(crate) struct Wakes<K>(Arc<Mutex<HashMap<K, watch::Sender<u64>>>>);

impl<K> Clone for Wakes<K> {
    fn clone(&self) -> Wakes<K> {
        Wakes(Arc::clone(&self.0))
    }
}

impl<K> Default for Wakes<K> {
    fn default() -> Wakes<K> {
        Wakes(Arc::default())
    }
}

/// Somebody who waits, for an agent's mail or with a key.
pub(crate) struct Waiting<K: Copy + Eq + Hash> {
    wakes: Wakes<K>,
    of: K,
    newest: watch::Receiver<u64>,
}

impl<K: Copy + Eq + Hash> Wakes<K> {
    /// The inbox of an agent goes up to a place now.
    pub(crate) fn told(&self, of: K, seq: u64) {
        if let Some(sender) = self.held().get(&of) {
            sender.send_if_modified(|newest| {
                let is_newer = seq > *newest;
                *newest = seq.max(*newest);
                is_newer
            });
        }
    }

    /// Whether whoever waits may do so still is in doubt: he is to look.
    pub(crate) fn doubt(&self, of: K) {
        if let Some(sender) = self.held().get(&of) {
            sender.send_modify(|_| ());
        }
    }

    /// Waits from now on.
    pub(crate) fn wait(&self, of: K) -> Waiting<K> {
        let newest = self.held().entry(of).or_insert_with(|| watch::Sender::new(0)).subscribe();
        Waiting { wakes: self.clone(), of, newest }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<K, watch::Sender<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> Waiting<K> {
    /// What has come until now is seen: the next wait is for something new. To be called before the look.
    pub(crate) fn mark(&mut self) {
        let _ = self.newest.borrow_and_update();
    }

    /// Waits for something since the mark.
    pub(crate) async fn come(&mut self) {
        // The sender lives as long as somebody waits.
        let _ = self.newest.changed().await;
    }
}

impl<K: Copy + Eq + Hash> Drop for Waiting<K> {
    fn drop(&mut self) {
        let mut held = self.wakes.held();
        // Its own receiver is dropped behind this.
        if held.get(&self.of).is_some_and(|sender| sender.receiver_count() <= 1) {
            held.remove(&self.of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AgentNo, WorkspaceNo};

    #[tokio::test]
    async fn who_waits_is_woken_once_and_nobody_else() {
        let wakes = Wakes::default();
        let (one, other) = ((WorkspaceNo(1), AgentNo(1)), (WorkspaceNo(1), AgentNo(2)));
        let mut waiting = wakes.wait(one);
        wakes.told(other, 9);
        wakes.told(one, 4);
        waiting.come().await;
        wakes.told(one, 3);
        let again = tokio::time::timeout(std::time::Duration::from_millis(5), waiting.come()).await;
        assert!(again.is_err(), "it was told of more already");
        wakes.doubt(one);
        waiting.come().await;
        let second = wakes.wait(one);
        drop(waiting);
        assert_eq!(wakes.held().len(), 1);
        drop(second);
        assert!(wakes.held().is_empty());
    }
}
