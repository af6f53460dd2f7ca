//! The order of one cluster's places on its ranks: weighted median and transposition, the best of all passes kept.
//!
//! After section 3 of the 1993 paper; crossings are counted with an accumulator tree, as Barth, Jünger and Mutzel do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::table::{NONE, Table};
use super::lines::{Line, Lines, PORTS, Pair};
use crate::work::{Exhausted, Work};

/// The places to be ordered, and those around them that stay.
#[derive(Debug, Default)]
pub struct Level {
    /// For each rank its places from left to right.
    pub ranks: Table<Vec<u32>>,
    /// For each rank which of its places may move: from, to.
    pub movable: Table<(u32, u32)>,
    /// The rank of each place.
    pub rank_of: Table<u32>,
    /// For a place that stands for a cluster: which. The order of clusters is the same on all ranks.
    pub blocks: Table<u32>,
    /// The lines.
    pub lines: Table<Line>,
    /// Pairs on one rank: the first stands to the left of the second.
    pub before: Vec<(u32, u32)>,
}

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// Passes at most.
    pub most: u32,
    /// Passes without a better order before giving up.
    pub patience: u32,
    /// Past this mark of the work no pass begins.
    pub mark: u64,
    /// Whether a first order is made; else the one given is improved.
    pub from_scratch: bool,
}

/// What a step costs in a level of many lines, in percent of others: what it looks at lies all over the memory. Measured
/// on busy cores: 10 ns with 6,000 lines, 19 ns with 80,000.
const LINES_PER_PERCENT: u64 = 150;
const PERCENT_MOST: u64 = 200;

struct Run<'a> {
    level: &'a mut Level,
    position: Table<u32>,
    lines: Lines,
    /// Lines below each rank.
    lines_below: Table<Vec<u32>>,
    crossings: Table<i64>,
    is_stale: Table<bool>,
    /// For each place those that stand to the right of it by rule; empty for most levels.
    after: Table<Vec<u32>>,
    is_bound: Table<bool>,
    /// For a place that only a rule holds: the place it stands beside, and whether to the left of it.
    anchors: Table<(u32, bool)>,
    medians: Table<f64>,
    has_blocks: bool,
    /// Whether anything of all that may keep neighbours from changing places.
    has_stays: bool,
    tree: Table<i64>,
    ends: Vec<(u64, u64, i64)>,
    keys: Vec<u64>,
    /// What a step costs here.
    percent: u64,
}

/// Orders the level; gives the crossings that are left.
///
/// # Errors
/// When the work is spent.
pub fn order(level: &mut Level, passes: Passes, work: &mut Work) -> Result<i64, Exhausted> {
    let mut run = Run::new(level);
    work.spend((run.position.len() + run.level.lines.len()) as u64 * 4)?;
    let mut best: Option<Best> = None;
    let given = [Start { first: First::Given, turn: 0 }];
    let fresh = [
        Start { first: First::Downward, turn: 0 },
        Start { first: First::Upward, turn: 0 },
        Start { first: First::Around, turn: 0 },
        Start { first: First::Downward, turn: 1 },
        Start { first: First::Upward, turn: 1 },
    ];
    let starts: &[Start] = if passes.from_scratch { &fresh } else { &given };
    // Sifting saves more than the last of many sweeps: it has its share of the work, however many sweeps there could be.
    let left = passes.mark.saturating_sub(work.spent());
    let sweeps = Passes { mark: work.spent() + left / 100 * SWEEPS_PERCENT, ..passes };
    let mut first_effort = 0;
    for (number, start) in starts.iter().enumerate() {
        let before = work.spent();
        // The last pair of starts is for graphs that cost little.
        if number >= 3 && (work.is_past(sweeps.mark) || first_effort > EXTRA_STEPS) {
            break;
        }
        run.search(start, sweeps, &mut best, work)?;
        first_effort += work.spent() - before;
        if best.as_ref().is_some_and(|(least, _)| *least == 0) {
            break;
        }
    }
    let Some((least, ranks)) = best else { return Ok(0) };
    run.level.ranks = ranks;
    run.number_all();
    if least > 0 {
        run.sift_all(least, passes, work)?;
    }
    run.transpose(false, passes, work)?;
    run.count(work)
}

/// An order and its crossings.
type Best = (i64, Table<Vec<u32>>);

/// The share of the work, in percent, that sweeps may take.
const SWEEPS_PERCENT: u64 = 75;

