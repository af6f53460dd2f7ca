//! What one transaction does to the accounts it touches: loaded once, summed per account, written once.

use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};

use crate::late::{LateEntries, put_late};
use crate::model::{
    AccountId, AccountStatus, AssetTypeId, Counters, Overflow, Side, Sums, TenantId, TransactionId, TransactionState,
};
use crate::refusal::Refusal;
use crate::tables::{
    BOOKS, BookRow, LINES, LegRow, LineRow, PostedAfter, Settlement, Shelf, TransactionRow, counters_disagree, unsigned,
};

/// The accounts of one transaction, in the order of their first leg. At most a hundred, so a list it is.
#[derive(Debug, Default)]
pub(crate) struct Movement {
    accounts: Vec<Touched>,
}

/// One account of a transaction.
#[derive(Debug)]
pub(crate) struct Touched {
    /// Which one.
    pub(crate) account_id: AccountId,
    /// As it was before.
    pub(crate) book: BookRow,
    /// What the transaction's legs sum to on it.
    pub(crate) sums: Sums,
    /// How many legs it has.
    pub(crate) legs: u64,
}

impl Movement {
    /// Loads the accounts of a journalled transaction and sums its legs.
    ///
    /// # Errors
    /// [`Failure::Damaged`] if an account of the journal is missing.
    pub(crate) fn of_legs(read: &impl Read, tenant_id: TenantId, legs: &[LegRow]) -> Result<Movement, Failure> {
        let mut movement = Movement::default();
        for leg in legs {
            let touched = movement.touch(read, tenant_id, leg.account_id)?.ok_or_else(|| {
                Failure::Damaged(format!("the journal names account {}, which does not exist", leg.account_id))
            })?;
            let (side, minor) = unsigned(leg.signed_minor);
            touched.add(side, minor).map_err(|Overflow| counters_disagree(leg.account_id))?;
        }
        Ok(movement)
    }

    /// The account, loaded if no leg has named it before; `None` if the tenant has no such account.
    pub(crate) fn touch(
        &mut self,
        read: &impl Read,
        tenant_id: TenantId,
        account_id: AccountId,
    ) -> Result<Option<&mut Touched>, Failure> {
        let known = self.accounts.iter().position(|touched| touched.account_id == account_id);
        let index = match known {
            Some(index) => index,
            None => match read.get(&BOOKS, &(tenant_id, account_id))? {
                Some(book) => {
                    self.accounts.push(Touched { account_id, book, sums: Sums::default(), legs: 0 });
                    self.accounts.len() - 1
                }
                None => return Ok(None),
            },
        };
        Ok(self.accounts.get_mut(index))
    }

    /// Debits equal credits for each asset type. Amounts are above zero, so both sides are present then.
    pub(crate) fn check_balanced(&self) -> Result<(), Refusal> {
        let mut assets: Vec<(AssetTypeId, WideSum)> = Vec::with_capacity(1);
        for touched in &self.accounts {
            let asset_type_id = touched.book.asset_type_id;
            let difference = touched.sums.debits - touched.sums.credits;
            match assets.iter_mut().find(|(known, _)| *known == asset_type_id) {
                Some((_, sum)) => sum.add(difference),
                None => assets.push((asset_type_id, WideSum::of(difference))),
            }
        }
        match assets.iter().find(|(_, difference)| !difference.is_zero()) {
            Some((asset_type_id, _)) => Err(Refusal::UnbalancedTransaction(*asset_type_id)),
            None => Ok(()),
        }
    }

    /// Every account takes part in postings.
    pub(crate) fn check_active(&self) -> Result<(), Refusal> {
        match self.accounts.iter().find(|touched| touched.book.status != AccountStatus::Active) {
            Some(touched) => Err(Refusal::AccountNotActive(touched.account_id)),
            None => Ok(()),
        }
    }

    /// The accounts as they will be, in the order of their first leg.
    pub(crate) fn changed<E>(
        &self,
        mut change: impl FnMut(&Touched) -> Result<Counters, E>,
    ) -> Result<Vec<(AccountId, BookRow)>, E> {
        let mut changed = Vec::with_capacity(self.accounts.len());
        for touched in &self.accounts {
            changed.push((touched.account_id, BookRow { counters: change(touched)?, ..touched.book }));
        }
        Ok(changed)
    }

