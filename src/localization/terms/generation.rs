//! How many entries and styles a project has, and which generation its words are.

use quintet_storage::{Failure, Read, WriteTx};

use super::tables::{PROJECT_TERMS, ProjectTermsRow};
use crate::model::TenantId;
use crate::spaces::ProjectId;

/// What a project has.
///
/// # Errors
/// Only the store's.
pub fn project_terms(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<ProjectTermsRow, Failure> {
    Ok(read.get(&PROJECT_TERMS, &(tenant_id, project_id))?.unwrap_or_default())
}

/// Stores what a project has; `is_new_generation` says whether its words are others than before.
///
/// # Errors
/// Only the store's.
pub fn put_project_terms(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    project_id: ProjectId,
    mut terms: ProjectTermsRow,
    is_new_generation: bool,
) -> Result<(), Failure> {
    if is_new_generation {
        terms.generation += 1;
        terms.stamp = tx.new_id().as_u128();
    }
    tx.put(&PROJECT_TERMS, &(tenant_id, project_id), &terms)
}
