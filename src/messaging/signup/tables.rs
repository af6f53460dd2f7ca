//! What is stored of sign-ups that wait.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0589 | sign-ups | half of the link's digest | who wants to be what |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Row, Table, TableSpec, Timestamp};

use crate::due::{self, Due};
use crate::model::FAMILY;

pub(super) const SIGN_UPS: Table<u128, SignUpRow> = Table::new(0x0589, FAMILY, "messaging_sign_ups");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[SIGN_UPS.spec()];

/// A sign-up that waits. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct SignUpRow {
    pub(super) digest: Digest,
    pub(super) address: String,
    pub(super) name: String,
    pub(super) slug: String,
    /// The network address that it came from.
    pub(super) source: String,
    pub(super) expires_at: Timestamp,
}
impl Row for SignUpRow {}

impl fmt::Debug for SignUpRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SignUpRow { digest: _, address, name, slug, source, expires_at } = self;
        let mut shown = f.debug_struct("SignUpRow");
        shown.field("address", address).field("name", name).field("slug", slug).field("source", source);
        shown.field("expires_at", expires_at).finish_non_exhaustive()
    }
}

/// Finds what contradicts itself: each goes when its time is over.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &SIGN_UPS, findings, |place, row, findings| {
        if !due::is_put(read, row.expires_at, Due::SignUp(place))? {
            findings.push(format!("the sign-up of workspace {:?} never goes", row.slug));
        }
        Ok(())
    })
}