    /// Writes the statement lines of each leg on the shelves of the transaction's settlement.
    pub(crate) fn put_lines(
        &self,
        tx: &mut WriteTx<'_>,
        transaction_id: TransactionId,
        row: &TransactionRow,
    ) -> Result<(), Failure> {
        let ended = match row.settlement {
            Settlement::Settled { finalized_at, end, .. } => Some((finalized_at, end)),
            Settlement::AtOnce | Settlement::Pending { .. } => None,
        };
        let is_committed = row.state() == TransactionState::Committed;
        let mut running: Vec<(AccountId, PostedAfter)> = self
            .accounts
            .iter()
            .map(|touched| {
                let counters = touched.book.counters;
                (touched.account_id, PostedAfter { sums: counters.posted, entries: counters.posted_entries })
            })
            .collect();
        for (line_no, leg) in numbered(&row.legs) {
            let posted_after = if is_committed { Some(advance(&mut running, leg)?) } else { None };
            for shelf in Shelf::of(row.settlement) {
                let line = LineRow {
                    signed_minor: leg.signed_minor,
                    created_at: row.created_at,
                    ended,
                    posted_after: posted_after.filter(|_| *shelf != Shelf::Held),
                };
                tx.put(&LINES, &(leg.account_id, shelf.tag(), transaction_id, line_no), &line)?;
            }
        }
        Ok(())
    }

    /// Notes the entries as late ones on every account, `accounts` being those after the movement.
    pub(crate) fn put_late(
        &self,
        tx: &mut WriteTx<'_>,
        order: Uuid,
        (effective_at, finalized_at): (Timestamp, Timestamp),
        accounts: &[(AccountId, BookRow)],
    ) -> Result<(), Failure> {
        for (touched, (account_id, book)) in self.accounts.iter().zip(accounts) {
            let counters = book.counters;
            let late = LateEntries {
                account_id: *account_id,
                order,
                effective_at,
                finalized_at,
                sums: touched.sums,
                entries: touched.legs,
                posted_after: PostedAfter { sums: counters.posted, entries: counters.posted_entries },
            };
            put_late(tx, &late)?;
        }
        Ok(())
    }
}

impl Touched {
    /// Adds a leg.
    pub(crate) fn add(&mut self, side: Side, minor: i128) -> Result<(), Overflow> {
        self.sums.add(side, minor)?;
        self.legs += 1;
        Ok(())
    }
}

/// A sum that a hundred amounts cannot overflow, each as large as a counter can be: its upper and its lower 64 bits
/// are added on their own, and carried only in the end.
#[derive(Clone, Copy, Debug)]
struct WideSum {
    high: i128,
    low: i128,
}

impl WideSum {
    const LOW_BITS: u32 = 64;
    const LOW: i128 = (1 << WideSum::LOW_BITS) - 1;

    const fn of(value: i128) -> WideSum {
        WideSum { high: value >> WideSum::LOW_BITS, low: value & WideSum::LOW }
    }

    const fn add(&mut self, value: i128) {
        let value = WideSum::of(value);
        self.high += value.high;
        self.low += value.low;
    }

    const fn is_zero(self) -> bool {
        self.low & WideSum::LOW == 0 && self.high + (self.low >> WideSum::LOW_BITS) == 0
    }
}

/// Legs with their line numbers, which count from 1.
pub(crate) fn numbered(legs: &[LegRow]) -> impl Iterator<Item = (u8, &LegRow)> {
    (1_u8..=u8::MAX).zip(legs)
}

fn advance(running: &mut [(AccountId, PostedAfter)], leg: &LegRow) -> Result<PostedAfter, Failure> {
    let Some((_, after)) = running.iter_mut().find(|(account_id, _)| *account_id == leg.account_id) else {
        return Err(counters_disagree(leg.account_id));
    };
    let (side, minor) = unsigned(leg.signed_minor);
    after.sums.add(side, minor).map_err(|Overflow| counters_disagree(leg.account_id))?;
    after.entries = after.entries.saturating_add(1);
    Ok(*after)
}
