//! The small transaction that makes a release of what was stored.

use quintet_platform::json::Json;
use quintet_platform::secrets::Digest;
use quintet_storage::large::LargeValue;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Release, ReleaseId};
use super::tables::{RELEASES, RELEASES_BY_PROJECT, ReleaseMarkRow, ReleaseRow};
use super::tell::tell_release;
use crate::audit::{self, Actor, Event};
use crate::content::adopt_value;
use crate::model::ProjectId;
use crate::refusal::Refusal;
use crate::spaces::get_project;

/// Publishes a release.
#[derive(Clone, Debug)]
pub struct PublishRelease {
    /// Of which project.
    pub project_id: ProjectId,
    /// SHA-256 of the archive.
    pub sha256: Digest,
    /// How many files the project had.
    pub files: u64,
    /// In how many locales something was approved.
    pub locales: u64,
    /// How many entries the archive has.
    pub entries: u64,
    /// The archive.
    pub archive: LargeValue,
    /// Its manifest.
    pub manifest: LargeValue,
}

/// Publishes a release: from here on it is there, and never changes.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::UploadExpired`] if it took so long that its parts were collected.
pub fn publish_release(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: PublishRelease,
) -> Result<Release, Abort<Refusal>> {
    let (tenant_id, project_id) = (actor.tenant_id, command.project_id);
    get_project(tx, tenant_id, project_id)?;
    for value in [&command.archive, &command.manifest] {
        adopt_value(tx, now, value)?;
    }
    let release_id = ReleaseId(tx.new_id());
    let event = Event::about("release", "release", release_id.0).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("sha256", Json::from(data_encoding::HEXLOWER.encode(&command.sha256))),
        ("size", Json::from(command.archive.size_bytes)),
        ("files", Json::from(command.files)),
        ("locales", Json::from(command.locales)),
        ("entries", Json::from(command.entries)),
    ]);
    audit::record(tx, now, actor, event)?;
    let row = ReleaseRow {
        project_id,
        sha256: command.sha256,
        files: command.files,
        locales: command.locales,
        entries: command.entries,
        archive: command.archive,
        manifest: command.manifest,
        created_by: actor.principal_id.into_bytes(),
        created_at: now,
        withdrawn: None,
    };
    tell_release(tx, now, actor, release_id, &row)?;
    tx.put(&RELEASES, &(tenant_id, release_id), &row)?;
    tx.put(&RELEASES_BY_PROJECT, &(tenant_id, project_id, release_id), &ReleaseMarkRow)?;
    Ok(row.told(release_id))
}
