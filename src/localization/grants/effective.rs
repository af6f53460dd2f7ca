//! What a caller may, told one by one.

use quintet_storage::{Failure, Read};

use crate::access::{Granted, Wanted};
use crate::model::TenantId;
use crate::spaces::{each_project, each_workspace};

/// How many workspaces and projects, and how many permissions, [`effective_permissions`] goes into.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Workspaces and projects.
    pub spaces: usize,
    /// Bytes of their rows.
    pub bytes: usize,
    /// Permissions.
    pub texts: usize,
}

/// As far as permissions are told one by one: some 100 ms, and an answer of a few megabytes.
const EXTENT_MAX: Extent = Extent { spaces: 20_000, bytes: 32 << 20, texts: 100_000 };

/// Every permission that holds now, each project and workspace by its own short id: sorted, each once. In a tenant with
/// more than 20,000 workspaces and projects (or legal prefixes of 32 MiB), or where these would be more than 100,000
/// permissions: as they were granted, `*` for every workspace or project of what they were granted for.
///
/// # Errors
/// Only the store's.
pub fn effective_permissions(read: &impl Read, tenant_id: TenantId, granted: &Granted) -> Result<Vec<String>, Failure> {
    let one_by_one = expanded(read, tenant_id, granted, EXTENT_MAX)?;
    Ok(one_by_one.unwrap_or_else(|| granted.texts()))
}

/// Every permission by short ids; `None` if that would go too far.
///
/// # Errors
/// Only the store's.
pub fn expanded(
    read: &impl Read,
    tenant_id: TenantId,
    granted: &Granted,
    extent: Extent,
) -> Result<Option<Vec<String>>, Failure> {
    let mut texts = granted.org_texts();
    let (mut spaces, mut bytes) = (0, 0);
    let is_end = each_workspace(read, tenant_id, |workspace| {
        spaces += 1;
        if granted.covers(Wanted::WorkspaceAdmin(&workspace.short_id)) {
            texts.push(format!("ws_{}_admin", workspace.short_id));
        }
        spaces <= extent.spaces
    })?;
    let is_end = is_end
        && each_project(read, tenant_id, None, |project| {
            spaces += 1;
            bytes += project.prefix_bytes();
            texts.extend(granted.texts_in(project.place()));
            spaces <= extent.spaces && bytes <= extent.bytes && texts.len() <= extent.texts
        })?;
    texts.sort_unstable();
    texts.dedup();
    Ok(is_end.then_some(texts))
}
