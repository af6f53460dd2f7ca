//! The rows of verdicts and figures.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0338 | verdicts | tenant, file, locale, page | how the translations of 64 keys are counted |
//! | 0x0339 | figures (hot) | tenant, project, file, locale | the sums over a file's verdicts in a locale |
//!
//! Verdicts lie 64 together: a few bytes each, they are read by the thousand for a list, and written by the thousand when
//! the words of a project change.

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use crate::content::FileId;
use crate::model::{FAMILY, ProjectId, TenantId};
use crate::quality::CheckId;

/// Verdicts, by the number of a key divided by [`PAGE_KEYS`].
pub const VERDICTS: Table<(TenantId, FileId, String, u64), VerdictPageRow> =
    Table::new(0x0338, FAMILY, "localization_verdicts");
/// Sums over verdicts.
pub const FIGURES: Table<(TenantId, ProjectId, FileId, String), FiguresRow> =
    Table::new(0x0339, FAMILY, "localization_figures").hot();

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[VERDICTS.spec(), FIGURES.spec()];

/// How many keys share a row of verdicts.
pub const PAGE_KEYS: u64 = 64;

/// The verdicts of keys whose numbers lie together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct VerdictPageRow {
    /// Those of translations that are counted, in the order of numbers.
    pub slots: Vec<SlotRow>,
}
impl Row for VerdictPageRow {}

/// One verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SlotRow {
    /// The key's number in the page.
    pub place: u8,
    /// The state that it is counted in.
    pub state: CountedState,
    /// The checks that it fails, as [`CheckSet`](crate::quality::CheckSet) has them.
    pub failing: u32,
    /// The words of its source.
    pub words: u32,
}

/// The state that a translation is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum CountedState {
    /// Written.
    Draft,
    /// Somebody must look at it.
    NeedsAttention,
    /// Reviewed.
    Reviewed,
    /// Approved.
    Approved,
    /// Its source has changed since.
    Outdated,
}

impl CountedState {
    /// Every state that a stored translation is counted in.
    pub const ALL: [CountedState; 5] = [
        CountedState::Draft,
        CountedState::NeedsAttention,
        CountedState::Reviewed,
        CountedState::Approved,
        CountedState::Outdated,
    ];

    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CountedState::Draft => "draft",
            CountedState::NeedsAttention => "needs_attention",
            CountedState::Reviewed => "reviewed",
            CountedState::Approved => "approved",
            CountedState::Outdated => "outdated",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CountedState> {
        CountedState::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The sums over the verdicts of a file in a locale. There is a row as soon as there is a translation, be it of a key that
/// is obsolete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FiguresRow {
    /// How many translations there are in each state, in the order of [`CountedState::ALL`].
    pub states: [u32; 5],
    /// How many words the sources of the approved ones have.
    pub approved_words: u64,
    /// How many fail a check that blocks.
    pub blocking: u32,
    /// How many fail checks, but none that blocks.
    pub other: u32,
    /// How many fail each check, in the order of the interface.
    pub checks: [u32; CheckId::ALL.len()],
}
impl Row for FiguresRow {}
