//! The rows of signing in.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0150 | login key | one row | what logins are sealed with, sealed for the appliance |
//! | 0x0151 | spent names | digest of a name | until when it may not come again |
//! | 0x0152 | spent names by expiry | hour, digest | the same, in the order in which they go |

use crate::jobs::hour_at_or_after;
use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Family, Row, Table, TableSpec, Timestamp};

/// What logins are sealed with; one row.
pub(crate) const LOGIN_KEY: Table<u8, LoginKeyRow> = Table::new(0x0150, Family::APPLIANCE, "platform.login_key");
/// What counts once and was used.
pub(crate) const SPENT: Table<u128, SpentRow> = Table::new(0x0151, Family::APPLIANCE, "platform.spent_names");
/// (The hour, since the epoch, at whose start it may go; the name.)
pub(crate) const SPENT_BY_EXPIRY: Table<(u32, u128), Mark> =
    Table::new(0x0152, Family::APPLIANCE, "platform.spent_names_by_expiry");

/// The tables of this folder.
pub(crate) const TABLES: [TableSpec; 3] = [LOGIN_KEY.spec(), SPENT.spec(), SPENT_BY_EXPIRY.spec()];

/// The key of the one row of [`LOGIN_KEY`].
pub(super) const THE_KEY: u8 = 0;

/// What logins are sealed with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LoginKeyRow {
    /// 32 bytes.
    pub(super) key: Sealed,
}
impl Row for LoginKeyRow {}

/// What may not come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SpentRow {
    /// Until when.
    pub(super) expires_at: Timestamp,
}
impl Row for SpentRow {}

impl SpentRow {
    /// The first full hour at which it may go.
    pub(super) fn hour(self) -> u32 {
        hour_at_or_after(self.expires_at)
    }
}

/// The row of an index whose key says everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Mark;
impl Row for Mark {}
