//! Waking: whoever waits for a change is told once it is published, in one place, so that no verb can forget it.
//!
//! Three kinds wait. A reader who follows a room's rows asks for the family's *changes*; a loop that does what falls due
//! asks for the *due notes* that verbs leave in their transactions; and who waits for one thing among many, such as an
//! inbox, has a room's listener for *told notes* between himself and the verbs. All are told between publication and
//! answers: what wakes them can be read, and whoever has his answer finds them woken.

use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use tokio::sync::watch;

use crate::tables::family::Family;
use crate::time::{Lsn, Timestamp};

/// Told a due table's tag and the earliest instant noted for it in a published group.
pub type DueListener = Box<dyn Fn(u16, Timestamp) + Send + Sync>;

/// Told, of one topic, whom a note concerns and the greatest number noted for him in a published group.
pub type ToldListener = Box<dyn Fn(u64, u64) + Send + Sync>;

/// What verbs leave for those who wait, beside their rows.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// What falls due.
    pub(crate) due: DueNotes,
    /// What is told.
    pub(crate) told: ToldNotes,
}

/// The way back of a savepoint: how much there is, and nothing behind that any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    due: usize,
    told: usize,
}

impl Notes {
    pub(crate) fn mark(&self) -> Mark {
        Mark { due: self.due.0.len(), told: self.told.0.len() }
    }

    pub(crate) fn undo_to(&mut self, mark: Mark) {
        self.due.0.truncate(mark.due);
        self.told.0.truncate(mark.told);
    }
}

/// The notes of the transactions of a group.
#[derive(Debug, Default)]
pub(crate) struct GroupNotes {
    due: DueNotes,
    /// By topic and whom it concerns, the greatest number: thousands of notes of a group stay cheap to join.
    told: BTreeMap<(u16, u64), u64>,
}

impl GroupNotes {
    /// Takes over what a transaction noted.
    pub(crate) fn join(&mut self, notes: Notes) {
        self.due.join(notes.due);
        for ToldNote { topic, of, number } in notes.told.0 {
            let greatest = self.told.entry((topic, of)).or_default();
            *greatest = number.max(*greatest);
        }
    }
}

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

    /// One instant for each tag.
    fn join(&mut self, notes: DueNotes) {
        for (agenda, at) in notes.0 {
            match self.0.iter_mut().find(|(noted, _)| *noted == agenda) {
                Some((_, earliest)) => *earliest = at.min(*earliest),
                None => self.0.push((agenda, at)),
            }
        }
    }
}

/// What is told, in the order in which it was noted.
#[derive(Debug, Default)]
pub(crate) struct ToldNotes(Vec<ToldNote>);

#[derive(Clone, Copy, Debug)]
struct ToldNote {
    topic: u16,
    of: u64,
    number: u64,
}

impl ToldNotes {
    pub(crate) fn note(&mut self, topic: u16, of: u64, number: u64) {
        self.0.push(ToldNote { topic, of, number });
    }
}

/// Those who wait.
pub(crate) struct Waking {
    changes: BTreeMap<Family, watch::Sender<Lsn>>,
    /// Of families that hold no table: nothing ever changes there.
    never: watch::Sender<Lsn>,
    on_due: OnceLock<DueListener>,
    on_told: RwLock<BTreeMap<u16, ToldListener>>,
}

impl Waking {
    /// For these families.
    pub(crate) fn new(families: impl IntoIterator<Item = Family>) -> Waking {
        let channel = |family| (family, watch::Sender::new(0));
        Waking {
            changes: families.into_iter().map(channel).collect(),
            never: watch::Sender::new(0),
            on_due: OnceLock::new(),
            on_told: RwLock::default(),
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

    pub(crate) fn set_on_told(&self, topic: u16, listener: ToldListener) {
        let mut listeners = self.on_told.write().unwrap_or_else(PoisonError::into_inner);
        if listeners.contains_key(&topic) {
            tracing::error!(topic, "a second listener for what is told is not called");
            return;
        }
        listeners.insert(topic, listener);
    }

    /// A group up to `lsn` is published that wrote to these families and left these notes.
    pub(crate) fn wake(&self, lsn: Lsn, written: &[Family], notes: &GroupNotes) {
        for family in written {
            if let Some(sender) = self.changes.get(family) {
                sender.send_replace(lsn);
            }
        }
        if let Some(listener) = self.on_due.get() {
            for (agenda, at) in &notes.due.0 {
                listener(*agenda, *at);
            }
        }
        if notes.told.is_empty() {
            return;
        }
        let listeners = self.on_told.read().unwrap_or_else(PoisonError::into_inner);
        for ((topic, of), number) in &notes.told {
            if let Some(listener) = listeners.get(topic) {
                listener(*of, *number);
            }
        }
    }
}
