//! The kinds of what falls due, each with what it needs, and how they stand in keys.
//!
//! There are two sorts: what ends or goes, and what begins by itself. They lie apart, for the one goes on while the disk is
//! down to its reserve, and the other waits until there is room again.

use quintet_storage::{Failure, Key, Uuid};

use crate::model::{RunKey, ScheduleKey, TenantId, TimerId, TimerKey};

/// What ends or goes when its time has come.
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
    /// A timer that has fired or was cancelled has been kept long enough.
    OldTimer(TimerKey),
}

/// What begins by itself when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fire {
    /// A timer.
    Timer(TimerKey),
    /// A schedule, once more.
    Schedule(ScheduleKey),
}

impl Fire {
    /// None stands before it.
    pub(super) const FIRST: Fire = Fire::Timer((TenantId(Uuid::nil()), TimerId(Uuid::nil())));
}

/// The first byte of each kind; they are stored.
pub(super) const ELIGIBLE: u8 = 0;
pub(super) const TOO_LATE: u8 = 1;
pub(super) const OLD: u8 = 2;
pub(super) const HOURS: u8 = 3;
pub(super) const EVENTS: u8 = 4;
const OLD_TIMER: u8 = 5;
const TIMER: u8 = 0;
const SCHEDULE: u8 = 1;

impl Key for Due {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Due::Eligible(run_key) => Key::encode(&(ELIGIBLE, *run_key), out),
            Due::TooLate(run_key) => Key::encode(&(TOO_LATE, *run_key), out),
            Due::Old(run_key) => Key::encode(&(OLD, *run_key), out),
            Due::Hours(tenant_id) => Key::encode(&(HOURS, *tenant_id), out),
            Due::Events(run_key) => Key::encode(&(EVENTS, *run_key), out),
            Due::OldTimer(timer_key) => Key::encode(&(OLD_TIMER, *timer_key), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Due, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            ELIGIBLE => Due::Eligible(Key::decode(input)?),
            TOO_LATE => Due::TooLate(Key::decode(input)?),
            OLD => Due::Old(Key::decode(input)?),
            HOURS => Due::Hours(Key::decode(input)?),
            EVENTS => Due::Events(Key::decode(input)?),
            OLD_TIMER => Due::OldTimer(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing falls due that has kind {kind}"))),
        })
    }
}

impl Key for Fire {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Fire::Timer(timer_key) => Key::encode(&(TIMER, *timer_key), out),
            Fire::Schedule(schedule_key) => Key::encode(&(SCHEDULE, *schedule_key), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Fire, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            TIMER => Fire::Timer(Key::decode(input)?),
            SCHEDULE => Fire::Schedule(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing begins by itself that has kind {kind}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunId, ScheduleId};

    #[test]
    fn every_kind_is_stored_and_read_back_with_all_it_needs() {
        let run_key = (TenantId(Uuid::from_u128(1)), RunId(Uuid::from_u128(2)));
        let timer_key = (run_key.0, TimerId(Uuid::from_u128(3)));
        let kinds = [
            Due::Eligible(run_key),
            Due::TooLate(run_key),
            Due::Old(run_key),
            Due::Hours(run_key.0),
            Due::Events(run_key),
            Due::OldTimer(timer_key),
        ];
        check(&kinds);
        check(&[Fire::Timer(timer_key), Fire::Schedule((run_key.0, ScheduleId(Uuid::from_u128(4))))]);
    }

    fn check<K: Key + Copy + PartialEq + std::fmt::Debug>(kinds: &[K]) {
        for (number, due) in kinds.iter().enumerate() {
            let mut bytes = Vec::new();
            Key::encode(due, &mut bytes);
            assert_eq!(usize::from(bytes[0]), number, "what is stored stays what it is");
            let mut input = bytes.as_slice();
            assert_eq!((<K as Key>::decode(&mut input), input), (Ok(*due), [].as_slice()));
            let mut short = &bytes[..bytes.len() - 1];
            assert!(<K as Key>::decode(&mut short).is_err());
        }
        let unknown = [u8::try_from(kinds.len()).unwrap(); 33];
        assert!(<K as Key>::decode(&mut unknown.as_slice()).is_err(), "there is none behind the last");
    }
}
