//! The rows of glossaries and styles.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0348 | glossary entries | tenant, project, entry | what it says, who made it and when |
//! | 0x0349 | glossary wordings | tenant, project, digest of kind, locale, source, target | the entry's id; makes what entries say unique |
//! | 0x034A | styles | tenant, project, locale, scope | an instruction |
//! | 0x034B | project terms (hot) | tenant, project | how many of both there are, and their generation |

use bincode::{Decode, Encode};
use quintet_platform::secrets::digest_parts;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Entry, Register, Style, StyleScope, TermId, Wording};
use crate::model::{FAMILY, TenantId};
use crate::spaces::ProjectId;

/// Entries.
pub const ENTRIES: Table<(TenantId, ProjectId, TermId), EntryRow> =
    Table::new(0x0348, FAMILY, "localization_glossary_entries");
/// What entries say.
pub const WORDINGS: Table<(TenantId, ProjectId, u128), WordingRow> =
    Table::new(0x0349, FAMILY, "localization_glossary_wordings");
/// Styles.
pub const STYLES: Table<(TenantId, ProjectId, String, u8), StyleRow> =
    Table::new(0x034A, FAMILY, "localization_styles");
/// What a project has of both.
pub const PROJECT_TERMS: Table<(TenantId, ProjectId), ProjectTermsRow> =
    Table::new(0x034B, FAMILY, "localization_project_terms").hot();

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[ENTRIES.spec(), WORDINGS.spec(), STYLES.spec(), PROJECT_TERMS.spec()];

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EntryRow {
    /// What it says.
    pub wording: Wording,
    /// Who made it.
    pub created_by: [u8; 16],
    /// When.
    pub created_at: Timestamp,
    /// When it was last replaced, or made.
    pub updated_at: Timestamp,
}
impl Row for EntryRow {}

impl EntryRow {
    /// The entry of the id.
    pub fn into_entry(self, project_id: ProjectId, term_id: TermId) -> Entry {
        let EntryRow { wording, created_by, created_at, updated_at } = self;
        Entry { term_id, project_id, wording, created_by: Uuid::from_bytes(created_by), created_at, updated_at }
    }
}

/// Where it is noted that something is said: the digest of kind, locale, source and target, none of which is ever empty.
#[must_use]
pub fn place_of(wording: &Wording) -> u128 {
    let text = |member: &Option<String>| member.clone().unwrap_or_default();
    let (locale, source, target) = (text(&wording.locale), text(&wording.source), text(&wording.target));
    let parts = [wording.kind.name(), &locale, &source, &target].map(str::as_bytes);
    digest_parts(&parts).first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WordingRow {
    /// Which entry.
    pub term_id: TermId,
}
impl Row for WordingRow {}

/// A style.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StyleRow {
    /// What it says.
    pub text: String,
    /// The register it asks for.
    pub register: Option<Register>,
    /// When it was set.
    pub updated_at: Timestamp,
}
impl Row for StyleRow {}

impl StyleRow {
    /// The style of a locale and the place of a scope.
    pub fn into_style(self, locale: String, place: u8) -> Style {
        let StyleRow { text, register, updated_at } = self;
        Style { locale, scope: StyleScope::at(place), text, register, updated_at }
    }
}

/// What a project has of both; without a row, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProjectTermsRow {
    /// How often something changed that the checks look at: an entry other than its note, a register.
    pub generation: u64,
    /// Drawn anew with each: stands for these words for good, whatever becomes of the transaction.
    pub stamp: u128,
    /// How many entries there are.
    pub entries: u32,
    /// How many bytes their sources and targets have.
    pub entry_bytes: u64,
    /// How many styles.
    pub styles: u32,
    /// How many bytes their texts have, as JSON writes them.
    pub style_bytes: u64,
}
impl Row for ProjectTermsRow {}
