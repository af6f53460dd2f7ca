//! Everything the ledger stores.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0200 | asset types | tenant, id | code, kind, scale |
//! | 0x0201 | asset codes | tenant, code | the asset type's id; makes codes unique |
//! | 0x0202 | account profiles | tenant, id | what people read: name, metadata |
//! | 0x0203 | account books (hot) | tenant, id | what postings read: rules and counters |
//! | 0x0204 | transactions | tenant, id | the journal: the transaction with its legs |
//! | 0x0205 | statement lines | account, shelf, transaction, line | one row for each leg, two if it was held |
//! | 0x0206 | external ids | tenant, external id | the transaction's id; makes them unique |
//! | 0x0207 | holds by expiry | expiry, tenant, transaction | what the sweep looks at |
//! | 0x0208 | late sums | account, bucket width, bucket | late entries summed over their effective time |
//! | 0x0209 | late records | account, order | late entries in the order they were recorded |
//! | 0x020A | late totals (hot) | account | all late entries of an account together |
//! | 0x020B | sub-tenants | sub-tenant | what the platform does not know of it: kind, whom to write to |
//!
//! A posting over two accounts reads two books, updates them and inserts three rows: the transaction and two
//! lines. Accounts are split in two rows because a posting must not carry a name and up to 16 KiB of metadata
//! through the writer; the book is a few dozen bytes of plain data that the writer keeps decoded.
//!
//! **The journal is the transaction row**: its legs in their order, with signed amounts (debits positive). It
//! is written once; a settlement changes its `settlement` and nothing else.
//!
//! **Statements are lines on shelves** ([`Shelf`]); within a shelf lines are in the order of transaction ids,
//! which is the order of the log. A leg that is committed at once has one line, written once. A leg of a hold has
//! two: one among all that were ever held, which stays in its place and is rewritten when the hold is settled,
//! and one on the shelf of its state, which moves. An unfiltered page merges two shelves from which nothing is ever
//! deleted, a page filtered by a state reads that state's shelf alone (two for committed ones), however rare
//! the state: the cost depends on the page, never on the account's history. With one moving line alone, an
//! unfiltered page would wade through what settled holds have left behind, hundreds of times its own size where
//! one hold outlives the many; with lines that take their state from the transaction row, it would pay a read
//! for each line, and rare states would need unbounded scans. Only what is pending leaves its shelf: the book
//! counts those lines, so that a page looks for none where there is none, and no further than for the last. What
//! settled holds have left between pending ones it does cross, until storage compacts it.
//!
//! Account and transaction ids are unique across tenants, so lines need no tenant; whoever reads them has read
//! the account's book under the tenant before.
//!
//! **Balances as of an instant** cost the same on a long history as on a short one. A committed line carries the
//! account's posted sums and entry count right after it ([`LineRow::posted_after`]), and lines committed at once lie in
//! the order of `finalized_at`: on the recorded clock the answer is the last such line at or before the instant,
//! unless something was recorded later than that which is no such line: a hold that was committed. On the effective
//! clock the same lines are in order, too, but for *late* entries: those that took effect before they were recorded,
//! because they were backdated or because they were held. Late entries, and nobody else, pay for three things more:
//! a record in the order of recording, with the sums of everything and of late entries after it (what is late can
//! so be taken off a line's sums), the totals that the next record goes on from, and sums over buckets of effective
//! time (`late` says how), which a million backdated entries in one day cannot make long.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Family, Row, Table, TableSpec, Timestamp, Uuid};

use crate::model::{
    AccountId, AccountStatus, AssetTypeId, Counters, Kind, Overflow, Side, SubTenantKind, Sums, TenantId, Tracking,
    TransactionId, TransactionState,
};

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("ledger");

