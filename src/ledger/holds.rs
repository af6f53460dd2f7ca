//! Holds: commit, void, and the sweep of those that lapsed.
//!
//! A commit needs no floor test: the hold took its lowering legs from what is available when it was placed, so
//! settling can only raise it, and a floor is never raised above what is available.

#[cfg(test)]
mod tests;

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::model::{Overflow, TenantId, TransactionId, TransactionState};
use crate::movement::{Movement, numbered};
use crate::posting::{Transaction, get_transaction};
use crate::refusal::Refusal;
use crate::tables::{BOOKS, End, HOLDS, LINES, Settlement, Shelf, TRANSACTIONS, counters_disagree};

/// How many statement lines one transaction of the sweep moves before it makes room for others. A single hold
/// has at most a hundred.
const SWEEP_LINES_MAX: usize = 200;

/// Commits or voids a hold.
#[derive(Clone, Copy, Debug)]
pub struct SettleHold {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Which one.
    pub transaction_id: TransactionId,
}

/// A settled hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which one.
    pub transaction_id: TransactionId,
    /// Committed or voided.
    pub state: TransactionState,
    /// When.
    pub finalized_at: Timestamp,
}

/// Commits a hold: its amounts become posted.
///
/// # Errors
/// [`Refusal::TransactionNotFound`]; [`Refusal::HoldExpired`] at or after the hold's end, swept or not;
/// [`Refusal::InvalidTransactionState`] if it is committed or voided; [`Refusal::AccountNotActive`].
pub fn commit_hold(tx: &mut WriteTx<'_>, now: Timestamp, command: SettleHold) -> Result<Settled, Abort<Refusal>> {
    let hold = get_transaction(tx, command.tenant_id, command.transaction_id)?;
    match hold.row.settlement {
        Settlement::Pending { expires_at } if now < expires_at => {}
        Settlement::Pending { .. } | Settlement::Settled { end: End::Expired, .. } => {
            return Err(Refusal::HoldExpired.into());
        }
        Settlement::AtOnce | Settlement::Settled { .. } => {
            return Err(Refusal::InvalidTransactionState(hold.row.state()).into());
        }
    }
    let movement = Movement::of_legs(tx, command.tenant_id, &hold.row.legs)?;
    movement.check_active()?;
    settle(tx, now, command.tenant_id, hold, &movement, End::Committed)
}

/// Voids a hold: its amounts are available again. Frozen accounts do not stand in the way.
///
/// # Errors
/// [`Refusal::TransactionNotFound`]; [`Refusal::InvalidTransactionState`] if it is final, or at or after its end,
/// when the sweep alone releases it.
pub fn void_hold(tx: &mut WriteTx<'_>, now: Timestamp, command: SettleHold) -> Result<Settled, Abort<Refusal>> {
    let hold = get_transaction(tx, command.tenant_id, command.transaction_id)?;
    match hold.row.settlement {
        Settlement::Pending { expires_at } if now < expires_at => {}
        Settlement::Pending { .. } => {
            return Err(Refusal::InvalidTransactionState(TransactionState::Expired).into());
        }
        Settlement::AtOnce | Settlement::Settled { .. } => {
            return Err(Refusal::InvalidTransactionState(hold.row.state()).into());
        }
    }
    let movement = Movement::of_legs(tx, command.tenant_id, &hold.row.legs)?;
    settle(tx, now, command.tenant_id, hold, &movement, End::Voided)
}

/// A place in the order in which holds lapse.
pub type Expiry = (Timestamp, TenantId, TransactionId);

/// Before every hold.
pub const FIRST_EXPIRY: Expiry = (Timestamp::from_micros(i64::MIN), TenantId(Uuid::nil()), TransactionId(Uuid::nil()));

/// What one transaction of the sweep has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// How many holds it has dealt with. Zero: none is left.
    pub holds: usize,
    /// Where the next one looks on: before this place there are no holds, nor will there be.
    pub swept_to: Expiry,
}

