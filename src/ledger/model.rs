//! What the ledger knows, and the rules that need no storage.
//!
//! The types here are plain values. Those that derive `Encode` are parts of stored rows: their variants keep
//! their order for ever, new ones go to the end. The rules are:
//!
//! * an account's balance grows on its normal side: debits − credits for a debit-normal account, the other way
//!   round for a credit-normal one ([`Counters::balance`]);
//! * what is available is the posted balance less the pending amounts on the side that lowers it; incoming
//!   pending amounts never raise it ([`Counters::available`]);
//! * a posting nets per account and is tested against the floor once; a hold takes the full sum of its lowering
//!   legs ([`floor_allows`], [`Counters::post`], [`Counters::hold`]).

use bincode::{Decode, Encode};
use quintet_storage::key_newtype;

use crate::money::MINOR_MAX;

key_newtype!(
    /// A tenant or sub-tenant: owner of asset types, accounts and transactions.
    pub TenantId(Uuid)
);
key_newtype!(
    /// An asset type.
    pub AssetTypeId(Uuid)
);
key_newtype!(
    /// An account.
    pub AccountId(Uuid)
);
key_newtype!(
    /// A transaction.
    pub TransactionId(Uuid)
);

/// The fewest entries a transaction has.
pub const ENTRIES_MIN: usize = 2;
/// The most entries a transaction has.
pub const ENTRIES_MAX: usize = 100;
/// The largest scale (fraction digits) of an asset type.
pub const SCALE_MAX: u8 = 12;
/// The longest description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest name, code or external id, in characters.
pub const NAME_CHARS_MAX: usize = 255;
/// The most metadata, in bytes of canonical JSON.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;

/// What an asset type measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Kind {
    /// Money issued by a state.
    Fiat,
    /// Units a business issues itself.
    Credit,
    /// Anything held as stock, commodities and crypto-assets included.
    Inventory,
}

impl Kind {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Fiat => "fiat",
            Kind::Credit => "credit",
            Kind::Inventory => "inventory",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Kind> {
        [Kind::Fiat, Kind::Credit, Kind::Inventory].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One of the two sides of an entry or an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Side {
    /// The left side.
    Debit,
    /// The right side.
    Credit,
}

impl Side {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Side::Debit => "debit",
            Side::Credit => "credit",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Side> {
        [Side::Debit, Side::Credit].into_iter().find(|side| side.as_str() == text)
    }

    /// The other side: for an account's normal side, the one that lowers its balance.
    #[must_use]
    pub const fn contra(self) -> Side {
        match self {
            Side::Debit => Side::Credit,
            Side::Credit => Side::Debit,
        }
    }
}

/// Whether an account takes part in postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AccountStatus {
    /// Postings and commits are possible.
    Active,
    /// No postings and no commits; voids and expiries still release holds.
    Frozen,
    /// As frozen, for good.
    Closed,
}

impl AccountStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            AccountStatus::Active => "active",
            AccountStatus::Frozen => "frozen",
            AccountStatus::Closed => "closed",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<AccountStatus> {
        [AccountStatus::Active, AccountStatus::Frozen, AccountStatus::Closed]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// How an account's counters follow the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Tracking {
    /// Exact, and able to carry a floor.
    Sync,
    /// Promised only eventually: no floor, and no balances in the answer to a posting. The engine has one writer
    /// and no locks that a counter could wait for, so these counters advance with the journal like all others;
    /// that keeps the promise of at most a second with a lag of nothing.
    Async,
}

impl Tracking {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Tracking::Sync => "sync",
            Tracking::Async => "async",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Tracking> {
        [Tracking::Sync, Tracking::Async].into_iter().find(|tracking| tracking.as_str() == text)
    }
}

/// Which clock a balance as of an instant goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// When movements happened: `effective_at`.
    Effective,
    /// When the ledger learned of them: `finalized_at`.
    Recorded,
}

impl Basis {
    /// Both.
    pub const ALL: [Basis; 2] = [Basis::Effective, Basis::Recorded];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Basis::Effective => "effective",
            Basis::Recorded => "recorded",
        }
    }
}

/// What a sub-tenant is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SubTenantKind {
    /// Real business.
    Production,
    /// Trials.
    Sandbox,
}

impl SubTenantKind {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            SubTenantKind::Production => "production",
            SubTenantKind::Sandbox => "sandbox",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<SubTenantKind> {
        [SubTenantKind::Production, SubTenantKind::Sandbox].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// What a sub-tenant's key may do. There is no role for administering sub-tenants: they have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything in its own ledger.
    Admin,
    /// Post and read.
    Poster,
    /// Read.
    Reader,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Admin, Role::Poster, Role::Reader];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Poster => "poster",
            Role::Reader => "reader",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// The permissions it stands for, sorted.
    #[must_use]
    pub fn permissions(self) -> Vec<String> {
        let permissions: &[&str] = match self {
            Role::Admin => &["ledger_admin", "ledger_poster", "ledger_reader"],
            Role::Poster => &["ledger_poster", "ledger_reader"],
            Role::Reader => &["ledger_reader"],
        };
        permissions.iter().map(|permission| (*permission).to_owned()).collect()
    }

