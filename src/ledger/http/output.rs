//! What the ledger writes: the wire types and their JSON.

use quintet_platform::access::{IssuedKey, KeyRecord};
use quintet_platform::clock::rfc3339;
use quintet_storage::{Failure, Timestamp, Uuid};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::accounts::Account;
use crate::as_of::BalanceAsOf;
use crate::asset_types::AssetType;
use crate::holds::Settled;
use crate::model::{AccountId, Role, Sums};
use crate::money::format_minor;
use crate::posting::{Available, Posted, Transaction};
use crate::statement::{Entry, entries_of};
use crate::sub_tenants::SubTenant;
use crate::tables::BookRow;

/// An id as text.
struct Id(Uuid);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

/// An instant as text, in UTC.
struct Instant(Timestamp);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// Minor units as text.
struct Minor(i128);

impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Minor units as a decimal string at a scale.
struct Money(i128, u8);

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_minor(self.0, self.1))
    }
}

/// Stored canonical JSON, passed on as it is.
struct Metadata<'a>(Option<&'a str>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.0.unwrap_or("{}")).map_err(|_| serde::ser::Error::custom("stored metadata"))?;
        raw.serialize(serializer)
    }
}

/// JSON of a wire type. All that can fail is stored metadata that is no JSON.
fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::with_capacity(512);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => Ok(body),
        Err(error) => Err(Failure::Damaged(format!("a stored value cannot be written as JSON: {error}"))),
    }
}

#[derive(serde::Serialize)]
struct CreatedAssetType<'a> {
    asset_type_id: Id,
    code: &'a str,
    kind: &'static str,
    scale: u8,
}

/// The answer to a definition.
pub(super) fn created_asset_type(made: &AssetType) -> Result<Vec<u8>, Failure> {
    json(&of_asset_type(made))
}

#[derive(serde::Serialize)]
struct AssetTypeRecord<'a> {
    #[serde(flatten)]
    created: CreatedAssetType<'a>,
    created_at: Instant,
}

#[derive(serde::Serialize)]
struct AssetTypeList<'a> {
    asset_types: Vec<AssetTypeRecord<'a>>,
}

/// Every asset type.
pub(super) fn asset_types(all: &[AssetType]) -> Result<Vec<u8>, Failure> {
    let record = |one| AssetTypeRecord { created: of_asset_type(one), created_at: Instant(one.row.created_at) };
    json(&AssetTypeList { asset_types: all.iter().map(record).collect() })
}

fn of_asset_type(one: &AssetType) -> CreatedAssetType<'_> {
    CreatedAssetType {
        asset_type_id: Id(one.asset_type_id.0),
        code: &one.row.code,
        kind: one.row.kind.as_str(),
        scale: one.row.scale,
    }
}

#[derive(serde::Serialize)]
struct CreatedAccount<'a> {
    account_id: Id,
    name: &'a str,
    normal_side: &'static str,
}

/// The answer to an opening.
pub(super) fn created_account(made: &Account) -> Result<Vec<u8>, Failure> {
    json(&CreatedAccount {
        account_id: Id(made.account_id.0),
        name: &made.profile.name,
        normal_side: made.book.normal_side.as_str(),
    })
}

#[derive(serde::Serialize)]
struct AccountRecord<'a> {
    account_id: Id,
    asset_type_id: Id,
    name: &'a str,
    normal_side: &'static str,
    status: &'static str,
    balance_tracking: &'static str,
    balance_floor: Option<Money>,
    balance_floor_minor: Option<Minor>,
    scale: u8,
    created_at: Instant,
    metadata: Metadata<'a>,
}

fn account_record(account: &Account) -> AccountRecord<'_> {
    let book = &account.book;
    AccountRecord {
        account_id: Id(account.account_id.0),
        asset_type_id: Id(book.asset_type_id.0),
        name: &account.profile.name,
        normal_side: book.normal_side.as_str(),
        status: book.status.as_str(),
        balance_tracking: book.tracking.as_str(),
        balance_floor: book.floor.map(|minor| Money(minor, book.scale)),
        balance_floor_minor: book.floor.map(Minor),
        scale: book.scale,
        created_at: Instant(account.profile.created_at),
        metadata: Metadata(account.profile.metadata.as_deref()),
    }
}

/// One account.
pub(super) fn account(one: &Account) -> Result<Vec<u8>, Failure> {
    json(&account_record(one))
}

#[derive(serde::Serialize)]
struct AccountPage<'a> {
    accounts: Vec<AccountRecord<'a>>,
    next_cursor: Option<String>,
}

