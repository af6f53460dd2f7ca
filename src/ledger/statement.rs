//! Statements: an account's journal entries, newest first, page by page.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid};

use crate::model::{AccountId, Side, TenantId, TransactionId, TransactionState};
use crate::refusal::Refusal;
use crate::tables::{BOOKS, BookRow, LINES, LineRow, Shelf, TransactionRow, unsigned};

/// Where a page ended: the last line it showed.
pub type Position = (TransactionId, u8);

/// Which part of a statement to read.
#[derive(Clone, Copy, Debug)]
pub struct StatementQuery {
    /// Whose account it is.
    pub tenant_id: TenantId,
    /// The account.
    pub account_id: AccountId,
    /// Only entries of transactions in this state.
    pub state: Option<TransactionState>,
    /// Only entries behind this one.
    pub after: Option<Position>,
    /// The most entries to return.
    pub limit: usize,
}

/// One journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its transaction.
    pub transaction_id: TransactionId,
    /// Its number in the transaction, from 1.
    pub line_no: u8,
    /// Its account.
    pub account_id: AccountId,
    /// Its side.
    pub direction: Side,
    /// How much, in minor units.
    pub minor: i128,
    /// Fraction digits.
    pub scale: u8,
    /// When the transaction was posted.
    pub created_at: Timestamp,
    /// How the transaction stands.
    pub state: TransactionState,
    /// When it became final; absent while it is pending.
    pub finalized_at: Option<Timestamp>,
}

impl Entry {
    /// The entry's own id, a UUID version 7 that is derived and stored nowhere: the time and order bits of the
    /// transaction's id, then 55 bits mixed from the rest of it, then the line number. Entries of one transaction
    /// sort by line, and two transactions of one instant share an id with a probability of 2^-55.
    #[must_use]
    pub fn id(&self) -> Uuid {
        const LOW_BITS: u32 = 62;
        const LINE_BITS: u32 = 7;
        let transaction = self.transaction_id.0.as_u128();
        let low = u64::try_from(transaction & ((1 << LOW_BITS) - 1)).unwrap_or_default();
        let mixed = mix(low) & ((1 << (LOW_BITS - LINE_BITS)) - 1);
        let high = (transaction >> LOW_BITS) << LOW_BITS;
        Uuid::from_u128(high | (u128::from(mixed) << LINE_BITS) | u128::from(self.line_no & 0x7F))
    }
}

/// A bijection that spreads its input over all bits (the finalizer of SplitMix64).
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A page of a statement, and whether more follow.
///
/// # Errors
/// [`Refusal::AccountNotFound`].
pub fn list_entries(read: &impl Read, query: StatementQuery) -> Result<(Vec<Entry>, bool), Abort<Refusal>> {
    let book = read.get(&BOOKS, &(query.tenant_id, query.account_id))?.ok_or(Refusal::AccountNotFound)?;
    let mut entries = Vec::new();
    for shelf in Shelf::showing(query.state) {
        for ((_, _, transaction_id, line_no), line) in read_shelf(read, &query, &book, *shelf)? {
            entries.push(entry_of_line(&query, *shelf, transaction_id, line_no, &line, book.scale));
        }
    }
    // Each shelf came newest first and no longer than the page; together they hold the page.
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse((entry.transaction_id, entry.line_no)));
    let more = entries.len() > query.limit;
    entries.truncate(query.limit);
    Ok((entries, more))
}

/// A transaction's entries, in the order of their lines.
pub fn entries_of(transaction_id: TransactionId, row: &TransactionRow) -> impl Iterator<Item = Entry> {
    crate::movement::numbered(&row.legs).map(move |(line_no, leg)| {
        let (direction, minor) = unsigned(leg.signed_minor);
        Entry {
            transaction_id,
            line_no,
            account_id: leg.account_id,
            direction,
            minor,
            scale: leg.scale,
            created_at: row.created_at,
            state: row.state(),
            finalized_at: row.finalized_at(),
        }
    })
}

type StoredLine = ((AccountId, u8, TransactionId, u8), LineRow);

fn read_shelf(
    read: &impl Read,
    query: &StatementQuery,
    book: &BookRow,
    shelf: Shelf,
) -> Result<Vec<StoredLine>, Failure> {
    let account_id = query.account_id;
    let mut limit = query.limit.saturating_add(1);
    if shelf == Shelf::Pending {
        // Behind the last line that is pending lies what settled holds have left; it must not be searched.
        limit = limit.min(usize::try_from(book.counters.pending_entries).unwrap_or(usize::MAX));
    }
    let mut scan = Scan::prefix(&(account_id, shelf.tag())).newest_first().limit(limit);
    if let Some((transaction_id, line_no)) = query.after {
        scan = scan.after(&(account_id, shelf.tag(), transaction_id, line_no));
    }
    read.scan(&LINES, scan)
}

fn entry_of_line(
    query: &StatementQuery,
    shelf: Shelf,
    transaction_id: TransactionId,
    line_no: u8,
    line: &LineRow,
    scale: u8,
) -> Entry {
    let (direction, minor) = unsigned(line.signed_minor);
    let (state, finalized_at) = match (shelf, line.ended) {
        (Shelf::AtOnce, _) => (TransactionState::Committed, Some(line.created_at)),
        (_, Some((ended_at, end))) => (end.state(), Some(ended_at)),
        (_, None) => (TransactionState::Pending, None),
    };
    Entry {
        transaction_id,
        line_no,
        account_id: query.account_id,
        direction,
        minor,
        scale,
        created_at: line.created_at,
        state,
        finalized_at,
    }
}
