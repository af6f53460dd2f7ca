//! Labels that agents sort their deliveries by: a workspace has so many words for it, made by use and gone with their last
//! use (6-messaging.md, D3).

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::model::Delivery;
use super::tables::{LABELLED, LABELS};
use super::{deliver, uses};
use crate::identity::Workspace;
use crate::limits::MAIL_LABELS;
use crate::model::{AgentKey, Mark};
use crate::refusal::Refusal;

/// A delivery has no more of them, whatever the workspace may have.
const LABELS_MAX: usize = 50;

/// Takes labels off a delivery, and puts others on; one in both lists stays off. `None`: there is no such delivery. Again:
/// nothing changes.
///
/// # Errors
/// The workspace has as many labels as it may, or the delivery would.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    (agent, seq): (AgentKey, u64),
    add: Vec<String>,
    remove: &[String],
) -> Result<Option<Delivery>, Abort<Refusal>> {
    let Some(mut delivery) = deliver::find(tx, agent, seq)? else { return Ok(None) };
    let before = delivery.labels.clone();
    for label in add {
        if !delivery.labels.contains(&label) {
            delivery.labels.push(label);
        }
    }
    delivery.labels.retain(|label| !remove.contains(label));
    for label in before.iter().filter(|label| !delivery.labels.contains(label)) {
        uses::drop(tx, (agent, seq), label)?;
    }
    for label in delivery.labels.iter().filter(|label| !before.contains(label)) {
        check_room(tx, workspace, label)?;
        uses::add(tx, (agent, seq), label)?;
    }
    if delivery.labels.len() > LABELS_MAX && delivery.labels.len() > before.len() {
        return Err(Refusal::LimitReached("labels_per_delivery", LABELS_MAX as u64).into());
    }
    if delivery.labels != before {
        deliver::put(tx, agent, seq, delivery.clone())?;
    }
    Ok(Some(delivery))
}

/// The places of an agent's deliveries with a label, behind a place, `most` at the most.
pub(crate) fn labelled(
    read: &impl Read,
    agent: AgentKey,
    label: &str,
    after: u64,
    most: usize,
) -> Result<Vec<u64>, Failure> {
    let scan = Scan::prefix(&(agent.0, agent.1, label.to_owned()));
    let scan = scan.after(&(agent.0, agent.1, label.to_owned(), after)).limit(most);
    Ok(read.scan(&LABELLED, scan)?.into_iter().map(|((_, _, _, seq), Mark)| seq).collect())
}

/// Puts a label on a delivery that the platform gives, whatever the workspace has.
pub(crate) fn mark(tx: &mut WriteTx<'_>, (agent, seq): (AgentKey, u64), label: &str) -> Result<(), Failure> {
    let Some(mut delivery) = deliver::find(tx, agent, seq)? else { return Ok(()) };
    if delivery.labels.iter().any(|known| known == label) {
        return Ok(());
    }
    uses::add(tx, (agent, seq), label)?;
    delivery.labels.push(label.to_owned());
    deliver::put(tx, agent, seq, delivery)
}

/// Whether a workspace may use a label.
///
/// # Errors
/// It would be one more than it may have.
fn check_room(tx: &WriteTx<'_>, workspace: &Workspace, label: &str) -> Result<(), Abort<Refusal>> {
    let max = workspace.limit(MAIL_LABELS);
    if max < u64::MAX && uses::of(tx, workspace.no, label)? == 0 {
        let most = usize::try_from(max).unwrap_or(usize::MAX);
        let known = tx.scan(&LABELS, Scan::prefix(&(workspace.no,)).limit(most))?.len();
        if known >= most {
            return Err(Refusal::LimitReached(MAIL_LABELS.name, max).into());
        }
    }
    Ok(())
}
