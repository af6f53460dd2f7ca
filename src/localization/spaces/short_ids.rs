//! Short ids: what stands for a workspace or project in permissions, and for a principal among people.

use quintet_platform::secrets::digest_parts;
use quintet_storage::{Failure, Read, Uuid, WriteTx};

use super::tables::{SHORT_IDS, ShortIdRow};
use crate::model::TenantId;

/// Characters of a short id.
const SHORT_ID_CHARS: usize = 10;
/// RFC 4648's base 32, in lower case.
const SHORT_ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The short id a thing would like to have at its `attempt`-th attempt: 10 lower-case base-32 characters out of its id,
/// which stand for it in permissions. It depends on nothing else, so that a replay finds the same.
#[must_use]
pub fn short_id(id: Uuid, attempt: u32) -> String {
    let digest = digest_parts(&[b"quintet short id", id.as_bytes(), &attempt.to_be_bytes()]);
    let character = |byte: &u8| SHORT_ID_ALPHABET.get(usize::from(byte & 31)).copied().map_or('a', char::from);
    digest.iter().take(SHORT_ID_CHARS).map(character).collect()
}

/// Takes a short id that nothing in the tenant has, or ever had.
///
/// # Errors
/// Only the store's.
pub fn take_short_id(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    id: Uuid,
    owner: &ShortIdRow,
) -> Result<String, Failure> {
    let mut attempt = 0;
    loop {
        let key = (tenant_id, short_id(id, attempt));
        if !tx.contains(&SHORT_IDS, &key)? {
            tx.put(&SHORT_IDS, &key, owner)?;
            return Ok(key.1);
        }
        attempt += 1;
    }
}

/// What a short id stands for in a tenant.
///
/// # Errors
/// Only the store's.
pub fn owner_of(read: &impl Read, tenant_id: TenantId, short_id: &str) -> Result<Option<ShortIdRow>, Failure> {
    read.get(&SHORT_IDS, &(tenant_id, short_id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_short_and_differ() {
        let (one, other) = (short_id(Uuid::from_u128(1), 0), short_id(Uuid::from_u128(1), 1));
        assert_ne!(one, other);
        assert_eq!(one, short_id(Uuid::from_u128(1), 0));
        for id in [one, other] {
            assert_eq!(id.len(), 10);
            assert!(id.bytes().all(|byte| SHORT_ID_ALPHABET.contains(&byte)), "{id}");
        }
    }
}