/// Releases holds that have lapsed, oldest first, as many as one transaction should. It looks from `swept_to` on,
/// where an earlier one ended: before it lies a long row of deleted ones. A hold whose rows are damaged is passed over
/// and logged, so that it does not keep all later ones from their release; the next start comes back to it.
///
/// # Errors
/// Only the store's.
pub fn expire_holds(tx: &mut WriteTx<'_>, now: Timestamp, swept_to: Expiry) -> Result<Swept, Abort<Refusal>> {
    // No hold is ever placed that lapses now or earlier.
    let behind_due = (now.plus_micros(1), TenantId(Uuid::nil()), TransactionId(Uuid::nil()));
    let due = tx.scan(&HOLDS, Scan::all().after(&swept_to).until(&behind_due).limit(SWEEP_LINES_MAX))?;
    let mut lines = 0;
    let mut swept = Swept { holds: 0, swept_to: behind_due };
    for (expiry, _) in due {
        let (_, tenant_id, transaction_id) = expiry;
        let released = tx.savepoint(|tx| {
            let hold = get_transaction(tx, tenant_id, transaction_id)?;
            let legs = hold.row.legs.len();
            let movement = Movement::of_legs(tx, tenant_id, &hold.row.legs)?;
            settle(tx, now, tenant_id, hold, &movement, End::Expired)?;
            Ok::<usize, Abort<Refusal>>(legs)
        });
        match released {
            Ok(legs) => lines += legs,
            Err(Abort::Refused(Refusal::TransactionNotFound)) => {
                tracing::error!(%tenant_id, %transaction_id, "a lapsed hold is not in the journal; it is passed over");
            }
            Err(Abort::Failed(Failure::Damaged(reason))) => {
                tracing::error!(%tenant_id, %transaction_id, reason, "a lapsed hold is damaged; it is passed over");
            }
            Err(abort) => return Err(abort),
        }
        swept = Swept { holds: swept.holds + 1, swept_to: expiry };
        if lines >= SWEEP_LINES_MAX {
            break;
        }
    }
    Ok(swept)
}

/// When the next hold lapses, if none does before `swept_to`.
///
/// # Errors
/// Only the store's.
pub fn next_hold_expiry(read: &impl Read, swept_to: Expiry) -> Result<Option<Timestamp>, Failure> {
    let first = read.scan(&HOLDS, Scan::all().from(&swept_to).limit(1))?;
    Ok(first.first().map(|((expires_at, _, _), _)| *expires_at))
}

/// The one way a hold ends: counters, journal, statement lines and the sweep's row, together.
fn settle(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    mut hold: Transaction,
    movement: &Movement,
    end: End,
) -> Result<Settled, Abort<Refusal>> {
    let Settlement::Pending { expires_at } = hold.row.settlement else {
        return Err(Failure::Damaged(format!("transaction {} is due but not pending", hold.transaction_id)).into());
    };
    let accounts = movement.changed(|touched| {
        let counters = &touched.book.counters;
        match end {
            End::Committed => counters.settle(touched.sums, touched.legs),
            End::Voided | End::Expired => counters.release(touched.sums, touched.legs),
        }
        .map_err(|Overflow| counters_disagree(touched.account_id))
    })?;
    for (line_no, leg) in numbered(&hold.row.legs) {
        tx.delete(&LINES, &(leg.account_id, Shelf::Pending.tag(), hold.transaction_id, line_no));
    }
    hold.row.settlement = Settlement::Settled { expires_at, finalized_at: now, end };
    movement.put_lines(tx, hold.transaction_id, &hold.row)?;
    tx.put(&TRANSACTIONS, &(tenant_id, hold.transaction_id), &hold.row)?;
    for (account_id, book) in &accounts {
        tx.put(&BOOKS, &(tenant_id, *account_id), book)?;
    }
    if end == End::Committed {
        let effective_at = hold.row.effective_at.unwrap_or(hold.row.created_at);
        let order = tx.new_id();
        movement.put_late(tx, order, (effective_at, now), &accounts)?;
    }
    tx.delete(&HOLDS, &(expires_at, tenant_id, hold.transaction_id));
    Ok(Settled { transaction_id: hold.transaction_id, state: hold.row.state(), finalized_at: now })
}
