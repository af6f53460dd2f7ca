//! Notes an export in the audit chain.

use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::choice::Fallback;
use crate::audit::{self, Actor, Event};
use crate::content::model::FileId;
use crate::spaces::ProjectId;

/// An export that is handed out.
#[derive(Clone, Debug)]
pub struct NoteExport {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
    /// At which revision.
    pub revision: u64,
    /// Into which locale: its canonical tag.
    pub locale: Option<String>,
    /// What became of keys without a translation.
    pub fallback: Fallback,
    /// Whether approved translations alone were used.
    pub approved_only: bool,
    /// Whether it told of the keys instead of giving the file.
    pub is_metadata: bool,
}

/// Notes an export.
///
/// # Errors
/// Only the store's.
pub fn note_export(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, export: NoteExport) -> Result<(), Failure> {
    let event = Event::about("export", "file", export.file_id.0).with([
        ("project_id", Json::from(export.project_id.0.to_string())),
        ("revision", Json::from(export.revision)),
        ("locale", Json::from(export.locale)),
        ("fallback", Json::from(export.fallback.name())),
        ("approved_only", Json::from(export.approved_only)),
        ("metadata", Json::from(export.is_metadata)),
    ]);
    audit::record(tx, now, actor, event).map(drop)
}
