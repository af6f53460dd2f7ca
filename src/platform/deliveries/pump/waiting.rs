//! What the pump has in hand: deliveries whose time has come, by outbox and lane, and whose turn it is.
//!
//! Outboxes take turns, and so do the lanes of one. A lane has two queues, of first attempts and of further ones: those go
//! first, or nothing would be tried again in its time where new deliveries come in all the time. A queue holds so many and no
//! more: what comes behind that stays in the table, and is looked up there when the queue has run empty. So memory does not
//! grow with what waits, and what waits for a receiver that is slow is in nobody's way.
//!
//! A lane is *slow* whose last attempt took long: it gets one attempt at a time, and all slow lanes of an outbox half of its
//! places.

use std::collections::{HashMap, HashSet, VecDeque};

use quintet_storage::Timestamp;
use uuid::Uuid;

use super::super::tables::{DuePlace, OutboxKey};

/// Deliveries of a queue that are held.
pub(super) const QUEUE_HELD_MAX: usize = 500;
/// One first attempt has its turn behind so many further ones, if both wait. With five attempts in all, four of five are
/// further ones: these are never behind.
const RETRIES_IN_A_ROW: u8 = 7;
/// Slow lanes of an outbox that are remembered, the last that were found so: one that is forgotten is slow again after one
/// round of attempts.
const SLOW_LANES_MAX: usize = 256;
/// Attempts in flight, of all.
pub(super) const IN_FLIGHT_MAX: usize = 256;
/// The last of these are for outboxes that have few in flight: so many with receivers that keep silent leave them alone.
const IN_FLIGHT_KEPT: usize = 64;
const FEW_IN_FLIGHT: usize = 8;

/// A lane: whose, and which.
pub(super) type LaneKey = (OutboxKey, Uuid);

/// Which attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The first one of each delivery.
    First,
    /// Further ones.
    Retry,
}

/// Of which lane, and which attempts.
pub(super) type QueueKey = (LaneKey, Kind);

/// How long an attempt took, if one was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// None was made.
    None,
    /// Not long.
    Quick,
    /// Long: there was no answer in time, or it was late.
    Slow,
}

/// A delivery whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) lane: LaneKey,
    pub(super) due: DuePlace,
}

/// How many attempts there may be at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightMax {
    pub(super) of_lane: usize,
    pub(super) of_outbox: usize,
}

/// What is in hand.
#[derive(Default)]
pub(super) struct Waiting {
    outboxes: HashMap<OutboxKey, Held>,
    /// The outboxes that have a lane whose turn can come.
    turns: VecDeque<OutboxKey>,
    /// All that is held or in flight.
    known: HashSet<DuePlace>,
    /// Queues that have run empty and have more in the table.
    hungry: VecDeque<QueueKey>,
    in_flight_of: HashSet<DuePlace>,
    /// Lanes whose last attempt took long, by outbox, the last one at the end.
    slow: HashMap<OutboxKey, VecDeque<Uuid>>,
    /// What cannot be seen to until the next start.
    left_alone: HashSet<DuePlace>,
}

#[derive(Default)]
struct Held {
    lanes: HashMap<Uuid, Lane>,
    turns: VecDeque<Uuid>,
    in_flight: usize,
    /// Those of them that are of slow lanes.
    slow_in_flight: usize,
    has_turn: bool,
}

#[derive(Default)]
struct Lane {
    first: Queue,
    retry: Queue,
    /// Further attempts since the last first one.
    retries: u8,
    in_flight: usize,
    has_turn: bool,
    is_slow: bool,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<DuePlace>,
    /// From this place on its deliveries are in the table alone.
    rest_from: Option<DuePlace>,
    is_hungry: bool,
}

impl Lane {
    fn queue(&self, kind: Kind) -> &Queue {
        match kind {
            Kind::First => &self.first,
            Kind::Retry => &self.retry,
        }
    }

    fn queue_mut(&mut self, kind: Kind) -> &mut Queue {
        match kind {
            Kind::First => &mut self.first,
            Kind::Retry => &mut self.retry,
        }
    }

    fn is_ready(&self) -> bool {
        !self.first.ready.is_empty() || !self.retry.ready.is_empty()
    }

    /// Whether there is nothing left of it.
    fn is_over(&self) -> bool {
        let is_empty = |queue: &Queue| queue.ready.is_empty() && queue.rest_from.is_none();
        self.in_flight == 0 && is_empty(&self.first) && is_empty(&self.retry)
    }

    /// Its next attempt.
    fn take(&mut self) -> Option<DuePlace> {
        let is_first = self.retries >= RETRIES_IN_A_ROW || self.retry.ready.is_empty();
        if is_first && let Some(due) = self.first.ready.pop_front() {
            self.retries = 0;
            return Some(due);
        }
        self.retries = self.retries.saturating_add(1);
        self.retry.ready.pop_front()
    }
}