/// Asset types.
pub const ASSET_TYPES: Table<(TenantId, AssetTypeId), AssetTypeRow> = Table::new(0x0200, FAMILY, "ledger_asset_types");
/// Asset types by their code.
pub const ASSET_CODES: Table<(TenantId, String), AssetCodeRow> = Table::new(0x0201, FAMILY, "ledger_asset_codes");
/// What people read about an account.
pub const PROFILES: Table<(TenantId, AccountId), ProfileRow> = Table::new(0x0202, FAMILY, "ledger_account_profiles");
/// What postings read and change of an account.
pub const BOOKS: Table<(TenantId, AccountId), BookRow> = Table::new(0x0203, FAMILY, "ledger_account_books").hot();
/// The journal.
pub const TRANSACTIONS: Table<(TenantId, TransactionId), TransactionRow> =
    Table::new(0x0204, FAMILY, "ledger_transactions");
/// Statements: account, shelf ([`Shelf::tag`]), transaction, line number.
pub const LINES: Table<(AccountId, u8, TransactionId, u8), LineRow> =
    Table::new(0x0205, FAMILY, "ledger_statement_lines");
/// Transactions by their external id.
pub const EXTERNAL_IDS: Table<(TenantId, String), ExternalIdRow> = Table::new(0x0206, FAMILY, "ledger_external_ids");
/// Pending transactions by the instant they expire.
pub const HOLDS: Table<(Timestamp, TenantId, TransactionId), HoldRow> =
    Table::new(0x0207, FAMILY, "ledger_holds_by_expiry");
/// Late entries over their effective time: account, width of the bucket in microseconds as a power of two, bucket.
pub const LATE_SUMS: Table<(AccountId, u8, i64), LateSumsRow> = Table::new(0x0208, FAMILY, "ledger_late_sums");
/// Late entries in the order they were recorded: account, an id from the order of the log.
pub const LATE_RECORDS: Table<(AccountId, Uuid), LateRecordRow> = Table::new(0x0209, FAMILY, "ledger_late_records");
/// All late entries of an account.
pub const LATE_TOTALS: Table<AccountId, LateTotalsRow> = Table::new(0x020A, FAMILY, "ledger_late_totals").hot();
/// What only the ledger knows of sub-tenants.
pub const SUB_TENANTS: Table<TenantId, SubTenantRow> = Table::new(0x020B, FAMILY, "ledger_sub_tenants");

/// Every table of the ledger.
pub const TABLES: &[TableSpec] = &[
    ASSET_TYPES.spec(),
    ASSET_CODES.spec(),
    PROFILES.spec(),
    BOOKS.spec(),
    TRANSACTIONS.spec(),
    LINES.spec(),
    EXTERNAL_IDS.spec(),
    HOLDS.spec(),
    LATE_SUMS.spec(),
    LATE_RECORDS.spec(),
    LATE_TOTALS.spec(),
    SUB_TENANTS.spec(),
];

/// An asset type.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AssetTypeRow {
    /// Its code, unique in the tenant.
    pub code: String,
    /// What it measures.
    pub kind: Kind,
    /// Fraction digits of its amounts; never changes.
    pub scale: u8,
    /// When it was defined.
    pub created_at: Timestamp,
}

/// Which asset type carries a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AssetCodeRow {
    /// The asset type.
    pub asset_type_id: AssetTypeId,
}

/// What people read about an account.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProfileRow {
    /// Its name.
    pub name: String,
    /// Canonical JSON of its metadata; absent: the empty object.
    pub metadata: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
}

/// What postings read and change of an account. Plain data, so that a copy costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BookRow {
    /// What it counts.
    pub asset_type_id: AssetTypeId,
    /// Fraction digits, from the asset type.
    pub scale: u8,
    /// The side that raises the balance.
    pub normal_side: Side,
    /// Whether it takes part in postings.
    pub status: AccountStatus,
    /// What its counters promise.
    pub tracking: Tracking,
    /// The least that may be available, in minor units; absent: unbounded.
    pub floor: Option<i128>,
    /// Its running sums.
    pub counters: Counters,
}

impl BookRow {
    /// What is available on the account.
    #[must_use]
    pub const fn available(&self) -> i128 {
        self.counters.available(self.normal_side)
    }
}

