//! Full hours, by which rows fall due that need not go to the second: many go at a time, and an index has few places; and
//! the tables whose rows go by them.

use quintet_storage::{Failure, Key, Read as _, Row, Scan, Snapshot, Table, Timestamp, WriteTx};

use super::agenda::Swept;
use super::job::Progress;

/// An hour, in microseconds.
pub(crate) const HOUR_MICROS: i64 = 3_600_000_000;

/// The first full hour at an instant or behind it, in hours since 1970.
#[must_use]
pub(crate) fn hour_at_or_after(at: Timestamp) -> u32 {
    let micros = at.as_micros();
    let hour = micros.div_euclid(HOUR_MICROS) + i64::from(micros.rem_euclid(HOUR_MICROS) != 0);
    u32::try_from(hour.max(0)).unwrap_or(u32::MAX)
}

/// When an hour begins.
#[must_use]
pub(crate) fn start_of_hour(hour: u32) -> Timestamp {
    Timestamp::from_micros(i64::from(hour) * HOUR_MICROS)
}

/// A table whose rows are over at the start of the hour that their keys begin with.
pub(crate) struct ByHour<K, V> {
    /// The table.
    pub(crate) table: Table<K, V>,
    /// The hour of a key.
    pub(crate) hour: fn(&K) -> u32,
    /// Rows removed in one transaction.
    pub(crate) most: usize,
}

impl<K: Key + Copy, V: Row> ByHour<K, V> {
    /// When the first row at a place or behind it is over.
    pub(crate) fn next(&self, read: &Snapshot, from: K) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&self.table, Scan::all().from(&from).limit(1))?;
        Ok(first.first().map(|(place, _)| start_of_hour((self.hour)(place))))
    }

    /// Takes out the rows that are over, from a place on; `remove` takes out what each leads to.
    pub(crate) fn slice(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        from: K,
        mut remove: impl FnMut(&mut WriteTx<'_>, K, V) -> Result<(), Failure>,
    ) -> Result<Swept<K>, Failure> {
        let oldest = tx.scan(&self.table, Scan::all().from(&from).limit(self.most))?;
        let (mut removed, mut to) = (0, None);
        for (place, row) in oldest {
            if start_of_hour((self.hour)(&place)) > now {
                break;
            }
            tx.delete(&self.table, &place);
            remove(tx, place, row)?;
            (removed, to) = (removed + 1, Some(place));
        }
        Ok(Swept { to, progress: if removed == self.most { Progress::More } else { Progress::Rest } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_within_an_hour_counts_to_its_end() {
        for (micros, hour) in
            [(-1, 0), (0, 0), (1, 1), (HOUR_MICROS, 1), (HOUR_MICROS + 1, 2), (i64::MAX, 2_562_047_789)]
        {
            assert_eq!(hour_at_or_after(Timestamp::from_micros(micros)), hour, "{micros}");
        }
        assert_eq!(start_of_hour(2), Timestamp::from_micros(2 * HOUR_MICROS));
    }
}
