//! Submitting a workflow: by a caller, from a template, by a trigger.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::graph::graph;
use super::loads::active;
use super::model::{NO_WORKFLOW, NewWorkflow, Workflow, WorkflowState};
use super::rows::{HeldWebhook, Live, put_spec, put_webhook, save};
use super::rules::number;
use super::{step, told};
use crate::allowances::{days, quotas, terms};
use crate::containers::submission;
use crate::events::Events;
use crate::model::{TenantId, WorkflowId};
use crate::refusal::Refusal;

/// Accepts a workflow and launches what is ready, unless it is to start later.
pub(crate) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    new: NewWorkflow,
) -> Result<WorkflowId, Abort<Refusal>> {
    let quotas = quotas::in_force(tx, tenant_id)?.quotas;
    let nodes = u64::try_from(new.nodes.len()).unwrap_or(u64::MAX);
    if nodes > quotas.max_nodes_per_workflow {
        return Err(Refusal::TooManyNodes(quotas.max_nodes_per_workflow).into());
    }
    let graph = graph(&new.nodes, &new.edges)?;
    let terms = terms::of(tx, &new.key_id)?;
    let images = new.nodes.iter().filter_map(|node| node.spec.as_ref().map(|(spec, _)| &spec.image));
    for image in images {
        if !terms::allow_image(&terms, image) {
            return Err(Refusal::ImageNotAllowed.into());
        }
    }
    if active(tx, tenant_id)? >= quotas.max_concurrent_workflows {
        return Err(Refusal::WorkflowQuota(quotas.max_concurrent_workflows).into());
    }
    submission::check_waiting(tx, tenant_id, new.nodes.len())?;
    days::charge(tx, now, tenant_id, nodes, quotas.max_daily_runs)?;
    let asked = new.webhook.as_ref().map_or_else(Events::default, |(webhook, _)| webhook.asked());
    let key = (tenant_id, WorkflowId(tx.new_id()));
    let workflow = Workflow {
        state: WorkflowState::Pending,
        name: new.name,
        tags: new.tags,
        policy: new.policy,
        has_failed: false,
        scheduled_start: new.scheduled_start.map(|start| start.max(now)),
        submitted_at: now,
        started_at: None,
        finished_at: None,
        origin: new.origin,
        key_id: new.key_id,
        retention_days: terms.retention_days(quotas.retention_days),
        events: 0,
        counts: [0; 8],
        asked_events: asked.0,
    };
    // A tenant's key is never destroyed while its requests are let in.
    if let Some((webhook, secret)) = new.webhook
        && !put_webhook(tx, key, &HeldWebhook { url: webhook.url, events: webhook.events, secret })?
    {
        return Err(NO_WORKFLOW.into());
    }
    for (place, node) in new.nodes.into_iter().enumerate() {
        let Some((spec, secrets)) = node.spec else { continue };
        if !put_spec(tx, (key.0, key.1, number(place)), spec, &secrets)? {
            return Err(NO_WORKFLOW.into());
        }
    }
    let mut live = Live::new(key, workflow, graph);
    told::workflow(tx, now, &mut live, None)?;
    step::settle(tx, now, &mut live)?;
    save(tx, now, live)?;
    Ok(key.1)
}
