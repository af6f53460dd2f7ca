//! A trigger fires.

use quintet_platform::access::is_suspended;
use quintet_platform::ids::ulid;
use quintet_platform::service::ServiceRefusal as _;
use quintet_storage::{Abort, Failure, Timestamp, Uuid, WriteTx};

use super::super::launch::{launch, prepare};
use super::model::{Held, LastError, NO_TRIGGER, Overlap, Trigger};
use super::rows::{find, held, put};
use crate::model::{TemplateKey, TriggerKey, WorkflowId};
use crate::refusal::Refusal;
use crate::schedules::create::zone_is_gone;
use crate::schedules::plan::Plan;
use crate::workflows;
use crate::workflows::model::NewWorkflow;

/// Has a trigger fire whose instant has come.
pub(in super::super) fn fire(tx: &mut WriteTx<'_>, now: Timestamp, key: TriggerKey) -> Result<(), Failure> {
    let Some(trigger) = find(tx, key)? else { return Ok(()) };
    let seen = catch_up(tx, now, key, trigger.clone())?;
    put(tx, key, Some(&trigger), &seen)
}

/// Sees to all instants of a trigger that have come: the trigger as it is then, which is still to be written.
pub(super) fn catch_up(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TriggerKey,
    mut trigger: Trigger,
) -> Result<Trigger, Failure> {
    let Some(first) = trigger.next_fire_at.filter(|first| *first <= now) else { return Ok(trigger) };
    let (Some(plan), Some(held)) = (Plan::of(&trigger.timing), held(tx, key)?) else {
        // Its time zone is gone from the database of them, or its tenant has been erased: nobody can fire it.
        tracing::warn!(trigger = %ulid(key.2.0), "a trigger cannot fire any more; it is paused");
        let last_error = Some(LastError { code: zone_is_gone().verdict().code.to_owned(), at: now });
        return Ok(Trigger { is_enabled: false, next_fire_at: None, last_error, ..trigger });
    };
    let mut seen = plan.see_to(first, now, trigger.misfire);
    if is_suspended(tx, key.0.0)? {
        seen.pass_over();
    }
    for _ in &seen.fires {
        fire_once(tx, now, key, &mut trigger, &held)?;
    }
    trigger.missed_count = trigger.missed_count.saturating_add(seen.missed);
    trigger.seen_to = Some(seen.last);
    trigger.next_fire_at = plan.next(now, trigger.seen_to);
    Ok(trigger)
}

/// Launches a workflow, unless the last one goes on still; what is refused is noted.
fn fire_once(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TriggerKey,
    trigger: &mut Trigger,
    held: &Held,
) -> Result<(), Failure> {
    let last = trigger.last_workflow_id.map(|id| (key.0, WorkflowId(Uuid::from_bytes(id))));
    if let Some(last) = last.filter(|_| trigger.overlap == Overlap::Skip)
        && workflows::is_active(tx, last)?
    {
        trigger.skipped_count += 1;
        return Ok(());
    }
    trigger.last_fire_at = Some(now);
    trigger.fire_count += 1;
    let launched = tx.savepoint(|tx| {
        let (new, _) = prepare(tx, (key.0, key.1), trigger.wanted(held.clone()))?;
        launch(tx, now, (key.0, key.1), of_trigger(new, key))
    });
    match launched {
        Ok(workflow_id) => {
            trigger.last_workflow_id = Some(workflow_id.0.into_bytes());
            trigger.last_error = None;
            Ok(())
        }
        Err(Abort::Refused(refusal)) => {
            trigger.last_error = Some(LastError { code: refusal.verdict().code.to_owned(), at: now });
            Ok(())
        }
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

fn of_trigger(mut new: NewWorkflow, key: TriggerKey) -> NewWorkflow {
    new.origin.trigger_id = Some(key.2.0.into_bytes());
    new
}

/// Launches what was prepared for a trigger, because somebody wants it now.
pub(in super::super) fn run(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TriggerKey,
    new: NewWorkflow,
) -> Result<WorkflowId, Abort<Refusal>> {
    let before = find(tx, key)?.ok_or(NO_TRIGGER)?;
    let template: TemplateKey = (key.0, key.1);
    let workflow_id = launch(tx, now, template, of_trigger(new, key))?;
    let trigger = Trigger { last_workflow_id: Some(workflow_id.0.into_bytes()), ..before.clone() };
    put(tx, key, Some(&before), &trigger)?;
    Ok(workflow_id)
}
