//! Releases and their entries.

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_storage::{Timestamp, Uuid, key_newtype};

use crate::content::{FileId, FileVersion};
use crate::model::ProjectId;

key_newtype!(
    /// A release of a project.
    pub ReleaseId(Uuid)
);

/// A release as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its id.
    pub release_id: ReleaseId,
    /// Of which project.
    pub project_id: ProjectId,
    /// SHA-256 of the archive.
    pub sha256: Digest,
    /// How many bytes that has.
    pub size_bytes: u64,
    /// How many files the project had.
    pub files: u64,
    /// In how many locales something was approved.
    pub locales: u64,
    /// How many entries the archive has: each file in each locale.
    pub entries: u64,
    /// Who made it.
    pub created_by: Uuid,
    /// When.
    pub created_at: Timestamp,
    /// When it was withdrawn, if it was.
    pub withdrawn_at: Option<Timestamp>,
}

/// An entry of an archive, as the stored manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// `<locale>/<path of the file>`
    pub name: String,
    /// SHA-256 of the exported file.
    pub sha256: [u8; 32],
    /// CRC-32 of the same, which archives carry.
    pub crc32: u32,
    /// How many bytes it has.
    pub size_bytes: u64,
    /// Which file it is.
    pub file_id: FileId,
    /// The file's version.
    pub version: FileVersion,
    /// The revision of the file in the locale, as exports show it.
    pub revision: u64,
}
