//! What the operator reads: trial balance, search and export, in pages. Damaged records are listed, never fatal.

use quintet_platform::clock::rfc3339;
use quintet_storage::{Failure, Read, Timestamp, Uuid, first_id_after};
use serde_json::{Value, json};

use crate::model::{AccountId, Side, TenantId, TransactionId};
use crate::money::format_minor;
use crate::tables::{ASSET_TYPES, BOOKS, EXTERNAL_IDS, PROFILES, TransactionRow, unsigned};
use crate::verify::journal_of;
use crate::walk::{Step, Walk};

/// Rows of one page.
const PAGE: usize = 500;
/// How many transactions one page of a search looks at.
const LOOKED_AT: usize = 5_000;

/// A page of a list; `next` is where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Records that do not read: their ids and why.
    pub damaged: Vec<(Uuid, String)>,
    /// Where to go on; absent at the end.
    pub next: Option<Uuid>,
}

/// An account in a trial balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialRow {
    /// The account.
    pub account_id: Uuid,
    /// Its name; empty if the record is damaged.
    pub name: String,
    /// The code of its asset type.
    pub asset: String,
    /// Fraction digits.
    pub scale: u8,
    /// `debit` or `credit`.
    pub normal_side: &'static str,
    /// Posted, in minor units.
    pub debits: i128,
    /// Posted, in minor units.
    pub credits: i128,
}

/// A page of a tenant's trial balance.
///
/// # Errors
/// What the store answers, damage apart.
pub fn trial_balance(read: &impl Read, tenant_id: Uuid, from: Option<Uuid>) -> Result<Page<TrialRow>, Failure> {
    let tenant_id = TenantId(tenant_id);
    let walk = Walk {
        table: &BOOKS,
        key: |id| (tenant_id, AccountId(Uuid::from_u128(id))),
        id: |key: &(TenantId, AccountId)| key.1.0.as_u128(),
    };
    let steps = walk.steps(read, from.map_or(0, |id| id.as_u128()), PAGE)?;
    let next = next_of(&steps, PAGE);
    let mut page = Page { items: Vec::new(), damaged: Vec::new(), next };
    for step in steps {
        match step {
            Step::Damaged(id, reason) => page.damaged.push((Uuid::from_u128(id), reason)),
            Step::Row(id, book) => {
                let account_id = AccountId(Uuid::from_u128(id));
                let profile = readable(read.get(&PROFILES, &(tenant_id, account_id)))?;
                let asset = readable(read.get(&ASSET_TYPES, &(tenant_id, book.asset_type_id)))?;
                page.items.push(TrialRow {
                    account_id: account_id.0,
                    name: profile.map(|profile| profile.name).unwrap_or_default(),
                    asset: asset.map_or_else(|| book.asset_type_id.to_string(), |asset| asset.code),
                    scale: book.scale,
                    normal_side: book.normal_side.as_str(),
                    debits: book.counters.posted.debits,
                    credits: book.counters.posted.credits,
                });
            }
        }
    }
    Ok(page)
}

/// What a search is for. Everything that is given must fit.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// An entry is on this account.
    pub account_id: Option<Uuid>,
    /// Posted at this instant or later.
    pub from: Option<Timestamp>,
    /// Posted before this instant.
    pub until: Option<Timestamp>,
    /// The external id, exactly.
    pub external_id: Option<String>,
    /// A part of the description, in upper or lower case.
    pub description: Option<String>,
    /// A part of the metadata's canonical JSON, or `NAME=VALUE`: a member with this text.
    pub metadata: Option<String>,
}

impl Search {
    fn fits(&self, row: &TransactionRow) -> bool {
        let on_account = |id: Uuid| row.legs.iter().any(|leg| leg.account_id.0 == id);
        let described = |part: &String| {
            row.description.as_ref().is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
        };
        self.account_id.is_none_or(on_account)
            && self.from.is_none_or(|from| row.created_at >= from)
            && self.until.is_none_or(|until| row.created_at < until)
            && self.external_id.as_ref().is_none_or(|id| row.external_id.as_ref() == Some(id))
            && self.description.as_ref().is_none_or(described)
            && self.metadata.as_ref().is_none_or(|wanted| has_metadata(row, wanted))
    }
}

fn has_metadata(row: &TransactionRow, wanted: &str) -> bool {
    let Some(canonical) = &row.metadata else { return false };
    if canonical.contains(wanted) {
        return true;
    }
    let Some((name, value)) = wanted.split_once('=') else { return false };
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(canonical) else { return false };
    match members.get(name) {
        Some(Value::String(text)) => text == value,
        Some(other) => serde_json::to_string(other).is_ok_and(|text| text == value),
        None => false,
    }
}

