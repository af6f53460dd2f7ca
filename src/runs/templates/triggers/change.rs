//! Changing a trigger, pausing it, having it go on, taking it away.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::create::secrets_of;
use super::fire::catch_up;
use super::model::{Held, NO_TRIGGER, Trigger, TriggerChange};
use super::rows::{find, forget, held, put, put_held};
use crate::model::TriggerKey;
use crate::refusal::Refusal;
use crate::schedules::create::{check, zone_is_gone};
use crate::schedules::plan::Plan;

/// Changes a trigger. What has come by now is seen to first, as the trigger was until then.
pub(in super::super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TriggerKey,
    change: TriggerChange,
) -> Result<Trigger, Abort<Refusal>> {
    let before = find(tx, key)?.ok_or(NO_TRIGGER)?;
    let mut trigger = catch_up(tx, now, key, before.clone())?;
    let mut held: Held = held(tx, key)?.ok_or(NO_TRIGGER)?;
    let (timing, was_enabled, had) = (trigger.timing.clone(), trigger.is_enabled, held.clone());
    let are_given = change.params.is_some();
    change.put_into(&mut trigger, &mut held);
    if trigger.timing != timing {
        let next = check(&trigger.timing, now, trigger.seen_to)?;
        trigger.next_fire_at = Some(next).filter(|_| trigger.is_enabled);
    } else if trigger.is_enabled && !was_enabled {
        trigger.next_fire_at = Plan::of(&timing).ok_or_else(zone_is_gone)?.next(now, trigger.seen_to);
    } else if !trigger.is_enabled {
        trigger.next_fire_at = None;
    }
    if are_given {
        held.secrets = secrets_of(tx, (key.0, key.1), &trigger, &held)?;
    }
    if held != had && !put_held(tx, key, &held)? {
        return Err(NO_TRIGGER.into());
    }
    trigger.updated_at = now;
    put(tx, key, Some(&before), &trigger)?;
    Ok(trigger)
}

/// Pauses a trigger, or has it go on; one that does so already is not touched.
pub(in super::super) fn set_enabled(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TriggerKey,
    is_enabled: bool,
) -> Result<Trigger, Abort<Refusal>> {
    let trigger = find(tx, key)?.ok_or(NO_TRIGGER)?;
    if trigger.is_enabled == is_enabled {
        return Ok(trigger);
    }
    change(tx, now, key, TriggerChange { is_enabled: Some(is_enabled), ..TriggerChange::default() })
}

/// Takes a trigger away; its workflows go on.
pub(in super::super) fn remove(tx: &mut WriteTx<'_>, key: TriggerKey) -> Result<(), Abort<Refusal>> {
    let trigger = find(tx, key)?.ok_or(NO_TRIGGER)?;
    forget(tx, key, &trigger);
    Ok(())
}
