//! Layers of rows: newer ones over older ones. The one place where they are merged.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound;

use crate::error::Failure;
use crate::tables::projection::{KeyRange, Visit};

/// What a layer knows of a key: the row, or that there is none (`Some(None)`: deleted), or nothing (`None`).
pub(crate) type Known<'a> = Option<Option<&'a [u8]>>;

/// The newest row under a key: what the layer says, or else what `older` finds.
pub(crate) fn get_over(
    newer: Known<'_>,
    visit: &mut dyn FnMut(&[u8]),
    older: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    match newer {
        Some(Some(value)) => {
            visit(value);
            Ok(true)
        }
        Some(None) => Ok(false),
        None => older(visit),
    }
}

/// The rows of a range, in its order: those of `newer`, a layer's part of the range, hide those that `older` walks.
pub(crate) fn scan_over<'a>(
    newer: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    range: &KeyRange,
    visit: Visit<'_>,
    older: impl FnOnce(Visit<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let comes_first = |a: &[u8], b: &[u8]| if range.descending { a > b } else { a < b };
    let mut newer = newer.peekable();
    let mut going = true;
    older(&mut |key, value| {
        while let Some((newer_key, newer_value)) = newer.next_if(|(newer_key, _)| comes_first(newer_key, key)) {
            if newer_value.is_some_and(|value| !visit(newer_key, value)) {
                going = false;
                return false;
            }
        }
        going = match newer.next_if(|(newer_key, _)| *newer_key == key) {
            Some((_, None)) => true,
            Some((_, Some(newer_value))) => visit(key, newer_value),
            None => visit(key, value),
        };
        going
    })?;
    while going && let Some((key, value)) = newer.next() {
        going = value.is_none_or(|value| visit(key, value));
    }
    Ok(())
}

/// A layer's rows in order; deleted ones have no value.
pub(crate) type LayerRows<'m> = Box<dyn Iterator<Item = (&'m [u8], Option<&'m [u8]>)> + 'm>;

/// A layer's part of a range, in the range's order.
pub(crate) fn part_of<'m, K, R>(
    layer: &'m BTreeMap<K, R>,
    range: &KeyRange,
    value: impl Fn(&'m R) -> Option<&'m [u8]> + 'm,
) -> LayerRows<'m>
where
    K: Borrow<[u8]> + Ord,
{
    if range.upper.as_ref().is_some_and(|upper| *upper <= range.lower) {
        return Box::new(std::iter::empty());
    }
    let lower = Bound::Included(range.lower.as_slice());
    let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let rows = layer.range::<[u8], _>((lower, upper)).map(move |(key, row)| (key.borrow(), value(row)));
    if range.descending { Box::new(rows.rev()) } else { Box::new(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

    fn random_rows(random: &mut fastrand::Rng, deletes: bool) -> Rows {
        let key = |random: &mut fastrand::Rng| vec![random.u8(..4); random.usize(1..4)];
        let row = |random: &mut fastrand::Rng| (!deletes || random.bool()).then(|| vec![random.u8(..)]);
        (0..random.usize(..12)).map(|_| (key(random), row(random))).collect()
    }

    fn walk(layers: &[Rows], range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        let Some((newest, older)) = layers.split_first() else { return Ok(()) };
        scan_over(part_of(newest, range, Option::as_deref), range, visit, |visit| walk(older, range, visit))
    }

    fn get(layers: &[Rows], key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let Some((newest, older)) = layers.split_first() else { return Ok(false) };
        get_over(newest.get(key).map(Option::as_deref), visit, |visit| get(older, key, visit))
    }

    #[test]
    fn layers_are_read_as_the_map_that_they_make() {
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            // The oldest layer is what the tables are: it deletes nothing.
            let layers = [true, true, false].map(|deletes| random_rows(&mut random, deletes));
            let mut made = Rows::new();
            for layer in layers.iter().rev() {
                made.extend(layer.clone());
            }
            let range = KeyRange {
                lower: vec![random.u8(..4); random.usize(..3)],
                upper: random.bool().then(|| vec![random.u8(..5)]),
                descending: random.bool(),
            };
            let limit = random.usize(1..8);
            let mut expected: Vec<(Vec<u8>, Vec<u8>)> =
                made.iter().filter_map(|(key, row)| Some((key.clone(), row.clone()?))).collect();
            expected.retain(|(key, _)| *key >= range.lower && range.upper.as_ref().is_none_or(|upper| key < upper));
            if range.descending {
                expected.reverse();
            }
            expected.truncate(limit);
            let mut found = Vec::new();
            walk(&layers, &range, &mut |key, value| {
                found.push((key.to_vec(), value.to_vec()));
                found.len() < limit
            })
            .unwrap();
            assert_eq!(found, expected, "seed {seed}: {range:?}");
            for key in made.keys() {
                let mut row = None;
                let is_there = get(&layers, key, &mut |value| row = Some(value.to_vec())).unwrap();
                assert_eq!((is_there, &row), (row.is_some(), &made[key]), "seed {seed}: {key:?}");
            }
        }
    }
}
