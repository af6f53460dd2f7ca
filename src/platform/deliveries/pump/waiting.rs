//! What the pump has in hand: deliveries whose time has come, by outbox and lane, and whose turn it is.
//!
//! Outboxes take turns, and so do the lanes of one. A lane holds so many and no more: what comes behind that stays in the
//! table, and is looked up there when the lane has run empty. So memory does not grow with what waits, and what waits for
//! a receiver that is slow is in nobody's way.

use std::collections::{HashMap, HashSet, VecDeque};

use quintet_storage::Timestamp;
use uuid::Uuid;

use super::super::tables::{DuePlace, OutboxKey};

/// Deliveries of a lane that are held.
pub(super) const LANE_HELD_MAX: usize = 500;
/// Attempts in flight, of all.
pub(super) const IN_FLIGHT_MAX: usize = 256;
/// The last of these are for outboxes that have few in flight: so many with receivers that keep silent leave them alone.
const IN_FLIGHT_KEPT: usize = 64;
const FEW_IN_FLIGHT: usize = 8;

/// A lane: whose, and which.
pub(super) type LaneKey = (OutboxKey, Uuid);

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
    /// Lanes that have run empty and have more in the table.
    hungry: VecDeque<LaneKey>,
    in_flight_of: HashSet<DuePlace>,
    /// What cannot be seen to until the next start.
    left_alone: HashSet<DuePlace>,
}

#[derive(Default)]
struct Held {
    lanes: HashMap<Uuid, Lane>,
    turns: VecDeque<Uuid>,
    in_flight: usize,
    has_turn: bool,
}

#[derive(Default)]
struct Lane {
    ready: VecDeque<DuePlace>,
    in_flight: usize,
    has_turn: bool,
    /// From this place on its deliveries are in the table alone.
    rest_from: Option<DuePlace>,
    is_hungry: bool,
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

