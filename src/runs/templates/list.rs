//! Lists of templates and of their versions, newest first.

use quintet_storage::{Failure, Read, Scan};

use super::model::Template;
use super::tables::{TEMPLATES, VERSIONS, VersionRow};
use crate::lists::{Listed, Looked, newest_first};
use crate::model::{TemplateId, TemplateKey, TenantId};

/// A page of a tenant's templates.
pub(super) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<TemplateId>,
    limit: usize,
) -> Result<Listed<TemplateId, Template>, Failure> {
    newest_first(read, &TEMPLATES, tenant_id, (after, limit), |row| (Looked::Taken(row.0), 0))
}

/// A page of a template's versions, behind the number of one.
pub(super) fn versions(
    read: &impl Read,
    key: TemplateKey,
    after: Option<u64>,
    limit: usize,
) -> Result<Listed<u64, VersionRow>, Failure> {
    let scan = Scan::prefix(&key).newest_first().limit(limit.saturating_add(1));
    let scan = after.iter().fold(scan, |scan, after| scan.after(&(key.0, key.1, *after)));
    let rows = read.scan(&VERSIONS, scan)?;
    let has_more = rows.len() > limit;
    let items: Vec<(u64, VersionRow)> =
        rows.into_iter().take(limit).map(|((_, _, number), row)| (number, row)).collect();
    let next = items.last().filter(|_| has_more).map(|(number, _)| *number);
    Ok(Listed { items, next })
}
