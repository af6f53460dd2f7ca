//! What falls due by the clock: its kinds, each with what it needs, and the one table they lie in.
//!
//! Whoever makes something due puts it here in the same transaction; `sweep` takes it out when its instant has come.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0412 | due | instant, kind, whose | what falls due by the clock; the key says everything |
//!
//! In the first format of the directory this was table 0x040A; `format_1` moves its rows here.

mod format_1;

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Key, Read, Row, Scan, Table, TableSpec, Timestamp, WriteTx};

pub(crate) use format_1::MIGRATION;

use crate::model::{FAMILY, RunKey, TenantId};

/// What falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A run becomes eligible: the dispatcher looks again.
    Eligible(RunKey),
    /// A run has waited too long, or must not start any more.
    TooLate(RunKey),
    /// An ended run has been kept long enough.
    Old(RunKey),
    /// A tenant's calendar has changed: the starts of what waits are decided anew.
    Hours(TenantId),
    /// Events of a removed run are left over. The run itself is gone.
    Events(RunKey),
}

/// The first byte of each kind; they are stored.
const ELIGIBLE: u8 = 0;
const TOO_LATE: u8 = 1;
const OLD: u8 = 2;
const HOURS: u8 = 3;
const EVENTS: u8 = 4;

impl Key for Due {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Due::Eligible(run_key) => Key::encode(&(ELIGIBLE, *run_key), out),
            Due::TooLate(run_key) => Key::encode(&(TOO_LATE, *run_key), out),
            Due::Old(run_key) => Key::encode(&(OLD, *run_key), out),
            Due::Hours(tenant_id) => Key::encode(&(HOURS, *tenant_id), out),
            Due::Events(run_key) => Key::encode(&(EVENTS, *run_key), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Due, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            ELIGIBLE => Due::Eligible(Key::decode(input)?),
            TOO_LATE => Due::TooLate(Key::decode(input)?),
            OLD => Due::Old(Key::decode(input)?),
            HOURS => Due::Hours(Key::decode(input)?),
            EVENTS => Due::Events(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing falls due that has kind {kind}"))),
        })
    }
}

/// What falls due.
const DUE: Table<(Timestamp, Due), DueRow> = Table::new(0x0412, FAMILY, "runs_due_work");

/// What the store calls this table where it tells that something falls due.
pub(crate) const AGENDA: u16 = DUE.spec().tag;

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[DUE.spec(), format_1::DUE.spec()];

/// Its key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct DueRow;
impl Row for DueRow {}

/// Has something fall due.
pub(crate) fn put(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) -> Result<(), Failure> {
    tx.falls_due(AGENDA, at);
    tx.put(&DUE, &(at, due), &DueRow)
}

/// Nothing falls due there any more.
pub(crate) fn clear(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) {
    tx.delete(&DUE, &(at, due));
}

/// Whether something falls due there.
pub(crate) fn is_put(read: &impl Read, at: Timestamp, due: Due) -> Result<bool, Failure> {
    read.contains(&DUE, &(at, due))
}

/// The first of what falls due, `most` at the most.
pub(crate) fn first(read: &impl Read, most: usize) -> Result<Vec<(Timestamp, Due)>, Failure> {
    Ok(read.scan(&DUE, Scan::all().limit(most))?.into_iter().map(|(key, _)| key).collect())
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;
    use crate::model::RunId;

    #[test]
    fn every_kind_is_stored_and_read_back_with_all_it_needs() {
        let run_key = (TenantId(Uuid::from_u128(1)), RunId(Uuid::from_u128(2)));
        let kinds = [
            Due::Eligible(run_key),
            Due::TooLate(run_key),
            Due::Old(run_key),
            Due::Hours(run_key.0),
            Due::Events(run_key),
        ];
        for (number, due) in kinds.into_iter().enumerate() {
            let mut bytes = Vec::new();
            Key::encode(&due, &mut bytes);
            assert_eq!(usize::from(bytes[0]), number, "what is stored stays what it is");
            let mut input = bytes.as_slice();
            assert_eq!((<Due as Key>::decode(&mut input), input), (Ok(due), [].as_slice()));
            let mut short = &bytes[..bytes.len() - 1];
            assert!(<Due as Key>::decode(&mut short).is_err());
        }
        assert!(<Due as Key>::decode(&mut [5; 33].as_slice()).is_err(), "there is no sixth");
    }
}
