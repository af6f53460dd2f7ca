//! Proves the ledger over a snapshot: every invariant that its tables must keep among each other, from the rows up.
//!
//! - counters of an account = sums of its statement lines, posted and pending, with their numbers;
//! - lines = journal: each leg has its lines on the shelves of its transaction's state, and there are no others;
//! - debits = credits of each transaction for each asset type, and so of all accounts together;
//! - balances as of the end of time, on both clocks = posted counters;
//! - holds that wait to lapse, and external ids = those the journal knows;
//! - nothing available is below its floor.
//!
//! Rows are read in pages and forgotten: what it keeps is a few counts and the first findings.

#[cfg(test)]
mod tests;

use quintet_platform::access;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid};

use crate::as_of::balance_as_of;
use crate::model::{AccountId, AssetTypeId, Basis, Overflow, Sums, TenantId, TransactionId, TransactionState};
use crate::movement::numbered;
use crate::tables::{
    BOOKS, BookRow, EXTERNAL_IDS, HOLDS, LINES, LineRow, PostedAfter, Shelf, TRANSACTIONS, TransactionRow, unsigned,
};
use crate::walk::{Step, Walk};

/// Rows read at a time.
const PAGE: usize = 500;
/// The most findings that are told one by one.
const FINDINGS_MAX: usize = 1000;
/// Later than anything that is ever recorded: the year 9999.
const END_OF_TIME: Timestamp = Timestamp::from_micros(253_402_300_799_000_000);
/// Every shelf.
const SHELVES: [Shelf; 6] =
    [Shelf::AtOnce, Shelf::Committed, Shelf::Pending, Shelf::Voided, Shelf::Expired, Shelf::Held];

/// Something that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where: tenant, account or transaction.
    pub place: String,
    /// What.
    pub problem: String,
}

/// What was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// How many tenants there are.
    pub tenants: u64,
    /// How many accounts were added up.
    pub accounts: u64,
    /// How many transactions were read.
    pub transactions: u64,
    /// How many statement lines were read.
    pub lines: u64,
    /// What does not fit; at most the first thousand.
    pub findings: Vec<Finding>,
    /// How many findings there are in all.
    pub findings_total: u64,
}

impl Proof {
    fn find(&mut self, place: impl Into<String>, problem: impl Into<String>) {
        self.findings_total += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place: place.into(), problem: problem.into() });
        }
    }
}

/// Proves the ledger of every tenant.
///
/// # Errors
/// What the store answers when it cannot be read at all; damaged rows are findings.
pub fn verify(read: &impl Read) -> Result<Proof, Failure> {
    let mut proof = Proof::default();
    let mut after: Option<Uuid> = None;
    let mut pending = 0;
    loop {
        let page = access::list_tenants(read, after, PAGE)?;
        for tenant in &page {
            proof.tenants += 1;
            pending += verify_tenant(read, TenantId(tenant.tenant_id), &mut proof)?;
        }
        after = page.last().map(|tenant| tenant.tenant_id);
        if page.len() < PAGE {
            break;
        }
    }
    verify_holds(read, pending, &mut proof)?;
    Ok(proof)
}

/// Of one tenant; how many of its transactions are pending.
fn verify_tenant(read: &impl Read, tenant_id: TenantId, proof: &mut Proof) -> Result<u64, Failure> {
    let found = verify_accounts(read, tenant_id, proof)?;
    let (expected, pending) = verify_journal(read, tenant_id, proof)?;
    if found != expected {
        let problem = format!("the journal has legs for {expected} statement lines, the statements have {found}");
        proof.find(format!("tenant {tenant_id}"), problem);
    }
    Ok(pending)
}

/// Accounts against their lines; how many lines there are.
fn verify_accounts(read: &impl Read, tenant_id: TenantId, proof: &mut Proof) -> Result<u64, Failure> {
    let walk = Walk {
        table: &BOOKS,
        key: |id| (tenant_id, AccountId(Uuid::from_u128(id))),
        id: |key: &(TenantId, AccountId)| key.1.0.as_u128(),
    };
    // Of each asset type debits less credits; sums modulo 2^128 are zero if the true ones are.
    let mut assets: Vec<(AssetTypeId, i128)> = Vec::new();
    let (mut from, mut lines) = (0, 0);
    loop {
        let steps = walk.steps(read, from, PAGE)?;
        for step in &steps {
            let account_id = AccountId(Uuid::from_u128(step.id()));
            let place = format!("tenant {tenant_id}, account {account_id}");
            proof.accounts += 1;
            let Step::Row(_, book) = step else {
                proof.find(place, format!("the account's row is damaged: {}", reason(step)));
                continue;
            };
            lines += verify_account(read, tenant_id, account_id, book, &place, proof)?;
            let difference = book.counters.posted.debits.wrapping_sub(book.counters.posted.credits);
            match assets.iter_mut().find(|(known, _)| *known == book.asset_type_id) {
                Some((_, sum)) => *sum = sum.wrapping_add(difference),
                None => assets.push((book.asset_type_id, difference)),
            }
        }
        match steps.last() {
            Some(last) if steps.len() == PAGE => from = last.id().saturating_add(1),
            _ => break,
        }
    }
    for (asset_type_id, difference) in assets.iter().filter(|(_, difference)| *difference != 0) {
        let problem = format!("posted debits and credits differ by {difference} minor units");
        proof.find(format!("tenant {tenant_id}, asset type {asset_type_id}"), problem);
    }
    Ok(lines)
}