    /// The role that stands for exactly these permissions (sorted), if there is one.
    #[must_use]
    pub fn of_permissions(permissions: &[String]) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.permissions() == permissions)
    }
}

/// Where a transaction is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TransactionState {
    /// A hold that is neither settled nor released.
    Pending,
    /// Moved the posted counters; final.
    Committed,
    /// Released by a caller; final.
    Voided,
    /// Released by the sweep; final.
    Expired,
}

impl TransactionState {
    /// Every state.
    pub const ALL: [TransactionState; 4] =
        [TransactionState::Pending, TransactionState::Committed, TransactionState::Voided, TransactionState::Expired];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TransactionState::Pending => "pending",
            TransactionState::Committed => "committed",
            TransactionState::Voided => "voided",
            TransactionState::Expired => "expired",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<TransactionState> {
        TransactionState::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// Sums of minor units on the two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Sums {
    /// Sum of the debit side.
    pub debits: i128,
    /// Sum of the credit side.
    pub credits: i128,
}

impl Sums {
    /// The sum on one side.
    #[must_use]
    pub const fn on(self, side: Side) -> i128 {
        match side {
            Side::Debit => self.debits,
            Side::Credit => self.credits,
        }
    }

    /// The balance of an account with this normal side.
    #[must_use]
    pub const fn balance(self, normal_side: Side) -> i128 {
        self.on(normal_side) - self.on(normal_side.contra())
    }

    /// Adds `amount` on one side.
    ///
    /// # Errors
    /// [`Overflow`] if the sum would pass [`MINOR_MAX`]; nothing changes then.
    pub fn add(&mut self, side: Side, amount: i128) -> Result<(), Overflow> {
        let sum = match side {
            Side::Debit => &mut self.debits,
            Side::Credit => &mut self.credits,
        };
        *sum = bounded(sum.checked_add(amount))?;
        Ok(())
    }

    /// Both together.
    ///
    /// # Errors
    /// [`Overflow`] if a side would pass [`MINOR_MAX`].
    pub fn plus(self, other: Sums) -> Result<Sums, Overflow> {
        Ok(Sums {
            debits: bounded(self.debits.checked_add(other.debits))?,
            credits: bounded(self.credits.checked_add(other.credits))?,
        })
    }

    /// What is left without `other`.
    ///
    /// # Errors
    /// [`Overflow`] if `other` is more than there is.
    pub fn minus(self, other: Sums) -> Result<Sums, Overflow> {
        Ok(Sums {
            debits: bounded(self.debits.checked_sub(other.debits))?,
            credits: bounded(self.credits.checked_sub(other.credits))?,
        })
    }
}

/// A counter would leave its range: above [`MINOR_MAX`], or below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

fn bounded(sum: Option<i128>) -> Result<i128, Overflow> {
    sum.filter(|sum| (0..=MINOR_MAX).contains(sum)).ok_or(Overflow)
}

/// An account's running sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Counters {
    /// Committed entries.
    pub posted: Sums,
    /// Entries of transactions that are pending.
    pub pending: Sums,
    /// How many committed entries there are.
    pub posted_entries: u64,
    /// How many entries of transactions that are pending there are.
    pub pending_entries: u64,
    /// How often the counters have changed.
    pub version: u64,
}

impl Counters {
    /// The posted balance of an account with this normal side.
    #[must_use]
    pub const fn balance(&self, normal_side: Side) -> i128 {
        self.posted.balance(normal_side)
    }

    /// The posted balance less what is held.
    #[must_use]
    pub const fn available(&self, normal_side: Side) -> i128 {
        self.balance(normal_side) - self.pending.on(normal_side.contra())
    }

    /// Whether nothing is posted on balance and nothing is pending: what closing an account needs.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.posted.debits == self.posted.credits && self.pending == Sums::default()
    }

    /// The counters after `entries` committed entries that sum to `sums`.
    ///
    /// # Errors
    /// [`Overflow`] if posted and pending sums together would pass the range; so a later settlement cannot.
    pub fn post(&self, sums: Sums, entries: u64) -> Result<Counters, Overflow> {
        let posted = self.posted.plus(sums)?;
        posted.plus(self.pending)?;
        let posted_entries = self.posted_entries.saturating_add(entries);
        Ok(Counters { posted, posted_entries, version: self.version.saturating_add(1), ..*self })
    }

    /// The counters after a hold of `entries` entries that sum to `sums`.
    ///
    /// # Errors
    /// [`Overflow`] as for [`Counters::post`].
    pub fn hold(&self, sums: Sums, entries: u64) -> Result<Counters, Overflow> {
        let pending = self.pending.plus(sums)?;
        pending.plus(self.posted)?;
        let pending_entries = self.pending_entries.saturating_add(entries);
        Ok(Counters { pending, pending_entries, version: self.version.saturating_add(1), ..*self })
    }

    /// The counters after a hold of `entries` entries that sum to `sums` was released.
    ///
    /// # Errors
    /// [`Overflow`] if less was pending, which means that the counters are wrong.
    pub fn release(&self, sums: Sums, entries: u64) -> Result<Counters, Overflow> {
        let pending = self.pending.minus(sums)?;
        let pending_entries = self.pending_entries.checked_sub(entries).ok_or(Overflow)?;
        Ok(Counters { pending, pending_entries, version: self.version.saturating_add(1), ..*self })
    }

    /// The counters after the entries of a hold became committed ones.
    ///
    /// # Errors
    /// [`Overflow`] as for [`Counters::release`].
    pub fn settle(&self, sums: Sums, entries: u64) -> Result<Counters, Overflow> {
        let released = self.release(sums, entries)?;
        Ok(Counters { version: self.version.saturating_add(1), ..released.post(sums, entries)? })
    }
}