/// A transaction as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TransactionRow {
    /// How it stands; the only part that ever changes.
    pub settlement: Settlement,
    /// When it was posted.
    pub created_at: Timestamp,
    /// When the movement happened, if not when it was posted.
    pub effective_at: Option<Timestamp>,
    /// The caller's text.
    pub description: Option<String>,
    /// The caller's own id, unique in the tenant.
    pub external_id: Option<String>,
    /// Canonical JSON of its metadata; absent: the empty object.
    pub metadata: Option<String>,
    /// Its legs, in the order of their line numbers.
    pub legs: Vec<LegRow>,
}

/// How a transaction stands, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Settlement {
    /// Committed when it was posted.
    AtOnce,
    /// A hold.
    Pending {
        /// When it lapses.
        expires_at: Timestamp,
    },
    /// A hold that was committed, voided or swept.
    Settled {
        /// When it would have lapsed.
        expires_at: Timestamp,
        /// When it was settled.
        finalized_at: Timestamp,
        /// How.
        end: End,
    },
}

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// It moved the posted counters.
    Committed,
    /// A caller released it.
    Voided,
    /// The sweep released it.
    Expired,
}

impl End {
    /// The state on the wire.
    #[must_use]
    pub const fn state(self) -> TransactionState {
        match self {
            End::Committed => TransactionState::Committed,
            End::Voided => TransactionState::Voided,
            End::Expired => TransactionState::Expired,
        }
    }
}

impl TransactionRow {
    /// The state on the wire.
    #[must_use]
    pub const fn state(&self) -> TransactionState {
        match self.settlement {
            Settlement::AtOnce => TransactionState::Committed,
            Settlement::Pending { .. } => TransactionState::Pending,
            Settlement::Settled { end, .. } => end.state(),
        }
    }

    /// When it became final; absent while it is pending.
    #[must_use]
    pub const fn finalized_at(&self) -> Option<Timestamp> {
        match self.settlement {
            Settlement::AtOnce => Some(self.created_at),
            Settlement::Pending { .. } => None,
            Settlement::Settled { finalized_at, .. } => Some(finalized_at),
        }
    }

    /// When it lapses or would have; absent if it never was a hold.
    #[must_use]
    pub const fn expires_at(&self) -> Option<Timestamp> {
        match self.settlement {
            Settlement::AtOnce => None,
            Settlement::Pending { expires_at } | Settlement::Settled { expires_at, .. } => Some(expires_at),
        }
    }
}

/// One leg of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LegRow {
    /// The account it moves.
    pub account_id: AccountId,
    /// Minor units, debits above zero, credits below.
    pub signed_minor: i128,
    /// Fraction digits of the account's asset, so that a transaction reads without its accounts.
    pub scale: u8,
}

/// Minor units with their side as a sign: debits above zero.
#[must_use]
pub const fn signed(side: Side, minor: i128) -> i128 {
    match side {
        Side::Debit => minor,
        Side::Credit => -minor,
    }
}

/// The side and the minor units of a signed amount.
#[must_use]
pub const fn unsigned(signed_minor: i128) -> (Side, i128) {
    if signed_minor < 0 { (Side::Credit, -signed_minor) } else { (Side::Debit, signed_minor) }
}

/// Where a leg's statement lines lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Committed when posted. Lines never leave it, and they lie in the order of `finalized_at`.
    AtOnce,
    /// Committed after a hold.
    Committed,
    /// Pending: the only shelf that lines leave.
    Pending,
    /// Voided.
    Voided,
    /// Expired.
    Expired,
    /// Once held, whatever became of it. Lines never leave it.
    Held,
}

impl Shelf {
    /// The byte in the key. Given once, never reused.
    #[must_use]
    pub const fn tag(self) -> u8 {
        match self {
            Shelf::AtOnce => 0,
            Shelf::Committed => 1,
            Shelf::Pending => 2,
            Shelf::Voided => 3,
            Shelf::Expired => 4,
            Shelf::Held => 5,
        }
    }

