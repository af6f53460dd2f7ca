//! Accounts: open, change, read, list.

use quintet_storage::{Abort, Read, Scan, Timestamp, WriteTx};

use crate::model::{AccountId, AccountStatus, AssetTypeId, Counters, NAME_CHARS_MAX, Side, TenantId, Tracking};
use crate::money::{Amount, MoneyError};
use crate::refusal::Refusal;
use crate::tables::{ASSET_TYPES, BOOKS, BookRow, PROFILES, ProfileRow};

/// A floor as a caller gives it; its minor units need the asset's scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorInput {
    /// No floor at all.
    Unbounded,
    /// A decimal string.
    Decimal(Amount),
    /// An integer of minor units.
    Minor(i128),
}

impl FloorInput {
    fn to_minor(self, scale: u8) -> Result<Option<i128>, Refusal> {
        match self {
            FloorInput::Unbounded => Ok(None),
            FloorInput::Minor(minor) => Ok(Some(minor)),
            FloorInput::Decimal(decimal) => match decimal.to_minor(scale) {
                Ok(minor) => Ok(Some(minor)),
                Err(MoneyError::TooPrecise) => {
                    Err(Refusal::InvalidFloor("more fraction digits than the asset's scale"))
                }
                Err(MoneyError::Malformed | MoneyError::TooLarge) => Err(Refusal::InvalidFloor("out of range")),
            },
        }
    }
}

/// Opens an account.
#[derive(Clone, Debug)]
pub struct CreateAccount {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// What it counts.
    pub asset_type_id: AssetTypeId,
    /// Its name.
    pub name: String,
    /// The side that raises its balance.
    pub normal_side: Side,
    /// What its counters promise.
    pub tracking: Tracking,
    /// The least that may be available. Absent: zero, on an async account unbounded.
    pub floor: Option<FloorInput>,
    /// Canonical JSON of its metadata, at most 16 KiB.
    pub metadata: Option<String>,
}

/// Changes what may change on an account. Absent parts stay as they are.
#[derive(Clone, Debug)]
pub struct PatchAccount {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Which one.
    pub account_id: AccountId,
    /// Its new name.
    pub name: Option<String>,
    /// Canonical JSON of its new metadata, as a whole.
    pub metadata: Option<String>,
    /// Its new status.
    pub status: Option<AccountStatus>,
    /// Its new floor.
    pub floor: Option<FloorInput>,
}

/// An account as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub account_id: AccountId,
    /// What people read.
    pub profile: ProfileRow,
    /// What postings read.
    pub book: BookRow,
}

/// Opens an account.
///
/// # Errors
/// [`Refusal::AssetTypeNotFound`], [`Refusal::InvalidAccount`] for the name, [`Refusal::InvalidFloor`] for a floor
/// that does not fit the asset or stands on an async account.
pub fn create_account(tx: &mut WriteTx<'_>, now: Timestamp, command: CreateAccount) -> Result<Account, Abort<Refusal>> {
    check_name(&command.name)?;
    let asset = tx.get(&ASSET_TYPES, &(command.tenant_id, command.asset_type_id))?.ok_or(Refusal::AssetTypeNotFound)?;
    let floor = match (command.floor, command.tracking) {
        (None, Tracking::Sync) => Some(0),
        (None, Tracking::Async) => None,
        (Some(input), tracking) => checked_floor(input, asset.scale, tracking)?,
    };
    let account_id = AccountId(tx.new_id());
    let profile = ProfileRow { name: command.name, metadata: command.metadata, created_at: now };
    let book = BookRow {
        asset_type_id: command.asset_type_id,
        scale: asset.scale,
        normal_side: command.normal_side,
        status: AccountStatus::Active,
        tracking: command.tracking,
        floor,
        counters: Counters::default(),
    };
    tx.put(&PROFILES, &(command.tenant_id, account_id), &profile)?;
    tx.put(&BOOKS, &(command.tenant_id, account_id), &book)?;
    Ok(Account { account_id, profile, book })
}