/// A page of a search through a tenant's journal, oldest first. A page without items may have a next one: it has looked
/// at so many transactions.
///
/// # Errors
/// What the store answers, damage apart.
pub fn search(read: &impl Read, tenant_id: Uuid, search: &Search, from: Option<Uuid>) -> Result<Page<Value>, Failure> {
    let tenant_id = TenantId(tenant_id);
    let begin = search.from.map_or(0, |from| first_id_after(from.plus_micros(-1)).as_u128());
    let mut begin = from.map_or(begin, |id| id.as_u128());
    let mut looked_at = LOOKED_AT;
    if let Some(external_id) = &search.external_id {
        let Some(known) = read.get(&EXTERNAL_IDS, &(tenant_id, external_id.clone()))? else {
            return Ok(Page { items: Vec::new(), damaged: Vec::new(), next: None });
        };
        (begin, looked_at) = (known.transaction_id.0.as_u128(), 1);
    }
    let steps = journal_of(tenant_id).steps(read, begin, looked_at)?;
    let is_past = |row: &TransactionRow| search.until.is_some_and(|until| row.created_at >= until);
    let is_last = looked_at == 1 || steps.iter().any(|step| matches!(step, Step::Row(_, row) if is_past(row)));
    let next = next_of(&steps, looked_at).filter(|_| !is_last);
    let mut page = page_of(read, tenant_id, steps, next, |row| search.fits(row))?;
    if is_last {
        page.next = None;
    }
    Ok(page)
}

/// A page of a tenant's journal, oldest first, as records with the accounts' names and the assets' codes.
///
/// # Errors
/// What the store answers, damage apart.
pub fn export(read: &impl Read, tenant_id: Uuid, from: Option<Uuid>) -> Result<Page<Value>, Failure> {
    let tenant_id = TenantId(tenant_id);
    let steps = journal_of(tenant_id).steps(read, from.map_or(0, |id| id.as_u128()), PAGE)?;
    let next = next_of(&steps, PAGE);
    page_of(read, tenant_id, steps, next, |_| true)
}

fn page_of(
    read: &impl Read,
    tenant_id: TenantId,
    steps: Vec<Step<TransactionRow>>,
    next: Option<Uuid>,
    fits: impl Fn(&TransactionRow) -> bool,
) -> Result<Page<Value>, Failure> {
    let mut page = Page { items: Vec::new(), damaged: Vec::new(), next };
    for step in steps {
        match step {
            Step::Damaged(id, reason) => page.damaged.push((Uuid::from_u128(id), reason)),
            Step::Row(id, row) if fits(&row) => {
                page.items.push(record(read, tenant_id, TransactionId(Uuid::from_u128(id)), &row)?);
            }
            Step::Row(..) => {}
        }
    }
    Ok(page)
}

fn record(
    read: &impl Read,
    tenant_id: TenantId,
    transaction_id: TransactionId,
    row: &TransactionRow,
) -> Result<Value, Failure> {
    let mut entries = Vec::with_capacity(row.legs.len());
    for (line_no, leg) in crate::movement::numbered(&row.legs) {
        let (side, minor) = unsigned(leg.signed_minor);
        let profile = readable(read.get(&PROFILES, &(tenant_id, leg.account_id)))?;
        let book = readable(read.get(&BOOKS, &(tenant_id, leg.account_id)))?;
        let asset = match book {
            Some(book) => readable(read.get(&ASSET_TYPES, &(tenant_id, book.asset_type_id)))?,
            None => None,
        };
        entries.push(json!({
            "line_no": line_no,
            "account_id": leg.account_id.to_string(),
            "account": profile.map(|profile| profile.name),
            "asset": asset.map(|asset| asset.code),
            "direction": if side == Side::Debit { "debit" } else { "credit" },
            "amount": format_minor(minor, leg.scale),
            "amount_minor": minor.to_string(),
            "scale": leg.scale,
        }));
    }
    let metadata: Value = row.metadata.as_deref().map_or(json!({}), |text| {
        // Canonical JSON that does not read is shown as the text it is.
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    });
    Ok(json!({
        "transaction_id": transaction_id.to_string(),
        "state": row.state().as_str(),
        "description": row.description,
        "external_id": row.external_id,
        "metadata": metadata,
        "created_at": rfc3339(row.created_at),
        "effective_at": rfc3339(row.effective_at.unwrap_or(row.created_at)),
        "expires_at": row.expires_at().map(rfc3339),
        "finalized_at": row.finalized_at().map(rfc3339),
        "entries": entries,
    }))
}

/// A damaged row is one that is not there; whoever proves the ledger is told.
fn readable<T>(row: Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
    match row {
        Err(Failure::Damaged(_)) => Ok(None),
        row => row,
    }
}

fn next_of<V>(steps: &[Step<V>], limit: usize) -> Option<Uuid> {
    let last = steps.last().filter(|_| steps.len() == limit)?;
    Some(Uuid::from_u128(last.id().saturating_add(1)))
}
