//! A new root key takes the place of the old one while the store runs.
//!
//! A copy of the directory is made file by file: its key file may be older than its data or newer, by as much as the
//! copy window. So no data key ever changes from one root key to the other in one step:
//!
//! 1. *adding*: every data key is wrapped by the new root key as well; new data keys are wrapped by both;
//! 2. *both*: until the copy window has passed, a copy opens with either key alone;
//! 3. *removing*: the wraps of the old key go; from the end of it on, the old key opens nothing.
//!
//! The old key may leave its file after the third part, which begins a copy window after every data key has had the
//! new wrap: a copy whose data are older than that is a copy that took too long.
//!
//! Each step is a small transaction that leaves a note of how far it came, so a start goes on where a kill
//! interrupted, and doing a step twice changes nothing.

use uuid::Uuid;

use super::root::{OtherKey, OwnerKey, Phase, ROOT, RootRow, Verdict};
use crate::error::Failure;
use crate::time::Timestamp;
use crate::vault::data_keys::{self, DATA_KEYS, KeyRow, Wrap};
use crate::vault::{KeyId, KeyOwner, KeyRing};
use crate::view::read::{Read, Scan};
use crate::write::tx::WriteTx;

/// The most data keys that one step looks at.
pub const STEP_ROWS_MAX: usize = 500;

/// What remains to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another step, at once.
    More,
    /// Nothing before this instant.
    Wait(Timestamp),
    /// Nothing: every data key is wrapped by the current root key alone.
    Done,
}

/// Data keys that do not open are told one by one, up to about so many.
const FINDINGS_MAX: usize = 100;

/// Does one step towards every data key being wrapped by the store's current root key alone. At rest it does nothing.
/// `copy_window_seconds`: how long a plain copy of the directory may take.
///
/// # Errors
/// The store's failures; [`Failure::Damaged`] if a data key cannot be unwrapped: nothing is changed then, and both
/// root keys should be kept.
pub fn step(tx: &mut WriteTx<'_>, now: Timestamp, copy_window_seconds: i64) -> Result<Progress, Failure> {
    let ring = tx.vault().ring()?;
    let Some(mut row) = tx.get(&ROOT, &())? else { return Ok(Progress::Done) };
    match row.judge(&ring, now) {
        Ok(Verdict::InForce) => {}
        Ok(Verdict::Begin(begun)) => {
            tx.put(&ROOT, &(), &begun)?;
            return Ok(Progress::More);
        }
        Err(error) => return Err(Failure::Io(error.to_string())),
    }
    let Some(other) = row.other.take() else { return Ok(Progress::Done) };
    let phase = match other.phase {
        Phase::Adding { after } => {
            let kept = [row.current, other.id];
            match rewrap(tx, &ring, after, &kept)? {
                None => Some(Phase::Both { since: now }),
                after => Some(Phase::Adding { after }),
            }
        }
        Phase::Both { since } => match since.plus_seconds(copy_window_seconds) {
            until if until > now => return Ok(Progress::Wait(until)),
            _ => Some(Phase::Removing { after: None }),
        },
        Phase::Removing { after } => match rewrap(tx, &ring, after, &[row.current])? {
            None => None,
            after => Some(Phase::Removing { after }),
        },
    };
    let other = phase.map(|phase| OtherKey { id: other.id, phase });
    let progress = if other.is_some() { Progress::More } else { Progress::Done };
    tx.put(&ROOT, &(), &RootRow { other, ..row })?;
    Ok(progress)
}

/// What a ring of root keys cannot open, for `verify`: nothing, if it is the store's and every data key is whole.
///
/// # Errors
/// The store's failures.
pub fn check(read: &impl Read, ring: &KeyRing) -> Result<Vec<String>, Failure> {
    let Some(row) = read.get(&ROOT, &())? else { return Ok(Vec::new()) };
    if let Err(error) = row.judge(ring, row.since) {
        return Ok(vec![error.to_string()]);
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let mut scan = Scan::all().limit(STEP_ROWS_MAX);
        if let Some(after) = &after {
            scan = scan.after(after);
        }
        let rows = read.scan(&DATA_KEYS, scan)?;
        let is_last = rows.len() < STEP_ROWS_MAX;
        for (key, row) in rows {
            after = Some(key);
            let KeyRow::Live { id, wraps } = row else { continue };
            let Some(owner) = KeyOwner::of_key(key) else {
                found.push("a data key has no owner".to_owned());
                continue;
            };
            if let Err(failure) = data_keys::unwrap_with(ring, owner, id, &wraps) {
                found.push(format!("{owner:?}: {failure}"));
            }
        }
        if is_last || found.len() >= FINDINGS_MAX {
            return Ok(found);
        }
    }
}

/// Leaves the next data keys behind `after` with exactly these wraps; the last one it looked at, `None` at the end.
fn rewrap(
    tx: &mut WriteTx<'_>,
    ring: &KeyRing,
    after: Option<OwnerKey>,
    wanted: &[KeyId],
) -> Result<Option<OwnerKey>, Failure> {
    let mut scan = Scan::all().limit(STEP_ROWS_MAX);
    if let Some((kind, tenant, member)) = after {
        scan = scan.after(&(kind, Uuid::from_bytes(tenant), Uuid::from_bytes(member)));
    }
    let rows = tx.scan(&DATA_KEYS, scan)?;
    let is_last = rows.len() < STEP_ROWS_MAX;
    let mut last = None;
    for (key, row) in rows {
        last = Some((key.0, *key.1.as_bytes(), *key.2.as_bytes()));
        let KeyRow::Live { id, wraps } = row else { continue };
        let owner = KeyOwner::of_key(key).ok_or_else(|| Failure::Damaged("a data key has no owner".to_owned()))?;
        let rewrapped = with_wraps(ring, owner, id, &wraps, wanted)?;
        if rewrapped != wraps {
            tx.put(&DATA_KEYS, &key, &KeyRow::Live { id, wraps: rewrapped })?;
        }
    }
    Ok(last.filter(|_| !is_last))
}

/// The wraps that are wanted: those that are there, and new ones in place of those that are not.
fn with_wraps(
    ring: &KeyRing,
    owner: KeyOwner,
    id: [u8; 16],
    wraps: &[Wrap],
    wanted: &[KeyId],
) -> Result<Vec<Wrap>, Failure> {
    let mut result = Vec::new();
    for root in wanted {
        if let Some(wrap) = wraps.iter().find(|wrap| wrap.root == *root) {
            result.push(wrap.clone());
            continue;
        }
        let key = data_keys::unwrap_with(ring, owner, id, wraps)?;
        // Both keys are at hand while wraps are added (`RootRow::judge`), and the current one always is.
        if let Some(root) = ring.key(*root) {
            result.push(data_keys::wrap(root, owner, id, &key)?);
        }
    }
    Ok(result)
}
