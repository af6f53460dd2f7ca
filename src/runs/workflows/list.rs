//! Lists of workflows, newest first.

use quintet_storage::{Failure, Read, Timestamp, Uuid};

use super::model::{Workflow, WorkflowState};
use super::tables::WORKFLOWS;
use crate::lists::{Listed, Looked, newest_first};
use crate::model::{TenantId, WorkflowId};

/// Which workflows are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) template_id: Option<Uuid>,
    pub(super) trigger_id: Option<Uuid>,
    pub(super) state: Option<WorkflowState>,
    pub(super) tag: Option<String>,
    pub(super) name: Option<String>,
    pub(super) submitted_after: Option<Timestamp>,
    pub(super) submitted_before: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, workflow: &Workflow) -> bool {
        let origin = &workflow.origin;
        self.template_id.is_none_or(|id| origin.template_id == Some(id.into_bytes()))
            && self.trigger_id.is_none_or(|id| origin.trigger_id == Some(id.into_bytes()))
            && self.state.is_none_or(|state| workflow.state == state)
            && self.tag.as_ref().is_none_or(|tag| workflow.tags.contains(tag))
            && self.name.as_ref().is_none_or(|name| workflow.name.as_ref() == Some(name))
            && self.submitted_after.is_none_or(|at| workflow.submitted_at >= at)
            && self.submitted_before.is_none_or(|at| workflow.submitted_at < at)
    }
}

/// A page of a tenant's workflows, newest first.
pub(super) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<WorkflowId>,
    limit: usize,
) -> Result<Listed<WorkflowId, Workflow>, Failure> {
    newest_first(read, &WORKFLOWS, tenant_id, (after, limit), |row| {
        let workflow = row.0;
        let bytes = workflow.tags.iter().map(String::len).sum();
        let looked = match workflow {
            workflow if filter.submitted_after.is_some_and(|at| workflow.submitted_at < at) => Looked::TooOld,
            workflow if filter.takes(&workflow) => Looked::Taken(workflow),
            _ => Looked::PassedOver,
        };
        (looked, bytes)
    })
}
