//! A glance at the store: what a request may look at on the threads that serve everybody, so that most need no thread of
//! their own. Whoever turns out to need more looks again, aside, and as long as it takes.

use std::cell::Cell;

use quintet_storage::seal::{DataKey, KeyOwner};
use quintet_storage::{Abort, Failure, Key, Read, Row, Scan, Snapshot, Table};

use crate::refusal::Refusal;

/// How many rows a glance reads at most.
const ROWS_MAX: usize = 64;
/// How many bytes of texts are worked through at most: the checks take a fraction of a millisecond for them.
const TEXT_BYTES_MAX: usize = 4096;

/// What is looked at: all there is, or what a glance shows.
pub trait Look: Read {
    /// Announces that texts of so many bytes are about to be worked through.
    ///
    /// # Errors
    /// They are too long for a glance.
    fn work_through(&self, text_bytes: usize) -> Result<(), Failure>;
}

impl Look for Snapshot {
    fn work_through(&self, _text_bytes: usize) -> Result<(), Failure> {
        Ok(())
    }
}

/// Something that is found out by looking, at a glance or with as much time as it takes.
pub trait Lookup: Send + Sync + 'static {
    /// What is found.
    type Found: Send + 'static;

    /// Finds it. What a glance could not find out is found out anew: nothing is changed by looking.
    ///
    /// # Errors
    /// Its own; those of what is looked at are handed on.
    fn look(&self, read: &impl Look) -> Result<Self::Found, Abort<Refusal>>;
}

/// So few rows, none of them sealed, and so little text that nobody waits for it.
struct Glance<'s> {
    snapshot: &'s Snapshot,
    rows_left: Cell<usize>,
    is_over: Cell<bool>,
}

/// What a glance shows; `None`: it takes more than one.
pub fn glance<L: Lookup>(lookup: &L, snapshot: &Snapshot) -> Option<Result<L::Found, Abort<Refusal>>> {
    let glance = Glance { snapshot, rows_left: Cell::new(ROWS_MAX), is_over: Cell::new(false) };
    let found = lookup.look(&glance);
    if glance.is_over.get() { None } else { Some(found) }
}

impl Glance<'_> {
    /// It ends here: whatever comes of it does not count.
    fn over<T>(&self) -> Result<T, Failure> {
        self.is_over.set(true);
        Err(Failure::Busy)
    }

    fn take(&self, rows: usize) -> Result<(), Failure> {
        match self.rows_left.get().checked_sub(rows) {
            Some(left) if !self.is_over.get() => {
                self.rows_left.set(left);
                Ok(())
            }
            _ => self.over(),
        }
    }
}

impl Read for Glance<'_> {
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        self.take(1)?;
        self.snapshot.get(table, key)
    }

    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.take(1)?;
        self.snapshot.contains(table, key)
    }

    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        self.take(1)?;
        let rows = self.snapshot.scan(table, scan.at_most(self.rows_left.get() + 1))?;
        self.take(rows.len())?;
        Ok(rows)
    }

    /// What is sealed is opened in pieces of 256 KiB.
    fn data_key(&self, _owner: KeyOwner) -> Result<DataKey, Failure> {
        self.over()
    }
}

impl Look for Glance<'_> {
    fn work_through(&self, text_bytes: usize) -> Result<(), Failure> {
        if text_bytes > TEXT_BYTES_MAX { self.over() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::rejudge::{STAMPS, StampRow};
    use crate::model::ProjectId;
    use crate::testing::{Bench, TENANT, bench};

    /// What a request looks at.
    enum Asked {
        /// So many rows, one by one; half of them are not there.
        Rows(usize),
        /// So many rows of a table, in one go.
        Scan(usize),
        /// Texts of so many bytes.
        Text(usize),
        /// Something sealed.
        Sealed,
        /// Too much, which it does not mind.
        Unnoticed,
        /// Something that it refuses.
        Refused,
    }

    fn key(number: usize) -> (crate::model::TenantId, ProjectId) {
        (TENANT, ProjectId(quintet_storage::Uuid::from_u128(number as u128)))
    }

    impl Lookup for Asked {
        type Found = usize;

        fn look(&self, read: &impl Look) -> Result<usize, Abort<Refusal>> {
            match self {
                Asked::Rows(rows) => {
                    for number in 0..*rows {
                        if number % 2 == 0 {
                            read.get(&STAMPS, &key(number))?;
                        } else {
                            read.contains(&STAMPS, &key(number))?;
                        }
                    }
                    Ok(*rows)
                }
                Asked::Scan(rows) => Ok(read.scan(&STAMPS, Scan::all().limit(*rows))?.len()),
                Asked::Text(bytes) => Ok(read.work_through(*bytes).map(|()| *bytes)?),
                Asked::Sealed => Ok(read.data_key(KeyOwner::Tenant(TENANT.0)).map(|_| 0)?),
                Asked::Unnoticed => {
                    let rows = read.scan(&STAMPS, Scan::all()).unwrap_or_default();
                    Ok(rows.len() + usize::from(read.contains(&STAMPS, &key(0)).unwrap_or(false)))
                }
                Asked::Refused => Err(Refusal::NotFound.into()),
            }
        }
    }

    fn glanced(bench: &Bench, asked: &Asked) -> Option<usize> {
        glance(asked, &bench.store.read()).map(Result::unwrap)
    }

    #[test]
    fn a_glance_shows_what_is_there_or_nothing() {
        let bench = bench();
        bench
            .run(|tx, _| {
                (0..100).try_for_each(|number| tx.put(&STAMPS, &key(number), &StampRow { changes: 1 }))?;
                Ok::<_, Abort<Refusal>>(())
            })
            .unwrap();
        for (asked, shown) in [
            (Asked::Rows(0), Some(0)),
            (Asked::Rows(ROWS_MAX), Some(ROWS_MAX)),
            (Asked::Rows(ROWS_MAX + 1), None),
            // The scan itself counts as one.
            (Asked::Scan(ROWS_MAX - 1), Some(ROWS_MAX - 1)),
            (Asked::Scan(ROWS_MAX), None),
            (Asked::Scan(usize::MAX), None),
            (Asked::Text(TEXT_BYTES_MAX), Some(TEXT_BYTES_MAX)),
            (Asked::Text(TEXT_BYTES_MAX + 1), None),
            (Asked::Sealed, None),
            (Asked::Unnoticed, None),
        ] {
            assert_eq!(glanced(&bench, &asked), shown);
        }
        assert!(matches!(glance(&Asked::Refused, &bench.store.read()), Some(Err(Abort::Refused(Refusal::NotFound)))));
        // With as much time as it takes all is there.
        let read = bench.store.read();
        assert_eq!(Asked::Unnoticed.look(&read).unwrap(), 101);
        assert_eq!(Asked::Scan(usize::MAX).look(&read).unwrap(), 100);
        assert_eq!(Asked::Text(1 << 20).look(&read).unwrap(), 1 << 20);
    }
}
