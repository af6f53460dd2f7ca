//! Whoever asked for it is told of a release.

use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::ReleaseId;
use super::tables::ReleaseRow;
use crate::audit::Actor;
use crate::webhooks::{Told, tell};

/// Tells of a release that was made or withdrawn.
///
/// # Errors
/// The store's.
pub fn tell_release(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    release_id: ReleaseId,
    row: &ReleaseRow,
) -> Result<(), Failure> {
    let data = [
        ("release_id", Json::from(release_id.0.to_string())),
        ("project_id", row.project_id.0.to_string().into()),
        ("action", if row.withdrawn.is_some() { "withdrawn" } else { "created" }.into()),
        ("sha256", data_encoding::HEXLOWER.encode(&row.sha256).into()),
        ("size", row.archive.size_bytes.into()),
        ("files", row.files.into()),
        ("locales", row.locales.into()),
        ("entries", row.entries.into()),
    ];
    tell(tx, now, actor, Told { event: "release", resource_type: "release", resource_id: release_id.0, data })
}
