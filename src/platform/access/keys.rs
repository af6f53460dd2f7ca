//! Verbs and queries of API keys.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};
use uuid::Uuid;

use super::key_text::{draw_secret, join, key_id_text, parse_key_id, secret_digest};
use super::model::{AccessRefusal, check_label, check_ttl, checked_permissions};
use super::tables::{KEY_USES, KEYS, KEYS_BY_TENANT, KeyRow, Mark, TENANTS};
use crate::secrets::{Digest, Secret};

const SECONDS_PER_DAY: i64 = 86_400;

/// A key's secret, drawn before the transaction so that the verb stays deterministic. Use each once.
#[derive(Debug)]
pub struct PreparedSecret {
    text: Secret,
    digest: Secret<Digest>,
}

impl PreparedSecret {
    /// Draws a secret from the system's random source.
    #[must_use]
    pub fn draw() -> PreparedSecret {
        let text = draw_secret();
        let digest = Secret::new(secret_digest(text.expose()));
        PreparedSecret { text, digest }
    }

    /// The id and the text of the key that will have this secret and this id.
    #[must_use]
    pub fn key_as(&self, id: Uuid) -> (String, Secret) {
        (key_id_text(id), join(id, &self.text))
    }
}

/// A key to be issued.
#[derive(Debug)]
pub struct IssueKey {
    /// The tenant it acts for.
    pub tenant_id: Uuid,
    /// The principal it acts as; `None`: a new one, known by this key alone.
    pub principal_id: Option<Uuid>,
    /// What people call it; at most 255 characters, may be empty.
    pub label: String,
    /// What it may do.
    pub permissions: Vec<String>,
    /// How long it lives, 1 to 3650 days; `None`: until it is revoked.
    pub ttl_days: Option<u32>,
    /// Its secret.
    pub secret: PreparedSecret,
}

/// A key just issued: the only time its text is known.
#[derive(Debug)]
pub struct IssuedKey {
    /// The key's id: 26 characters.
    pub key_id: String,
    /// The key itself, `rak_…`.
    pub api_key: Secret,
    /// The tenant it acts for.
    pub tenant_id: Uuid,
    /// The principal it acts as.
    pub principal_id: Uuid,
    /// What people call it.
    pub label: String,
    /// What it may do; sorted.
    pub permissions: Vec<String>,
    /// When it was issued.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// What is known of a key afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The key's id.
    pub key_id: String,
    /// The tenant it acts for.
    pub tenant_id: Uuid,
    /// The principal it acts as.
    pub principal_id: Uuid,
    /// What people call it.
    pub label: String,
    /// What it may do; sorted.
    pub permissions: Vec<String>,
    /// When it was issued.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, as far as [`KeyUses`](super::KeyUses) has stored it.
    pub last_used_at: Option<Timestamp>,
}

/// Issues a key. Its tenant may be suspended: the key works once it is active.
///
/// # Errors
/// See [`AccessRefusal`], in this order: label, permissions, life, tenant.
pub fn issue_key(tx: &mut WriteTx<'_>, now: Timestamp, command: IssueKey) -> Result<IssuedKey, Abort<AccessRefusal>> {
    let id = tx.new_id();
    issue_key_as(tx, now, id, command)
}