    /// Whether a delivery of this lane at this place is known to be in the table, and left there for the time being.
    pub(super) fn leaves(&self, (outbox, lane): LaneKey, due: &DuePlace) -> bool {
        let lane = self.outboxes.get(&outbox).and_then(|held| held.lanes.get(&lane));
        lane.and_then(|lane| lane.rest_from).is_some_and(|from| from <= *due)
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
    pub(super) fn offer(&mut self, key: LaneKey, due: DuePlace) -> bool {
        if self.knows(&due) || self.leaves(key, &due) {
            return false;
        }
        let (outbox, lane_id) = key;
        let held = self.outboxes.entry(outbox).or_default();
        let lane = held.lanes.entry(lane_id).or_default();
        if lane.ready.len() >= LANE_HELD_MAX {
            lane.rest_from = Some(due);
        } else {
            lane.ready.push_back(due);
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
    pub(super) fn ended(&mut self, taken: Taken) {
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
        held.in_flight = held.in_flight.saturating_sub(1);
        if let Some(lane) = held.lanes.get_mut(&lane_id) {
            lane.in_flight = lane.in_flight.saturating_sub(1);
        }
        self.enter(taken.lane);
        // Others of the outbox may have waited for this one.
        self.enter_outbox(outbox);
    }

    /// Since when the oldest of what is in hand is due.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.known.iter().map(|due| due.0).min()
    }

    /// Whether a lane has run empty and has more in the table.
    pub(super) fn is_hungry(&self) -> bool {
        !self.hungry.is_empty()
    }

    /// A lane that has run empty and has more in the table, and from where on.
    pub(super) fn take_hungry(&mut self) -> Option<(LaneKey, DuePlace)> {
        while let Some(key) = self.hungry.pop_front() {
            let Some(lane) = self.lane(key) else { continue };
            lane.is_hungry = false;
            if let (Some(from), true) = (lane.rest_from, lane.ready.is_empty()) {
                return Some((key, from));
            }
        }
        None
    }

    /// Takes in what was found in the table for a lane that had run empty; `rest_from` is where to look on, if there may
    /// be more.
    pub(super) fn feed(&mut self, key: LaneKey, found: Vec<DuePlace>, rest_from: Option<DuePlace>) {
        let Some(lane) = self.lane(key) else { return };
        lane.rest_from = None;
        for due in found {
            self.offer(key, due);
        }
        if let Some(lane) = self.lane(key) {
            lane.rest_from = lane.rest_from.or(rest_from);
        }
        self.enter(key);
    }

    fn lane(&mut self, (outbox, lane_id): LaneKey) -> Option<&mut Lane> {
        self.outboxes.get_mut(&outbox)?.lanes.get_mut(&lane_id)
    }

    /// Gives a lane what it is due: a turn, food, or, if there is nothing left of it, an end.
    fn enter(&mut self, key: LaneKey) {
        let (outbox, lane_id) = key;
        let Some(held) = self.outboxes.get_mut(&outbox) else { return };
        let Some(lane) = held.lanes.get_mut(&lane_id) else { return };
        if !lane.ready.is_empty() && !lane.has_turn {
            lane.has_turn = true;
            held.turns.push_back(lane_id);
        }
        if lane.ready.is_empty() && lane.rest_from.is_some() && !lane.is_hungry {
            lane.is_hungry = true;
            self.hungry.push_back(key);
        }
        if lane.ready.is_empty() && lane.rest_from.is_none() && lane.in_flight == 0 {
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
        for _ in 0..self.turns.len() {
            let lane_id = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&lane_id) else { continue };
            if lane.in_flight >= most.of_lane {
                self.turns.push_back(lane_id);
                continue;
            }
            lane.has_turn = false;
            let Some(due) = lane.ready.pop_front() else { continue };
            lane.in_flight += 1;
            self.in_flight += 1;
            return Some((lane_id, due));
        }
        None
    }
}

/// The first place at an instant.
pub(super) fn first_at(at: Timestamp) -> DuePlace {
    (at, Uuid::nil(), 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: InFlightMax = InFlightMax { of_lane: 4, of_outbox: 64 };

    fn key(tenant: u128, lane: u128) -> LaneKey {
        ((Uuid::from_u128(tenant), 1), Uuid::from_u128(lane))
    }

    fn due(key: LaneKey, at: i64) -> DuePlace {
        (Timestamp::from_micros(at), key.0.0, key.0.1, u64::try_from(at).unwrap())
    }

    fn take(waiting: &mut Waiting) -> Option<Taken> {
        waiting.take(|_| MOST)
    }

    #[test]
    fn a_slow_lane_and_a_long_queue_are_in_nobodys_way() {
        let mut waiting = Waiting::default();
        let (slow, other, neighbour) = (key(1, 1), key(1, 2), key(2, 1));
        for at in 0..10_000 {
            waiting.offer(slow, due(slow, at));
        }
        waiting.offer(other, due(other, 10_000));
        waiting.offer(neighbour, due(neighbour, 10_001));
        let first: Vec<LaneKey> = (0..6).map(|_| take(&mut waiting).unwrap().lane).collect();
        assert_eq!(first.iter().filter(|lane| **lane == slow).count(), 4, "four in flight and no more");
        assert!(first.contains(&other) && first.contains(&neighbour), "{first:?}");
        assert_eq!(take(&mut waiting), None);
        assert!(waiting.known.len() <= LANE_HELD_MAX + 2, "memory does not grow with what waits");
    }

    #[test]
    fn what_was_left_in_the_table_is_looked_up_when_the_lane_has_run_empty() {
        let mut waiting = Waiting::default();
        let lane = key(1, 1);
        let all: Vec<DuePlace> = (0..1_234).map(|at| due(lane, at)).collect();
        for due in &all {
            waiting.offer(lane, *due);
        }
        let mut seen = Vec::new();
        loop {
            while let Some(taken) = take(&mut waiting) {
                seen.push(taken.due);
                waiting.ended(taken);
            }
            let Some((hungry, from)) = waiting.take_hungry() else { break };
            assert_eq!(hungry, lane);
            let mut rest = all.iter().copied().filter(|due| *due >= from);
            let found: Vec<DuePlace> = rest.by_ref().take(LANE_HELD_MAX).collect();
            waiting.feed(lane, found, rest.next());
        }
        assert_eq!(seen, all, "each once, in order");
        assert!(waiting.is_empty() && waiting.known.is_empty() && waiting.turns.is_empty());
        assert_eq!(waiting.in_flight(), 0);
    }

    #[test]
    fn there_are_bounds_for_an_outbox_and_for_all() {
        let mut waiting = Waiting::default();
        for tenant in 1..=9 {
            for lane in 1..=40 {
                for at in 0..4 {
                    waiting.offer(
                        key(tenant, lane),
                        (Timestamp::EPOCH, Uuid::from_u128(tenant), 1, (lane * 10) as u64 + at),
                    );
                }
            }
        }
        let mut of_first = Vec::new();
        while let Some(taken) = take(&mut waiting) {
            if taken.lane.0.0 == Uuid::from_u128(1) {
                of_first.push(taken);
            }
        }
        assert_eq!(waiting.in_flight(), IN_FLIGHT_MAX - IN_FLIGHT_KEPT);
        assert!((21..=22).contains(&of_first.len()), "all take turns: {}", of_first.len());
        for tenant in 100..110 {
            waiting.offer(key(tenant, 1), due(key(tenant, 1), 5));
            assert!(take(&mut waiting).is_some(), "who comes last finds a place");
        }
        for taken in of_first {
            waiting.ended(taken);
        }
        assert!(take(&mut waiting).is_some());
        let mut alone = Waiting::default();
        for lane in 1..=40 {
            for id in 0..4 {
                alone.offer(key(1, lane), (Timestamp::EPOCH, Uuid::from_u128(1), 1, (lane * 10) as u64 + id));
            }
        }
        let count = std::iter::from_fn(|| take(&mut alone)).count();
        assert_eq!(count, MOST.of_outbox);
    }
}
