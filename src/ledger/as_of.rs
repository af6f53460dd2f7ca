//! Balances as of a past instant, on two clocks, at a cost that does not depend on how much there is.

#[cfg(test)]
mod tests;

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, first_id_after};

use crate::late::late_until;
use crate::model::{AccountId, Basis, Overflow, TenantId, TransactionId};
use crate::refusal::Refusal;
use crate::tables::{BOOKS, BookRow, LATE_RECORDS, LINES, LateRecordRow, PostedAfter, Shelf, counters_disagree};

/// An account's balance as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceAsOf {
    /// The account as it is: what never changes of it matters here.
    pub book: BookRow,
    /// The sums and the number of entries at that instant.
    pub posted: PostedAfter,
}

impl BalanceAsOf {
    /// The balance, in minor units.
    #[must_use]
    pub const fn balance(&self) -> i128 {
        self.posted.sums.balance(self.book.normal_side)
    }
}

/// The balance of an account as of `at`: of the entries of committed transactions whose `effective_at` or
/// `finalized_at`, by the basis, is `at` or earlier.
///
/// # Errors
/// [`Refusal::AccountNotFound`].
pub fn balance_as_of(
    read: &impl Read,
    tenant_id: TenantId,
    account_id: AccountId,
    at: Timestamp,
    basis: Basis,
) -> Result<BalanceAsOf, Abort<Refusal>> {
    let book = read.get(&BOOKS, &(tenant_id, account_id))?.ok_or(Refusal::AccountNotFound)?;
    let posted = match basis {
        Basis::Effective => effective(read, account_id, at)?,
        Basis::Recorded => recorded(read, account_id, at)?,
    };
    Ok(BalanceAsOf { book, posted })
}

/// The sums after whatever was recorded last, at `at` or earlier.
fn recorded(read: &impl Read, account_id: AccountId, at: Timestamp) -> Result<PostedAfter, Failure> {
    let line = last_until(read, &AtOnce(account_id), at)?;
    let late = last_until(read, &Late(account_id), at)?;
    Ok(match (line, late) {
        (Some(line), Some(late)) if late.order < line.order => line.row,
        (_, Some(late)) => late.row.posted_after,
        (Some(line), None) => line.row,
        (None, None) => PostedAfter::default(),
    })
}

/// What was in order up to `at`: the sums after the last line committed at once, without what was late of them; and
/// what was late and took effect up to `at`, whenever it was recorded.
fn effective(read: &impl Read, account_id: AccountId, at: Timestamp) -> Result<PostedAfter, Failure> {
    let mut in_order = PostedAfter::default();
    if let Some(line) = last_until(read, &AtOnce(account_id), at)? {
        let late = Late(account_id).last_before(read, line.order.saturating_add(1))?;
        let late = late.map(|late| late.row.late_after).unwrap_or_default();
        in_order = line.row.minus(late).map_err(|Overflow| counters_disagree(account_id))?;
    }
    let late = late_until(read, account_id, at)?;
    in_order.plus(late.sums, late.entries).map_err(|Overflow| counters_disagree(account_id))
}

/// A row of something that grows in the order of the log.
struct Placed<R> {
    /// Its place in that order.
    order: u128,
    /// When it was recorded: never earlier than what is placed before it.
    recorded_at: Timestamp,
    row: R,
}

/// Rows in the order of the log, by ids that were minted in it.
trait InOrder {
    type Row;

    /// The last row before `order`.
    fn last_before<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<Self::Row>>, Failure>;

    /// The first row at `order` or after it.
    fn first_from<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<Self::Row>>, Failure>;
}

/// The last row that was recorded at `at` or earlier.
///
/// Ids lead there at once, unless the time has stood still over restarts: ids go on meanwhile, and rows lie behind the
/// place where their time would put them. Then the place is found by halving.
fn last_until<I: InOrder>(read: &impl Read, rows: &I, at: Timestamp) -> Result<Option<Placed<I::Row>>, Failure> {
    let place = first_id_after(at).as_u128();
    let is_until = |row: &Placed<I::Row>| row.recorded_at <= at;
    let Some(next) = rows.first_from(read, place)?.filter(is_until) else { return rows.last_before(read, place) };
    let Some(newest) = rows.last_before(read, u128::MAX)? else { return Ok(None) };
    if is_until(&newest) {
        return Ok(Some(newest));
    }
    let (mut low, mut high) = (next.order, newest.order);
    let mut last = next;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match rows.last_before(read, middle + 1)? {
            Some(row) if is_until(&row) => {
                last = row;
                low = middle;
            }
            Some(row) => high = row.order,
            None => return Ok(Some(last)),
        }
    }
    Ok(Some(last))
}

/// The lines of an account that were committed at once, with the sums after them; of several lines of one transaction
/// the last.
struct AtOnce(AccountId);

impl AtOnce {
    fn one<R: Read>(
        &self,
        read: &R,
        scan: Scan<(AccountId, u8, TransactionId, u8)>,
    ) -> Result<Option<Placed<PostedAfter>>, Failure> {
        let Some(((_, _, transaction_id, _), line)) = read.scan(&LINES, scan.limit(1))?.into_iter().next() else {
            return Ok(None);
        };
        let row = line.posted_after.ok_or_else(|| counters_disagree(self.0))?;
        Ok(Some(Placed { order: transaction_id.0.as_u128(), recorded_at: line.created_at, row }))
    }

    fn key(&self, order: u128) -> (AccountId, u8, TransactionId, u8) {
        (self.0, Shelf::AtOnce.tag(), TransactionId(Uuid::from_u128(order)), 0)
    }
}

impl InOrder for AtOnce {
    type Row = PostedAfter;

    fn last_before<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<PostedAfter>>, Failure> {
        let scan = Scan::prefix(&(self.0, Shelf::AtOnce.tag())).until(&self.key(order)).newest_first();
        self.one(read, scan)
    }

    fn first_from<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<PostedAfter>>, Failure> {
        self.one(read, Scan::prefix(&(self.0, Shelf::AtOnce.tag())).from(&self.key(order)))
    }
}

/// The late records of an account.
struct Late(AccountId);

impl Late {
    fn one<R: Read>(read: &R, scan: Scan<(AccountId, Uuid)>) -> Result<Option<Placed<LateRecordRow>>, Failure> {
        let found = read.scan(&LATE_RECORDS, scan.limit(1))?.into_iter().next();
        Ok(found.map(|((_, order), row)| Placed { order: order.as_u128(), recorded_at: row.finalized_at, row }))
    }
}

impl InOrder for Late {
    type Row = LateRecordRow;

    fn last_before<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<LateRecordRow>>, Failure> {
        let until = (self.0, Uuid::from_u128(order));
        Late::one(read, Scan::prefix(&(self.0,)).until(&until).newest_first())
    }

    fn first_from<R: Read>(&self, read: &R, order: u128) -> Result<Option<Placed<LateRecordRow>>, Failure> {
        Late::one(read, Scan::prefix(&(self.0,)).from(&(self.0, Uuid::from_u128(order))))
    }
}
