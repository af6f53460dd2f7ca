//! Who waits for mail: a watch channel for each agent that somebody waits for, which carries the newest place of its inbox.
//! The channel is a hint, and the inbox the truth: whoever is woken reads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::model::{AgentKey, unpacked};

/// What is told of inboxes, as the store names it.
pub(crate) const TOPIC: u16 = 0x0500;

/// The channels. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Wakes(Arc<Mutex<HashMap<AgentKey, watch::Sender<u64>>>>);

/// Somebody who waits for an agent's mail.
pub(crate) struct Waiting {
    wakes: Wakes,
    agent: AgentKey,
    newest: watch::Receiver<u64>,
}

impl Wakes {
    /// The inbox of an agent goes up to a place now.
    pub(crate) fn told(&self, packed: u64, seq: u64) {
        if let Some(sender) = self.held().get(&unpacked(packed)) {
            sender.send_if_modified(|newest| {
                let is_newer = seq > *newest;
                *newest = seq.max(*newest);
                is_newer
            });
        }
    }

    /// Waits for an agent's mail from now on.
    pub(crate) fn wait(&self, agent: AgentKey) -> Waiting {
        let newest = self.held().entry(agent).or_insert_with(|| watch::Sender::new(0)).subscribe();
        Waiting { wakes: self.clone(), agent, newest }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AgentKey, watch::Sender<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// What has come until now is seen: the next wait is for something new. To be called before the look.
    pub(crate) fn mark(&mut self) {
        let _ = self.newest.borrow_and_update();
    }

    /// Waits for mail since the mark.
    pub(crate) async fn come(&mut self) {
        // The sender lives as long as somebody waits.
        let _ = self.newest.changed().await;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut held = self.wakes.held();
        // Its own receiver is dropped behind this.
        if held.get(&self.agent).is_some_and(|sender| sender.receiver_count() <= 1) {
            held.remove(&self.agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AgentNo, WorkspaceNo, packed};

    #[tokio::test]
    async fn who_waits_is_woken_once_and_nobody_else() {
        let wakes = Wakes::default();
        let (one, other) = ((WorkspaceNo(1), AgentNo(1)), (WorkspaceNo(1), AgentNo(2)));
        let mut waiting = wakes.wait(one);
        wakes.told(packed(other), 9);
        wakes.told(packed(one), 4);
        waiting.come().await;
        wakes.told(packed(one), 3);
        let again = tokio::time::timeout(std::time::Duration::from_millis(5), waiting.come()).await;
        assert!(again.is_err(), "it was told of more already");
        let second = wakes.wait(one);
        drop(waiting);
        assert_eq!(wakes.held().len(), 1);
        drop(second);
        assert!(wakes.held().is_empty());
    }
}