/// A page of accounts.
pub(super) fn accounts(page: &[Account], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&AccountPage { accounts: page.iter().map(account_record).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct PostedRecord {
    transaction_id: Id,
    state: &'static str,
    created_at: Instant,
    accounts: Vec<AvailableRecord>,
}

#[derive(serde::Serialize)]
struct AvailableRecord {
    account_id: Id,
    available_after_minor: Minor,
    available_after: Money,
}

/// The answer to a posting.
pub(super) fn posted(posted: &Posted) -> Result<Vec<u8>, Failure> {
    let record = |one: &Available| AvailableRecord {
        account_id: Id(one.account_id.0),
        available_after_minor: Minor(one.minor),
        available_after: Money(one.minor, one.scale),
    };
    json(&PostedRecord {
        transaction_id: Id(posted.transaction_id.0),
        state: posted.state.as_str(),
        created_at: Instant(posted.created_at),
        accounts: posted.available.iter().map(record).collect(),
    })
}

#[derive(serde::Serialize)]
struct SettledRecord {
    transaction_id: Id,
    state: &'static str,
    finalized_at: Instant,
}

/// The answer to a commit or a void.
pub(super) fn settled(settled: &Settled) -> Result<Vec<u8>, Failure> {
    json(&SettledRecord {
        transaction_id: Id(settled.transaction_id.0),
        state: settled.state.as_str(),
        finalized_at: Instant(settled.finalized_at),
    })
}

#[derive(serde::Serialize)]
struct EntryRecord {
    id: Id,
    transaction_id: Id,
    account_id: Id,
    direction: &'static str,
    amount: Money,
    amount_minor: Minor,
    scale: u8,
    line_no: u8,
    created_at: Instant,
    transaction_state: &'static str,
    finalized_at: Option<Instant>,
}

fn entry_record(entry: &Entry) -> EntryRecord {
    EntryRecord {
        id: Id(entry.id()),
        transaction_id: Id(entry.transaction_id.0),
        account_id: Id(entry.account_id.0),
        direction: entry.direction.as_str(),
        amount: Money(entry.minor, entry.scale),
        amount_minor: Minor(entry.minor),
        scale: entry.scale,
        line_no: entry.line_no,
        created_at: Instant(entry.created_at),
        transaction_state: entry.state.as_str(),
        finalized_at: entry.finalized_at.map(Instant),
    }
}

#[derive(serde::Serialize)]
struct EntryPage {
    entries: Vec<EntryRecord>,
    next_cursor: Option<String>,
}

/// A page of a statement.
pub(super) fn entries(page: &[Entry], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&EntryPage { entries: page.iter().map(entry_record).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct TransactionRecord<'a> {
    transaction_id: Id,
    state: &'static str,
    description: Option<&'a str>,
    external_id: Option<&'a str>,
    metadata: Metadata<'a>,
    created_at: Instant,
    effective_at: Instant,
    expires_at: Option<Instant>,
    finalized_at: Option<Instant>,
    entries: Vec<EntryRecord>,
}

/// One transaction with its entries.
pub(super) fn transaction(one: &Transaction) -> Result<Vec<u8>, Failure> {
    let row = &one.row;
    json(&TransactionRecord {
        transaction_id: Id(one.transaction_id.0),
        state: row.state().as_str(),
        description: row.description.as_deref(),
        external_id: row.external_id.as_deref(),
        metadata: Metadata(row.metadata.as_deref()),
        created_at: Instant(row.created_at),
        effective_at: Instant(row.effective_at.unwrap_or(row.created_at)),
        expires_at: row.expires_at().map(Instant),
        finalized_at: row.finalized_at().map(Instant),
        entries: entries_of(one.transaction_id, row).map(|entry| entry_record(&entry)).collect(),
    })
}

#[derive(serde::Serialize)]
struct BalanceRecord {
    account_id: Id,
    posted: SumsRecord,
    pending: SumsRecord,
    available: Money,
    available_minor: Minor,
    scale: u8,
    version: u64,
    as_of: Instant,
}

#[derive(serde::Serialize)]
struct SumsRecord {
    debits: Money,
    credits: Money,
    debits_minor: Minor,
    credits_minor: Minor,
}

fn sums_record(sums: Sums, scale: u8) -> SumsRecord {
    SumsRecord {
        debits: Money(sums.debits, scale),
        credits: Money(sums.credits, scale),
        debits_minor: Minor(sums.debits),
        credits_minor: Minor(sums.credits),
    }
}

/// The present balance of an account.
pub(super) fn balance(account_id: AccountId, book: &BookRow, as_of: Timestamp) -> Result<Vec<u8>, Failure> {
    json(&BalanceRecord {
        account_id: Id(account_id.0),
        posted: sums_record(book.counters.posted, book.scale),
        pending: sums_record(book.counters.pending, book.scale),
        available: Money(book.available(), book.scale),
        available_minor: Minor(book.available()),
        scale: book.scale,
        version: book.counters.version,
        as_of: Instant(as_of),
    })
}

#[derive(serde::Serialize)]
struct BalanceAsOfRecord {
    account_id: Id,
    as_of: Instant,
    posted: SumsRecord,
    balance: Money,
    balance_minor: Minor,
    scale: u8,
    entry_count: u64,
    balance_tracking: &'static str,
    derived_from: &'static str,
}

/// The balance of an account as it was.
pub(super) fn balance_as_of(account_id: AccountId, as_of: &BalanceAsOf, at: Timestamp) -> Result<Vec<u8>, Failure> {
    let book = &as_of.book;
    json(&BalanceAsOfRecord {
        account_id: Id(account_id.0),
        as_of: Instant(at),
        posted: sums_record(as_of.posted.sums, book.scale),
        balance: Money(as_of.balance(), book.scale),
        balance_minor: Minor(as_of.balance()),
        scale: book.scale,
        entry_count: as_of.posted.entries,
        balance_tracking: book.tracking.as_str(),
        derived_from: "journal",
    })
}

#[derive(serde::Serialize)]
struct SubTenantRecord<'a> {
    sub_tenant_id: Id,
    name: &'a str,
    kind: &'static str,
    contact_email: &'a str,
    status: &'static str,
    created_at: Instant,
}

fn sub_tenant_record(one: &SubTenant) -> SubTenantRecord<'_> {
    SubTenantRecord {
        sub_tenant_id: Id(one.tenant.tenant_id),
        name: &one.tenant.name,
        kind: one.row.kind.as_str(),
        contact_email: &one.row.contact_email,
        status: one.tenant.status.name(),
        created_at: Instant(one.tenant.created_at),
    }
}

/// One sub-tenant.
pub(super) fn sub_tenant(one: &SubTenant) -> Result<Vec<u8>, Failure> {
    json(&sub_tenant_record(one))
}

#[derive(serde::Serialize)]
struct SubTenantPage<'a> {
    sub_tenants: Vec<SubTenantRecord<'a>>,
    next_cursor: Option<String>,
}

