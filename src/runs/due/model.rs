//! The kinds of what falls due, each with what it needs, and how they stand in keys.

use quintet_storage::{Failure, Key};

use crate::model::{RunKey, TenantId};

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
pub(super) const ELIGIBLE: u8 = 0;
pub(super) const TOO_LATE: u8 = 1;
pub(super) const OLD: u8 = 2;
pub(super) const HOURS: u8 = 3;
pub(super) const EVENTS: u8 = 4;

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
