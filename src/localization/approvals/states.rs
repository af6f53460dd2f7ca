//! How far a request has come: the one table of what may become what (contract, Approval request status).

use bincode::{Decode, Encode};

use crate::decisions::Status;

/// How a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RequestStatus {
    /// Its decision is being raised.
    Submitting,
    /// Its decision is not taken.
    Pending,
    /// Yes.
    Approved,
    /// No.
    Rejected,
    /// Not so.
    ChangesRequested,
    /// Nobody decided in time.
    TimedOut,
    /// It was taken back.
    Cancelled,
    /// Its decision could not be raised.
    Failed,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The service has taken its decision on.
    Accepted,
    /// The service is not there, or does not want it.
    Unavailable,
    /// The decision was read.
    Read(Status),
}

impl RequestStatus {
    /// Every status.
    #[cfg(test)]
    pub const ALL: [RequestStatus; 8] = [
        RequestStatus::Submitting,
        RequestStatus::Pending,
        RequestStatus::Approved,
        RequestStatus::Rejected,
        RequestStatus::ChangesRequested,
        RequestStatus::TimedOut,
        RequestStatus::Cancelled,
        RequestStatus::Failed,
    ];

    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RequestStatus::Submitting => "submitting",
            RequestStatus::Pending => "pending",
            RequestStatus::Approved => "approved",
            RequestStatus::Rejected => "rejected",
            RequestStatus::ChangesRequested => "changes_requested",
            RequestStatus::TimedOut => "timed_out",
            RequestStatus::Cancelled => "cancelled",
            RequestStatus::Failed => "failed",
        }
    }

    /// Whether another request for its file and locale has to wait.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, RequestStatus::Submitting | RequestStatus::Pending)
    }

    /// What something makes of it; `None`: it cannot happen to it.
    ///
    /// | from | accepted | unavailable | approved | rejected | changes_requested | timed_out | cancelled |
    /// |---|---|---|---|---|---|---|---|
    /// | submitting | pending | failed | | | | | |
    /// | pending | | | approved | rejected | changes_requested | timed_out | cancelled |
    /// | all others | | | | | | | |
    #[must_use]
    pub const fn after(self, happening: Happening) -> Option<RequestStatus> {
        match (self, happening) {
            (RequestStatus::Submitting, Happening::Accepted) => Some(RequestStatus::Pending),
            (RequestStatus::Submitting, Happening::Unavailable) => Some(RequestStatus::Failed),
            (RequestStatus::Pending, Happening::Read(status)) => match status {
                Status::Pending => None,
                Status::Approved => Some(RequestStatus::Approved),
                Status::Rejected => Some(RequestStatus::Rejected),
                Status::ChangesRequested => Some(RequestStatus::ChangesRequested),
                Status::TimedOut => Some(RequestStatus::TimedOut),
                Status::Cancelled => Some(RequestStatus::Cancelled),
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAPPENINGS: [Happening; 7] = [
        Happening::Accepted,
        Happening::Unavailable,
        Happening::Read(Status::Approved),
        Happening::Read(Status::Rejected),
        Happening::Read(Status::ChangesRequested),
        Happening::Read(Status::TimedOut),
        Happening::Read(Status::Cancelled),
    ];

    #[test]
    fn the_table_is_the_contracts() {
        use RequestStatus::{Approved, Cancelled, ChangesRequested, Failed, Pending, Rejected, TimedOut};
        for status in RequestStatus::ALL {
            let expected = match status {
                RequestStatus::Submitting => [Some(Pending), Some(Failed), None, None, None, None, None],
                Pending => {
                    let [approved, rejected, changes] = [Some(Approved), Some(Rejected), Some(ChangesRequested)];
                    [None, None, approved, rejected, changes, Some(TimedOut), Some(Cancelled)]
                }
                _ => [None; 7],
            };
            assert_eq!(HAPPENINGS.map(|happening| status.after(happening)), expected, "{status:?}");
            assert_eq!(status.after(Happening::Read(Status::Pending)), None);
            assert_eq!(status.is_open(), HAPPENINGS.iter().any(|happening| status.after(*happening).is_some()));
        }
    }

    /// The manual's table says the same.
    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../../assets/manual/localization.md");
        for status in [RequestStatus::Submitting, RequestStatus::Pending] {
            let to = HAPPENINGS.map(|happening| status.after(happening).map_or("", RequestStatus::name));
            let row: String = std::iter::once(status.name()).chain(to).map(|cell| format!("| {cell} ")).collect();
            let row = format!("{row}|").replace("|  |", "| |").replace("|  |", "| |");
            assert!(manual.contains(&row), "{row}");
        }
    }
}