/// What the lines on a shelf add up to.
#[derive(Clone, Copy, Default)]
struct Added {
    sums: Sums,
    lines: u64,
}

fn verify_account(
    read: &impl Read,
    tenant_id: TenantId,
    account_id: AccountId,
    book: &BookRow,
    place: &str,
    proof: &mut Proof,
) -> Result<u64, Failure> {
    let mut on = [Added::default(); SHELVES.len()];
    let mut total = 0;
    for (shelf, added) in SHELVES.into_iter().zip(&mut on) {
        match add_shelf(read, account_id, shelf) {
            Ok(sum) => *added = sum,
            Err(Failure::Damaged(reason)) => {
                proof.find(place, format!("statement lines ({shelf:?}) are damaged: {reason}"));
                return Ok(total);
            }
            Err(failure) => return Err(failure),
        }
        total += added.lines;
        proof.lines += added.lines;
    }
    let [at_once, committed, pending, voided, expired, held] = on;
    let counters = &book.counters;
    let posted = at_once.sums.plus(committed.sums).map(|sums| (sums, at_once.lines + committed.lines));
    if posted != Ok((counters.posted, counters.posted_entries)) {
        let problem = format!("posted counters are {:?}, the statement says {posted:?}", counters.posted);
        proof.find(place, problem);
    }
    if (pending.sums, pending.lines) != (counters.pending, counters.pending_entries) {
        let problem = format!("pending counters are {:?}, the statement says {:?}", counters.pending, pending.sums);
        proof.find(place, problem);
    }
    if held.lines != committed.lines + pending.lines + voided.lines + expired.lines {
        proof.find(place, "lines of holds are not one in all for each in its state".to_owned());
    }
    let everything = PostedAfter { sums: counters.posted, entries: counters.posted_entries };
    for basis in Basis::ALL {
        match balance_as_of(read, tenant_id, account_id, END_OF_TIME, basis) {
            Ok(balance) if balance.posted == everything => {}
            Ok(balance) => {
                let (basis, told) = (basis.as_str(), balance.posted);
                proof.find(place, format!("balance as of now ({basis}) is {told:?}, posted is {everything:?}"));
            }
            Err(Abort::Failed(Failure::Damaged(reason))) => proof.find(place, reason),
            Err(Abort::Failed(failure)) => return Err(failure),
            Err(Abort::Refused(refusal)) => proof.find(place, format!("{refusal:?}")),
        }
    }
    // A floor above zero may have been there before anything came in.
    if let Some(floor) = book.floor.filter(|floor| *floor <= 0 && book.available() < *floor) {
        proof.find(place, format!("{} minor units are available, below the floor of {floor}", book.available()));
    }
    Ok(total)
}

fn add_shelf(read: &impl Read, account_id: AccountId, shelf: Shelf) -> Result<Added, Failure> {
    let mut added = Added::default();
    let mut scan = Scan::prefix(&(account_id, shelf.tag())).limit(PAGE);
    loop {
        let page: Vec<((AccountId, u8, TransactionId, u8), LineRow)> = read.scan(&LINES, scan)?;
        for (_, line) in &page {
            let (side, minor) = unsigned(line.signed_minor);
            let overflow = |Overflow| Failure::Damaged("the sum leaves the range of a counter".to_owned());
            // Settled lines are counted alone: what was voided a thousand times may be more than any counter holds.
            if !matches!(shelf, Shelf::Voided | Shelf::Expired | Shelf::Held) {
                added.sums.add(side, minor).map_err(overflow)?;
            }
            added.lines += 1;
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => {
                scan = Scan::prefix(&(account_id, shelf.tag())).after(last).limit(PAGE);
            }
            _ => return Ok(added),
        }
    }
}

