//! A tenant names an image; what that takes of its quota.

use std::collections::BTreeSet;

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Named, OverQuota, bytes_of, bytes_of_mb, layers_of};
use super::tables::NAMED;
use crate::model::TenantId;

/// Images that do not count any more are taken away in this number at a time.
const FORGOTTEN_AT_ONCE: usize = 100;

/// The room that a pull may fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// What layers that do not count yet may take, in bytes.
    pub(crate) bytes: u64,
    /// The layers that count already.
    pub(crate) counted: Vec<String>,
    /// What they take, in bytes.
    pub(crate) taken_bytes: u64,
}

/// An image by its digest, if the tenant names it.
pub(crate) fn find(read: &impl Read, tenant_id: TenantId, digest: &str) -> Result<Option<Named>, Failure> {
    Ok(read.get(&NAMED, &(tenant_id, digest.to_owned()))?.map(Named::from))
}

/// What a tenant's quota leaves for one more image.
pub(crate) fn room(read: &impl Read, now: Timestamp, tenant_id: TenantId, max_image_mb: u64) -> Result<Room, Failure> {
    let named = counting(read, now, tenant_id)?;
    let layers = layers_of(named.iter().map(|(_, image)| image));
    let taken_bytes = bytes_of(&layers);
    Ok(Room {
        bytes: bytes_of_mb(max_image_mb).saturating_sub(taken_bytes),
        counted: layers.into_keys().map(str::to_owned).collect(),
        taken_bytes,
    })
}

/// Has a tenant name an image, or use once more what it names already. Refused if it is new and goes beyond the quota.
pub(crate) fn name(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    max_image_mb: u64,
    digest: &str,
    layers: Vec<(String, u64)>,
) -> Result<Result<(), OverQuota>, Failure> {
    forget_old(tx, now, tenant_id)?;
    let image = Named { layers, used_at: now };
    if find(tx, tenant_id, digest)?.is_none() {
        let named = counting(tx, now, tenant_id)?;
        let before = layers_of(named.iter().map(|(_, image)| image));
        let taken_bytes = bytes_of(&before);
        let with_it = layers_of(named.iter().map(|(_, image)| image).chain([&image]));
        if bytes_of(&with_it) > bytes_of_mb(max_image_mb).max(taken_bytes) {
            return Ok(Err(OverQuota { max_image_mb, taken_bytes }));
        }
    }
    tx.put(&NAMED, &(tenant_id, digest.to_owned()), &image.into())?;
    Ok(Ok(()))
}

/// Takes the images away that a tenant names and that are not here any more; whether there were any.
pub(crate) fn forget_absent(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    present: &BTreeSet<String>,
) -> Result<bool, Failure> {
    let mut has_gone = false;
    for (key, _) in tx.scan(&NAMED, Scan::prefix(&(tenant_id,)))? {
        if !present.contains(&key.1) {
            tx.delete(&NAMED, &key);
            has_gone = true;
        }
    }
    Ok(has_gone)
}

/// Whether anybody names an image.
pub(crate) fn is_named(read: &impl Read, digest: &str) -> Result<bool, Failure> {
    Ok(read.scan(&NAMED, Scan::all())?.iter().any(|((_, named), _)| named == digest))
}

fn counting(read: &impl Read, now: Timestamp, tenant_id: TenantId) -> Result<Vec<(String, Named)>, Failure> {
    let rows = read.scan(&NAMED, Scan::prefix(&(tenant_id,)))?;
    let named = rows.into_iter().map(|((_, digest), row)| (digest, Named::from(row)));
    Ok(named.filter(|(_, image)| image.counts(now)).collect())
}

fn forget_old(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId) -> Result<(), Failure> {
    let rows = tx.scan(&NAMED, Scan::prefix(&(tenant_id,)))?;
    let old = rows.into_iter().filter(|(_, row)| !Named::from(row.clone()).counts(now));
    for (key, _) in old.take(FORGOTTEN_AT_ONCE) {
        tx.delete(&NAMED, &key);
    }
    Ok(())
}
