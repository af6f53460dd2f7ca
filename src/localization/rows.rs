//! Tables of any length, some rows at a time.

use quintet_storage::{Failure, Key, Read, Row, Scan, Table};

/// Rows read at a time: of the longest translations they take 100 MB.
const ROWS_AT_A_TIME: usize = 250;

/// Looks at the rows of a scan for as long as `look` says so; whether it came to the end. The scan is made anew for some
/// rows at a time, and has no limit of its own.
///
/// # Errors
/// The store's, and those of `look`.
pub fn each_while<K: Key + Clone, V: Row, E: From<Failure>>(
    read: &impl Read,
    table: &Table<K, V>,
    scan: impl Fn() -> Scan<K>,
    mut look: impl FnMut(K, V) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut after: Option<K> = None;
    loop {
        let mut some = scan().limit(ROWS_AT_A_TIME);
        if let Some(after) = &after {
            some = some.after(after);
        }
        let rows = read.scan(table, some)?;
        let is_last = rows.len() < ROWS_AT_A_TIME;
        for (key, row) in rows {
            after = Some(key.clone());
            if !look(key, row)? {
                return Ok(false);
            }
        }
        if is_last {
            return Ok(true);
        }
    }
}

/// Every row of a scan.
///
/// # Errors
/// The store's, and those of `look`.
pub fn each_of<K: Key + Clone, V: Row, E: From<Failure>>(
    read: &impl Read,
    table: &Table<K, V>,
    scan: impl Fn() -> Scan<K>,
    mut look: impl FnMut(K, V) -> Result<(), E>,
) -> Result<(), E> {
    each_while(read, table, scan, |key, row| look(key, row).map(|()| true)).map(drop)
}

/// Every row of a table.
///
/// # Errors
/// The store's, and those of `look`.
pub fn each<K: Key + Clone, V: Row>(
    read: &impl Read,
    table: &Table<K, V>,
    look: impl FnMut(K, V) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each_of(read, table, Scan::all, look)
}

/// How many rows a table has.
///
/// # Errors
/// The store's.
pub fn count<K: Key + Clone, V: Row>(read: &impl Read, table: &Table<K, V>) -> Result<u64, Failure> {
    let mut rows = 0;
    each(read, table, |_, _| {
        rows += 1;
        Ok(())
    })?;
    Ok(rows)
}
