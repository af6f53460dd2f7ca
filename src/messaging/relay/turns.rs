//! Whose turn it is: mails by workspace, each workspace in turn, its mails in the order in which they came.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::WorkspaceNo;
use crate::outbox::OutgoingKey;

/// Mails that wait for their turn.
#[derive(Default)]
pub(super) struct Queues {
    waiting: BTreeMap<WorkspaceNo, VecDeque<OutgoingKey>>,
    /// All of them.
    known: BTreeSet<OutgoingKey>,
    /// Whose turn was the last.
    last: Option<WorkspaceNo>,
}

impl Queues {
    /// Whether a mail waits.
    pub(super) fn contains(&self, key: &OutgoingKey) -> bool {
        self.known.contains(key)
    }

    /// How many of a workspace wait.
    pub(super) fn count(&self, workspace: WorkspaceNo) -> usize {
        self.waiting.get(&workspace).map_or(0, VecDeque::len)
    }

    /// One more waits.
    pub(super) fn push(&mut self, key: OutgoingKey) {
        if self.known.insert(key) {
            self.waiting.entry(key.0).or_default().push_back(key);
        }
    }

    /// The first mail of the next workspace that may have one begun.
    pub(super) fn take(&mut self, has_place: impl Fn(WorkspaceNo) -> bool) -> Option<OutgoingKey> {
        let behind = self.last.map_or(WorkspaceNo(0), |last| WorkspaceNo(last.0.saturating_add(1)));
        let mut in_turn = self.waiting.range(behind..).chain(self.waiting.range(..behind)).map(|(no, _)| *no);
        let workspace = in_turn.find(|no| has_place(*no))?;
        let own = self.waiting.get_mut(&workspace)?;
        let key = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&workspace);
        }
        self.last = Some(workspace);
        key.inspect(|key| {
            self.known.remove(key);
        })
    }

    /// Whether any may be begun.
    pub(super) fn has_startable(&self, has_place: impl Fn(WorkspaceNo) -> bool) -> bool {
        self.waiting.keys().any(|workspace| has_place(*workspace))
    }
}