/// [`issue_key`] with an id that was chosen before and belongs to no other key.
///
/// # Errors
/// As [`issue_key`].
pub fn issue_key_as(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    id: Uuid,
    command: IssueKey,
) -> Result<IssuedKey, Abort<AccessRefusal>> {
    check_label(&command.label)?;
    let permissions = checked_permissions(command.permissions)?;
    check_ttl(command.ttl_days)?;
    if !tx.contains(&TENANTS, &command.tenant_id)? {
        return Err(AccessRefusal::TenantNotFound.into());
    }
    let principal_id = command.principal_id.unwrap_or_else(|| tx.new_id());
    let expires_at = command.ttl_days.map(|days| now.plus_seconds(i64::from(days) * SECONDS_PER_DAY));
    let row = KeyRow {
        tenant: command.tenant_id.into_bytes(),
        principal: principal_id.into_bytes(),
        digest: *command.secret.digest.expose(),
        label: command.label.clone(),
        permissions: permissions.clone(),
        created_at: now,
        expires_at,
        revoked_at: None,
    };
    tx.put(&KEYS, &id, &row)?;
    tx.put(&KEYS_BY_TENANT, &(command.tenant_id, id), &Mark)?;
    Ok(IssuedKey {
        key_id: key_id_text(id),
        api_key: join(id, &command.secret.text),
        tenant_id: command.tenant_id,
        principal_id,
        label: command.label,
        permissions,
        created_at: now,
        expires_at,
    })
}

/// Revokes a key for good. Again: the same answer, with the time of the first. With `tenant_id` only a key of that
/// tenant is found.
///
/// # Errors
/// [`AccessRefusal::KeyNotFound`]
pub fn revoke_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Option<Uuid>,
    key_id: &str,
) -> Result<KeyRecord, Abort<AccessRefusal>> {
    let id = parse_key_id(key_id).ok_or(AccessRefusal::KeyNotFound)?;
    let mut row = tx.get(&KEYS, &id)?.ok_or(AccessRefusal::KeyNotFound)?;
    if tenant_id.is_some_and(|tenant_id| tenant_id.into_bytes() != row.tenant) {
        return Err(AccessRefusal::KeyNotFound.into());
    }
    if row.revoked_at.is_none() {
        row.revoked_at = Some(now);
        tx.put(&KEYS, &id, &row)?;
    }
    Ok(record(tx, id, row)?)
}

/// Takes a key's label away, if there is the key: it may tell of somebody who is erased.
///
/// # Errors
/// What the store answers.
pub fn forget_label(tx: &mut WriteTx<'_>, key_id: &str) -> Result<(), Failure> {
    let Some(id) = parse_key_id(key_id) else { return Ok(()) };
    match tx.get(&KEYS, &id)? {
        Some(row) if !row.label.is_empty() => tx.put(&KEYS, &id, &KeyRow { label: String::new(), ..row }),
        _ => Ok(()),
    }
}

/// A key, by the id callers see. `None` if there is none.
///
/// # Errors
/// What the store answers.
pub fn find_key(read: &impl Read, key_id: &str) -> Result<Option<KeyRecord>, Failure> {
    let Some(id) = parse_key_id(key_id) else { return Ok(None) };
    read.get(&KEYS, &id)?.map(|row| record(read, id, row)).transpose()
}

/// A tenant's keys in the order they were issued, revoked and expired ones included, behind `after` (a key id; one
/// that is malformed counts as none), at most `limit`.
///
/// # Errors
/// What the store answers.
pub fn list_keys(
    read: &impl Read,
    tenant_id: Uuid,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<KeyRecord>, Failure> {
    let mut scan = Scan::prefix(&(tenant_id,)).limit(limit);
    if let Some(after) = after.and_then(parse_key_id) {
        scan = scan.after(&(tenant_id, after));
    }
    let mut records = Vec::new();
    for ((_, id), Mark) in read.scan(&KEYS_BY_TENANT, scan)? {
        if let Some(row) = read.get(&KEYS, &id)? {
            records.push(record(read, id, row)?);
        }
    }
    Ok(records)
}

fn record(read: &impl Read, id: Uuid, row: KeyRow) -> Result<KeyRecord, Failure> {
    Ok(KeyRecord {
        key_id: key_id_text(id),
        tenant_id: Uuid::from_bytes(row.tenant),
        principal_id: Uuid::from_bytes(row.principal),
        label: row.label,
        permissions: row.permissions,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        last_used_at: read.get(&KEY_USES, &id)?.map(|row| row.last_used_at),
    })
}