impl Waiting {
    /// Whether a delivery is held, in flight, or left alone.
    pub(super) fn knows(&self, due: &DuePlace) -> bool {
        self.known.contains(due) || self.left_alone.contains(due)
    }

    /// A delivery is not taken in any more, for it cannot be seen to: something of it is damaged.
    pub(super) fn leave_alone(&mut self, due: DuePlace) {
        self.left_alone.insert(due);
    }

    /// Whether an attempt is under way.
    pub(super) fn is_in_flight(&self, due: &DuePlace) -> bool {
        self.in_flight_of.contains(due)
    }

    /// Whether a delivery of this queue at this place is known to be in the table, and left there for the time being.
    pub(super) fn leaves(&self, ((outbox, lane), kind): QueueKey, due: &DuePlace) -> bool {
        let lane = self.outboxes.get(&outbox).and_then(|held| held.lanes.get(&lane));
        lane.and_then(|lane| lane.queue(kind).rest_from).is_some_and(|from| from <= *due)
    }

    /// Whether nothing is in hand, and nothing is left in the table whose time has come.
    pub(super) fn is_empty(&self) -> bool {
        self.outboxes.is_empty()
    }

    /// How many attempts are under way.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight_of.len()
    }

    /// Takes a delivery in whose time has come, unless it is known already; whether it was not. They come in the order of
    /// their places, but for the newest.
    pub(super) fn offer(&mut self, queue: QueueKey, due: DuePlace) -> bool {
        if self.knows(&due) || self.leaves(queue, &due) {
            return false;
        }
        let (key, kind) = queue;
        let (outbox, lane_id) = key;
        let held = self.outboxes.entry(outbox).or_default();
        let is_slow = || self.slow.get(&outbox).is_some_and(|lanes| lanes.contains(&lane_id));
        let new = || Lane { is_slow: is_slow(), ..Lane::default() };
        let queue = held.lanes.entry(lane_id).or_insert_with(new).queue_mut(kind);
        if queue.ready.len() >= QUEUE_HELD_MAX {
            queue.rest_from = Some(due);
        } else {
            queue.ready.push_back(due);
            self.known.insert(due);
        }
        self.enter(key);
        true
    }

    /// The next delivery whose turn it is, if there may be one more in flight.
    pub(super) fn take(&mut self, most: impl Fn(u8) -> InFlightMax) -> Option<Taken> {
        // Each outbox that has a turn and nothing to take loses the turn until something of it has ended.
        while self.in_flight_of.len() < IN_FLIGHT_MAX {
            let outbox = self.turns.pop_front()?;
            let Some(held) = self.outboxes.get_mut(&outbox) else { continue };
            held.has_turn = false;
            let mut most = most(outbox.1);
            if self.in_flight_of.len() >= IN_FLIGHT_MAX - IN_FLIGHT_KEPT {
                most.of_outbox = most.of_outbox.min(FEW_IN_FLIGHT);
            }
            let Some((lane_id, due)) = held.take(most) else { continue };
            self.in_flight_of.insert(due);
            self.enter((outbox, lane_id));
            return Some(Taken { lane: (outbox, lane_id), due });
        }
        None
    }

    /// An attempt has ended, and what came of it is durable.
    pub(super) fn ended(&mut self, taken: Taken, pace: Pace) {
        let (outbox, lane_id) = taken.lane;
        if !self.known.remove(&taken.due) {
            return;
        }
        self.in_flight_of.remove(&taken.due);
        if self.in_flight_of.len() == IN_FLIGHT_MAX - IN_FLIGHT_KEPT - 1 {
            // Those that had many in flight lost their turns while the last places were left.
            let others: Vec<OutboxKey> = self.outboxes.keys().copied().collect();
            others.into_iter().for_each(|other| self.enter_outbox(other));
        }
        let Some(held) = self.outboxes.get_mut(&outbox) else { return };
        held.ended(lane_id, pace);
        self.note_pace(taken.lane, pace);
        self.enter(taken.lane);
        // Others of the outbox may have waited for this one.
        self.enter_outbox(outbox);
    }

    /// Remembers how a lane was found, for when it has nothing left and then something again.
    fn note_pace(&mut self, (outbox, lane_id): LaneKey, pace: Pace) {
        match pace {
            Pace::None => {}
            Pace::Quick => {
                if let Some(lanes) = self.slow.get_mut(&outbox) {
                    lanes.retain(|lane| *lane != lane_id);
                    if lanes.is_empty() {
                        self.slow.remove(&outbox);
                    }
                }
            }
            Pace::Slow => {
                let lanes = self.slow.entry(outbox).or_default();
                if lanes.contains(&lane_id) {
                    return;
                }
                if lanes.len() >= SLOW_LANES_MAX {
                    lanes.pop_front();
                }
                lanes.push_back(lane_id);
            }
        }
    }

    /// Since when the oldest of what is in hand is due.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.known.iter().map(|due| due.0).min()
    }

    /// Whether a queue has run empty and has more in the table.
    pub(super) fn is_hungry(&self) -> bool {
        !self.hungry.is_empty()
    }

    /// A queue that has run empty and has more in the table, and from where on.
    pub(super) fn take_hungry(&mut self) -> Option<(QueueKey, DuePlace)> {
        while let Some(key) = self.hungry.pop_front() {
            let Some(queue) = self.queue(key) else { continue };
            queue.is_hungry = false;
            if let (Some(from), true) = (queue.rest_from, queue.ready.is_empty()) {
                return Some((key, from));
            }
        }
        None
    }

    /// Takes in what was found in the table for a queue that had run empty; `rest_from` is where to look on, if there may
    /// be more.
    pub(super) fn feed(&mut self, key: QueueKey, found: Vec<DuePlace>, rest_from: Option<DuePlace>) {
        let Some(queue) = self.queue(key) else { return };
        queue.rest_from = None;
        for due in found {
            self.offer(key, due);
        }
        if let Some(queue) = self.queue(key) {
            queue.rest_from = queue.rest_from.or(rest_from);
        }
        self.enter(key.0);
    }

    fn queue(&mut self, ((outbox, lane_id), kind): QueueKey) -> Option<&mut Queue> {
        Some(self.outboxes.get_mut(&outbox)?.lanes.get_mut(&lane_id)?.queue_mut(kind))
    }

    /// Gives a lane what it is due: a turn, food, or, if there is nothing left of it, an end.
    fn enter(&mut self, key: LaneKey) {
        let (outbox, lane_id) = key;
        let Some(held) = self.outboxes.get_mut(&outbox) else { return };
        let Some(lane) = held.lanes.get_mut(&lane_id) else { return };
        if lane.is_ready() && !lane.has_turn {
            lane.has_turn = true;
            held.turns.push_back(lane_id);
        }
        for kind in [Kind::First, Kind::Retry] {
            let queue = lane.queue_mut(kind);
            if queue.ready.is_empty() && queue.rest_from.is_some() && !queue.is_hungry {
                queue.is_hungry = true;
                self.hungry.push_back((key, kind));
            }
        }
        if lane.is_over() {
            held.lanes.remove(&lane_id);
        }
        if held.lanes.is_empty() {
            if held.has_turn {
                self.turns.retain(|other| *other != outbox);
            }
            self.outboxes.remove(&outbox);
            return;
        }
        self.enter_outbox(outbox);
    }

    fn enter_outbox(&mut self, outbox: OutboxKey) {
        let Some(held) = self.outboxes.get_mut(&outbox) else { return };
        if !held.turns.is_empty() && !held.has_turn {
            held.has_turn = true;
            self.turns.push_back(outbox);
        }
    }
}

