//! Reading triggers: members in the order of the documentation, each with its bounds.

use quintet_platform::http::shown_name;
use quintet_platform::json::{Fields, Json, Number};

use super::super::params::read_given;
use super::super::triggers::model::{NewTrigger, OVERLAP_NAMES, Overlap, TriggerChange};
use super::form::read_version;
use crate::containers::http::webhook::read_webhook;
use crate::containers::model::Webhook;
use crate::form::{field, first, label, optional, tags};
use crate::refusal::Refusal;
use crate::schedules::http::form::{UTC, cron, misfire, timezone};
use crate::schedules::model::{Misfire, Timing};

/// POST /api/v1/templates/{ref}/triggers
pub(super) fn read_new(json: Json, key_id: String) -> Result<NewTrigger, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = named(fields.take("name"), "name")?.flatten();
    let cron = cron(&fields.required::<String>("cron").map_err(field)?)?;
    let timezone = optional::<String>(&mut fields, "timezone")?.map_or_else(|| Ok(UTC.to_owned()), timezone)?;
    let params = params(fields.take("params"))?;
    let version = optional::<Number>(&mut fields, "version")?.map(|number| read_version(&number)).transpose()?;
    let workflow_name = named(fields.take("workflow_name"), "workflow_name")?.flatten();
    let tags = tags(&mut fields)?;
    let webhook = webhook(fields.take("webhook"))?.flatten();
    let overlap = optional::<String>(&mut fields, "overlap")?.map_or(Ok(Overlap::Skip), overlap)?;
    let misfire = optional::<String>(&mut fields, "misfire")?.map_or(Ok(Misfire::FireOnce), misfire)?;
    let is_enabled = optional::<bool>(&mut fields, "enabled")?.unwrap_or(true);
    fields.finish().map_err(|unknown| first(unknown, field))?;
    let timing = Timing { cron, timezone, start_at: None, end_at: None };
    Ok(NewTrigger { name, timing, version, workflow_name, tags, webhook, params, overlap, misfire, is_enabled, key_id })
}

/// PATCH /api/v1/templates/{ref}/triggers/{trigger_id}. Null takes away what may be absent.
pub(super) fn read_change(json: Json) -> Result<TriggerChange, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = named(fields.take("name"), "name")?;
    let cron = fields.optional::<String>("cron").map_err(field)?.map(|text| cron(&text)).transpose()?;
    let timezone = fields.optional::<String>("timezone").map_err(field)?.map(timezone).transpose()?;
    let params = fields.take("params").map(|given| params(Some(given))).transpose()?;
    let version = match fields.take("version") {
        None => None,
        Some(Json::Null) => Some(None),
        Some(Json::Number(number)) => Some(Some(read_version(&number)?)),
        Some(_) => return Err(Refusal::field("version", "must be a whole number, at least 1")),
    };
    let workflow_name = named(fields.take("workflow_name"), "workflow_name")?;
    let tags = match fields.take("tags") {
        None => None,
        Some(given) => Some(tags(&mut Fields::new(Json::object([("tags", given)])).map_err(field)?)?),
    };
    let webhook = webhook(fields.take("webhook"))?;
    let overlap = fields.optional::<String>("overlap").map_err(field)?.map(overlap).transpose()?;
    let misfire = fields.optional::<String>("misfire").map_err(field)?.map(misfire).transpose()?;
    let is_enabled: Option<bool> = fields.optional("enabled").map_err(field)?;
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(TriggerChange {
        name,
        cron,
        timezone,
        version,
        workflow_name,
        tags,
        webhook,
        params,
        overlap,
        misfire,
        is_enabled,
    })
}

/// A name that may be absent, or taken away by null.
fn named(given: Option<Json>, name: &str) -> Result<Option<Option<String>>, Refusal> {
    match given {
        None => Ok(None),
        Some(Json::Null) => Ok(Some(None)),
        Some(Json::String(text)) => {
            label(name, &text)?;
            Ok(Some(Some(text)))
        }
        Some(_) => Err(Refusal::field(name, "must be a string")),
    }
}

type GivenWebhook = Option<Option<(Webhook, Option<String>)>>;

fn webhook(given: Option<Json>) -> Result<GivenWebhook, Refusal> {
    match given {
        None => Ok(None),
        Some(Json::Null) => Ok(Some(None)),
        Some(json) => Ok(Some(Some(read_webhook(json)?))),
    }
}

/// Values, which are texts.
fn params(given: Option<Json>) -> Result<Vec<(String, String)>, Refusal> {
    let text = |(name, value): (String, Json)| match value {
        Json::String(value) => Ok((name, value)),
        _ => Err(Refusal::InvalidParams(format!("params.{}", shown_name(&name)), "must be a string".to_owned())),
    };
    read_given(given)?.into_iter().map(text).collect()
}

fn overlap(name: String) -> Result<Overlap, Refusal> {
    let problem = || Refusal::field("overlap", format!("must be one of {}", OVERLAP_NAMES.join(", ")));
    Overlap::named(&name).ok_or_else(problem)
}
