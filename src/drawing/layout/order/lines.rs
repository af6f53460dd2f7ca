//! The lines of a level as its places have them, and how those of two neighbours cross.
//!
//! Exchanging neighbours looks at the same pairs again and again, and few of them have changed in the meantime: what was
//! found out about a pair is kept until something moves that lines of both lead to.

use super::super::table::{NONE, Table};

/// What an end of a line counts for among lines at the same place: the finest port.
pub const PORTS: u32 = 256;

/// Comparisons up to which the lines of two places are compared each with each.
const FEW: usize = 24;

/// A line between neighbouring ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// On the upper rank.
    pub upper: u32,
    /// On the lower rank.
    pub lower: u32,
    /// How many edges it stands for.
    pub count: u32,
    /// Where it meets the upper place, 0..[`PORTS`].
    pub upper_port: u32,
    /// Where it meets the lower place, 0..[`PORTS`].
    pub lower_port: u32,
}

/// A line as one of its ends has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tie {
    /// The other end.
    pub other: u32,
    /// How many edges it stands for.
    pub count: u32,
    /// Where it meets the other end.
    pub other_port: u32,
}

/// The lines on one side of all places, place after place.
#[derive(Debug, Default)]
struct Side {
    /// Where those of a place begin; those of the next place follow.
    starts: Table<u32>,
    ties: Table<Tie>,
    /// As `ties`, sorted by where they end, with how many edges each is.
    ends: Table<(u32, u32)>,
}

impl Side {
    fn new(places: usize, ties: impl Iterator<Item = (u32, Tie)> + Clone) -> Side {
        let mut starts: Table<u32> = Table::filled(0, places + 2);
        let mut count = 0;
        for (place, _) in ties.clone() {
            starts[place as usize + 2] += 1;
            count += 1;
        }
        for place in 2..places + 2 {
            let before = starts[place - 1];
            starts[place] += before;
        }
        let mut sorted = Table::filled(Tie::default(), count);
        for (place, tie) in ties {
            let at = &mut starts[place as usize + 1];
            sorted[*at] = tie;
            *at += 1;
        }
        Side { starts, ties: sorted, ends: Table::filled((0, 0), count) }
    }

    #[inline]
    fn range(&self, place: u32) -> std::ops::Range<usize> {
        self.starts[place] as usize..self.starts[place as usize + 1] as usize
    }

    #[inline]
    fn ties(&self, place: u32) -> &[Tie] {
        self.ties.part(self.range(place))
    }

    #[inline]
    fn ends(&self, place: u32) -> &[(u32, u32)] {
        self.ends.part(self.range(place))
    }

    fn look(&mut self, place: u32, positions: &Table<u32>) {
        let range = self.range(place);
        let own = self.ends.part_mut(range.clone());
        for (end, tie) in own.iter_mut().zip(self.ties.part(range)) {
            *end = (positions[tie.other] * PORTS + tie.other_port, tie.count);
        }
        if own.len() > 1 {
            own.sort_unstable();
        }
    }
}

/// What was found out about a place and its neighbour to the right: exchanging them saves nothing.
#[derive(Clone, Copy, Debug)]
struct Known {
    right: u32,
    /// When it was: see [`Lines::stamps`].
    stamps: (u32, u32),
    /// It costs nothing either, and there are crossings.
    is_even: bool,
}

impl Default for Known {
    fn default() -> Known {
        Known { right: NONE, stamps: (0, 0), is_even: false }
    }
}

/// How two neighbours stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Nothing is known.
    Unknown,
    /// Exchanging them would cost crossings, or there are none.
    Settled,
    /// Exchanging them would make other crossings, as many.
    Even,
}

/// All lines.
#[derive(Debug, Default)]
pub struct Lines {
    up: Side,
    down: Side,
    /// Whether the ends of a place's lines are as they were looked up.
    is_looked: Table<bool>,
    /// Counted up for a place when places at the other ends of its lines have changed their order.
    stamps: Table<u32>,
    known: Table<Known>,
}

impl Lines {
    /// The lines of `places` places.
    pub fn new(places: usize, lines: &Table<Line>) -> Lines {
        let tie = |other, count, other_port| Tie { other, count, other_port };
        let up = lines.iter().map(|line| (line.lower, tie(line.upper, line.count, line.upper_port)));
        let down = lines.iter().map(|line| (line.upper, tie(line.lower, line.count, line.lower_port)));
        Lines {
            up: Side::new(places, up),
            down: Side::new(places, down),
            is_looked: Table::filled(false, places),
            stamps: Table::filled(0, places),
            known: Table::filled(Known::default(), places),
        }
    }

    /// Those that go up from a place.
    #[inline]
    pub fn ups(&self, place: u32) -> &[Tie] {
        self.up.ties(place)
    }

    /// Those that go down.
    #[inline]
    pub fn downs(&self, place: u32) -> &[Tie] {
        self.down.ties(place)
    }

    /// How many lines a place has.
    #[inline]
    pub fn degree(&self, place: u32) -> usize {
        self.up.range(place).len() + self.down.range(place).len()
    }

    /// Notes that a place stands elsewhere than before, whatever it went past.
    pub fn moved(&mut self, place: u32) {
        self.touch(place, true);
    }

