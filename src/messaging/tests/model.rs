//! The naive model: who has what, with everything worked out anew and one instant after the other.

use std::collections::BTreeSet;

use crate::identity::{Availability, HoldBelow, Priority};

/// More messages than this within the guard's hour pause a thread, in seconds of it.
const GUARD: (usize, i64) = (60, 3_600);

/// What somebody has of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) label: String,
    pub(super) is_read: bool,
    pub(super) released: u32,
}

/// A delivery that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) agent: usize,
    pub(super) talk: usize,
    pub(super) label: String,
    pub(super) priority: Priority,
}

#[derive(Clone, Debug)]
pub(super) struct Somebody {
    pub(super) is_retired: bool,
    pub(super) availability: Availability,
    pub(super) hold_below: HoldBelow,
    pub(super) until: Option<i64>,
    pub(super) inbox: Vec<Item>,
    pub(super) held: Vec<Waits>,
}

impl Somebody {
    fn new() -> Somebody {
        Somebody {
            is_retired: false,
            availability: Availability::Online,
            hold_below: Priority::Urgent,
            until: None,
            inbox: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The contract's table and A2, written out.
    fn holds(&self, priority: Priority) -> bool {
        match self.availability {
            Availability::Online => false,
            Availability::Offline => true,
            Availability::Busy | Availability::Away | Availability::Dnd => priority < self.hold_below,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) number: usize,
    /// Who wrote a message of it, or has got one.
    pub(super) present: BTreeSet<usize>,
    /// Who wrote the message that began it, and whom that went to.
    pub(super) first: BTreeSet<usize>,
    pub(super) messages: u64,
    /// All instants that count for the guard.
    pub(super) counted: Vec<i64>,
    /// Since when it is paused, and whether only operators have it go on.
    pub(super) pause: Option<(i64, bool)>,
    pub(super) resumed_at: Option<i64>,
    pub(super) held: Vec<Waits>,
}

impl Talk {
    fn within_the_hour(&self, at: i64) -> usize {
        self.counted.iter().filter(|then| **then <= at && at - **then < GUARD.1).count()
    }

    /// When it goes on by itself: an hour after the count was last too high.
    fn goes_on_at(&self) -> Option<i64> {
        self.pause?;
        let leaves = self.counted.iter().map(|then| then + GUARD.1);
        let too_many_until = leaves.filter(|leaves| self.within_the_hour(leaves - 1) > GUARD.0).max();
        Some(too_many_until.expect("it was too much once") + GUARD.1)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Seconds since the beginning.
    pub(super) now: i64,
    pub(super) agents: Vec<Somebody>,
    pub(super) talks: Vec<Talk>,
}

impl Model {
    pub(super) fn new(agents: usize) -> Model {
        Model { now: 0, agents: vec![Somebody::new(); agents], talks: Vec::new() }
    }

    fn deliver(&mut self, agent: usize, talk: usize, label: &str, priority: Priority) {
        let somebody = &mut self.agents[agent];
        if somebody.holds(priority) {
            somebody.held.push(Waits { agent, talk, label: label.to_owned(), priority });
        } else {
            self.talks[talk].present.insert(agent);
            somebody.inbox.push(Item { label: label.to_owned(), is_read: false, released: 0 });
        }
    }

    /// A message of an agent to others, in a talk or in a new one; which one that is.
    pub(super) fn send(
        &mut self,
        from: usize,
        to: &[usize],
        talk: Option<usize>,
        label: &str,
        priority: Priority,
    ) -> usize {
        let number = talk.unwrap_or_else(|| {
            self.talks.push(Talk {
                number: self.talks.len(),
                present: BTreeSet::new(),
                first: to.iter().copied().chain([from]).collect(),
                messages: 0,
                counted: Vec::new(),
                pause: None,
                resumed_at: None,
                held: Vec::new(),
            });
            self.talks.len() - 1
        });
        let now = self.now;
        let talk = &mut self.talks[number];
        talk.messages += 1;
        talk.present.insert(from);
        talk.counted.push(now);
        let pauses = talk.pause.is_none() && talk.within_the_hour(now) > GUARD.0;
        if pauses {
            talk.pause = Some((now, talk.resumed_at.is_some_and(|at| now < at + GUARD.1)));
        }
        if talk.pause.is_some() {
            let waits = |agent: &usize| Waits { agent: *agent, talk: number, label: label.to_owned(), priority };
            talk.held.extend(to.iter().map(waits));
        } else {
            to.iter().for_each(|agent| self.deliver(*agent, number, label, priority));
        }
        if pauses {
            let talk = &mut self.talks[number];
            // Whoever came later is told in other words.
            talk.messages += u64::from(!talk.present.is_disjoint(&talk.first));
            talk.messages += u64::from(!talk.present.is_subset(&talk.first));
            for agent in talk.present.clone() {
                if !self.agents[agent].is_retired {
                    self.deliver(agent, number, "paused", Priority::Urgent);
                }
            }
        }
        number
    }

    pub(super) fn declare(&mut self, agent: usize, availability: Availability, hold_below: HoldBelow, seconds: i64) {
        let somebody = &mut self.agents[agent];
        somebody.availability = availability;
        somebody.hold_below = hold_below;
        somebody.until = if availability == Availability::Online { None } else { Some(self.now + seconds) };
        self.release(agent);
    }

    fn release(&mut self, agent: usize) {
        let somebody = &mut self.agents[agent];
        let (stays, goes): (Vec<Waits>, Vec<Waits>) =
            somebody.held.clone().into_iter().partition(|waits| somebody.holds(waits.priority));
        let released = goes.len() as u32;
        somebody.held = stays;
        for waits in &goes {
            self.talks[waits.talk].present.insert(agent);
        }
        somebody.inbox.extend(goes.into_iter().map(|waits| Item { label: waits.label, is_read: false, released }));
    }

    fn go_on(&mut self, talk: usize) {
        let talk = &mut self.talks[talk];
        talk.pause = None;
        for waits in std::mem::take(&mut talk.held) {
            self.deliver(waits.agent, waits.talk, &waits.label, waits.priority);
        }
    }

    pub(super) fn resume(&mut self, talk: usize, by_participant: bool) {
        let now = self.now;
        let found = &mut self.talks[talk];
        if found.pause.is_none() {
            return;
        }
        found.counted.clear();
        if by_participant {
            found.resumed_at = Some(now);
        }
        self.go_on(talk);
    }

    /// Moves the clock on, one instant after the other at which something is over.
    pub(super) fn advance(&mut self, seconds: i64) {
        let end = self.now + seconds;
        loop {
            let over = self.agents.iter().filter_map(|somebody| somebody.until);
            let next = over.chain(self.talks.iter().filter_map(Talk::goes_on_at)).min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = next;
            for agent in 0..self.agents.len() {
                if self.agents[agent].until == Some(next) {
                    self.declare(agent, Availability::Online, Priority::Urgent, 0);
                }
            }
            for talk in 0..self.talks.len() {
                if self.talks[talk].goes_on_at() == Some(next) {
                    self.go_on(talk);
                }
            }
        }
        self.now = end;
    }
}
