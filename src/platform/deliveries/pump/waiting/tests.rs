//! Whose turn it is, in memory alone.

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
        waiting.offer((slow, Kind::First), due(slow, at));
    }
    waiting.offer((other, Kind::First), due(other, 10_000));
    waiting.offer((neighbour, Kind::First), due(neighbour, 10_001));
    let first: Vec<LaneKey> = (0..6).map(|_| take(&mut waiting).unwrap().lane).collect();
    assert_eq!(first.iter().filter(|lane| **lane == slow).count(), 4, "four in flight and no more");
    assert!(first.contains(&other) && first.contains(&neighbour), "{first:?}");
    assert_eq!(take(&mut waiting), None);
    assert!(waiting.known.len() <= QUEUE_HELD_MAX + 2, "memory does not grow with what waits");
}

#[test]
fn what_was_left_in_the_table_is_looked_up_when_the_lane_has_run_empty() {
    let mut waiting = Waiting::default();
    let lane = key(1, 1);
    let all: Vec<DuePlace> = (0..1_234).map(|at| due(lane, at)).collect();
    for due in &all {
        waiting.offer((lane, Kind::First), *due);
    }
    let mut seen = Vec::new();
    loop {
        while let Some(taken) = take(&mut waiting) {
            seen.push(taken.due);
            waiting.ended(taken, Pace::Quick);
        }
        let Some((hungry, from)) = waiting.take_hungry() else { break };
        assert_eq!(hungry, (lane, Kind::First));
        let mut rest = all.iter().copied().filter(|due| *due >= from);
        let found: Vec<DuePlace> = rest.by_ref().take(QUEUE_HELD_MAX).collect();
        waiting.feed(hungry, found, rest.next());
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
                    (key(tenant, lane), Kind::First),
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
        waiting.offer((key(tenant, 1), Kind::First), due(key(tenant, 1), 5));
        assert!(take(&mut waiting).is_some(), "who comes last finds a place");
    }
    for taken in of_first {
        waiting.ended(taken, Pace::Quick);
    }
    assert!(take(&mut waiting).is_some());
    let mut alone = Waiting::default();
    for lane in 1..=40 {
        for id in 0..4 {
            alone
                .offer((key(1, lane), Kind::First), (Timestamp::EPOCH, Uuid::from_u128(1), 1, (lane * 10) as u64 + id));
        }
    }
    let count = std::iter::from_fn(|| take(&mut alone)).count();
    assert_eq!(count, 56, "the last places are left to lanes that have nothing in flight");
    for lane in 41..=60 {
        alone.offer((key(1, lane), Kind::First), (Timestamp::EPOCH, Uuid::from_u128(1), 1, 1_000 + lane as u64));
    }
    let count = std::iter::from_fn(|| take(&mut alone)).count();
    assert_eq!(count + 56, MOST.of_outbox);
}

/// A silent endpoint: what is told it so many times an hour, each attempt of which takes 15 s.
struct Silent {
    waiting: Waiting,
    /// All that waits, with the attempts made.
    table: std::collections::BTreeMap<DuePlace, u32>,
    in_flight: Vec<(i64, Taken)>,
    deaths: Vec<i64>,
    /// By how much further attempts were late at most, in seconds.
    late: i64,
}

impl Silent {
    const DELAYS: [i64; 4] = [10, 60, 300, 1_800];

    fn kind(attempts: u32) -> Kind {
        if attempts > 0 { Kind::Retry } else { Kind::First }
    }

    /// Lives for so many seconds.
    fn live(per_hour: i64, seconds: i64) -> Silent {
        let (waiting, table) = (Waiting::default(), std::collections::BTreeMap::new());
        let mut silent = Silent { waiting, table, in_flight: Vec::new(), deaths: Vec::new(), late: 0 };
        let (lane, mut told) = (key(1, 1), 0);
        let place = |at: i64, id: u64| (Timestamp::from_micros(at * 1_000_000), lane.0.0, lane.0.1, id);
        for now in 0..seconds {
            while told * 3_600 <= now * per_hour {
                told += 1;
                silent.table.insert(place(now, told as u64), 0);
            }
            // What is taken in before it is known again is no more than a little.
            let new = silent.table.range(place(now, 0)..place(now + 1, 0));
            for (due, attempts) in new.map(|(due, attempts)| (*due, *attempts)).collect::<Vec<_>>() {
                silent.waiting.offer((lane, Silent::kind(attempts)), due);
            }
            silent.step(now, lane, place);
        }
        silent
    }

    fn step(&mut self, now: i64, lane: LaneKey, place: impl Fn(i64, u64) -> DuePlace) {
        let ended = std::mem::take(&mut self.in_flight);
        for (until, taken) in ended {
            if until > now {
                self.in_flight.push((until, taken));
                continue;
            }
            let attempts = self.table.remove(&taken.due).unwrap() + 1;
            match Silent::DELAYS.get(attempts as usize - 1) {
                Some(delay) => drop(self.table.insert(place(now + delay, taken.due.3), attempts)),
                None => self.deaths.push(now),
            }
            self.waiting.ended(taken, Pace::Slow);
        }
        while let Some((hungry, from)) = self.waiting.take_hungry() {
            let of_queue = self.table.range(from..place(now + 1, 0)).filter(|(_, at)| Silent::kind(**at) == hungry.1);
            let mut rest = of_queue.map(|(due, _)| *due);
            let found: Vec<DuePlace> = rest.by_ref().take(QUEUE_HELD_MAX).collect();
            let rest_from = rest.next();
            self.waiting.feed(hungry, found, rest_from);
        }
        while let Some(taken) = take(&mut self.waiting) {
            assert_eq!(taken.lane, lane);
            if self.table[&taken.due] > 0 {
                self.late = self.late.max(now - taken.due.0.as_micros() / 1_000_000);
            }
            self.in_flight.push((now + 15, taken));
        }
    }
}

