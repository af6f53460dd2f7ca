//! Running a template.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, failed, json as success};
use quintet_storage::{Abort, WriteTx};

use super::super::launch::{launch, prepare};
use super::form::{in_definition, read_wanted};
use super::path::{TEMPLATE, template_of};
use crate::allowances::quotas;
use crate::dialect::{Answered, Call, tenant_of};
use crate::model::{TemplateId, WorkflowId};
use crate::refusal::Refusal;
use crate::webhooks::address;
use crate::workflows::model::WorkflowState;

pub(super) const RUN: Route = Route::post("run_template", "/api/v1/templates/{ref}/run")
    .permission("svc_run_submit")
    .summary("Submit the workflow of a template with values for its parameters")
    .segments(&[TEMPLATE])
    .body(Content::OptionalJson("TemplateRun"))
    .successes(&[success(202, "TemplateRunSubmitted")])
    .makes("workflow_id", "workflow_id")
    .key(KeyRule::Optional)
    .codes(&[
        "busy",
        "daily_quota_exceeded",
        "image_not_allowed",
        "invalid_graph",
        "invalid_params",
        "limit_reached",
        "too_many_nodes",
        "unknown_webhook_key",
        "url_not_allowed",
        "workflow_quota_exceeded",
    ]);

pub(super) async fn run(call: Call) -> Answered {
    let tenant_id = tenant_of(&call);
    let mut change = call.change().await?;
    change.begin()?;
    let (key, _) = template_of(&change.call, &change.call.snapshot())?;
    let wanted = read_wanted(change.optional_json()?, change.call.caller.key_id.clone())?;
    let (is_own_webhook, context) = (wanted.webhook.is_none(), change.call.context.clone());
    let work = move || prepare(&context.store.read(), key, wanted);
    let (new, version) = change.call.in_turn(&change.call.context.lookers, work).await?;
    if let Some((webhook, _)) = &new.webhook {
        let vetted = address::check("webhook.url", &webhook.url, &change.call).await;
        vetted.map_err(|refusal| if is_own_webhook { in_definition(refusal) } else { refusal })?;
    }
    // The calendar is read now, and only looked up within the transaction.
    let read = change.call.context.store.read();
    quotas::hours(&read, tenant_id).map_err(|failure| failed::<Refusal>(&failure))?;
    drop(read);
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let workflow_id = launch(tx, now, key, new)?;
        Ok::<_, Abort<Refusal>>(submitted(workflow_id, key.1, version))
    };
    change.write(verb).await
}

/// The answer to whoever has run a version of a template.
pub(super) fn submitted(workflow_id: WorkflowId, template_id: TemplateId, version: u64) -> Answer {
    let told = Json::object([
        ("workflow_id", Json::from(ulid(workflow_id.0))),
        ("template_id", ulid(template_id.0).into()),
        ("version", version.into()),
        ("status", WorkflowState::Pending.name().into()),
    ]);
    Answer::json(202, to_compact(&told))
}
