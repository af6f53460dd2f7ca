//! Submitting a run: members in the order of the documentation, each with its bounds.

use quintet_platform::clock::rfc3339;
use quintet_platform::http::shown_name;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Fields, Json, Number};
use quintet_platform::service::{Answer, Content, KeyRule, Route, failed, json as success};
use quintet_storage::WriteTx;
use serde_json::{Value, json};

use super::webhook::read_webhook;
use crate::allowances::model::MEMORY_MB_LEAST;
use crate::allowances::quotas;
use crate::containers::model::{Run, Secrets};
use crate::containers::submission::{self, Submit};
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::{field, first, instant, label, optional, tags, texts};
use crate::model::RunId;
use crate::refusal::Refusal;
use crate::webhooks::address;

/// The longest name of an image, in characters.
pub(super) const IMAGE_CHARS_MAX: usize = 512;
/// The most arguments, and the most variables.
const WORDS_MAX: usize = 4096;
/// The longest argument, and the longest variable with its name, in bytes.
const WORD_BYTES_MAX: usize = 128 << 10;
/// Arguments and variables together, in bytes: what the kernel takes.
const WORDS_BYTES_MAX: usize = 512 << 10;
/// The least of a core, and the most cores that can be asked for; more is clamped anyway.
const CPU_LEAST: f64 = 0.01;
const CPU_MOST: f64 = 1_000_000.0;

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
    let image = image(fields.required("image").map_err(field)?)?;
    let command = command(&mut fields)?;
    let env = env(&mut fields)?;
    check_size(&command, &env)?;
    let timeout_seconds = at_least(&mut fields, "timeout_seconds", 1)?;
    let cpu_millicores = cpu(&mut fields)?;
    let memory_mb = at_least(&mut fields, "memory_limit_mb", MEMORY_MB_LEAST)?;
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
        secrets: Secrets { env, webhook_secret },
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

fn image(image: String) -> Result<String, Refusal> {
    if image.is_empty() || image.chars().count() > IMAGE_CHARS_MAX || !image.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Refusal::field("image", "must be a reference of 1 to 512 printable ASCII characters"));
    }
    Ok(image)
}

fn command(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let command = texts(fields, "command", WORDS_MAX)?;
    if command.first().is_some_and(String::is_empty) {
        return Err(Refusal::field("command", "must begin with a program"));
    }
    if command.iter().any(|word| word.len() > WORD_BYTES_MAX || word.contains('\0')) {
        return Err(Refusal::field("command", "must have arguments of at most 128 KiB, without NUL"));
    }
    Ok(command)
}

fn env(fields: &mut Fields) -> Result<Vec<(String, String)>, Refusal> {
    let members = match fields.take("env") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(members)) => members,
        Some(_) => return Err(Refusal::field("env", "must be an object of strings")),
    };
    if members.len() > WORDS_MAX {
        return Err(Refusal::field("env", format!("must have at most {WORDS_MAX} variables")));
    }
    let variable = |(name, value): (String, Json)| {
        let shown = format!("env.{}", shown_name(&name));
        let Json::String(value) = value else { return Err(Refusal::field(shown, "must be a string")) };
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::field(shown, "must have a name without = and NUL"));
        }
        if value.contains('\0') || name.len() + value.len() > WORD_BYTES_MAX {
            return Err(Refusal::field(shown, "must be at most 128 KiB, without NUL"));
        }
        Ok((name, value))
    };
    members.into_iter().map(variable).collect()
}

fn check_size(command: &[String], env: &[(String, String)]) -> Result<(), Refusal> {
    let words = command.iter().map(|word| word.len() + 9);
    let variables = env.iter().map(|(name, value)| name.len() + value.len() + 10);
    if words.chain(variables).sum::<usize>() > WORDS_BYTES_MAX {
        return Err(Refusal::field("command", "must take at most 512 KiB together with env"));
    }
    Ok(())
}

fn at_least(fields: &mut Fields, name: &str, least: u64) -> Result<Option<u64>, Refusal> {
    let number = optional::<Number>(fields, name)?;
    let Some(number) = number else { return Ok(None) };
    // More digits than any number has are more than any quota.
    let is_huge = number.is_integer() && !number.as_str().starts_with('-') && number.as_u64().is_none();
    match if is_huge { Some(u64::MAX) } else { number.as_u64() } {
        Some(value) if value >= least => Ok(Some(value)),
        _ => Err(Refusal::field(name, format!("must be a whole number, at least {least}"))),
    }
}

fn cpu(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    let Some(number) = optional::<Number>(fields, "cpu_limit")? else { return Ok(None) };
    let cores: f64 = number.as_str().parse().unwrap_or(0.0);
    if !(CPU_LEAST..=f64::INFINITY).contains(&cores) {
        return Err(Refusal::field("cpu_limit", "must be a number of cores, at least 0.01"));
    }
    Ok(Some((cores.min(CPU_MOST) * 1000.0).round() as u64))
}

/// The answer to a submission.
fn write_submitted(run_id: RunId, run: &Run) -> Value {
    json!({
        "track_id": ulid(run_id.0), "status": run.state.name(), "eligible_start": rfc3339(run.eligible_start),
        "clamped": run.clamped,
    })
}
