//! Making a template.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Content, NO_TEMPLATE, TEMPLATES_MAX, Template};
use super::rows::{has_as_many, owner, put, put_version};
use crate::model::{TemplateId, TemplateKey, TenantId};
use crate::refusal::Refusal;

/// Makes a template of what has been checked: its first version.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    name: Option<String>,
    content: &Content,
) -> Result<(TemplateId, Template), Abort<Refusal>> {
    let key = (tenant_id, TemplateId(tx.new_id()));
    check_name(tx, key, name.as_deref())?;
    if has_as_many(tx, tenant_id, TEMPLATES_MAX)? {
        return Err(Refusal::LimitReached("the most templates of a tenant", TEMPLATES_MAX).into());
    }
    let template = Template { name, latest_version: 1, created_at: now, updated_at: now };
    if !put_version(tx, now, (key.0, key.1, 1), content)? {
        // A tenant's key is never destroyed while its requests are let in.
        return Err(NO_TEMPLATE.into());
    }
    put(tx, key, None, &template)?;
    Ok((key.1, template))
}

/// No other template has the name.
pub(super) fn check_name(tx: &WriteTx<'_>, key: TemplateKey, name: Option<&str>) -> Result<(), Abort<Refusal>> {
    let Some(name) = name else { return Ok(()) };
    match owner(tx, key.0, name)? {
        Some(id) if id != key.1 => Err(Refusal::NameTaken("another template").into()),
        _ => Ok(()),
    }
}
