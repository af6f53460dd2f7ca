//! Submitting a run: members in the order of the documentation, each with its bounds.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Fields, Json};
use quintet_platform::service::{Answer, Content, KeyRule, Route, failed, json as success};
use quintet_storage::WriteTx;
use serde_json::{Value, json};

use super::webhook::read_webhook;
use super::words::{at_least, check_size, command, cpu, env, image, memory_mb};
use crate::allowances::quotas;
use crate::containers::model::{Run, Secrets};
use crate::containers::submission::{self, Submit};
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::{field, first, instant, label, optional, tags};
use crate::model::RunId;
use crate::refusal::Refusal;
use crate::webhooks::address;

pub(super) const SUBMIT: Route = Route::post("submit_run", "/api/v1/runs")
    .permission("svc_run_submit")
    .summary("Submit a run; it is never refused for want of a slot")
    .body(Content::Json("RunSubmit"))
    .successes(&[success(202, "RunSubmitted")])
    .makes("track_id", "track_id")
    .key(KeyRule::Optional)
    .codes(&[
        "daily_quota_exceeded",
        "image_not_allowed",
        "limit_reached",
        "metered_quota_exceeded",
        "unknown_webhook_key",
        "url_not_allowed",
    ]);

pub(super) async fn submit(call: Call) -> Answered {
    let context = call.context.clone();
    let mut change = call.change().await?;
    let tenant_id = tenant_of(&change.call);
    change.begin()?;
    let wanted = read_submit(change.json()?)?;
    if let Some(webhook) = &wanted.webhook {
        address::check("webhook.url", &webhook.url, &change.call).await?;
    }
    let wanted = Submit { key_id: Some(change.call.caller.key_id.clone()), ..wanted };
    // The calendar is read now, and only looked up within the transaction.
    quotas::hours(&context.store.read(), tenant_id).map_err(|failure| failed::<Refusal>(&failure))?;
    let ceilings = context.settings.ceilings.clone();
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let (run_id, run) = submission::submit(tx, now, tenant_id, &ceilings, wanted)?;
        Ok(Answer::value(202, &write_submitted(run_id, &run)))
    };
    change.write(verb).await
}

/// POST /api/v1/runs
fn read_submit(body: Json) -> Result<Submit, Refusal> {
    let mut fields = Fields::new(body).map_err(field)?;
    let image = image(&mut fields)?;
    let command = command(&mut fields)?;
    let env = env(&mut fields)?;
    check_size(&fields, &command, &env)?;
    let timeout_seconds = at_least(&mut fields, "timeout_seconds", 1)?;
    let cpu_millicores = cpu(&mut fields)?;
    let memory_mb = memory_mb(&mut fields)?;
    let name = optional::<String>(&mut fields, "name")?;
    if let Some(name) = &name {
        label("name", name)?;
    }
    let tags = tags(&mut fields)?;
    let scheduled_start = instant(&mut fields, "scheduled_start")?;
    let expires_at = instant(&mut fields, "expires_at")?;
    let webhook = match fields.take("webhook") {
        None | Some(Json::Null) => None,
        Some(json) => Some(read_webhook(json)?),
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    let (webhook, webhook_secret) = webhook.map_or((None, None), |(webhook, secret)| (Some(webhook), secret));
    Ok(Submit {
        image,
        command,
        secrets: Secrets { env, webhook_secret, command: None },
        timeout_seconds,
        cpu_millicores,
        memory_mb,
        name,
        tags,
        scheduled_start,
        expires_at,
        webhook,
        key_id: None,
    })
}

/// The answer to a submission.
fn write_submitted(run_id: RunId, run: &Run) -> Value {
    json!({
        "track_id": ulid(run_id.0), "status": run.state.name(), "eligible_start": rfc3339(run.eligible_start),
        "clamped": run.clamped,
    })
}
