//! Changing a template: what it says, as a new version, and what it is called.

use quintet_platform::json::{Json, to_canonical};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::create::check_name;
use super::definition::check;
use super::model::{Content, NO_TEMPLATE, Template, TemplateChange, VERSIONS_MAX};
use super::params::Declaration;
use super::rows::{content, find, put, put_version};
use crate::allowances::quotas;
use crate::model::{TemplateKey, TenantId};
use crate::refusal::Refusal;

/// What a version is to say, once it has been checked.
pub(super) struct Ready {
    pub(super) content: Content,
    /// The address of its webhook, which is still to be looked at; none: it has none, or a parameter has a say in it.
    pub(super) webhook_url: Option<String>,
}

/// A change whose content has been checked against a version.
pub(super) struct Prepared {
    change: TemplateChange,
    /// What the template is to say, if it still says what it did; none: what it says does not change.
    pub(super) ready: Option<Ready>,
    /// The version that it was checked against.
    base: u64,
}

/// Makes a change ready: reads what the template says now, puts in what is given, and checks the whole.
pub(super) fn prepare(read: &impl Read, key: TemplateKey, change: TemplateChange) -> Result<Prepared, Abort<Refusal>> {
    let template = find(read, key)?.ok_or(NO_TEMPLATE)?;
    let ready = merged(read, key, &template, &change)?;
    Ok(Prepared { change, ready, base: template.latest_version })
}

/// What the latest version says with a change in it, checked; none if that is the same.
fn merged(
    read: &impl Read,
    key: TemplateKey,
    template: &Template,
    change: &TemplateChange,
) -> Result<Option<Ready>, Abort<Refusal>> {
    let damaged = || Failure::Damaged(format!("template {} has no latest version", key.1));
    let before = content(read, (key.0, key.1, template.latest_version))?.ok_or_else(damaged)?;
    let params = change.params.clone().unwrap_or_else(|| before.params.clone());
    let definition = change.definition.clone().unwrap_or_else(|| before.definition.clone());
    if params == before.params && to_canonical(&definition) == to_canonical(&before.definition) {
        return Ok(None);
    }
    Ok(Some(ready(read, key.0, params, definition)?))
}

/// What a version of a tenant's template is to say, checked.
pub(super) fn ready(
    read: &impl Read,
    tenant_id: TenantId,
    params: Vec<Declaration>,
    definition: Json,
) -> Result<Ready, Abort<Refusal>> {
    let nodes_max = quotas::in_force(read, tenant_id)?.quotas.max_nodes_per_workflow;
    let checked = check(&definition, &params, nodes_max)?;
    let node_count = u32::try_from(checked.graph.nodes.len()).unwrap_or(u32::MAX);
    Ok(Ready { content: Content { params, definition, node_count }, webhook_url: checked.webhook_url })
}

/// Changes a template. Where it says something else than before, that is a new version.
pub(super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TemplateKey,
    prepared: Prepared,
) -> Result<Template, Abort<Refusal>> {
    let before = find(tx, key)?.ok_or(NO_TEMPLATE)?;
    let Prepared { change, ready, base } = prepared;
    check_name(tx, key, change.name.as_deref())?;
    // Somebody else may have been first.
    let ready = if before.latest_version == base { ready } else { merged(tx, key, &before, &change)? };
    let mut template = before.clone();
    if let Some(Ready { content, .. }) = ready {
        if before.latest_version >= VERSIONS_MAX {
            return Err(Refusal::LimitReached("the most versions of a template", VERSIONS_MAX).into());
        }
        template.latest_version += 1;
        if !put_version(tx, now, (key.0, key.1, template.latest_version), &content)? {
            return Err(NO_TEMPLATE.into());
        }
    }
    if change.name.is_some() {
        template.name = change.name;
    }
    if template != before {
        template.updated_at = now;
        put(tx, key, Some(&before), &template)?;
    }
    Ok(template)
}