/// Rounds of sifting at most, and the part of the crossings that one must save for another to follow: one in so many.
const SIFTING_ROUNDS: u32 = 8;
const SIFTED_LEAST: i64 = 300;

/// Steps of the first starts past which no others are tried.
const EXTRA_STEPS: u64 = 40_000_000;

/// Where a search begins, and with which of its passes it exchanges equals.
struct Start {
    first: First,
    turn: u32,
}

enum First {
    Given,
    Downward,
    Upward,
    Around,
}

impl Run<'_> {
    fn new(level: &mut Level) -> Run<'_> {
        let count = level.rank_of.len();
        let ranks = level.ranks.len();
        let mut lines_below: Table<Vec<u32>> = Table::filled(Vec::new(), ranks);
        for (index, line) in level.lines.iter().enumerate() {
            lines_below[level.rank_of[line.upper]].push(index as u32);
        }
        let mut after: Table<Vec<u32>> = Table::new();
        let mut is_bound = Table::filled(false, ranks);
        if !level.before.is_empty() {
            after = Table::filled(Vec::new(), count);
            for &(left, right) in &level.before {
                after[left].push(right);
                is_bound[level.rank_of[left]] = true;
            }
        }
        let lines = Lines::new(count, &level.lines);
        let anchors = anchors(level, &lines);
        let blocks = level.blocks.iter().filter(|block| **block != NONE).count();
        let has_stays = blocks > 1 || !after.is_empty() || anchors.iter().any(|anchor| anchor.0 != NONE);
        let mut run = Run {
            position: Table::filled(0, count),
            lines,
            lines_below,
            crossings: Table::filled(0, ranks),
            is_stale: Table::filled(true, ranks),
            after,
            is_bound,
            anchors,
            medians: Table::filled(-1.0, count),
            has_blocks: blocks > 1,
            has_stays,
            tree: Table::new(),
            ends: Vec::new(),
            keys: Vec::new(),
            percent: (level.lines.len() as u64 / LINES_PER_PERCENT).clamp(100, PERCENT_MOST),
            level,
        };
        run.number_all();
        run
    }

    /// Makes the first order of a start and sweeps over it until that has not helped for a while.
    fn search(
        &mut self,
        start: &Start,
        passes: Passes,
        best: &mut Option<Best>,
        work: &mut Work,
    ) -> Result<(), Exhausted> {
        match start.first {
            First::Given => {}
            First::Downward => self.first_order(true, work)?,
            First::Upward => self.first_order(false, work)?,
            First::Around => self.first_walk(work)?,
        }
        self.obey_rules(work)?;
        self.transpose(false, passes, work)?;
        let mut now = self.count(work)?;
        let mut best_here = now;
        self.keep(now, best);
        let mut since = 0;
        for pass in 0..passes.most {
            if best_here == 0 || since >= passes.patience || work.is_past(passes.mark) {
                break;
            }
            since += 1;
            self.sweep(pass, start.turn, work)?;
            self.transpose((pass + start.turn * 2) % 4 < 2, passes, work)?;
            now = self.count(work)?;
            if now < best_here {
                // A hair better is no reason to go on for long.
                if (now as f64) < 0.995 * best_here as f64 {
                    since = 0;
                }
                best_here = now;
                self.spend(work, self.position.len() as u64 / 2)?;
                self.keep(now, best);
            }
        }
        Ok(())
    }

    /// Keeps an order that has fewer crossings than all before.
    fn keep(&self, crossings: i64, best: &mut Option<Best>) {
        if best.as_ref().is_none_or(|(least, _)| crossings < *least) {
            *best = Some((crossings, self.level.ranks.clone()));
        }
    }

    /// Counts what was done, at the price of a level of this size.
    #[inline]
    fn spend(&self, work: &mut Work, steps: u64) -> Result<(), Exhausted> {
        work.spend(steps * self.percent / 100)
    }

    fn number(&mut self, rank: usize) {
        for (position, &place) in self.level.ranks[rank].iter().enumerate() {
            if self.position[place] != position as u32 {
                self.position[place] = position as u32;
                self.lines.moved(place);
            }
        }
        self.is_stale[rank] = true;
        if rank > 0 {
            self.is_stale[rank - 1] = true;
        }
    }

    fn number_all(&mut self) {
        for rank in 0..self.level.ranks.len() {
            self.number(rank);
        }
    }

    fn is_movable(&self, place: u32) -> bool {
        let (from, to) = self.level.movable[self.level.rank_of[place]];
        (from..to).contains(&self.position[place])
    }

    /// A breadth-first search from the places that nothing comes into (from the top, or the bottom): in the order of
    /// their discovery.
    fn first_order(&mut self, downward: bool, work: &mut Work) -> Result<(), Exhausted> {
        let count = self.position.len();
        let mut is_seen: Table<bool> = Table::filled(false, count);
        let mut found: Table<Vec<u32>> = Table::filled(Vec::new(), self.level.ranks.len());
        let mut queue: std::collections::VecDeque<u32> = std::collections::VecDeque::new();
        let is_movable: Table<bool> = (0..count as u32).map(|place| self.is_movable(place)).collect();
        // Those at the ends first; then whatever a cycle of rules has left.
        for ends_only in [true, false] {
            for index in 0..count as u32 {
                let place = if downward { index } else { count as u32 - 1 - index };
                let behind = if downward { self.lines.ups(place) } else { self.lines.downs(place) };
                if is_seen[place] || !is_movable[place] || ends_only && !behind.is_empty() {
                    continue;
                }
                is_seen[place] = true;
                queue.push_back(place);
                while let Some(place) = queue.pop_front() {
                    found[self.level.rank_of[place]].push(place);
                    if !self.after.is_empty() {
                        for &right in &self.after[place] {
                            if !is_seen[right] && is_movable[right] {
                                is_seen[right] = true;
                                queue.push_front(right);
                            }
                        }
                    }
                    let ahead = if downward { self.lines.downs(place) } else { self.lines.ups(place) };
                    for tie in ahead {
                        if !is_seen[tie.other] && is_movable[tie.other] {
                            is_seen[tie.other] = true;
                            queue.push_back(tie.other);
                        }
                    }
                }
            }
        }
        self.spend(work, count as u64 + self.level.lines.len() as u64)?;
        self.take_order(found, !downward);
        Ok(())
    }

    /// A depth-first walk along lines whichever way they go: what hangs together as a tree comes out as one.
    fn first_walk(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        let count = self.position.len();
        let is_movable: Table<bool> = (0..count as u32).map(|place| self.is_movable(place)).collect();
        let mut is_seen: Table<bool> = Table::filled(false, count);
        let mut found: Table<Vec<u32>> = Table::filled(Vec::new(), self.level.ranks.len());
        let mut stack: Vec<u32> = Vec::new();
        for root in 0..count as u32 {
            stack.push(root);
            while let Some(place) = stack.pop() {
                if is_seen[place] || !is_movable[place] {
                    continue;
                }
                is_seen[place] = true;
                found[self.level.rank_of[place]].push(place);
                let near = self.lines.downs(place).iter().chain(self.lines.ups(place)).rev();
                stack.extend(near.map(|tie| tie.other).filter(|other| !is_seen[*other]));
            }
        }
        self.spend(work, count as u64 + self.level.lines.len() as u64 * 2)?;
        self.take_order(found, false);
        Ok(())
    }

    /// Puts the movable places of each rank in the order found.
    fn take_order(&mut self, mut found: Table<Vec<u32>>, is_reversed: bool) {
        for rank in 0..self.level.ranks.len() {
            let from = self.level.movable[rank].0 as usize;
            let mut list = std::mem::take(&mut found[rank]);
            if is_reversed {
                list.reverse();
            }
            for (index, place) in list.into_iter().enumerate() {
                if let Some(slot) = self.level.ranks[rank].get_mut(from + index) {
                    *slot = place;
                }
            }
            self.number(rank);
        }
    }

    /// One pass over all ranks, down or up: each rank by the medians of its neighbours on the rank before.
    fn sweep(&mut self, pass: u32, turn: u32, work: &mut Work) -> Result<(), Exhausted> {
        let count = self.level.ranks.len();
        let downward = pass.is_multiple_of(2);
        let ties_turned = (pass + turn * 2) % 4 < 2;
        for step in 1..count {
            let rank = if downward { step } else { count - 1 - step };
            self.take_medians(rank, downward, work)?;
            self.reorder(rank, ties_turned);
        }
        if count == 1 {
            self.take_medians(0, downward, work)?;
        }
        self.obey_rules(work)
    }

    fn take_medians(&mut self, rank: usize, from_above: bool, work: &mut Work) -> Result<(), Exhausted> {
        let (from, to) = self.level.movable[rank];
        let mut steps = 0;
        for slot in from..to {
            let Some(&place) = self.level.ranks[rank].get(slot as usize) else { continue };
            let mut keys = std::mem::take(&mut self.keys);
            keys.clear();
            let ties = if from_above { self.lines.ups(place) } else { self.lines.downs(place) };
            keys.extend(ties.iter().map(|tie| u64::from(self.position[tie.other] * PORTS) + u64::from(tie.other_port)));
            steps += keys.len() as u64 + 2;
            self.medians[place] = weighted_median(&mut keys);
            self.keys = keys;
        }
        self.spend(work, steps * 2)
    }

    /// Sorts the movable places of a rank by their medians; those without one stay where they are.
    fn reorder(&mut self, rank: usize, ties_turned: bool) {
        let (from, to) = self.level.movable[rank];
        let list = &self.level.ranks[rank];
        let part = list.get(from as usize..to as usize).unwrap_or_default();
        let mut moving: Vec<u32> = part.iter().copied().filter(|place| self.medians[*place] >= 0.0).collect();
        if ties_turned {
            moving.reverse();
        }
        moving.sort_by(|a, b| self.medians[*a].total_cmp(&self.medians[*b]));
        let mut next = moving.into_iter();
        let medians = &self.medians;
        if let Some(part) = self.level.ranks[rank].get_mut(from as usize..to as usize) {
            for slot in part.iter_mut() {
                if medians[*slot] >= 0.0
                    && let Some(place) = next.next()
                {
                    *slot = place;
                }
            }
        }
        self.number(rank);
    }

    /// Restores what must hold: who stands to the left of whom, and the order of clusters, the same on all ranks.
    fn obey_rules(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        if self.has_blocks {
            self.align_blocks(work)?;
        }
        if !self.level.before.is_empty() {
            for rank in 0..self.level.ranks.len() {
                if self.is_bound[rank] {
                    self.gather(rank, work)?;
                    self.obey_before(rank, work)?;
                }
            }
        }
        Ok(())
    }

    /// Brings places that only a flat edge holds to the side of the place at its other end.
    fn gather(&mut self, rank: usize, work: &mut Work) -> Result<(), Exhausted> {
        let list = &self.level.ranks[rank];
        let anchored = |place: u32| self.anchors[place].0 != NONE;
        if !list.iter().any(|place| anchored(*place)) {
            return Ok(());
        }
        self.spend(work, list.len() as u64 * 4)?;
        // Those beside each, in the order they stand in now.
        let mut beside: Vec<(u32, bool, u32)> = Vec::new();
        for (position, &place) in list.iter().enumerate() {
            let (anchor, is_left) = self.anchors[place];
            if anchor != NONE {
                beside.push((anchor, is_left, position as u32));
            }
        }
        beside.sort_by_key(|(anchor, is_left, position)| (*anchor, !*is_left, *position));
        let of = |anchor: u32| {
            let from = beside.partition_point(|one| one.0 < anchor);
            let to = beside.partition_point(|one| one.0 <= anchor);
            beside.get(from..to).unwrap_or_default()
        };
        let mut ordered = Vec::with_capacity(list.len());
        // What stands to the left of a place, the place, what stands to its right; and so on for each of those.
        let mut stack: Vec<(u32, bool)> =
            list.iter().rev().filter(|place| !anchored(**place)).map(|place| (*place, false)).collect();
        while let Some((place, is_open)) = stack.pop() {
            if is_open {
                ordered.push(place);
                continue;
            }
            let near = of(place);
            let at = |position: u32| list.get(position as usize).map(|place| (*place, false));
            stack.extend(near.iter().rev().filter(|one| !one.1).filter_map(|one| at(one.2)));
            stack.push((place, true));
            stack.extend(near.iter().rev().filter(|one| one.1).filter_map(|one| at(one.2)));
        }
        if ordered.len() == list.len() {
            self.level.ranks[rank] = ordered;
            self.number(rank);
        }
        Ok(())
    }

    fn obey_before(&mut self, rank: usize, work: &mut Work) -> Result<(), Exhausted> {
        let list = self.level.ranks[rank].clone();
        self.spend(work, list.len() as u64 * 8)?;
        let mut waits: Table<u32> = Table::filled(0, list.len());
        let mut broken = false;
        for &place in &list {
            for &right in &self.after[place] {
                waits[self.position[right]] += 1;
                broken |= self.position[right] < self.position[place];
            }
        }
        if !broken {
            return Ok(());
        }
        // The leftmost that waits for nobody comes first; in a cycle, simply the leftmost.
        let mut heap: BinaryHeap<Reverse<u32>> =
            (0..list.len() as u32).filter(|position| waits[*position] == 0).map(Reverse).collect();
        let mut is_done: Table<bool> = Table::filled(false, list.len());
        let mut ordered = Vec::with_capacity(list.len());
        let mut first_left = 0;
        while ordered.len() < list.len() {
            let position = match heap.pop() {
                Some(Reverse(position)) => position,
                None => {
                    while first_left < list.len() && is_done[first_left] {
                        first_left += 1;
                    }
                    first_left as u32
                }
            };
            if is_done[position] {
                continue;
            }
            is_done[position] = true;
            let Some(&place) = list.get(position as usize) else { break };
            ordered.push(place);
            for &right in &self.after[place] {
                let at = self.position[right];
                waits[at] = waits[at].saturating_sub(1);
                if waits[at] == 0 && !is_done[at] {
                    heap.push(Reverse(at));
                }
            }
        }
        self.level.ranks[rank] = ordered;
        self.number(rank);
        Ok(())
    }

    /// From the first rank down: clusters met before keep the order they have; new ones come in beside the neighbour
    /// they have here.
    fn align_blocks(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        let mut known: Vec<u32> = Vec::new();
        let greatest = self.level.blocks.iter().copied().filter(|block| *block != NONE).max().unwrap_or(0);
        let mut order: Table<u32> = Table::filled(NONE, greatest as usize + 1);
        for rank in 0..self.level.ranks.len() {
            let (from, to) = self.level.movable[rank];
            let slots: Vec<(usize, u32)> = (from as usize..to as usize)
                .filter_map(|slot| Some((slot, *self.level.ranks[rank].get(slot)?)))
                .filter(|(_, place)| self.level.blocks[*place] != NONE)
                .collect();
            if slots.is_empty() {
                continue;
            }
            self.spend(work, (slots.len() + known.len()) as u64)?;
            let mut last = NONE;
            for (_, place) in &slots {
                let block = self.level.blocks[*place];
                if order[block] == NONE {
                    let at = if last == NONE { 0 } else { order[last] as usize + 1 };
                    known.insert(at.min(known.len()), block);
                    for (index, block) in known.iter().enumerate() {
                        order[*block] = index as u32;
                    }
                    self.spend(work, known.len() as u64)?;
                }
                if last == NONE || order[block] > order[last] {
                    last = block;
                }
            }
            let mut sorted: Vec<u32> = slots.iter().map(|(_, place)| *place).collect();
            sorted.sort_by_key(|place| order[self.level.blocks[*place]]);
            let mut changed = false;
            for ((slot, before), place) in slots.iter().zip(sorted) {
                if *before != place
                    && let Some(at) = self.level.ranks[rank].get_mut(*slot)
                {
                    *at = place;
                    changed = true;
                }
            }
            if changed {
                self.number(rank);
            }
        }
        Ok(())
    }

    /// Exchanges neighbours while that saves crossings; with `ties`, also where it costs nothing.
    fn transpose(&mut self, ties: bool, passes: Passes, work: &mut Work) -> Result<(), Exhausted> {
        let count = self.level.ranks.len();
        let mut candidates: Table<bool> = Table::filled(true, count);
        for _ in 0..64 {
            let mut gain = 0;
            for rank in 0..count {
                if !candidates[rank] || work.is_past(passes.mark) {
                    continue;
                }
                candidates[rank] = false;
                let saved = self.transpose_rank(rank, ties, work)?;
                if saved > 0 {
                    gain += saved;
                    for near in rank.saturating_sub(1)..(rank + 2).min(count) {
                        candidates[near] = true;
                    }
                }
            }
            if gain < 1 {
                break;
            }
        }
        Ok(())
    }

    fn transpose_rank(&mut self, rank: usize, ties: bool, work: &mut Work) -> Result<i64, Exhausted> {
        let (from, to) = self.level.movable[rank];
        let mut saved = 0;
        let mut steps = 0;
        let mut moved = false;
        for slot in from as usize..(to as usize).saturating_sub(1) {
            let list = &self.level.ranks[rank];
            let (Some(&left), Some(&right)) = (list.get(slot), list.get(slot + 1)) else { continue };
            steps += 1;
            let known = self.lines.pair(left, right);
            if known == Pair::Settled || known == Pair::Even && !ties {
                continue;
            }
            if self.must_stay(left, right) {
                steps += self.after.look(left as usize).map_or(0, Vec::len) as u64;
                continue;
            }
            let (mut gain, mut is_even) = (0, true);
            if known == Pair::Unknown {
                steps += 2 * self.lines.look(left, &self.position) + 2 * self.lines.look(right, &self.position);
                let (now, then, cost) = self.lines.crossings(left, right);
                steps += 2 * cost;
                (gain, is_even) = (now - then, now == then && now > 0);
            }
            if gain > 0 || ties && is_even {
                saved += gain;
                self.level.ranks[rank].swap(slot, slot + 1);
                self.position[left] = slot as u32 + 1;
                self.position[right] = slot as u32;
                self.lines.exchanged(left, right);
                self.lines.settle(right, left, is_even);
                steps += self.lines.degree(left) as u64 + self.lines.degree(right) as u64;
                moved = true;
            } else {
                self.lines.settle(left, right, is_even);
            }
        }
        if moved {
            self.is_stale[rank] = true;
            if rank > 0 {
                self.is_stale[rank - 1] = true;
            }
        }
        self.spend(work, steps / 4)?;
        Ok(saved)
    }

    /// Sifts the best order found, of so many crossings, while that saves enough of them.
    fn sift_all(&mut self, mut crossings: i64, passes: Passes, work: &mut Work) -> Result<(), Exhausted> {
        for _ in 0..SIFTING_ROUNDS {
            if work.is_past(passes.mark) {
                break;
            }
            let saved = self.sift(passes, work)?;
            crossings -= saved;
            if saved * SIFTED_LEAST <= crossings {
                break;
            }
            self.transpose(false, passes, work)?;
        }
        self.obey_rules(work)
    }

    /// Each place in turn goes where on its rank it crosses least. Gives the crossings saved.
    fn sift(&mut self, passes: Passes, work: &mut Work) -> Result<i64, Exhausted> {
        let mut saved = 0;
        for rank in 0..self.level.ranks.len() {
            let (from, to) = (self.level.movable[rank].0 as usize, self.level.movable[rank].1 as usize);
            self.look_beside(rank, work)?;
            let mut places: Vec<u32> = self.level.ranks[rank].get(from..to).unwrap_or_default().to_vec();
            places.retain(|place| self.lines.degree(*place) > 0);
            for place in places {
                if work.is_past(passes.mark) {
                    return Ok(saved);
                }
                saved += self.sift_one(rank, place, from, to, work)?;
            }
        }
        Ok(saved)
    }

    fn sift_one(&mut self, rank: usize, place: u32, from: usize, to: usize, work: &mut Work) -> Result<i64, Exhausted> {
        let at = self.position[place] as usize;
        let mut best = (0, at);
        let mut steps = 0;
        for to_right in [true, false] {
            let mut change = 0;
            let mut slot = at;
            loop {
                let next = if to_right { slot + 1 } else { slot.wrapping_sub(1) };
                if next < from || next >= to {
                    break;
                }
                let Some(&other) = self.level.ranks[rank].get(next) else { break };
                let (left, right) = if to_right { (place, other) } else { (other, place) };
                if self.must_stay(left, right) {
                    break;
                }
                let (now, then, cost) = self.lines.crossings(left, right);
                steps += cost;
                change += then - now;
                slot = next;
                if change < best.0 {
                    best = (change, slot);
                }
            }
        }
        self.spend(work, steps / 2)?;
        if best.1 == at {
            return Ok(0);
        }
        if let Some(list) = self.level.ranks.look_mut(rank) {
            let moved = list.remove(at);
            list.insert(best.1, moved);
        }
        self.spend(work, self.level.ranks[rank].len() as u64 / 2)?;
        self.number(rank);
        Ok(-best.0)
    }

    fn must_stay(&self, left: u32, right: u32) -> bool {
        if !self.has_stays {
            return false;
        }
        if self.anchors[left].0 != NONE || self.anchors[right].0 != NONE {
            return true;
        }
        if !self.after.is_empty() && self.after[left].contains(&right) {
            return true;
        }
        self.level.blocks[left] != NONE && self.level.blocks[right] != NONE
    }

    /// Looks up where the lines of a rank's places end.
    fn look_beside(&mut self, rank: usize, work: &mut Work) -> Result<(), Exhausted> {
        let mut steps = 0;
        for &place in &self.level.ranks[rank] {
            steps += self.lines.look(place, &self.position);
        }
        self.spend(work, steps / 2)
    }

    /// All crossings, those of changed ranks counted anew.
    fn count(&mut self, work: &mut Work) -> Result<i64, Exhausted> {
        let mut total = 0;
        for rank in 0..self.level.ranks.len() {
            if self.is_stale[rank] {
                self.crossings[rank] = self.count_below(rank, work)?;
                self.is_stale[rank] = false;
            }
            total += self.crossings[rank];
        }
        Ok(total)
    }

    fn count_below(&mut self, rank: usize, work: &mut Work) -> Result<i64, Exhausted> {
        let lines = &self.lines_below[rank];
        if lines.len() < 2 {
            return Ok(0);
        }
        self.ends.clear();
        for &line in lines {
            let line = self.level.lines[line];
            let upper = u64::from(self.position[line.upper] * PORTS) + u64::from(line.upper_port);
            let lower = u64::from(self.position[line.lower] * PORTS) + u64::from(line.lower_port);
            self.ends.push((upper, lower, i64::from(line.count)));
        }
        self.ends.sort_unstable();
        // Dense numbers for the lower ends.
        self.keys.clear();
        self.keys.extend(self.ends.iter().map(|end| end.1));
        self.keys.sort_unstable();
        self.keys.dedup();
        let size = self.keys.len();
        self.tree.clear();
        self.tree.resize(size + 1, 0);
        let mut total = 0;
        let mut sum = 0;
        let mut pending: Vec<(usize, i64)> = Vec::new();
        let mut last = u64::MAX;
        for &(upper, lower, count) in &self.ends {
            // Lines from one port do not cross each other.
            if upper != last {
                for (at, count) in pending.drain(..) {
                    let mut node = at;
                    while node <= size {
                        self.tree[node] += count;
                        node += node & node.wrapping_neg();
                    }
                    sum += count;
                }
                last = upper;
            }
            let at = self.keys.partition_point(|key| *key < lower) + 1;
            let mut through = 0;
            let mut node = at;
            while node > 0 {
                through += self.tree[node];
                node &= node - 1;
            }
            total += (sum - through) * count;
            pending.push((at, count));
        }
        self.spend(work, self.ends.len() as u64 * 6)?;
        Ok(total)
    }
}

