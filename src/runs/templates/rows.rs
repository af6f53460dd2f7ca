//! The rows of templates: a template, its name and its versions are written together.

use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx, decode_plain, encode_plain};

use super::model::{Content, Template};
use super::params::Declaration;
use super::tables::{
    DEFINITIONS, NAMES, NameRow, PARAMS, SealedRow, TEMPLATES, TemplateRow, VERSIONS, VersionKey, VersionRow,
};
use crate::model::{TemplateId, TemplateKey, TenantId};
use crate::sealed::{open_for, seal_for};

/// A template of a tenant.
pub(super) fn find(read: &impl Read, key: TemplateKey) -> Result<Option<Template>, Failure> {
    Ok(read.get(&TEMPLATES, &key)?.map(|row| row.0))
}

/// The template that is called so: by its id, which begins with a digit, or by its name, which begins with a letter.
pub(super) fn named(read: &impl Read, tenant_id: TenantId, called: &str) -> Result<Option<TemplateKey>, Failure> {
    if let Some(id) = parse_ulid(called) {
        return Ok(Some((tenant_id, TemplateId(id))));
    }
    Ok(owner(read, tenant_id, called)?.map(|id| (tenant_id, id)))
}

/// Who has a name.
pub(super) fn owner(read: &impl Read, tenant_id: TenantId, name: &str) -> Result<Option<TemplateId>, Failure> {
    let row = read.get(&NAMES, &(tenant_id, name.to_owned()))?;
    Ok(row.map(|row| TemplateId(Uuid::from_bytes(row.template_id))))
}

/// Whether a tenant has so many templates.
pub(super) fn has_as_many(read: &impl Read, tenant_id: TenantId, most: u64) -> Result<bool, Failure> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(read.scan(&TEMPLATES, Scan::prefix(&(tenant_id,)).limit(most))?.len() >= most)
}

/// Writes a template that is new or has changed; `before` is the template as it is stored.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    key: TemplateKey,
    before: Option<&Template>,
    template: &Template,
) -> Result<(), Failure> {
    if let Some(name) = before.and_then(|before| before.name.clone()) {
        tx.delete(&NAMES, &(key.0, name));
    }
    if let Some(name) = template.name.clone() {
        tx.put(&NAMES, &(key.0, name), &NameRow { template_id: key.1.0.into_bytes() })?;
    }
    tx.put(&TEMPLATES, &key, &TemplateRow(template.clone()))
}

/// Writes what a version says. False if it cannot be kept, for the tenant's key was destroyed.
pub(super) fn put_version(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: VersionKey,
    content: &Content,
) -> Result<bool, Failure> {
    let Some(params) = seal_for(tx, &PARAMS, &key, key.0, &encode_plain(&content.params)?)? else { return Ok(false) };
    let definition = to_compact(&content.definition);
    let Some(definition) = seal_for(tx, &DEFINITIONS, &key, key.0, definition.as_bytes())? else { return Ok(false) };
    tx.put(&PARAMS, &key, &SealedRow(params))?;
    tx.put(&DEFINITIONS, &key, &SealedRow(definition))?;
    tx.put(&VERSIONS, &key, &VersionRow { created_at: now, node_count: content.node_count })?;
    Ok(true)
}

/// A version, but for what it says.
pub(super) fn version(read: &impl Read, key: VersionKey) -> Result<Option<VersionRow>, Failure> {
    read.get(&VERSIONS, &key)
}

/// What a version asks for; nothing if its tenant has been erased.
pub(super) fn params(read: &impl Read, key: VersionKey) -> Result<Vec<Declaration>, Failure> {
    let Some(SealedRow(sealed)) = read.get(&PARAMS, &key)? else { return Ok(Vec::new()) };
    let plain = open_for(read, &PARAMS, &key, key.0, &sealed)?;
    plain.map_or(Ok(Vec::new()), |plain| decode_plain(&plain))
}

/// What a version says. None if there is no such version, or its tenant has been erased.
pub(super) fn content(read: &impl Read, key: VersionKey) -> Result<Option<Content>, Failure> {
    let Some(VersionRow { node_count, .. }) = version(read, key)? else { return Ok(None) };
    let Some(SealedRow(sealed)) = read.get(&DEFINITIONS, &key)? else { return Ok(None) };
    let Some(plain) = open_for(read, &DEFINITIONS, &key, key.0, &sealed)? else { return Ok(None) };
    let definition = parse(&plain, Limits::default());
    let damaged = |_| Failure::Damaged(format!("version {} of template {} is not JSON", key.2, key.1));
    let definition: Json = definition.map_err(damaged)?;
    Ok(Some(Content { params: params(read, key)?, definition, node_count }))
}

/// Takes a template away with all its versions.
pub(super) fn forget(tx: &mut WriteTx<'_>, key: TemplateKey, template: &Template) {
    for number in 1..=template.latest_version {
        let version = (key.0, key.1, number);
        tx.delete(&VERSIONS, &version);
        tx.delete(&PARAMS, &version);
        tx.delete(&DEFINITIONS, &version);
    }
    if let Some(name) = template.name.clone() {
        tx.delete(&NAMES, &(key.0, name));
    }
    tx.delete(&TEMPLATES, &key);
}
