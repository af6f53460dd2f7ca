//! Waking: whoever waits for a change is told once it is published, in one place, so that no verb can forget it.
//!
//! Two kinds wait. A reader who follows a room's rows asks for the family's *changes*; a loop that does what falls due
//! asks for the *due notes* that verbs leave in their transactions. Both are told between publication and answers: what
//! wakes them can be read, and whoever has his answer finds them woken.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tokio::sync::watch;

use crate::tables::family::Family;
use crate::time::{Lsn, Timestamp};

/// Told a due table's tag and the earliest instant noted for it in a published group.
pub type DueListener = Box<dyn Fn(u16, Timestamp) + Send + Sync>;

/// What falls due: for each due table's tag the earliest instants, in the order in which they were noted.
#[derive(Debug, Default)]
pub(crate) struct DueNotes(Vec<(u16, Timestamp)>);

impl DueNotes {
    /// Notes an instant, unless an earlier one is noted.
    pub(crate) fn note(&mut self, agenda: u16, at: Timestamp) {
        if !self.0.iter().any(|(noted, earliest)| *noted == agenda && *earliest <= at) {
            self.0.push((agenda, at));
        }
    }

    /// Takes over what a transaction noted: one instant for each tag.
    pub(crate) fn join(&mut self, notes: DueNotes) {
        for (agenda, at) in notes.0 {
            match self.0.iter_mut().find(|(noted, _)| *noted == agenda) {
                Some((_, earliest)) => *earliest = at.min(*earliest),
                None => self.0.push((agenda, at)),
            }
        }
    }

    /// The way back of a savepoint: how much there is, and nothing behind that any more.
    pub(crate) fn mark(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn undo_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }
}

/// Those who wait.
pub(crate) struct Waking {
    changes: BTreeMap<Family, watch::Sender<Lsn>>,
    /// Of families that hold no table: nothing ever changes there.
    never: watch::Sender<Lsn>,
    on_due: OnceLock<DueListener>,
}

impl Waking {
    /// For these families.
    pub(crate) fn new(families: impl IntoIterator<Item = Family>) -> Waking {
        let channel = |family| (family, watch::Sender::new(0));
        Waking {
            changes: families.into_iter().map(channel).collect(),
            never: watch::Sender::new(0),
            on_due: OnceLock::new(),
        }
    }

    pub(crate) fn changes(&self, family: Family) -> watch::Receiver<Lsn> {
        self.changes.get(&family).unwrap_or(&self.never).subscribe()
    }

    pub(crate) fn set_on_due(&self, listener: DueListener) {
        if self.on_due.set(listener).is_err() {
            tracing::error!("a second listener for what falls due is not called");
        }
    }

    /// A group up to `lsn` is published that wrote to these families and left these notes.
    pub(crate) fn wake(&self, lsn: Lsn, written: &[Family], due: &DueNotes) {
        for family in written {
            if let Some(sender) = self.changes.get(family) {
                sender.send_replace(lsn);
            }
        }
        if let Some(listener) = self.on_due.get() {
            for (agenda, at) in &due.0 {
                listener(*agenda, *at);
            }
        }
    }
}
