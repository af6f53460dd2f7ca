//! The table of tools: a line for each, which names its routes. The order is that of a run's and a workflow's life.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::mcp::Tool;
use quintet_storage::Uuid;
use serde_json::{Value, json};

use crate::containers::find;
use crate::context::Context;
use crate::dialect::Runs;
use crate::model::{RunId, TenantId};

/// Every tool. One whose routes are not served is not listed.
pub(super) const TOOLS: &[Tool<Runs>] = &[
    Tool::new(
        "submit_run",
        "POST /api/v1/runs",
        "Run a container image with a command. Answers with a track_id at once; the run waits for a slot if need be.",
    ),
    Tool::new(
        "list_runs",
        "GET /api/v1/runs",
        "List runs, newest first, by state, tag, name, image, workflow or instant.",
    ),
    Tool::new(
        "get_run",
        "GET /api/v1/runs/{track_id}",
        "One run: its state, and what it waits for. With wait, answers once it has ended, or after so many seconds.",
    ),
    Tool::new(
        "get_run_result",
        "GET /api/v1/runs/{track_id}/result",
        "How a run ended: exit code, reason, times, the last KiB of standard output, and its last line if that is JSON. \
         not_terminal while it goes on.",
    ),
    Tool::new(
        "get_run_logs",
        "GET /api/v1/runs/{track_id}/logs",
        "What a run wrote, also while it goes on. Ask for the last lines with tail; ask again with since set to \
         next_since for what comes behind.",
    )
    .without(&["follow"]),
    Tool::new(
        "get_run_utilization",
        "GET /api/v1/runs/{track_id}/utilization",
        "What a run used of processor, memory and disk, a sample a second at first.",
    ),
    Tool::choice(
        "control_run",
        "action",
        &[
            ("pause", "POST /api/v1/runs/{track_id}/pause"),
            ("resume", "POST /api/v1/runs/{track_id}/resume"),
            ("stop", "POST /api/v1/runs/{track_id}/stop"),
            ("kill", "POST /api/v1/runs/{track_id}/kill"),
        ],
        "Freeze a running run with its memory (pause), let it go on (resume), end it with SIGTERM and then SIGKILL \
         (stop), or with SIGKILL at once (kill). One that has no slot yet is deleted instead: delete_run.",
    )
    .destructive()
    .acknowledged(controlled),
    Tool::new(
        "delete_run",
        "DELETE /api/v1/runs/{track_id}",
        "Delete a run that has ended or has no slot yet, with its result and its logs.",
    )
    .destructive()
    .idempotent(),
    Tool::new(
        "submit_workflow",
        "POST /api/v1/workflows",
        "Start a graph of containers and approvals joined by conditional edges. Answers with a workflow_id at once.",
    ),
    Tool::new("list_workflows", "GET /api/v1/workflows", "List workflows, newest first."),
    Tool::new(
        "get_workflow",
        "GET /api/v1/workflows/{workflow_id}",
        "One workflow with the states of its nodes. With wait, answers once it has ended, or after so many seconds.",
    ),
    Tool::new(
        "get_workflow_node",
        "GET /api/v1/workflows/{workflow_id}/nodes/{ref}",
        "One node of a workflow: its attempts, its output, what was decided.",
    ),
    Tool::new(
        "get_workflow_result",
        "GET /api/v1/workflows/{workflow_id}/result",
        "How a workflow ended, with the output of each node. not_terminal while it goes on.",
    ),
    Tool::new(
        "get_workflow_events",
        "GET /api/v1/workflows/{workflow_id}/events",
        "What has happened in a workflow, in order. Ask again with since set to the highest id seen for what is new.",
    )
    .without(&["follow"]),
    Tool::choice(
        "control_workflow",
        "action",
        &[
            ("cancel", "POST /api/v1/workflows/{workflow_id}/cancel"),
            ("pause", "POST /api/v1/workflows/{workflow_id}/pause"),
            ("resume", "POST /api/v1/workflows/{workflow_id}/resume"),
        ],
        "Cancel a workflow and kill what runs of it (cancel), start nothing new of it (pause), let it go on (resume).",
    )
    .destructive(),
    Tool::new(
        "retry_workflow_node",
        "POST /api/v1/workflows/{workflow_id}/nodes/{ref}/retry",
        "Run a node that has ended once more, and all that comes behind it.",
    )
    .destructive(),
    Tool::choice(
        "decide_approval",
        "decision",
        &[
            ("approve", "POST /api/v1/workflows/{workflow_id}/nodes/{ref}/approve"),
            ("reject", "POST /api/v1/workflows/{workflow_id}/nodes/{ref}/reject"),
        ],
        "Decide an approval that waits: the workflow goes on behind it (approve), or the node has failed (reject).",
    )
    .destructive(),
    Tool::new("create_template", "POST /api/v1/templates", "Store a workflow with parameters, to be run by name."),
    Tool::new("list_templates", "GET /api/v1/templates", "List templates, newest first."),
    Tool::new(
        "get_template",
        "GET /api/v1/templates/{ref}",
        "One template, by id or name, in its latest version or another.",
    ),
    Tool::new(
        "update_template",
        "PATCH /api/v1/templates/{ref}",
        "Change what is given of a template, and nothing else; a changed definition is a new version.",
    )
    .idempotent(),
    Tool::new(
        "delete_template",
        "DELETE /api/v1/templates/{ref}",
        "Delete a template and its triggers; its workflows go on.",
    )
    .destructive()
    .idempotent(),
    Tool::new(
        "run_template",
        "POST /api/v1/templates/{ref}/run",
        "Start the workflow of a template with parameters. Answers with a workflow_id at once.",
    ),
    Tool::new("get_quotas", "GET /api/v1/tenant/quotas", "What the tenant may have and use."),
    Tool::new(
        "update_quotas",
        "PUT /api/v1/tenant/quotas",
        "Change some quotas of the tenant, up to the operator's ceilings; the others stay as they are.",
    )
    .destructive()
    .idempotent(),
];

/// A control answers with nothing; a model is told how the run stands now.
fn controlled(context: &Context, tenant_id: Uuid, named: &[(&'static str, String)]) -> Value {
    let run_id = named.iter().find(|(name, _)| *name == "track_id").and_then(|(_, text)| parse_ulid(text));
    let found = run_id.and_then(|id| find(&context.store.read(), (TenantId(tenant_id), RunId(id))).ok().flatten());
    json!({"status": "ok", "track_id": run_id.map(ulid), "state": found.map(|run| run.state.name())})
}