    /// Notes that two neighbours have changed places. Only pairs with lines to both of them cross otherwise now, so that
    /// it is enough to forget what is known of those with lines to one.
    pub fn exchanged(&mut self, one: u32, other: u32) {
        let is_fewer = self.degree(one) < self.degree(other);
        self.touch(one, is_fewer);
        self.touch(other, !is_fewer);
    }

    fn touch(&mut self, place: u32, forget: bool) {
        for side in [&self.up, &self.down] {
            for tie in side.ties(place) {
                self.is_looked[tie.other] = false;
                if forget {
                    let stamp = &mut self.stamps[tie.other];
                    *stamp = stamp.wrapping_add(1);
                }
            }
        }
    }

    /// What is known of two neighbours.
    #[inline]
    pub fn pair(&self, left: u32, right: u32) -> Pair {
        let known = &self.known[left];
        if known.right != right || known.stamps != (self.stamps[left], self.stamps[right]) {
            return Pair::Unknown;
        }
        if known.is_even { Pair::Even } else { Pair::Settled }
    }

    /// Keeps what was found out about two neighbours.
    #[inline]
    pub fn settle(&mut self, left: u32, right: u32, is_even: bool) {
        self.known[left] = Known { right, stamps: (self.stamps[left], self.stamps[right]), is_even };
    }

    /// Looks up where the lines of a place end, if something there has moved. Gives the steps it took.
    pub fn look(&mut self, place: u32, positions: &Table<u32>) -> u64 {
        if std::mem::replace(&mut self.is_looked[place], true) {
            return 0;
        }
        self.up.look(place, positions);
        self.down.look(place, positions);
        2 * self.degree(place) as u64 + 2
    }

    /// Crossings among the lines of two places of a rank, as they stand and exchanged, and the steps it took to count
    /// them. Both must have been looked up.
    pub fn crossings(&self, left: u32, right: u32) -> (i64, i64, u64) {
        let (mut now, mut then, mut steps) = (0, 0, 1);
        for side in [&self.up, &self.down] {
            let (left, right) = (side.ends(left), side.ends(right));
            if left.is_empty() || right.is_empty() {
                continue;
            }
            steps += (left.len() + right.len()) as u64 / 2;
            // Few with few are compared each with each: no branch depends on how they lie.
            if left.len() * right.len() <= FEW {
                for (key, count) in left {
                    let (mut before, mut behind) = (0, 0);
                    for (other, more) in right {
                        before += u32::from(other < key) * more;
                        behind += u32::from(other > key) * more;
                    }
                    now += i64::from(*count) * i64::from(before);
                    then += i64::from(*count) * i64::from(behind);
                }
                continue;
            }
            let all: u32 = right.iter().map(|end| end.1).sum();
            // Of the right one's lines, those that end before the left one's, and those that do not end behind it.
            let (mut before, mut until) = (right.iter().peekable(), right.iter().peekable());
            let (mut less, mut not_more) = (0, 0);
            for (key, count) in left {
                while let Some((_, more)) = before.next_if(|end| end.0 < *key) {
                    less += more;
                }
                while let Some((_, more)) = until.next_if(|end| end.0 <= *key) {
                    not_more += more;
                }
                now += i64::from(*count) * i64::from(less);
                then += i64::from(*count) * i64::from(all - not_more);
            }
        }
        (now, then, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks of `WIDTH` places: the upper ones come first.
    const WIDTH: u32 = 12;

    #[test]
    fn what_is_known_of_a_pair_is_what_counting_again_would_find() {
        let mut random = fastrand::Rng::with_seed(7);
        let line = |random: &mut fastrand::Rng| Line {
            upper: random.u32(..WIDTH),
            lower: WIDTH + random.u32(..WIDTH),
            count: random.u32(1..3),
            upper_port: random.u32(..2),
            lower_port: random.u32(..2),
        };
        let all: Table<Line> = (0..40).map(|_| line(&mut random)).collect();
        let mut lines = Lines::new(2 * WIDTH as usize, &all);
        let mut positions: Table<u32> = (0..2 * WIDTH).map(|place| place % WIDTH).collect();
        let mut ranks: [Vec<u32>; 2] = [(0..WIDTH).collect(), (WIDTH..2 * WIDTH).collect()];
        let mut known = 0;
        for _ in 0..5_000 {
            let (rank, slot) = (random.usize(..2), random.usize(..WIDTH as usize - 1));
            let (left, right) = (ranks[rank][slot], ranks[rank][slot + 1]);
            lines.look(left, &positions);
            lines.look(right, &positions);
            let (now, then, _) = lines.crossings(left, right);
            let is_even = now == then && now > 0;
            match lines.pair(left, right) {
                Pair::Unknown => {}
                Pair::Settled => assert!(then >= now && !is_even, "{now} {then}"),
                Pair::Even => assert!(is_even, "{now} {then}"),
            }
            known += u32::from(lines.pair(left, right) != Pair::Unknown);
            if then < now || random.u32(..8) == 0 {
                ranks[rank].swap(slot, slot + 1);
                (positions[left], positions[right]) = (slot as u32 + 1, slot as u32);
                lines.exchanged(left, right);
            } else {
                lines.settle(left, right, is_even);
            }
        }
        assert!(known > 1_000, "hardly anything was kept: {known}");
    }
}
