//! Marks: what members are looked up by. A mark is a digest under a key of the tenant's, which lies sealed: whoever has
//! the disk alone cannot try addresses on it.

use quintet_platform::secrets::{Secret, digest_parts, random_bytes};
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, WriteTx};

use super::model::{Subject, folded_address};
use super::tables::{MARK_KEYS, MarkKeyRow};
use crate::model::TenantId;

/// What marks are made under, drawn before the transaction so that the verb stays deterministic. It is used if the tenant
/// has none yet.
#[derive(Debug)]
pub struct MarkKey(Secret<[u8; 32]>);

impl MarkKey {
    /// Draws one from the system's random source.
    #[must_use]
    pub fn draw() -> MarkKey {
        MarkKey(Secret::new(random_bytes()))
    }
}

/// Sees to it that a tenant has a key for marks.
///
/// # Errors
/// Only the store's.
pub fn keep_mark_key(tx: &mut WriteTx<'_>, tenant_id: TenantId, drawn: &MarkKey) -> Result<(), Failure> {
    if tx.contains(&MARK_KEYS, &tenant_id)? {
        return Ok(());
    }
    let owner = KeyOwner::Tenant(tenant_id.0);
    let key = seal::seal(tx, owner, &MARK_KEYS, &tenant_id, drawn.0.expose()).map_err(unerased)?;
    tx.put(&MARK_KEYS, &tenant_id, &MarkKeyRow { key })
}

/// The mark of an address, ignoring case; `None` for what is no address, and in a tenant that never had a member.
///
/// # Errors
/// Only the store's.
pub fn email_mark(read: &impl Read, tenant_id: TenantId, email: &str) -> Result<Option<u128>, Failure> {
    let Some(folded) = folded_address(email) else { return Ok(None) };
    mark(read, tenant_id, &[b"e-mail", folded.as_bytes()])
}

/// The mark that an address had in earlier versions, where Unicode's lower case was what counted. Of ASCII it is the same.
///
/// # Errors
/// Only the store's.
pub fn former_email_mark(read: &impl Read, tenant_id: TenantId, email: &str) -> Result<Option<u128>, Failure> {
    mark(read, tenant_id, &[b"e-mail", email.to_lowercase().as_bytes()])
}

/// The mark of whom the identity provider means; `None` in a tenant that never had a member.
///
/// # Errors
/// Only the store's.
pub fn subject_mark(read: &impl Read, tenant_id: TenantId, subject: &Subject) -> Result<Option<u128>, Failure> {
    mark(read, tenant_id, &[b"subject", subject.issuer.as_bytes(), subject.subject.as_bytes()])
}

fn mark(read: &impl Read, tenant_id: TenantId, parts: &[&[u8]]) -> Result<Option<u128>, Failure> {
    let Some(row) = read.get(&MARK_KEYS, &tenant_id)? else { return Ok(None) };
    let key = seal::open(read, KeyOwner::Tenant(tenant_id.0), &MARK_KEYS, &tenant_id, &row.key).map_err(unerased)?;
    let parts: Vec<&[u8]> = std::iter::once(key.as_slice()).chain(parts.iter().copied()).collect();
    let digest = digest_parts(&parts);
    Ok(Some(digest.iter().take(16).fold(0, |mark, byte| mark << 8 | u128::from(*byte))))
}

/// Whoever acts in an erased tenant was turned away before.
fn unerased(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    }
}
