//! Whose runs get the workers that are free.
//!
//! Of the tenants that have runs to start, the one that holds the fewest workers is next; of several that hold as many,
//! the one whose turn is longest ago. Within a tenant the order of eligible start decides. Where several tenants share
//! the machine, the last worker is for one that holds none, so that nobody who comes finds all of them with one tenant.

use std::collections::{BTreeSet, HashMap};

use quintet_storage::Timestamp;

use super::model::{Class, Share};
use crate::model::{RunId, RunKey, TenantId};

/// A run that wants a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wish {
    /// Those that have their slot already come first.
    pub(super) slot: Slot,
    /// Since when it may start.
    pub(super) eligible_start: Timestamp,
    pub(super) run_id: RunId,
}

/// Where a run that wants a worker stands in its tenant's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    /// It counts already: it has been pulling, and its image is here.
    Held,
    /// It is one more, of this class.
    Wanted(Class),
}

/// A tenant that has runs to start.
#[derive(Clone, Debug)]
pub(super) struct Wants {
    pub(super) tenant_id: TenantId,
    /// How many workers it holds.
    pub(super) held: u64,
    /// How many more slots it can have.
    pub(super) share: Share,
    pub(super) wishes: Vec<Wish>,
}

/// Whose turn was when, in the order of turns. It is not kept over a restart: then nobody has had one. A tenant costs a
/// few bytes, and tenants are made by the operator.
#[derive(Debug, Default)]
pub(super) struct Turns {
    latest: HashMap<TenantId, u64>,
    count: u64,
}

impl Turns {
    fn take(&mut self, tenant_id: TenantId) -> u64 {
        self.count += 1;
        self.latest.insert(tenant_id, self.count);
        self.count
    }

    /// The number of its latest turn; 0: it has had none.
    fn latest(&self, tenant_id: TenantId) -> u64 {
        self.latest.get(&tenant_id).copied().unwrap_or(0)
    }
}