/// Places without lines that a rule ties to one with lines, or to one that is tied so itself.
fn anchors(level: &Level, lines: &Lines) -> Table<(u32, bool)> {
    let count = level.rank_of.len();
    let mut anchors = Table::filled((NONE, false), count);
    let mut is_held: Table<bool> = (0..count as u32).map(|place| lines.degree(place) > 0).collect();
    // Some rounds reach along chains of flat edges; longer chains stay as the search found them.
    for _ in 0..8 {
        let mut changed = false;
        let mut newly = Vec::new();
        for &(left, right) in &level.before {
            if is_held[right] && !is_held[left] && anchors[left].0 == NONE {
                anchors[left] = (right, true);
                newly.push(left);
            } else if is_held[left] && !is_held[right] && anchors[right].0 == NONE {
                anchors[right] = (left, false);
                newly.push(right);
            }
        }
        for place in newly {
            is_held[place] = true;
            changed = true;
        }
        if !changed {
            break;
        }
    }
    anchors
}

/// The paper's: between two middle neighbours the one nearer to the closer side counts more. -1 for none.
fn weighted_median(keys: &mut [u64]) -> f64 {
    keys.sort_unstable();
    let at = |index: usize| keys.get(index).copied().unwrap_or(0) as f64;
    let count = keys.len();
    let middle = count / 2;
    match count {
        0 => -1.0,
        1 => at(0),
        2 => (at(0) + at(1)) / 2.0,
        _ if count % 2 == 1 => at(middle),
        _ => {
            let left = at(middle - 1) - at(0);
            let right = at(count - 1) - at(middle);
            if left + right == 0.0 {
                f64::midpoint(at(middle - 1), at(middle))
            } else {
                (at(middle - 1) * right + at(middle) * left) / (left + right)
            }
        }
    }
}
