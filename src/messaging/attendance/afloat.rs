//! Events that lie in no inbox, and what all of them hold until their readers have taken them: so much and no more, for a
//! reader may take his time (6-messaging.md, M').

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::model::WorkspaceNo;

/// What the events of one workspace hold at most, in bytes.
const WORKSPACE_BYTES_MAX: usize = 16 << 20;
/// The same of all workspaces.
const ALL_BYTES_MAX: usize = 64 << 20;
/// What an event holds besides its text.
const BESIDES_BYTES: usize = 128;

/// The events that somebody still holds.
#[derive(Clone, Default)]
pub(super) struct Afloat(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    all: usize,
    of: HashMap<WorkspaceNo, usize>,
}

/// An event, which counts until the last one who holds it lets go.
struct Event {
    text: String,
    workspace: WorkspaceNo,
    afloat: Afloat,
}

impl AsRef<[u8]> for Event {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let bytes = self.text.len() + BESIDES_BYTES;
        let mut held = self.afloat.held();
        held.all = held.all.saturating_sub(bytes);
        if let Some(own) = held.of.get_mut(&self.workspace) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.of.remove(&self.workspace);
            }
        }
    }
}

impl Afloat {
    /// An event of a workspace; `None`: there is no room for it.
    pub(super) fn event(&self, workspace: WorkspaceNo, text: String) -> Option<Bytes> {
        let bytes = text.len() + BESIDES_BYTES;
        let mut held = self.held();
        let own = held.of.get(&workspace).copied().unwrap_or_default() + bytes;
        if own > WORKSPACE_BYTES_MAX || held.all + bytes > ALL_BYTES_MAX {
            return None;
        }
        held.all += bytes;
        held.of.insert(workspace, own);
        drop(held);
        Some(Bytes::from_owner(Event { text, workspace, afloat: self.clone() }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_count_until_the_last_one_lets_go() {
        let afloat = Afloat::default();
        let text = "x".repeat((1 << 20) - BESIDES_BYTES);
        let event = |no: u32| afloat.event(WorkspaceNo(no), text.clone());
        let mut held: Vec<Bytes> = (0..16).map_while(|_| event(1)).collect();
        assert_eq!((held.len(), event(1)), (16, None), "a workspace has so much");
        for no in 2..=4 {
            held.extend((0..16).map_while(|_| event(no)));
        }
        assert_eq!((held.len(), event(5)), (64, None), "and all together so much");
        let other = held[0].clone();
        held.remove(0);
        assert_eq!(event(1), None, "somebody holds it still");
        drop(other);
        assert!(event(1).is_some());
        held.clear();
        let left = afloat.held();
        assert_eq!((left.all, left.of.len()), (0, 0));
    }
}