    /// The shelves that together hold each line of a statement once: of one state, or of all.
    #[must_use]
    pub const fn showing(state: Option<TransactionState>) -> &'static [Shelf] {
        match state {
            None => &[Shelf::AtOnce, Shelf::Held],
            Some(TransactionState::Committed) => &[Shelf::AtOnce, Shelf::Committed],
            Some(TransactionState::Pending) => &[Shelf::Pending],
            Some(TransactionState::Voided) => &[Shelf::Voided],
            Some(TransactionState::Expired) => &[Shelf::Expired],
        }
    }

    /// The shelves on which the lines of such a transaction lie.
    #[must_use]
    pub const fn of(settlement: Settlement) -> &'static [Shelf] {
        match settlement {
            Settlement::AtOnce => &[Shelf::AtOnce],
            Settlement::Pending { .. } => &[Shelf::Held, Shelf::Pending],
            Settlement::Settled { end: End::Committed, .. } => &[Shelf::Held, Shelf::Committed],
            Settlement::Settled { end: End::Voided, .. } => &[Shelf::Held, Shelf::Voided],
            Settlement::Settled { end: End::Expired, .. } => &[Shelf::Held, Shelf::Expired],
        }
    }
}

/// One leg as its account's statement shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LineRow {
    /// Minor units, debits above zero, credits below.
    pub signed_minor: i128,
    /// When the transaction was posted.
    pub created_at: Timestamp,
    /// When and how the hold ended; absent if it is pending or never was one.
    pub ended: Option<(Timestamp, End)>,
    /// The account's posted sums right after this line; absent unless committed, and among all that were ever held.
    pub posted_after: Option<PostedAfter>,
}

/// An account's posted sums at one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct PostedAfter {
    /// Posted sums, this line included.
    pub sums: Sums,
    /// Committed entries, this line included.
    pub entries: u64,
}

impl PostedAfter {
    /// The sums with more entries added.
    ///
    /// # Errors
    /// [`Overflow`] beyond the range of a counter.
    pub fn plus(self, sums: Sums, entries: u64) -> Result<PostedAfter, Overflow> {
        Ok(PostedAfter { sums: self.sums.plus(sums)?, entries: self.entries.saturating_add(entries) })
    }

    /// The sums without a part of their entries.
    ///
    /// # Errors
    /// [`Overflow`] if they are less than that part.
    pub fn minus(self, part: PostedAfter) -> Result<PostedAfter, Overflow> {
        let entries = self.entries.checked_sub(part.entries).ok_or(Overflow)?;
        Ok(PostedAfter { sums: self.sums.minus(part.sums)?, entries })
    }
}

/// Which transaction carries an external id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExternalIdRow {
    /// The transaction.
    pub transaction_id: TransactionId,
}

/// A hold is due; the key says which and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HoldRow;

/// The late entries whose effective time lies in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LateSumsRow {
    /// What they sum to, and how many they are.
    pub late: PostedAfter,
    /// How many different instants they have.
    pub instants: u64,
}

/// Late entries of one transaction, when they were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LateRecordRow {
    /// When the transaction became final.
    pub finalized_at: Timestamp,
    /// The account's posted sums right after it.
    pub posted_after: PostedAfter,
    /// The late part of them.
    pub late_after: PostedAfter,
}

/// All late entries of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LateTotalsRow {
    /// What they sum to, and how many they are.
    pub late: PostedAfter,
}

/// What only the ledger knows of a sub-tenant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SubTenantRow {
    /// What it is for; never changes.
    pub kind: SubTenantKind,
    /// Whom to write to.
    pub contact_email: String,
}

impl Row for AssetTypeRow {}
impl Row for AssetCodeRow {}
impl Row for ProfileRow {}
impl Row for BookRow {}
impl Row for TransactionRow {}
impl Row for LineRow {}
impl Row for ExternalIdRow {}
impl Row for HoldRow {}
impl Row for LateSumsRow {}
impl Row for LateRecordRow {}
impl Row for LateTotalsRow {}
impl Row for SubTenantRow {}

/// Counters and journal do not fit each other.
pub(crate) fn counters_disagree(account_id: AccountId) -> Failure {
    Failure::Damaged(format!("the counters of account {account_id} do not fit the journal"))
}
