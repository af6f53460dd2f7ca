//! The data keys of owners, in transactions: made when they are first needed, destroyed once and for all.

use std::sync::Arc;

use super::root::{Phase, ROOT, RootRow};
use crate::error::{Abort, Failure};
use crate::time::Timestamp;
use crate::vault::cipher::{self, KeyBytes};
use crate::vault::data_keys::{DATA_KEYS, KeyRow, Unwrapped, wrap};
use crate::vault::{Erased, KeyOwner, KeyRing, RootKey};
use crate::view::read::{Read, Scan};
use crate::write::tx::WriteTx;

/// An owner's data key, made if there is none.
pub(super) fn obtain(tx: &mut WriteTx<'_>, owner: KeyOwner) -> Result<Arc<Unwrapped>, Abort<Erased>> {
    match tx.get(&DATA_KEYS, &owner.key())? {
        Some(KeyRow::Destroyed { .. }) => Err(Abort::Refused(Erased)),
        Some(KeyRow::Live { id, wraps }) => Ok(tx.vault().unwrap(owner, id, &wraps)?),
        None => {
            // The appliance's own comes first, always: a start proves the root key by it.
            if owner != KeyOwner::Appliance && !tx.contains(&ROOT, &())? {
                make(tx, KeyOwner::Appliance)?;
            }
            Ok(make(tx, owner)?)
        }
    }
}

/// A new key. It is not kept in memory before it is used again: the transaction may come to nothing.
fn make(tx: &mut WriteTx<'_>, owner: KeyOwner) -> Result<Arc<Unwrapped>, Failure> {
    let ring = tx.vault().ring()?;
    let id = cipher::random()?;
    let key = KeyBytes::new(cipher::random()?);
    let mut wraps = Vec::new();
    for root in wrapping_keys(tx, &ring)? {
        wraps.push(wrap(root, owner, id, &key)?);
    }
    tx.put(&DATA_KEYS, &owner.key(), &KeyRow::Live { id, wraps })?;
    Ok(Arc::new(Unwrapped(key)))
}

/// Destroys an owner's data key: once this transaction is acknowledged, nothing that was ever sealed for the owner
/// opens any more, and nothing can be sealed for it. An owner that never had a key is shut out as well. Says whether
/// this changed anything.
///
/// A tenant's key is not its members': each of those is destroyed by itself.
///
/// # Errors
/// The store's failures; [`Failure::Io`] for [`KeyOwner::Appliance`], whose key is never destroyed.
pub fn destroy(tx: &mut WriteTx<'_>, now: Timestamp, owner: KeyOwner) -> Result<bool, Failure> {
    if owner == KeyOwner::Appliance {
        return Err(Failure::Io("the appliance's own data key cannot be destroyed".to_owned()));
    }
    let id = match tx.get(&DATA_KEYS, &owner.key())? {
        Some(KeyRow::Destroyed { .. }) => return Ok(false),
        Some(KeyRow::Live { id, .. }) => id,
        None => [0; 16],
    };
    // If the transaction comes to nothing, the key is unwrapped again.
    tx.vault().forget(&id);
    tx.put(&DATA_KEYS, &owner.key(), &KeyRow::Destroyed { id, at: now })?;
    Ok(true)
}

/// The root keys that a new data key is wrapped by: the one in force, and the other one as long as a copy may have
/// that alone.
fn wrapping_keys<'r>(tx: &mut WriteTx<'_>, ring: &'r KeyRing) -> Result<Vec<&'r RootKey>, Failure> {
    let row = ensure(tx, ring)?;
    let other = row.other.filter(|other| !matches!(other.phase, Phase::Removing { .. })).map(|other| other.id);
    let current = ring.key(row.current);
    let current = current.ok_or_else(|| Failure::Io(format!("the root key {} is not at hand", row.current)))?;
    Ok([Some(current), other.and_then(|id| ring.key(id))].into_iter().flatten().collect())
}

/// The row about the root keys, made if there is none.
fn ensure(tx: &mut WriteTx<'_>, ring: &KeyRing) -> Result<RootRow, Failure> {
    if let Some(row) = tx.get(&ROOT, &())? {
        return Ok(row);
    }
    if !tx.scan(&DATA_KEYS, Scan::all().limit(1))?.is_empty() {
        return Err(Failure::Damaged("there are data keys, but not the row that names their root key".to_owned()));
    }
    let row = RootRow::first(ring.current().id(), tx.now());
    tx.put(&ROOT, &(), &row)?;
    Ok(row)
}
