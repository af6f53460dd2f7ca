//! What contradicts itself in the rows by which deliveries are found: by their message, and by their labels.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Timestamp};

use super::model::{Delivery, Sender};
use super::origins::digest;
use super::tables::{INBOX, LABELLED, LABELS, LATE, LabelRow, ORIGINS, OUTSIDE_IDS, PlaceRow};
use super::{deliver, messages, origins};
use crate::model::{AgentKey, WorkspaceNo};

/// Everything that does.
pub(super) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    check_deliveries(read, findings)?;
    each(read, &LATE, findings, |(workspace, agent, message), PlaceRow(seq), findings| {
        let delivery = deliver::find(read, (workspace, agent), seq)?;
        if delivery.is_none_or(|delivery| delivery.message != message) {
            findings.push(format!("the message {message:?} is said to lie at {seq} for {agent:?}, and does not"));
        }
        Ok(())
    })?;
    let mut counted: BTreeMap<(WorkspaceNo, String), u64> = BTreeMap::new();
    each(read, &LABELLED, findings, |(workspace, agent, label, seq), _, findings| {
        let delivery = deliver::find(read, (workspace, agent), seq)?;
        if !delivery.is_some_and(|delivery| delivery.labels.contains(&label)) {
            findings.push(format!("the delivery {seq} of {agent:?} is found by the label {label}, which it has not"));
        }
        *counted.entry((workspace, label)).or_default() += 1;
        Ok(())
    })?;
    each(read, &LABELS, findings, |key, LabelRow(uses), findings| {
        if counted.remove(&key) != Some(uses) {
            findings.push(format!("the label {} is not used {uses} times", key.1));
        }
        Ok(())
    })?;
    findings.extend(counted.keys().map(|(_, label)| format!("the uses of the label {label} are not counted")));
    check_origins(read, findings)
}

/// What came from outside has an origin, and nothing else has; others' ids lead to it.
fn check_origins(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &ORIGINS, findings, |key, row, findings| {
        let sender = messages::find(read, key)?.map(|message| message.sender);
        if !matches!(sender, Some(Sender::External(_))) {
            findings.push(format!("there is an origin of {:?}, which did not come from outside", key.1));
        }
        let id = row.into_parts().0.message_id;
        let is_found = id.map_or(Ok(true), |id| read.contains(&OUTSIDE_IDS, &(key.0, digest(&id), key.1)))?;
        if !is_found {
            findings.push(format!("{:?} is not found by what it is called outside", key.1));
        }
        Ok(())
    })?;
    each(read, &OUTSIDE_IDS, findings, |(workspace, called, message), _, findings| {
        let origin = origins::find(read, (workspace, message))?;
        if origin.is_none_or(|origin| origin.message_id.is_none_or(|id| digest(&id) != called)) {
            findings.push(format!("{message:?} is found by what it is not called outside"));
        }
        Ok(())
    })
}

/// Instants rise with the places, and what came later than its message is found by a row.
fn check_deliveries(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut last: Option<(AgentKey, Timestamp)> = None;
    each(read, &INBOX, findings, |(workspace, no, seq), row, findings| {
        let (agent, delivery) = ((workspace, no), row.into_delivery());
        if last.is_some_and(|(before, at)| before == agent && at > delivery.arrived_at) {
            findings.push(format!("the delivery {seq} of {no:?} came before the one before it"));
        }
        last = Some((agent, delivery.arrived_at));
        if !is_found(read, agent, seq, &delivery)? {
            findings.push(format!("the delivery {seq} of {no:?} is not found by its message"));
        }
        for label in &delivery.labels {
            if !read.contains(&LABELLED, &(workspace, no, label.clone(), seq))? {
                findings.push(format!("the delivery {seq} of {no:?} is not found by its label {label}"));
            }
        }
        Ok(())
    })
}

fn is_found(read: &impl Read, agent: AgentKey, seq: u64, delivery: &Delivery) -> Result<bool, Failure> {
    if let Some(PlaceRow(place)) = read.get(&LATE, &(agent.0, agent.1, delivery.message))? {
        return Ok(place == seq);
    }
    let message = messages::find(read, (agent.0, delivery.message))?;
    Ok(message.is_none_or(|message| message.created_at == delivery.arrived_at))
}
