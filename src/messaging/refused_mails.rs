//! How often mail that was refused is written down: anybody can send such mail, as fast as it is read.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use quintet_storage::Timestamp;

use crate::model::WorkspaceNo;

/// Lines of one workspace in an hour: what is refused beyond that is counted in the figures alone.
const LINES_MAX: u32 = 60;
const HOUR_MICROS: i64 = 3_600_000_000;

/// The lines of this hour, by workspace.
#[derive(Debug, Default)]
pub(crate) struct RefusedMails(Mutex<(i64, HashMap<WorkspaceNo, u32>)>);

impl RefusedMails {
    /// Whether one more may be written down.
    pub(crate) fn note(&self, workspace: WorkspaceNo, now: Timestamp) -> bool {
        let hour = now.as_micros().div_euclid(HOUR_MICROS);
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.0 != hour {
            *noted = (hour, HashMap::new());
        }
        let lines = noted.1.entry(workspace).or_default();
        *lines = lines.saturating_add(1);
        *lines <= LINES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_its_lines_of_an_hour() {
        let (refused, begin) = (RefusedMails::default(), Timestamp::from_micros(5 * HOUR_MICROS));
        let noted = |workspace: u32, at| (0..1_000).filter(|_| refused.note(WorkspaceNo(workspace), at)).count();
        assert_eq!([noted(1, begin), noted(2, begin), noted(1, begin)], [60, 60, 0]);
        assert_eq!(noted(1, begin.plus_seconds(3_600)), 60);
    }
}
