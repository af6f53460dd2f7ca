//! How many entries and styles a project has, and which generation its words are.

use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::tables::{PROJECT_TERMS, ProjectTermsRow};
use crate::content::rejudge::{self, Cause};
use crate::model::TenantId;
use crate::spaces::ProjectId;

/// What a project has.
///
/// # Errors
/// Only the store's.
pub fn project_terms(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<ProjectTermsRow, Failure> {
    Ok(read.get(&PROJECT_TERMS, &(tenant_id, project_id))?.unwrap_or_default())
}

/// Stores what a project has; with a cause, its words are others than before, and what that may change is to be judged
/// anew.
///
/// # Errors
/// Only the store's.
pub fn put_project_terms(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (tenant_id, project_id): (TenantId, ProjectId),
    mut terms: ProjectTermsRow,
    cause: Option<Cause>,
) -> Result<(), Failure> {
    if let Some(cause) = cause {
        terms.generation += 1;
        terms.stamp = tx.new_id().as_u128();
        rejudge::note(tx, now, tenant_id, project_id, cause)?;
    }
    tx.put(&PROJECT_TERMS, &(tenant_id, project_id), &terms)
}
