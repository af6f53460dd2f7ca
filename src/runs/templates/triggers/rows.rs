//! The rows of triggers: a trigger and what finds it by the clock are written together.

use quintet_storage::{Failure, Read, Scan, WriteTx, decode_plain, encode_plain};

use super::model::{Held, Trigger};
use super::tables::{CONTENTS, ContentsRow, TRIGGERS, TriggerRow};
use crate::due::{self, Fire};
use crate::model::{TemplateKey, TriggerId, TriggerKey};
use crate::sealed::{open_for, seal_for};

/// A trigger of a template.
pub(in super::super) fn find(read: &impl Read, key: TriggerKey) -> Result<Option<Trigger>, Failure> {
    Ok(read.get(&TRIGGERS, &key)?.map(|row| row.0))
}

/// The triggers of a template, oldest first.
pub(in super::super) fn all(read: &impl Read, key: TemplateKey) -> Result<Vec<(TriggerId, Trigger)>, Failure> {
    let rows = read.scan(&TRIGGERS, Scan::prefix(&key))?.into_iter();
    Ok(rows.map(|((_, _, id), row)| (id, row.0)).collect())
}

/// What a trigger holds; nothing if its tenant has been erased.
pub(in super::super) fn held(read: &impl Read, key: TriggerKey) -> Result<Option<Held>, Failure> {
    let Some(ContentsRow(sealed)) = read.get(&CONTENTS, &key)? else { return Ok(None) };
    open_for(read, &CONTENTS, &key, key.0, &sealed)?.map(|plain| decode_plain(&plain)).transpose()
}

/// Keeps what a trigger holds. False if it cannot be kept, for the tenant's key was destroyed.
pub(in super::super) fn put_held(tx: &mut WriteTx<'_>, key: TriggerKey, held: &Held) -> Result<bool, Failure> {
    let Some(sealed) = seal_for(tx, &CONTENTS, &key, key.0, &encode_plain(held)?)? else { return Ok(false) };
    tx.put(&CONTENTS, &key, &ContentsRow(sealed))?;
    Ok(true)
}

/// Writes a trigger that is new or has changed; `before` is the trigger as it is stored.
pub(in super::super) fn put(
    tx: &mut WriteTx<'_>,
    key: TriggerKey,
    before: Option<&Trigger>,
    trigger: &Trigger,
) -> Result<(), Failure> {
    if let Some(at) = before.and_then(|before| before.next_fire_at) {
        due::clear_fire(tx, at, Fire::Trigger(key));
    }
    if let Some(at) = trigger.next_fire_at {
        due::put_fire(tx, at, Fire::Trigger(key))?;
    }
    tx.put(&TRIGGERS, &key, &TriggerRow(trigger.clone()))
}

/// Takes a trigger away; `trigger` is as it is stored.
pub(in super::super) fn forget(tx: &mut WriteTx<'_>, key: TriggerKey, trigger: &Trigger) {
    if let Some(at) = trigger.next_fire_at {
        due::clear_fire(tx, at, Fire::Trigger(key));
    }
    tx.delete(&CONTENTS, &key);
    tx.delete(&TRIGGERS, &key);
}