impl Held {
    /// The next delivery of the lane whose turn it is.
    fn take(&mut self, most: InFlightMax) -> Option<(Uuid, DuePlace)> {
        if self.in_flight >= most.of_outbox {
            return None;
        }
        // The last places are for lanes that have nothing in flight.
        let of_lane = if self.in_flight >= most.of_outbox - most.of_outbox / 8 { 1 } else { most.of_lane };
        for _ in 0..self.turns.len() {
            let lane_id = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&lane_id) else { continue };
            let is_crowded = lane.is_slow && self.slow_in_flight >= most.of_outbox.div_ceil(2);
            if is_crowded || lane.in_flight >= if lane.is_slow { 1 } else { of_lane } {
                self.turns.push_back(lane_id);
                continue;
            }
            lane.has_turn = false;
            let Some(due) = lane.take() else { continue };
            lane.in_flight += 1;
            self.in_flight += 1;
            self.slow_in_flight += usize::from(lane.is_slow);
            return Some((lane_id, due));
        }
        None
    }

    /// An attempt of a lane has ended.
    fn ended(&mut self, lane_id: Uuid, pace: Pace) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(lane) = self.lanes.get_mut(&lane_id) else { return };
        if lane.is_slow {
            self.slow_in_flight = self.slow_in_flight.saturating_sub(lane.in_flight);
        }
        lane.in_flight = lane.in_flight.saturating_sub(1);
        lane.is_slow = match pace {
            Pace::None => lane.is_slow,
            Pace::Quick => false,
            Pace::Slow => true,
        };
        if lane.is_slow {
            self.slow_in_flight += lane.in_flight;
        }
    }
}

/// The first place at an instant.
pub(super) fn first_at(at: Timestamp) -> DuePlace {
    (at, Uuid::nil(), 0, 0)
}

#[cfg(test)]
mod tests;