/// Whether a change of what is available from `before` to `after` respects the floor.
///
/// A change that does not lower what is available is always allowed: an account created with a floor above zero
/// starts below it and must be able to fill up.
#[must_use]
pub fn floor_allows(floor: Option<i128>, before: i128, after: i128) -> bool {
    floor.is_none_or(|floor| after >= floor || after >= before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(debits: i128, credits: i128) -> Sums {
        Sums { debits, credits }
    }

    #[test]
    fn balances_grow_on_the_normal_side() {
        let counters = Counters { posted: sums(100, 30), ..Counters::default() };
        assert_eq!(counters.balance(Side::Debit), 70);
        assert_eq!(counters.balance(Side::Credit), -70);
    }

    #[test]
    fn only_the_lowering_side_is_held() {
        let counters = Counters { posted: sums(100, 0), pending: sums(50, 30), ..Counters::default() };
        assert_eq!(counters.available(Side::Debit), 70, "incoming 50 does not count, outgoing 30 does");
        assert_eq!(counters.available(Side::Credit), -150);
    }

    #[test]
    fn a_hold_settles_or_releases_exactly() -> Result<(), Overflow> {
        let before = Counters { posted: sums(100, 0), ..Counters::default() };
        let held = before.hold(sums(0, 40), 1)?;
        assert_eq!((held.available(Side::Debit), held.pending_entries), (60, 1));
        let released = held.release(sums(0, 40), 1)?;
        assert_eq!((released.posted, released.pending, released.pending_entries), (before.posted, before.pending, 0));
        assert_eq!(held.release(sums(0, 40), 2), Err(Overflow), "more entries than are pending");
        let settled = held.settle(sums(0, 40), 1)?;
        assert_eq!((settled.posted, settled.pending), (sums(100, 40), sums(0, 0)));
        assert_eq!((settled.posted_entries, settled.pending_entries, settled.version), (1, 0, 2));
        Ok(())
    }

    #[test]
    fn counters_never_wrap() {
        let full = Counters { posted: sums(MINOR_MAX, 0), ..Counters::default() };
        assert_eq!(full.post(sums(1, 0), 1), Err(Overflow));
        assert_eq!(full.hold(sums(1, 0), 1), Err(Overflow), "its settlement would not fit");
        assert!(full.hold(sums(0, MINOR_MAX), 1).is_ok());
        assert_eq!(Counters::default().release(sums(1, 0), 0), Err(Overflow));
        let mut sum = sums(MINOR_MAX, 0);
        assert_eq!(sum.add(Side::Debit, 1), Err(Overflow));
        assert_eq!(sum, sums(MINOR_MAX, 0));
        let extreme = Counters { posted: sums(0, MINOR_MAX), ..Counters::default() };
        assert_eq!(extreme.available(Side::Debit), -MINOR_MAX);
    }

    #[test]
    fn floors_stop_what_lowers_below_them() {
        assert!(floor_allows(None, 0, i128::MIN));
        assert!(floor_allows(Some(0), 10, 0));
        assert!(!floor_allows(Some(0), 10, -1));
        assert!(floor_allows(Some(-5), 0, -5));
        assert!(!floor_allows(Some(-5), 0, -6));
        assert!(floor_allows(Some(100), 0, 40), "filling up towards a floor above zero");
        assert!(!floor_allows(Some(100), 40, 39));
    }

    #[test]
    fn names_on_the_wire_read_back() {
        for kind in [Kind::Fiat, Kind::Credit, Kind::Inventory] {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
        for state in TransactionState::ALL {
            assert_eq!(TransactionState::parse(state.as_str()), Some(state));
        }
        assert_eq!(Kind::parse("crypto"), None);
        assert_eq!(Side::parse("Debit"), None);
        assert_eq!(Tracking::parse("async"), Some(Tracking::Async));
        assert_eq!(AccountStatus::parse("frozen"), Some(AccountStatus::Frozen));
    }
}
