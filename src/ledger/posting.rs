//! Posting a transaction, at once or as a hold; and reading one.

use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use crate::model::{
    AccountId, ENTRIES_MAX, ENTRIES_MIN, Side, TenantId, Tracking, TransactionId, TransactionState, floor_allows,
};
use crate::money::{Amount, MoneyError};
use crate::movement::Movement;
use crate::refusal::Refusal;
use crate::tables::{
    BOOKS, BookRow, EXTERNAL_IDS, ExternalIdRow, HOLDS, HoldRow, LegRow, Settlement, TRANSACTIONS, TransactionRow,
    signed,
};

/// Posts a transaction.
#[derive(Clone, Debug)]
pub struct PostTransaction {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The caller's text, at most 1024 characters.
    pub description: Option<String>,
    /// The caller's own id, 1 to 255 characters, unique in the tenant.
    pub external_id: Option<String>,
    /// Canonical JSON of its metadata, at most 16 KiB.
    pub metadata: Option<String>,
    /// When the movement happened; absent: now.
    pub effective_at: Option<Timestamp>,
    /// Present: a hold, which lapses at this instant.
    pub hold_until: Option<Timestamp>,
    /// What moves.
    pub entries: Vec<NewEntry>,
}

/// One entry of a transaction to be.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry {
    /// The account.
    pub account_id: AccountId,
    /// Its side.
    pub direction: Side,
    /// How much, above zero.
    pub amount: Amount,
}

/// A posted transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Its id.
    pub transaction_id: TransactionId,
    /// Committed or pending.
    pub state: TransactionState,
    /// When it was posted.
    pub created_at: Timestamp,
    /// What is available on its sync accounts now, in the order of their first entry.
    pub available: Vec<Available>,
}

/// What is available on an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// The account.
    pub account_id: AccountId,
    /// Minor units.
    pub minor: i128,
    /// Fraction digits.
    pub scale: u8,
}

/// A transaction as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its id.
    pub transaction_id: TransactionId,
    /// Everything else.
    pub row: TransactionRow,
}

/// Posts a transaction.
///
/// The checks run from what is wrong with the request alone to what only the accounts forbid: entry count and
/// instants, references and amounts, balance, external id, account status, floors.
///
/// # Errors
/// In this order: [`Refusal::EntryCountOutOfRange`], [`Refusal::InvalidExpiresAt`], [`Refusal::InvalidEffectiveAt`];
/// for each entry [`Refusal::ReferenceNotFound`], [`Refusal::InvalidAmountScale`], [`Refusal::InvalidAmount`], and
/// [`Refusal::ConstraintViolation`] if an account's sum is more than any counter can hold;
/// [`Refusal::UnbalancedTransaction`], [`Refusal::DuplicateTransaction`], [`Refusal::AccountNotActive`],
/// [`Refusal::ConstraintViolation`] at the end of a counter's range, [`Refusal::InsufficientAvailable`].
pub fn post_transaction(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: PostTransaction,
) -> Result<Posted, Abort<Refusal>> {
    check_shape(now, &command)?;
    let (movement, legs) = load(tx, &command)?;
    movement.check_balanced()?;
    let by_external_id = command.external_id.clone().map(|external_id| (command.tenant_id, external_id));
    if let Some(key) = &by_external_id
        && let Some(other) = tx.get(&EXTERNAL_IDS, key)?
    {
        return Err(Refusal::DuplicateTransaction(other.transaction_id).into());
    }
    movement.check_active()?;
    let accounts = moved(&movement, command.hold_until.is_some())?;

    let transaction_id = TransactionId(tx.new_id());
    let settlement = command.hold_until.map_or(Settlement::AtOnce, |expires_at| Settlement::Pending { expires_at });
    let row = TransactionRow {
        settlement,
        created_at: now,
        effective_at: command.effective_at,
        description: command.description,
        external_id: command.external_id,
        metadata: command.metadata,
        legs,
    };
    tx.put(&TRANSACTIONS, &(command.tenant_id, transaction_id), &row)?;
    movement.put_lines(tx, transaction_id, &row)?;
    for (account_id, book) in &accounts {
        tx.put(&BOOKS, &(command.tenant_id, *account_id), book)?;
    }
    if let Some(key) = &by_external_id {
        tx.put(&EXTERNAL_IDS, key, &ExternalIdRow { transaction_id })?;
    }
    if let (None, Some(effective_at)) = (command.hold_until, row.effective_at.filter(|at| *at < now)) {
        movement.put_late(tx, transaction_id.0, (effective_at, now), &accounts)?;
    }
    if let Some(expires_at) = command.hold_until {
        tx.put(&HOLDS, &(expires_at, command.tenant_id, transaction_id), &HoldRow)?;
        tx.falls_due(HOLDS.spec().tag, expires_at);
    }
    Ok(Posted { transaction_id, state: row.state(), created_at: now, available: available(&accounts) })
}

