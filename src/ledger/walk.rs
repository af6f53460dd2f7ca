//! Walking through rows of which some may be damaged: a row that cannot be read is named and passed over.

use quintet_storage::{Failure, Key, Read, Row, Scan, Table};

/// One row of a walk, or the place of one that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<V> {
    /// A row and the id at the end of its key.
    Row(u128, V),
    /// The id of a row that does not read, and why.
    Damaged(u128, String),
}

impl<V> Step<V> {
    /// The id at the end of the key.
    pub(crate) const fn id(&self) -> u128 {
        match self {
            Step::Row(id, _) | Step::Damaged(id, _) => *id,
        }
    }
}

/// Rows of a table whose keys differ in an id at their end, ascending: `key` makes a key of an id, `id` takes it out.
pub(crate) struct Walk<'a, K, V, MakeKey, TakeId> {
    pub(crate) table: &'a Table<K, V>,
    pub(crate) key: MakeKey,
    pub(crate) id: TakeId,
}

impl<K: Key, V: Row, MakeKey: Fn(u128) -> K, TakeId: Fn(&K) -> u128> Walk<'_, K, V, MakeKey, TakeId> {
    /// At most `limit` steps from the id `from` on. Fewer: there are no more.
    ///
    /// # Errors
    /// What the store answers, damage apart.
    pub(crate) fn steps(&self, read: &impl Read, from: u128, limit: usize) -> Result<Vec<Step<V>>, Failure> {
        match self.scan(read, from, u128::MAX, limit) {
            Ok(rows) => Ok(rows),
            Err(Failure::Damaged(_)) => self.one_by_one(read, from, limit),
            Err(failure) => Err(failure),
        }
    }

    fn scan(&self, read: &impl Read, from: u128, until: u128, limit: usize) -> Result<Vec<Step<V>>, Failure> {
        let range = Scan::all().from(&(self.key)(from)).until(&(self.key)(until)).limit(limit);
        let rows = read.scan(self.table, range)?;
        Ok(rows.into_iter().map(|(key, row)| Step::Row((self.id)(&key), row)).collect())
    }

    fn one_by_one(&self, read: &impl Read, mut from: u128, limit: usize) -> Result<Vec<Step<V>>, Failure> {
        let mut steps = Vec::new();
        while steps.len() < limit {
            let step = match self.scan(read, from, u128::MAX, 1) {
                Ok(mut row) => row.pop(),
                Err(Failure::Damaged(reason)) => Some(Step::Damaged(self.place(read, from)?, reason)),
                Err(failure) => return Err(failure),
            };
            let Some(step) = step else { break };
            from = step.id().saturating_add(1);
            steps.push(step);
        }
        Ok(steps)
    }

    /// The id of the first row from `from` on, which does not read: found by halving the range that it is in.
    fn place(&self, read: &impl Read, from: u128) -> Result<u128, Failure> {
        let (mut low, mut high) = (from, u128::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.scan(read, from, middle.saturating_add(1), 1) {
                Ok(rows) if rows.is_empty() => low = middle.saturating_add(1),
                Ok(_) | Err(Failure::Damaged(_)) => high = middle,
                Err(failure) => return Err(failure),
            }
        }
        Ok(low)
    }
}