/// The journal against lines, external ids and holds; how many lines it has legs for, and how many of its
/// transactions are pending.
fn verify_journal(read: &impl Read, tenant_id: TenantId, proof: &mut Proof) -> Result<(u64, u64), Failure> {
    let (mut from, mut lines, mut pending) = (0, 0, 0);
    loop {
        let steps = journal_of(tenant_id).steps(read, from, PAGE)?;
        for step in &steps {
            let transaction_id = TransactionId(Uuid::from_u128(step.id()));
            let place = format!("tenant {tenant_id}, transaction {transaction_id}");
            proof.transactions += 1;
            let Step::Row(_, row) = step else {
                proof.find(place, format!("the transaction is damaged: {}", reason(step)));
                continue;
            };
            pending += u64::from(row.state() == TransactionState::Pending);
            lines += verify_transaction(read, tenant_id, transaction_id, row, &place, proof)?;
        }
        match steps.last() {
            Some(last) if steps.len() == PAGE => from = last.id().saturating_add(1),
            _ => return Ok((lines, pending)),
        }
    }
}

type JournalKey = (TenantId, TransactionId);

/// A tenant's journal, oldest first.
pub(crate) fn journal_of(
    tenant_id: TenantId,
) -> Walk<'static, JournalKey, TransactionRow, impl Fn(u128) -> JournalKey, impl Fn(&JournalKey) -> u128> {
    Walk {
        table: &TRANSACTIONS,
        key: move |id| (tenant_id, TransactionId(Uuid::from_u128(id))),
        id: |key: &JournalKey| key.1.0.as_u128(),
    }
}

fn verify_transaction(
    read: &impl Read,
    tenant_id: TenantId,
    transaction_id: TransactionId,
    row: &TransactionRow,
    place: &str,
    proof: &mut Proof,
) -> Result<u64, Failure> {
    let mut assets: Vec<(AssetTypeId, i128)> = Vec::with_capacity(1);
    let mut lines = 0;
    for (line_no, leg) in numbered(&row.legs) {
        match read.get(&BOOKS, &(tenant_id, leg.account_id)) {
            Ok(Some(book)) => match assets.iter_mut().find(|(known, _)| *known == book.asset_type_id) {
                Some((_, sum)) => *sum = sum.wrapping_add(leg.signed_minor),
                None => assets.push((book.asset_type_id, leg.signed_minor)),
            },
            Ok(None) => proof.find(place, format!("names account {}, which does not exist", leg.account_id)),
            // Told where the account is looked at.
            Err(Failure::Damaged(_)) => {}
            Err(failure) => return Err(failure),
        }
        for shelf in Shelf::of(row.settlement) {
            lines += 1;
            match read.get(&LINES, &(leg.account_id, shelf.tag(), transaction_id, line_no)) {
                Ok(Some(line)) if line.signed_minor == leg.signed_minor && line.created_at == row.created_at => {}
                Ok(Some(_)) => proof.find(place, format!("line {line_no} differs from its statement line ({shelf:?})")),
                Ok(None) => proof.find(place, format!("line {line_no} has no statement line ({shelf:?})")),
                Err(Failure::Damaged(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
    }
    if let Some((asset_type_id, difference)) = assets.iter().find(|(_, difference)| *difference != 0) {
        proof.find(place, format!("debits and credits of asset type {asset_type_id} differ by {difference}"));
    }
    if let Some(external_id) = &row.external_id {
        let found = read.get(&EXTERNAL_IDS, &(tenant_id, external_id.clone()))?;
        if found.map(|found| found.transaction_id) != Some(transaction_id) {
            proof.find(place, "its external id leads elsewhere".to_owned());
        }
    }
    if let (TransactionState::Pending, Some(expires_at)) = (row.state(), row.expires_at())
        && !read.contains(&HOLDS, &(expires_at, tenant_id, transaction_id))?
    {
        proof.find(place, "it is pending, but nothing waits to release it".to_owned());
    }
    Ok(lines)
}

/// As many holds wait to lapse as are pending; each pending one was found among them before.
fn verify_holds(read: &impl Read, pending: u64, proof: &mut Proof) -> Result<(), Failure> {
    let mut waiting = 0;
    let mut scan = Scan::all().limit(PAGE);
    loop {
        let page = read.scan(&HOLDS, scan)?;
        waiting += page.len() as u64;
        match page.last() {
            Some((last, _)) if page.len() == PAGE => scan = Scan::all().after(last).limit(PAGE),
            _ => break,
        }
    }
    if waiting != pending {
        proof.find("holds", format!("{waiting} wait to lapse, {pending} transactions are pending"));
    }
    Ok(())
}

fn reason<V>(step: &Step<V>) -> &str {
    match step {
        Step::Row(..) => "",
        Step::Damaged(_, reason) => reason,
    }
}
