//! The kinds of what falls due, each with what it needs, and how they stand in keys.
//!
//! There are two sorts: what ends or goes, and what begins by itself. They lie apart, for the one goes on while the disk is
//! down to its reserve, and the other waits until there is room again.

use quintet_storage::{Failure, Key, Uuid};

use crate::model::{
    RunKey, ScheduleId, ScheduleKey, TemplateId, TenantId, TimerId, TimerKey, TriggerId, TriggerKey, WorkflowId,
    WorkflowKey,
};

/// What ends or goes when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A run becomes eligible: the dispatcher looks again.
    Eligible(RunKey),
    /// A run has waited too long, or must not start any more.
    TooLate(RunKey),
    /// An ended run has been kept long enough.
    Old(RunKey),
    /// A tenant's calendar has changed: the starts of what waits are decided anew.
    Hours(TenantId),
    /// Events of a removed run are left over. The run itself is gone.
    Events(RunKey),
    /// A timer that has fired or was cancelled has been kept long enough.
    OldTimer(TimerKey),
    /// An ended workflow has been kept long enough.
    OldWorkflow(WorkflowKey),
}

/// What begins by itself when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fire {
    /// A timer.
    Timer(TimerKey),
    /// A schedule, once more.
    Schedule(ScheduleKey),
    /// A workflow that was deferred.
    WorkflowStart(WorkflowKey),
    /// The next attempt at a node: tenant, workflow, its place.
    NodeRetry((TenantId, WorkflowId, u32)),
    /// A gate that nobody has decided is decided: tenant, workflow, its place.
    GateExpiry((TenantId, WorkflowId, u32)),
    /// What is left of a workflow's step: it was too much for one transaction.
    WorkflowGoesOn(WorkflowKey),
    /// A template is run by its trigger.
    Trigger(TriggerKey),
}

impl Fire {
    /// None stands before it.
    pub(crate) const FIRST: Fire = Fire::Timer((TenantId(Uuid::nil()), TimerId(Uuid::nil())));

    /// Whose it is.
    pub(crate) fn tenant_id(self) -> TenantId {
        match self {
            Fire::Timer((tenant_id, _)) | Fire::Schedule((tenant_id, _)) => tenant_id,
            Fire::WorkflowStart((tenant_id, _)) | Fire::WorkflowGoesOn((tenant_id, _)) => tenant_id,
            Fire::NodeRetry((tenant_id, _, _)) | Fire::GateExpiry((tenant_id, _, _)) => tenant_id,
            Fire::Trigger((tenant_id, _, _)) => tenant_id,
        }
    }

    /// The last of its kind and tenant at an instant.
    pub(crate) fn last_of_tenant(self) -> Fire {
        match self {
            Fire::Timer((tenant_id, _)) => Fire::Timer((tenant_id, TimerId(Uuid::max()))),
            Fire::Schedule((tenant_id, _)) => Fire::Schedule((tenant_id, ScheduleId(Uuid::max()))),
            Fire::WorkflowStart((tenant_id, _)) => Fire::WorkflowStart((tenant_id, WorkflowId(Uuid::max()))),
            Fire::NodeRetry((tenant_id, _, _)) => Fire::NodeRetry((tenant_id, WorkflowId(Uuid::max()), u32::MAX)),
            Fire::GateExpiry((tenant_id, _, _)) => Fire::GateExpiry((tenant_id, WorkflowId(Uuid::max()), u32::MAX)),
            Fire::WorkflowGoesOn((tenant_id, _)) => Fire::WorkflowGoesOn((tenant_id, WorkflowId(Uuid::max()))),
            Fire::Trigger((tenant_id, _, _)) => {
                Fire::Trigger((tenant_id, TemplateId(Uuid::max()), TriggerId(Uuid::max())))
            }
        }
    }
}

/// The first byte of each kind; they are stored.
pub(super) const ELIGIBLE: u8 = 0;
pub(super) const TOO_LATE: u8 = 1;
pub(super) const OLD: u8 = 2;
pub(super) const HOURS: u8 = 3;
pub(super) const EVENTS: u8 = 4;
const OLD_TIMER: u8 = 5;
const OLD_WORKFLOW: u8 = 6;
const TIMER: u8 = 0;
const SCHEDULE: u8 = 1;
const WORKFLOW_START: u8 = 2;
const NODE_RETRY: u8 = 3;
const GATE_EXPIRY: u8 = 4;
const WORKFLOW_GOES_ON: u8 = 5;
const TRIGGER: u8 = 6;