/// The runs that get a worker, in order: at most `most` of them, out of `free` workers. `keeps_last`: the last free
/// worker is for a tenant that holds none.
pub(super) fn divide(
    mut all: Vec<Wants>,
    free: usize,
    most: usize,
    keeps_last: bool,
    turns: &mut Turns,
) -> Vec<RunKey> {
    // The next one at the end of each; and of tenants that are equal in everything else, the one that waits longest.
    for wants in &mut all {
        wants.wishes.sort_unstable_by(|one, other| other.cmp(one));
    }
    all.sort_by_key(|wants| (wants.wishes.last().map(|wish| (wish.eligible_start, wish.run_id)), wants.tenant_id));
    let mut next: BTreeSet<(u64, u64, usize)> = BTreeSet::new();
    for (place, wants) in all.iter().enumerate() {
        next.insert((wants.held, turns.latest(wants.tenant_id), place));
    }
    let mut chosen = Vec::new();
    while chosen.len() < free.min(most) {
        let Some((held, _, place)) = next.pop_first() else { break };
        if keeps_last && held > 0 && chosen.len() + 1 == free {
            // All others hold as many, or more.
            break;
        }
        let Some(wants) = all.get_mut(place) else { break };
        // A share only ever shrinks on the way: what finds no room now finds none later.
        while let Some(wish) = wants.wishes.pop() {
            if let Slot::Wanted(class) = wish.slot {
                if !wants.share.takes(class) {
                    continue;
                }
                wants.share.take(class);
            }
            chosen.push((wants.tenant_id, wish.run_id));
            next.insert((held + 1, turns.take(wants.tenant_id), place));
            break;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;
    use crate::containers::model::Load;
    use crate::testing::tenant;

    /// A tenant with so many workers and these eligible starts, whose runs are numbered with it.
    fn wants(number: u128, held: u64, most: u64, starts: &[i64]) -> Wants {
        let wish = |(place, start): (usize, &i64)| Wish {
            slot: Slot::Wanted(Class::Ordinary),
            eligible_start: Timestamp::from_micros(*start),
            run_id: RunId(Uuid::from_u128(number * 100 + place as u128)),
        };
        let load = Load { waiting: starts.len() as u64, busy: held, ..Load::default() };
        let wishes = starts.iter().enumerate().map(wish).collect();
        Wants { tenant_id: tenant(number), held, share: Share { most, load }, wishes }
    }

    fn numbers(chosen: &[RunKey]) -> Vec<u128> {
        chosen.iter().map(|(_, run_id)| run_id.0.as_u128()).collect()
    }

    #[test]
    fn the_tenant_with_the_fewest_workers_is_next() {
        type Case = (&'static str, Vec<Wants>, usize, bool, &'static [u128]);
        let many = [0; 9];
        let table: [Case; 12] = [
            ("nobody wants any", vec![], 9, true, &[]),
            ("there are none", vec![wants(1, 0, 9, &[0])], 0, true, &[]),
            (
                "of one tenant by eligible start, then by number",
                vec![wants(1, 0, 9, &[5, 3, 5, 4])],
                3,
                false,
                &[101, 103, 100],
            ),
            (
                "who came first has no more than others",
                vec![wants(1, 0, 9, &many), wants(2, 0, 9, &[7, 7])],
                4,
                false,
                &[100, 200, 101, 201],
            ),
            (
                "who holds more waits",
                vec![wants(1, 3, 9, &many), wants(2, 1, 9, &[7; 9])],
                4,
                false,
                &[200, 201, 100, 202],
            ),
            ("nobody has more than its quota", vec![wants(1, 1, 2, &many), wants(2, 2, 2, &many)], 9, false, &[100]),
            (
                "of equals the one that waits longest",
                vec![wants(1, 0, 9, &[8]), wants(2, 0, 9, &[7])],
                1,
                false,
                &[200],
            ),
            ("the last is for one that holds none", vec![wants(1, 0, 9, &many)], 3, true, &[100, 101]),
            ("it is given to one", vec![wants(1, 2, 9, &many), wants(2, 0, 9, &[7; 9])], 1, true, &[200]),
            ("also after others", vec![wants(1, 0, 9, &many), wants(2, 0, 9, &[7; 9])], 3, true, &[100, 200]),
            ("the only worker is for anybody", vec![wants(1, 0, 9, &many)], 1, true, &[100]),
            ("a slice does not reach the last", vec![wants(1, 0, 9, &many)], 64, true, &[100, 101, 102, 103, 104]),
        ];
        for (what, all, free, keeps_last, expected) in table {
            assert_eq!(numbers(&divide(all, free, 5, keeps_last, &mut Turns::default())), expected, "{what}");
        }
    }

    #[test]
    fn of_tenants_that_hold_as_many_the_one_whose_turn_is_longest_ago_is_next() {
        // Each run has ended when the next worker comes free: nobody holds any.
        let mut turns = Turns::default();
        let mut given = Vec::new();
        for _ in 0..6 {
            let all = vec![wants(1, 0, 9, &[0; 9]), wants(2, 0, 9, &[7; 9]), wants(3, 0, 9, &[9; 9])];
            given.extend(numbers(&divide(all, 1, 64, true, &mut turns)));
        }
        assert_eq!(given, [100, 200, 300, 100, 200, 300]);
        // Who comes for the first time is first.
        let all = vec![wants(1, 0, 9, &[0]), wants(4, 0, 9, &[9])];
        assert_eq!(numbers(&divide(all, 1, 64, true, &mut turns)), [400]);
    }

    #[test]
    fn a_run_that_has_its_slot_comes_first_and_is_not_counted_twice() {
        let mut full = wants(1, 0, 2, &[0, 0]);
        full.share.load.busy = 2;
        full.wishes.push(Wish {
            slot: Slot::Held,
            eligible_start: Timestamp::from_micros(99),
            run_id: RunId(Uuid::from_u128(7)),
        });
        assert_eq!(numbers(&divide(vec![full.clone()], 9, 64, false, &mut Turns::default())), [7]);
        assert_eq!(numbers(&divide(vec![full], 1, 64, true, &mut Turns::default())), [7]);
    }

    #[test]
    fn whatever_is_wanted_is_divided_by_the_rule() {
        let mut random = fastrand::Rng::with_seed(31);
        let mut turns = Turns::default();
        for _ in 0..3_000 {
            let all: Vec<Wants> = (1..=random.u128(0..6))
                .map(|number| {
                    let starts: Vec<i64> = (0..random.usize(0..8)).map(|_| random.i64(0..9)).collect();
                    wants(number, random.u64(0..4), random.u64(0..6), &starts)
                })
                .collect();
            let (free, most, keeps_last) = (random.usize(0..12), random.usize(0..12), random.bool());
            let chosen = divide(all.clone(), free, most, keeps_last, &mut turns);
            let given = |wants: &Wants| chosen.iter().filter(|run_key| run_key.0 == wants.tenant_id).count();
            let room = |wants: &Wants| usize::try_from(wants.share.most.saturating_sub(wants.held)).unwrap();
            assert!(chosen.len() <= free.min(most));
            let distinct: BTreeSet<RunKey> = chosen.iter().copied().collect();
            assert_eq!(distinct.len(), chosen.len(), "nobody twice");
            for one in &all {
                assert!(given(one) <= room(one), "more than the quota");
                let mut in_order = one.wishes.clone();
                in_order.sort_unstable();
                let mine: Vec<RunId> = chosen.iter().filter(|key| key.0 == one.tenant_id).map(|key| key.1).collect();
                let expected: Vec<RunId> = in_order.iter().take(mine.len()).map(|wish| wish.run_id).collect();
                assert_eq!(mine, expected, "the order of eligible start");
                // Whoever got one holds no more than anybody else who could have had it.
                for other in all.iter().filter(|other| given(other) < room(other).min(other.wishes.len())) {
                    let has = |wants: &Wants| wants.held + given(wants) as u64;
                    assert!(given(one) == 0 || has(one) <= has(other) + 1, "{one:?} before {other:?}: {chosen:?}");
                }
            }
            let wanted: usize = all.iter().map(|wants| room(wants).min(wants.wishes.len())).sum();
            let whole = wanted.min(free).min(most);
            let is_kept = keeps_last && chosen.len() + 1 == free;
            assert!(chosen.len() == whole || (is_kept && chosen.len() + 1 == whole), "a worker is left for nothing");
            if keeps_last && free > 0 && chosen.len() == free {
                let last = all.iter().find(|wants| wants.tenant_id == chosen[free - 1].0).unwrap();
                assert_eq!((last.held, given(last)), (0, 1), "the last one is kept");
            }
        }
    }
}