/// Whatever comes in, a silent endpoint has twenty deliveries given up soon, by which it is disabled: what is tried again does
/// not wait behind what is new.
#[test]
fn a_silent_endpoint_has_its_twenty_deaths_however_much_it_is_told() {
    for per_hour in [180, 3_600, 36_000] {
        let silent = Silent::live(per_hour, 2 * 3_600);
        let twentieth = silent.deaths.get(19).copied();
        assert!(twentieth.is_some(), "{per_hour} an hour: {} in two hours", silent.deaths.len());
        assert!(silent.late <= 90, "{per_hour} an hour: tried again {} s late", silent.late);
    }
}

#[test]
fn further_attempts_go_first_and_first_ones_are_not_forgotten() {
    let (mut waiting, lane) = (Waiting::default(), key(1, 1));
    for at in 0..10_000 {
        waiting.offer((lane, Kind::First), due(lane, at));
    }
    for at in 20_000..20_100 {
        waiting.offer((lane, Kind::Retry), due(lane, at));
    }
    let mut seen = String::new();
    for _ in 0..17 {
        let taken = take(&mut waiting).unwrap();
        seen.push(if taken.due >= due(lane, 20_000) { 'r' } else { 'f' });
        waiting.ended(taken, Pace::Quick);
    }
    assert_eq!(seen, "rrrrrrrfrrrrrrrfr");
}

/// Nineteen endpoints that keep silent, each with more than it can have in flight, and one that answers at once.
#[test]
fn silent_lanes_leave_places_to_one_that_answers() {
    let (mut waiting, good) = (Waiting::default(), key(1, 100));
    for at in 0..100 {
        for lane in 1..=19 {
            waiting.offer((key(1, lane), Kind::First), due(key(1, lane), at * 100 + i64::try_from(lane).unwrap()));
        }
    }
    let silent: Vec<Taken> = std::iter::from_fn(|| take(&mut waiting)).collect();
    for at in 0..50 {
        waiting.offer((good, Kind::First), due(good, 100_000 + at));
        let taken = take(&mut waiting).unwrap();
        assert_eq!(taken.lane, good, "while nobody knows yet who is silent");
        waiting.ended(taken, Pace::Quick);
    }
    for taken in silent {
        waiting.ended(taken, Pace::Slow);
    }
    let again: Vec<Taken> = std::iter::from_fn(|| take(&mut waiting)).collect();
    assert_eq!(again.len(), 19, "one attempt at a time for each");
    waiting.ended(again[0], Pace::Quick);
    let more: Vec<LaneKey> = std::iter::from_fn(|| take(&mut waiting)).map(|taken| taken.lane).collect();
    assert_eq!(more, [again[0].lane; 4], "who answers again has as many as before");
}

/// However many are slow, half of an outbox's places are for others; and a lane is slow still when all it had was tried.
#[test]
fn slow_lanes_have_half_of_an_outbox_together() {
    let mut waiting = Waiting::default();
    let offer_all = |waiting: &mut Waiting, at: i64| {
        for lane in 1..=200 {
            waiting.offer((key(1, lane), Kind::First), due(key(1, lane), at + i64::try_from(lane).unwrap()));
        }
    };
    offer_all(&mut waiting, 0);
    loop {
        let all: Vec<Taken> = std::iter::from_fn(|| take(&mut waiting)).collect();
        if all.is_empty() {
            break;
        }
        all.into_iter().for_each(|taken| waiting.ended(taken, Pace::Slow));
    }
    assert!(waiting.is_empty(), "all of them were tried");
    offer_all(&mut waiting, 1_000);
    assert_eq!(std::iter::from_fn(|| take(&mut waiting)).count(), MOST.of_outbox / 2);
    waiting.offer((key(1, 500), Kind::First), due(key(1, 500), 5_000));
    assert_eq!(take(&mut waiting).map(|taken| taken.lane), Some(key(1, 500)));
}

/// Slow lanes of one outbox push no other's out of memory, and the last that were found so are known.
#[test]
fn slow_lanes_are_remembered_for_each_outbox() {
    let mut waiting = Waiting::default();
    let found_slow = |waiting: &mut Waiting, lane: LaneKey| {
        waiting.offer((lane, Kind::First), due(lane, 0));
        let taken = take(waiting).unwrap();
        waiting.ended(taken, Pace::Slow);
    };
    found_slow(&mut waiting, key(2, 1));
    let most = u128::try_from(SLOW_LANES_MAX).unwrap();
    for lane in 1..=most + 1 {
        found_slow(&mut waiting, key(1, lane));
    }
    assert_eq!(waiting.slow.values().map(VecDeque::len).sum::<usize>(), SLOW_LANES_MAX + 1);
    let expected = [(key(2, 1), 1), (key(1, most + 1), 1), (key(1, 2), 1), (key(1, 1), 4)];
    for (begin, (lane, in_flight)) in (100..).step_by(100).zip(expected) {
        for at in begin..begin + 10 {
            waiting.offer((lane, Kind::First), due(lane, at));
        }
        let taken: Vec<Taken> = std::iter::from_fn(|| take(&mut waiting)).collect();
        assert_eq!(taken.len(), in_flight, "{lane:?}");
    }
}
