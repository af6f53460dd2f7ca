//! How a running appliance says on the administration socket that something was not done.

use quintet_storage::Failure;
use serde::{Deserialize, Serialize};

/// Why something could not be done, as a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The request makes no sense.
    Unusable,
    /// What it is about does not exist.
    NotFound,
    /// What it is about is not in a state for it.
    Conflict,
    /// The writer was busy past the deadline; nothing was done.
    Busy,
    /// The disk is down to its reserve; nothing was done.
    StorageFull,
    /// Writing has stopped until a restart; nothing was done.
    Stopped,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// Stored bytes are not what was written.
    Damaged,
    /// It is more than one transaction takes; nothing was done.
    TooLarge,
    /// The operating system refused.
    Io,
    /// The appliance made a mistake.
    #[serde(other)]
    Failed,
}

impl ProblemCode {
    /// The code of a failure of the store.
    #[must_use]
    pub fn of(failure: &Failure) -> ProblemCode {
        match failure {
            Failure::Busy => ProblemCode::Busy,
            Failure::StorageFull => ProblemCode::StorageFull,
            Failure::Stopped => ProblemCode::Stopped,
            Failure::OutcomeUnknown => ProblemCode::OutcomeUnknown,
            Failure::Damaged(_) => ProblemCode::Damaged,
            Failure::TooLarge => ProblemCode::TooLarge,
            Failure::Io(_) => ProblemCode::Io,
            Failure::Panicked => ProblemCode::Failed,
        }
    }

    /// What to do about it, where that does not depend on the request.
    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        match self {
            ProblemCode::Unusable | ProblemCode::Conflict => None,
            ProblemCode::NotFound => Some("`quintet tenant list` and `quintet key list` show what there is"),
            ProblemCode::Busy => Some("try again in a moment; `quintet status` shows how many requests wait"),
            ProblemCode::StorageFull => Some(
                "free space on the file system of the data directory (`quintet status` shows how much is kept in reserve), or lower storage.disk_reserve_mb and restart; writing resumes by itself once there is room",
            ),
            ProblemCode::Stopped => Some("`quintet status` shows why; mend that, then restart the appliance"),
            ProblemCode::OutcomeUnknown => {
                Some("restart the appliance, then look whether it was done before asking again")
            }
            ProblemCode::Damaged => Some(
                "stop the appliance; then `quintet verify --data DIR` lists all damage, `quintet verify --data DIR --salvage DEST` saves what is sound, and `quintet restore BACKUP --data DEST` goes back to a backup",
            ),
            ProblemCode::TooLarge => Some("ask for less at once"),
            ProblemCode::Io => Some("look at the disk and the appliance's log, then restart it"),
            ProblemCode::Failed => Some("see `quintet status` and the appliance's log"),
        }
    }
}

/// Why something could not be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// A stable code.
    pub code: ProblemCode,
    /// The reason, as a sentence.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