/// One transaction.
///
/// # Errors
/// [`Refusal::TransactionNotFound`].
pub fn get_transaction(
    read: &impl Read,
    tenant_id: TenantId,
    transaction_id: TransactionId,
) -> Result<Transaction, Abort<Refusal>> {
    let row = read.get(&TRANSACTIONS, &(tenant_id, transaction_id))?.ok_or(Refusal::TransactionNotFound)?;
    Ok(Transaction { transaction_id, row })
}

fn check_shape(now: Timestamp, command: &PostTransaction) -> Result<(), Refusal> {
    if !(ENTRIES_MIN..=ENTRIES_MAX).contains(&command.entries.len()) {
        return Err(Refusal::EntryCountOutOfRange(command.entries.len()));
    }
    if command.hold_until.is_some_and(|expires_at| expires_at <= now) {
        return Err(Refusal::InvalidExpiresAt("not in the future"));
    }
    if command.effective_at.is_some_and(|effective_at| effective_at > now) {
        return Err(Refusal::InvalidEffectiveAt("in the future"));
    }
    Ok(())
}

fn load(tx: &WriteTx<'_>, command: &PostTransaction) -> Result<(Movement, Vec<LegRow>), Abort<Refusal>> {
    let mut movement = Movement::default();
    let mut legs = Vec::with_capacity(command.entries.len());
    for (index, entry) in command.entries.iter().enumerate() {
        let touched = movement.touch(tx, command.tenant_id, entry.account_id)?.ok_or_else(|| {
            Refusal::ReferenceNotFound { field: format!("entries[{index}].account_id"), account_id: entry.account_id }
        })?;
        let scale = touched.book.scale;
        let minor = entry.amount.to_minor(scale).map_err(|error| {
            let field = format!("entries[{index}].amount");
            match error {
                MoneyError::TooPrecise => Refusal::InvalidAmountScale { field, scale },
                MoneyError::Malformed => Refusal::InvalidAmount(field),
                MoneyError::TooLarge => out_of_range(),
            }
        })?;
        touched.add(entry.direction, minor).map_err(|_| out_of_range())?;
        legs.push(LegRow { account_id: entry.account_id, signed_minor: signed(entry.direction, minor), scale });
    }
    Ok((movement, legs))
}

/// The accounts after the movement, if every floor allows it.
fn moved(movement: &Movement, hold: bool) -> Result<Vec<(AccountId, BookRow)>, Refusal> {
    movement.changed(|touched| {
        let book = &touched.book;
        let counters = if hold {
            book.counters.hold(touched.sums, touched.legs)
        } else {
            book.counters.post(touched.sums, touched.legs)
        };
        let counters = counters.map_err(|_| out_of_range())?;
        if floor_allows(book.floor, book.available(), counters.available(book.normal_side)) {
            Ok(counters)
        } else {
            Err(Refusal::InsufficientAvailable(touched.account_id))
        }
    })
}

fn available(accounts: &[(AccountId, BookRow)]) -> Vec<Available> {
    accounts
        .iter()
        .filter(|(_, book)| book.tracking == Tracking::Sync)
        .map(|(account_id, book)| Available { account_id: *account_id, minor: book.available(), scale: book.scale })
        .collect()
}

fn out_of_range() -> Refusal {
    Refusal::ConstraintViolation("an account's sums would leave the range of its counters")
}
