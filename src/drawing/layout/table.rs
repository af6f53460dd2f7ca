//! An array that cannot panic: what the layout computes with, over input that anybody may send.
//!
//! An index past the end is a mistake of ours: tests stop at it, the product goes on with a spare element, and the
//! picture is wrong in place of the process.

use std::ops::{Index, IndexMut, Range};

/// No index: an end of a list, a missing parent.
pub const NONE: u32 = u32::MAX;

/// A growable array.
#[derive(Clone, Debug, Default)]
pub struct Table<T> {
    items: Vec<T>,
    spare: T,
}

impl<T: Clone + Default> Table<T> {
    /// An empty table.
    pub fn new() -> Table<T> {
        Table { items: Vec::new(), spare: T::default() }
    }

    /// `count` elements, all the same.
    pub fn filled(value: T, count: usize) -> Table<T> {
        Table { items: vec![value; count], spare: T::default() }
    }

    /// Adds an element; gives its index.
    pub fn add(&mut self, value: T) -> usize {
        self.items.push(value);
        self.items.len() - 1
    }

    /// Throws all elements away and keeps the room.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Shortens the table.
    pub fn truncate(&mut self, count: usize) {
        self.items.truncate(count);
    }

    /// Grows the table with `value`, or shortens it.
    pub fn resize(&mut self, count: usize, value: T) {
        self.items.resize(count, value);
    }

    /// The elements of `range`; nothing if it is not inside.
    pub fn part(&self, range: Range<usize>) -> &[T] {
        self.items.get(range).unwrap_or_default()
    }

    /// The same, to be changed.
    pub fn part_mut(&mut self, range: Range<usize>) -> &mut [T] {
        self.items.get_mut(range).unwrap_or_default()
    }

    /// Exchanges two elements.
    pub fn exchange(&mut self, a: usize, b: usize) {
        if a < self.items.len() && b < self.items.len() {
            self.items.swap(a, b);
        }
    }
}

impl<T> Table<T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The elements in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The elements in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// The element at an index that may well be past the end.
    pub fn look(&self, index: usize) -> Option<&T> {
        self.items.get(index)
    }

    /// The element at an index that may well be past the end.
    pub fn look_mut(&mut self, index: usize) -> Option<&mut T> {
        self.items.get_mut(index)
    }
}

impl<T: Default> From<Vec<T>> for Table<T> {
    fn from(items: Vec<T>) -> Table<T> {
        Table { items, spare: T::default() }
    }
}

impl<T: Default> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Table<T> {
        Table { items: iter.into_iter().collect(), spare: T::default() }
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.items.len(), "index {index} of {}", self.items.len());
        self.items.get(index).unwrap_or(&self.spare)
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.items.len(), "index {index} of {}", self.items.len());
        self.items.get_mut(index).unwrap_or(&mut self.spare)
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self[index as usize]
    }
}

impl<T> IndexMut<u32> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self[index as usize]
    }
}

/// Lists of numbers, one for each of `count` owners, in one array.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    starts: Table<u32>,
    items: Table<u32>,
}

impl Lists {
    /// From pairs of owner and item; each list keeps the order of the pairs.
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut starts: Table<u32> = Table::filled(0, count + 2);
        let mut total = 0;
        for (owner, _) in pairs.clone() {
            starts[owner as usize + 2] += 1;
            total += 1;
        }
        for i in 2..starts.len() {
            let before = starts[i - 1];
            starts[i] += before;
        }
        let mut items: Table<u32> = Table::filled(0, total);
        for (owner, item) in pairs {
            let place = starts[owner as usize + 1];
            items[place] = item;
            starts[owner as usize + 1] = place + 1;
        }
        starts.truncate(count + 1);
        Lists { starts, items }
    }

    /// Where the list of `owner` lies among all items.
    #[inline]
    pub fn range(&self, owner: u32) -> Range<usize> {
        self.starts[owner] as usize..self.starts[owner as usize + 1] as usize
    }

    /// The list of `owner`.
    #[inline]
    pub fn of(&self, owner: u32) -> &[u32] {
        self.items.part(self.range(owner))
    }

    /// The item at a place of [`Lists::range`].
    #[inline]
    pub fn at(&self, place: usize) -> u32 {
        self.items[place]
    }
}

/// Sets that grow together.
#[derive(Clone, Debug, Default)]
pub struct Union {
    parents: Table<u32>,
}

impl Union {
    /// Each of `count` elements on its own.
    pub fn new(count: usize) -> Union {
        Union { parents: (0..count as u32).collect() }
    }

    /// The one that stands for the set of `element`.
    pub fn find(&mut self, element: u32) -> u32 {
        let mut at = element;
        while self.parents[at] != at {
            let above = self.parents[at];
            self.parents[at] = self.parents[above];
            at = self.parents[at];
        }
        at
    }

    /// Joins the set of `b` into the set of `a`; the one that stood for `a` stands for both.
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[b] = a;
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_order_of_their_pairs() {
        let lists = Lists::new(3, [(2, 7), (0, 1), (2, 5), (0, 9)].into_iter());
        assert_eq!((lists.of(0), lists.of(1), lists.of(2)), (&[1, 9][..], &[][..], &[7, 5][..]));
    }

    #[test]
    fn sets_join() {
        let mut sets = Union::new(4);
        sets.join(2, 3);
        sets.join(1, 3);
        assert_eq!((sets.find(3), sets.find(0)), (1, 0));
    }
}