/// Changes an account: all of the parts given, or none.
///
/// # Errors
/// [`Refusal::AccountNotFound`]; [`Refusal::InvalidAccount`] for the name; [`Refusal::InvalidFloor`] for a floor
/// that does not fit the asset, is raised above what is available, or stands on an async account;
/// [`Refusal::CloseRequiresZeroBalance`]; [`Refusal::ImmutableViolation`] if a closed account would be reopened.
pub fn patch_account(tx: &mut WriteTx<'_>, _now: Timestamp, command: PatchAccount) -> Result<Account, Abort<Refusal>> {
    let key = (command.tenant_id, command.account_id);
    let mut account = get_account(tx, command.tenant_id, command.account_id)?;
    let before = account.clone();
    if let Some(name) = command.name {
        check_name(&name)?;
        account.profile.name = name;
    }
    if let Some(metadata) = command.metadata {
        account.profile.metadata = Some(metadata);
    }
    if let Some(input) = command.floor {
        account.book.floor = changed_floor(&account.book, input)?;
    }
    if let Some(status) = command.status {
        account.book.status = changed_status(&account.book, status)?;
    }
    if account.profile != before.profile {
        tx.put(&PROFILES, &key, &account.profile)?;
    }
    if account.book != before.book {
        tx.put(&BOOKS, &key, &account.book)?;
    }
    Ok(account)
}

/// One account.
///
/// # Errors
/// [`Refusal::AccountNotFound`].
pub fn get_account(read: &impl Read, tenant_id: TenantId, account_id: AccountId) -> Result<Account, Abort<Refusal>> {
    let key = (tenant_id, account_id);
    let profile = read.get(&PROFILES, &key)?.ok_or(Refusal::AccountNotFound)?;
    let book = read.get(&BOOKS, &key)?.ok_or(Refusal::AccountNotFound)?;
    Ok(Account { account_id, profile, book })
}

/// How large a page of accounts gets before it ends, in bytes of its records.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// What a record takes besides its name and its metadata, in bytes.
const RECORD_BYTES: usize = 400;
/// How many accounts are read at a time, so that a page of large ones is not read in vain.
const SLICE: usize = 64;

/// A tenant's accounts, newest first, behind `after`; and whether more follow. A page ends early once it has passed
/// [`PAGE_BYTES_MAX`]: a thousand accounts with all the metadata they may have would be 16 MiB.
///
/// # Errors
/// Only the store's.
pub fn list_accounts(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<AccountId>,
    limit: usize,
) -> Result<(Vec<Account>, bool), Abort<Refusal>> {
    let mut accounts: Vec<Account> = Vec::new();
    let mut bytes = 0;
    let mut after = after;
    loop {
        let wanted = (limit - accounts.len()).saturating_add(1).min(SLICE);
        let mut scan = Scan::prefix(&(tenant_id,)).newest_first().limit(wanted);
        if let Some(after) = after {
            scan = scan.after(&(tenant_id, after));
        }
        let slice = read.scan(&PROFILES, scan)?;
        let is_last = slice.len() < wanted;
        for (key, profile) in slice {
            if accounts.len() == limit || bytes >= PAGE_BYTES_MAX {
                return Ok((accounts, true));
            }
            bytes += RECORD_BYTES + profile.name.len() + profile.metadata.as_ref().map_or(0, String::len);
            let book = read.get(&BOOKS, &key)?.ok_or(Refusal::AccountNotFound)?;
            accounts.push(Account { account_id: key.1, profile, book });
            after = Some(key.1);
        }
        if is_last {
            return Ok((accounts, false));
        }
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(Refusal::InvalidAccount("name has 1 to 255 characters"));
    }
    Ok(())
}

fn checked_floor(input: FloorInput, scale: u8, tracking: Tracking) -> Result<Option<i128>, Refusal> {
    let floor = input.to_minor(scale)?;
    if floor.is_some() && tracking == Tracking::Async {
        return Err(Refusal::InvalidFloor("an async account cannot carry a floor"));
    }
    Ok(floor)
}

fn changed_floor(book: &BookRow, input: FloorInput) -> Result<Option<i128>, Refusal> {
    let floor = checked_floor(input, book.scale, book.tracking)?;
    // Unbounded counts as the lowest floor of all, so setting any floor on it raises it.
    let raised = match (book.floor, floor) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => new > old,
    };
    if raised && floor.is_some_and(|floor| floor > book.available()) {
        return Err(Refusal::InvalidFloor("above what is available"));
    }
    Ok(floor)
}

fn changed_status(book: &BookRow, status: AccountStatus) -> Result<AccountStatus, Refusal> {
    match (book.status, status) {
        (AccountStatus::Closed, AccountStatus::Active | AccountStatus::Frozen) => {
            Err(Refusal::ImmutableViolation("status"))
        }
        (AccountStatus::Active | AccountStatus::Frozen, AccountStatus::Closed) if !book.counters.is_zero() => {
            Err(Refusal::CloseRequiresZeroBalance)
        }
        (_, status) => Ok(status),
    }
}
