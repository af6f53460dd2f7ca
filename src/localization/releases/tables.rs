//! The rows of releases.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0380 | releases | tenant, release | what a release is; its archive and its manifest (both sealed) |
//! | 0x0381 | releases by project | tenant, project, release | an index, in the order in which they were made |

use bincode::{Decode, Encode};
use quintet_storage::large::LargeValue;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Release, ReleaseId};
use crate::model::{FAMILY, ProjectId, TenantId};

/// Releases.
pub const RELEASES: Table<(TenantId, ReleaseId), ReleaseRow> = Table::new(0x0380, FAMILY, "localization_releases");
/// The releases of projects.
pub const RELEASES_BY_PROJECT: Table<(TenantId, ProjectId, ReleaseId), ReleaseMarkRow> =
    Table::new(0x0381, FAMILY, "localization_releases_by_project");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[RELEASES.spec(), RELEASES_BY_PROJECT.spec()];

/// A release.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReleaseRow {
    /// Of which project.
    pub project_id: ProjectId,
    /// SHA-256 of the archive.
    pub sha256: [u8; 32],
    /// How many files the project had.
    pub files: u64,
    /// In how many locales something was approved.
    pub locales: u64,
    /// How many entries the archive has.
    pub entries: u64,
    /// The archive, sealed for the tenant.
    pub archive: LargeValue,
    /// Its manifest, sealed for the tenant.
    pub manifest: LargeValue,
    /// Who made it.
    pub created_by: [u8; 16],
    /// When.
    pub created_at: Timestamp,
    /// Whether it was withdrawn.
    pub withdrawn: Option<WithdrawnRow>,
}
impl Row for ReleaseRow {}

/// That a release was withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WithdrawnRow {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: [u8; 16],
}

/// That a project has a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReleaseMarkRow;
impl Row for ReleaseMarkRow {}

impl ReleaseRow {
    /// The release of the id.
    pub fn told(&self, release_id: ReleaseId) -> Release {
        Release {
            release_id,
            project_id: self.project_id,
            sha256: self.sha256,
            size_bytes: self.archive.size_bytes,
            files: self.files,
            locales: self.locales,
            entries: self.entries,
            created_by: Uuid::from_bytes(self.created_by),
            created_at: self.created_at,
            withdrawn_at: self.withdrawn.map(|withdrawn| withdrawn.at),
        }
    }
}
