//! How a licence stands: the one table of what may become what (contract, Licence state).

use bincode::{Decode, Encode};

use crate::decisions::Status;

/// How a licence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LicenceState {
    /// Its decision is being raised; nobody sees it.
    Submitting,
    /// Its decision is not taken.
    Requested,
    /// It holds.
    Active,
    /// It holds no more.
    Lapsed,
    /// It was not given.
    Refused,
    /// Its sample has failed; nobody was asked.
    SampleFailed,
}

/// Why a licence holds no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LapseReason {
    /// 30 days are over.
    Expired,
    /// More than a tenth of its prose has changed.
    Changed,
    /// A later sample has failed.
    SampleFailed,
    /// Another has taken its place.
    Replaced,
}

impl LapseReason {
    /// Every reason.
    #[cfg(test)]
    pub const ALL: [LapseReason; 4] =
        [LapseReason::Expired, LapseReason::Changed, LapseReason::SampleFailed, LapseReason::Replaced];

    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LapseReason::Expired => "expired",
            LapseReason::Changed => "changed",
            LapseReason::SampleFailed => "sample_failed",
            LapseReason::Replaced => "replaced",
        }
    }
}

/// What happens to a licence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The service has taken its decision on.
    Accepted,
    /// The decision was read.
    Read(Status),
    /// A cause to lapse.
    Lapse(LapseReason),
}

impl LicenceState {
    /// Every state.
    #[cfg(test)]
    pub const ALL: [LicenceState; 6] = [
        LicenceState::Submitting,
        LicenceState::Requested,
        LicenceState::Active,
        LicenceState::Lapsed,
        LicenceState::Refused,
        LicenceState::SampleFailed,
    ];

    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LicenceState::Submitting => "submitting",
            LicenceState::Requested => "requested",
            LicenceState::Active => "active",
            LicenceState::Lapsed => "lapsed",
            LicenceState::Refused => "refused",
            LicenceState::SampleFailed => "sample_failed",
        }
    }

    /// What something makes of it; `None`: it cannot happen to it.
    ///
    /// | from | accepted | approved | rejected, changes_requested, timed_out, cancelled | expired, changed, sample_failed, replaced |
    /// |---|---|---|---|---|
    /// | submitting | requested | | | |
    /// | requested | | active | refused | |
    /// | active | | | | lapsed |
    /// | all others | | | | |
    #[must_use]
    pub const fn after(self, happening: Happening) -> Option<LicenceState> {
        match (self, happening) {
            (LicenceState::Submitting, Happening::Accepted) => Some(LicenceState::Requested),
            (LicenceState::Requested, Happening::Read(Status::Approved)) => Some(LicenceState::Active),
            (LicenceState::Requested, Happening::Read(Status::Pending)) => None,
            (LicenceState::Requested, Happening::Read(_)) => Some(LicenceState::Refused),
            (LicenceState::Active, Happening::Lapse(_)) => Some(LicenceState::Lapsed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_contracts() {
        let reads = Status::ALL.map(Happening::Read);
        let lapses = LapseReason::ALL.map(Happening::Lapse);
        for state in LicenceState::ALL {
            let accepted = state.after(Happening::Accepted);
            assert_eq!(accepted, (state == LicenceState::Submitting).then_some(LicenceState::Requested));
            for happening in reads {
                let expected = match (state, happening) {
                    (LicenceState::Requested, Happening::Read(Status::Pending)) => None,
                    (LicenceState::Requested, Happening::Read(Status::Approved)) => Some(LicenceState::Active),
                    (LicenceState::Requested, _) => Some(LicenceState::Refused),
                    _ => None,
                };
                assert_eq!(state.after(happening), expected, "{state:?} {happening:?}");
            }
            for happening in lapses {
                let expected = (state == LicenceState::Active).then_some(LicenceState::Lapsed);
                assert_eq!(state.after(happening), expected, "{state:?} {happening:?}");
            }
        }
    }

    /// The manual's table says the same.
    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../../assets/manual/localization.md");
        for row in ["| requested | active | refused | |", "| active | | | lapsed |"] {
            assert!(manual.contains(row), "{row}");
        }
        for reason in LapseReason::ALL {
            assert!(manual.contains(&format!("`{}`", reason.name())), "{reason:?}");
        }
    }
}
