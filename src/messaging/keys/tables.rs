//! What is stored of one-time addresses. Keys themselves lie in `identity`.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x050C | key addresses | half of the token's digest | which key waits there |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Row, Table, TableSpec, Timestamp};

use crate::due::{self, Due};
use crate::model::FAMILY;

pub(super) const KEY_ADDRESSES: Table<u128, KeyAddressRow> = Table::new(0x050C, FAMILY, "messaging_key_addresses");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[KEY_ADDRESSES.spec()];

/// A key that waits to be fetched. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct KeyAddressRow {
    pub(super) digest: Digest,
    pub(super) key_id: String,
    pub(super) expires_at: Timestamp,
}
impl Row for KeyAddressRow {}

impl fmt::Debug for KeyAddressRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyAddressRow { digest: _, key_id, expires_at } = self;
        let mut shown = f.debug_struct("KeyAddressRow");
        shown.field("key_id", key_id).field("expires_at", expires_at).finish_non_exhaustive()
    }
}

/// Finds what contradicts itself: each address goes when its time is over. Its key may be gone before, revoked and forgotten.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &KEY_ADDRESSES, findings, |place, row, findings| {
        if !due::is_put(read, row.expires_at, Due::KeyUrl(place))? {
            findings.push(format!("an address of the key {} never goes", row.key_id));
        }
        Ok(())
    })
}