/// A page of sub-tenants.
pub(super) fn sub_tenants(page: &[SubTenant], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&SubTenantPage { sub_tenants: page.iter().map(sub_tenant_record).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct KeyIssued<'a> {
    key_id: &'a str,
    api_key: &'a str,
    label: &'a str,
    role: Option<&'static str>,
    created_at: Instant,
    expires_at: Option<Instant>,
}

fn role(permissions: &[String]) -> Option<&'static str> {
    Role::of_permissions(permissions).map(Role::as_str)
}

/// A key just issued, with its secret.
pub(super) fn issued_key(key: &IssuedKey) -> Result<Vec<u8>, Failure> {
    json(&KeyIssued {
        key_id: &key.key_id,
        api_key: key.api_key.expose(),
        label: &key.label,
        role: role(&key.permissions),
        created_at: Instant(key.created_at),
        expires_at: key.expires_at.map(Instant),
    })
}

#[derive(serde::Serialize)]
struct SubTenantKeyRecord {
    key_id: String,
    label: String,
    role: Option<&'static str>,
    created_at: Instant,
    expires_at: Option<Instant>,
    revoked_at: Option<Instant>,
    last_used_at: Option<Instant>,
}

#[derive(serde::Serialize)]
struct SubTenantKeyList {
    keys: Vec<SubTenantKeyRecord>,
}

/// Every key of a sub-tenant.
pub(super) fn keys(all: &[KeyRecord]) -> Result<Vec<u8>, Failure> {
    let record = |key: &KeyRecord| SubTenantKeyRecord {
        key_id: key.key_id.clone(),
        label: key.label.clone(),
        role: role(&key.permissions),
        created_at: Instant(key.created_at),
        expires_at: key.expires_at.map(Instant),
        revoked_at: key.revoked_at.map(Instant),
        last_used_at: key.last_used_at.map(Instant),
    };
    json(&SubTenantKeyList { keys: all.iter().map(record).collect() })
}

#[derive(serde::Serialize)]
struct KeyRevoked<'a> {
    key_id: &'a str,
    revoked: bool,
}

/// The end of a key.
pub(super) fn revoked_key(key: &KeyRecord) -> Result<Vec<u8>, Failure> {
    json(&KeyRevoked { key_id: &key.key_id, revoked: true })
}
