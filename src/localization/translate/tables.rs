//! The rows of AI translate.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0390 | failed drafts | tenant, file, locale | which keys the engine has failed at lately |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use crate::content::FileId;
use crate::model::{FAMILY, TenantId};

/// Which keys the engine has failed at lately.
pub const FAILED_DRAFTS: Table<(TenantId, FileId, String), FailedDraftsRow> =
    Table::new(0x0390, FAMILY, "localization_failed_drafts");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[FAILED_DRAFTS.spec()];

/// How long it is remembered that the engine failed at a key, in seconds: a day.
pub const REMEMBERED_SECONDS: i64 = 24 * 3600;
/// The most keys of a file and locale that are remembered; the earliest failures are forgotten first.
pub const REMEMBERED_MAX: usize = 5000;

/// Which keys of a file the engine has failed at lately in a locale.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FailedDraftsRow {
    /// Each once, the earliest failure first.
    pub failed: Vec<FailedDraft>,
}
impl Row for FailedDraftsRow {}

/// A key that the engine failed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FailedDraft {
    /// Its number in the file.
    pub number: u64,
    /// When.
    pub at: Timestamp,
}

impl FailedDraftsRow {
    /// Notes what came of a call: the keys that failed are the latest, those that were drafted are no failures any more,
    /// and what is a day old is forgotten.
    pub fn note(&mut self, now: Timestamp, drafted: &[u64], failed: &[u64]) {
        let earliest = now.plus_seconds(-REMEMBERED_SECONDS);
        self.failed.retain(|one| one.at > earliest && !drafted.contains(&one.number) && !failed.contains(&one.number));
        self.failed.extend(failed.iter().map(|number| FailedDraft { number: *number, at: now }));
        let too_many = self.failed.len().saturating_sub(REMEMBERED_MAX);
        self.failed.drain(..too_many);
    }

    /// Whose turn is last: the place of each key that failed lately, the earliest failure first.
    pub fn lately(&self, now: Timestamp) -> impl Iterator<Item = (u64, usize)> {
        let earliest = now.plus_seconds(-REMEMBERED_SECONDS);
        self.failed.iter().enumerate().filter(move |(_, one)| one.at > earliest).map(|(place, one)| (one.number, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000).plus_seconds(seconds)
    }

    fn lately(row: &FailedDraftsRow, now: Timestamp) -> Vec<u64> {
        row.lately(now).map(|(number, _)| number).collect()
    }

    #[test]
    fn failures_are_known_for_a_day_the_earliest_first() {
        let mut row = FailedDraftsRow::default();
        row.note(at(0), &[], &[1, 2, 3]);
        row.note(at(10), &[3], &[1, 9]);
        assert_eq!(lately(&row, at(10)), [2, 1, 9]);
        assert_eq!(lately(&row, at(REMEMBERED_SECONDS)), [1, 9], "a day is over for 2");
        row.note(at(REMEMBERED_SECONDS), &[], &[]);
        assert_eq!(row.failed.len(), 2, "and it is forgotten");
        assert_eq!(lately(&row, at(2 * REMEMBERED_SECONDS)), [0; 0]);
    }

    #[test]
    fn no_row_grows_without_end() {
        let mut row = FailedDraftsRow::default();
        for call in 0..30_u64 {
            let failed: Vec<u64> = (0..200).map(|place| call * 200 + place).collect();
            row.note(at(0), &[], &failed);
        }
        assert_eq!(row.failed.len(), REMEMBERED_MAX);
        assert_eq!((row.failed[0].number, row.failed.last().unwrap().number), (1000, 5999));
    }
}
