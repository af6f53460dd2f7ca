//! Releases: find and list.

use quintet_storage::{Abort, Failure, Read, Scan};

use super::model::{Release, ReleaseId};
use super::tables::{RELEASES, RELEASES_BY_PROJECT, ReleaseRow};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// The row of a release.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_row(read: &impl Read, tenant_id: TenantId, release_id: ReleaseId) -> Result<ReleaseRow, Abort<Refusal>> {
    Ok(read.get(&RELEASES, &(tenant_id, release_id))?.ok_or(Refusal::NotFound)?)
}

/// The releases of a project that were made before `before`, the newest first; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_releases(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    before: Option<ReleaseId>,
    limit: usize,
) -> Result<(Vec<Release>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id, project_id)).newest_first().limit(limit + 1);
    if let Some(before) = before {
        scan = scan.after(&(tenant_id, project_id, before));
    }
    let marks = read.scan(&RELEASES_BY_PROJECT, scan)?;
    let more = marks.len() > limit;
    let mut releases = Vec::with_capacity(marks.len());
    for ((.., release_id), _) in marks.into_iter().take(limit) {
        let row = read.get(&RELEASES, &(tenant_id, release_id))?;
        let row = row.ok_or_else(|| Failure::Damaged(format!("release {} is listed and not there", release_id.0)))?;
        releases.push(row.told(release_id));
    }
    Ok((releases, more))
}