impl Key for Due {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Due::Eligible(run_key) => Key::encode(&(ELIGIBLE, *run_key), out),
            Due::TooLate(run_key) => Key::encode(&(TOO_LATE, *run_key), out),
            Due::Old(run_key) => Key::encode(&(OLD, *run_key), out),
            Due::Hours(tenant_id) => Key::encode(&(HOURS, *tenant_id), out),
            Due::Events(run_key) => Key::encode(&(EVENTS, *run_key), out),
            Due::OldTimer(timer_key) => Key::encode(&(OLD_TIMER, *timer_key), out),
            Due::OldWorkflow(workflow_key) => Key::encode(&(OLD_WORKFLOW, *workflow_key), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Due, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            ELIGIBLE => Due::Eligible(Key::decode(input)?),
            TOO_LATE => Due::TooLate(Key::decode(input)?),
            OLD => Due::Old(Key::decode(input)?),
            HOURS => Due::Hours(Key::decode(input)?),
            EVENTS => Due::Events(Key::decode(input)?),
            OLD_TIMER => Due::OldTimer(Key::decode(input)?),
            OLD_WORKFLOW => Due::OldWorkflow(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing falls due that has kind {kind}"))),
        })
    }
}

impl Key for Fire {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Fire::Timer(timer_key) => Key::encode(&(TIMER, *timer_key), out),
            Fire::Schedule(schedule_key) => Key::encode(&(SCHEDULE, *schedule_key), out),
            Fire::WorkflowStart(workflow_key) => Key::encode(&(WORKFLOW_START, *workflow_key), out),
            Fire::NodeRetry(node_key) => Key::encode(&(NODE_RETRY, *node_key), out),
            Fire::GateExpiry(node_key) => Key::encode(&(GATE_EXPIRY, *node_key), out),
            Fire::WorkflowGoesOn(workflow_key) => Key::encode(&(WORKFLOW_GOES_ON, *workflow_key), out),
            Fire::Trigger(trigger_key) => Key::encode(&(TRIGGER, *trigger_key), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Fire, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            TIMER => Fire::Timer(Key::decode(input)?),
            SCHEDULE => Fire::Schedule(Key::decode(input)?),
            WORKFLOW_START => Fire::WorkflowStart(Key::decode(input)?),
            NODE_RETRY => Fire::NodeRetry(Key::decode(input)?),
            GATE_EXPIRY => Fire::GateExpiry(Key::decode(input)?),
            WORKFLOW_GOES_ON => Fire::WorkflowGoesOn(Key::decode(input)?),
            TRIGGER => Fire::Trigger(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing begins by itself that has kind {kind}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunId, ScheduleId};

    #[test]
    fn every_kind_is_stored_and_read_back_with_all_it_needs() {
        let run_key = (TenantId(Uuid::from_u128(1)), RunId(Uuid::from_u128(2)));
        let timer_key = (run_key.0, TimerId(Uuid::from_u128(3)));
        let kinds = [
            Due::Eligible(run_key),
            Due::TooLate(run_key),
            Due::Old(run_key),
            Due::Hours(run_key.0),
            Due::Events(run_key),
            Due::OldTimer(timer_key),
            Due::OldWorkflow((run_key.0, WorkflowId(Uuid::from_u128(5)))),
        ];
        check(&kinds);
        let workflow_id = WorkflowId(Uuid::from_u128(5));
        check(&[
            Fire::Timer(timer_key),
            Fire::Schedule((run_key.0, ScheduleId(Uuid::from_u128(4)))),
            Fire::WorkflowStart((run_key.0, workflow_id)),
            Fire::NodeRetry((run_key.0, workflow_id, 6)),
            Fire::GateExpiry((run_key.0, workflow_id, 7)),
            Fire::WorkflowGoesOn((run_key.0, workflow_id)),
            Fire::Trigger((run_key.0, TemplateId(Uuid::from_u128(8)), TriggerId(Uuid::from_u128(9)))),
        ]);
    }

    fn check<K: Key + Copy + PartialEq + std::fmt::Debug>(kinds: &[K]) {
        for (number, due) in kinds.iter().enumerate() {
            let mut bytes = Vec::new();
            Key::encode(due, &mut bytes);
            assert_eq!(usize::from(bytes[0]), number, "what is stored stays what it is");
            let mut input = bytes.as_slice();
            assert_eq!((<K as Key>::decode(&mut input), input), (Ok(*due), [].as_slice()));
            let mut short = &bytes[..bytes.len() - 1];
            assert!(<K as Key>::decode(&mut short).is_err());
        }
        let unknown = [u8::try_from(kinds.len()).unwrap(); 49];
        assert!(<K as Key>::decode(&mut unknown.as_slice()).is_err(), "there is none behind the last");
    }
}
