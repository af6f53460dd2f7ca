//! The best that was found so far.

use std::cmp::{Ordering, Reverse};

use super::unit::Unit;

/// The best score first, then the latest written, then by source text in code point order (localization, M1), which is
/// that of UTF-8's bytes.
type Rank<'a> = (Reverse<u8>, Reverse<i64>, &'a str);

/// At most so many units, the best first.
pub struct Top<U> {
    count: usize,
    best: Vec<(u8, U)>,
}

fn rank<U: Unit>(found: &(u8, U)) -> Rank<'_> {
    (Reverse(found.0), Reverse(found.1.written_micros()), found.1.source())
}

impl<U: Unit> Top<U> {
    /// Nothing was found yet.
    pub fn new(count: usize) -> Top<U> {
        Top { count, best: Vec::new() }
    }

    /// The score below which nothing is wanted any more.
    pub fn least(&self, least: u8) -> u8 {
        self.last().map_or(least, |last| last.0.max(least))
    }

    /// The worst, if there is no place behind it.
    fn last(&self) -> Option<&(u8, U)> {
        if self.best.len() < self.count { None } else { self.best.last() }
    }

    /// Whether something of that score, time and source would be among the best; without its source, whether it could.
    pub fn takes(&self, score: u8, written_micros: i64, source: Option<&str>) -> bool {
        let Some(last) = self.last() else { return self.count > 0 };
        let (of_score, of_time, of_source) = rank(last);
        let order = Reverse(score).cmp(&of_score).then(Reverse(written_micros).cmp(&of_time));
        order.then(source.map_or(Ordering::Less, |source| source.cmp(of_source))) == Ordering::Less
    }

    /// Takes it in, if it is among the best.
    pub fn offer(&mut self, score: u8, unit: U) {
        let found = (score, unit);
        let place = self.best.partition_point(|known| rank(known) < rank(&found));
        self.best.insert(place, found);
        self.best.truncate(self.count);
    }

    /// All of it, the best first.
    pub fn into_best(self) -> Vec<(u8, U)> {
        self.best
    }
}
