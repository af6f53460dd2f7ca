//! What the ledger writes: the wire types that its records share.

pub(super) use quintet_platform::service::{Id, Instant, written as json};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::model::Sums;
use crate::money::format_minor;
use crate::statement::Entry;

/// Minor units as text.
pub(super) struct Minor(pub(super) i128);

impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Minor units as a decimal string at a scale.
pub(super) struct Money(pub(super) i128, pub(super) u8);

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_minor(self.0, self.1))
    }
}

/// Stored canonical JSON, passed on as it is.
pub(super) struct Metadata<'a>(pub(super) Option<&'a str>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.0.unwrap_or("{}")).map_err(|_| serde::ser::Error::custom("stored metadata"))?;
        raw.serialize(serializer)
    }
}

/// Debits and credits, in both spellings.
#[derive(serde::Serialize)]
pub(super) struct SumsRecord {
    debits: Money,
    credits: Money,
    debits_minor: Minor,
    credits_minor: Minor,
}

/// Debits and credits as they are shown.
pub(super) fn sums_record(sums: Sums, scale: u8) -> SumsRecord {
    SumsRecord {
        debits: Money(sums.debits, scale),
        credits: Money(sums.credits, scale),
        debits_minor: Minor(sums.debits),
        credits_minor: Minor(sums.credits),
    }
}

/// A line of a statement.
#[derive(serde::Serialize)]
pub(super) struct EntryRecord {
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

/// A line of a statement as it is shown.
pub(super) fn entry_record(entry: &Entry) -> EntryRecord {
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
