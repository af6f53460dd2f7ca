//! Reading schedules: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Fields, Json};
use quintet_platform::recurrence::Cron;
use quintet_platform::zones::Zone;

use super::super::model::{MISFIRE_NAMES, Misfire, NewSchedule, ScheduleChange, Timing};
use crate::alarms::form::{check_address, name, payload, webhook};
use crate::dialect::Call;
use crate::form::{field, first, instant, nullable_instant, optional};
use crate::refusal::Refusal;

/// POST /api/v1/schedules
pub(super) async fn read_new(json: Json, call: &Call) -> Result<NewSchedule, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = name(&mut fields)?;
    let cron = cron(&fields.required::<String>("cron").map_err(field)?)?;
    let timezone = optional::<String>(&mut fields, "timezone")?.map_or_else(|| Ok(UTC.to_owned()), timezone)?;
    let given = fields.take("webhook").ok_or_else(|| Refusal::field("webhook", "is required"))?;
    let webhook = webhook(given)?;
    let payload = payload(fields.take("payload").unwrap_or(Json::Null))?;
    let (start_at, end_at) = (instant(&mut fields, "start_at")?, instant(&mut fields, "end_at")?);
    let timing = Timing { cron, timezone, start_at, end_at };
    timing.check_bounds()?;
    let misfire = optional::<String>(&mut fields, "misfire")?.map_or(Ok(Misfire::FireOnce), misfire)?;
    let is_enabled = optional::<bool>(&mut fields, "enabled")?.unwrap_or(true);
    fields.finish().map_err(|unknown| first(unknown, field))?;
    check_address(&webhook, call).await?;
    Ok(NewSchedule { name, timing, webhook, payload, misfire, is_enabled, key_id: call.caller.key_id.clone() })
}

/// PATCH /api/v1/schedules/{schedule_id}. Null takes away what may be absent.
pub(super) async fn read_change(json: Json, call: &Call) -> Result<ScheduleChange, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = match fields.take("name") {
        None => None,
        Some(Json::Null) => Some(None),
        Some(given) => Some(name(&mut Fields::new(Json::object([("name", given)])).map_err(field)?)?),
    };
    let cron = fields.optional::<String>("cron").map_err(field)?.map(|text| cron(&text)).transpose()?;
    let timezone = fields.optional::<String>("timezone").map_err(field)?.map(timezone).transpose()?;
    let webhook = fields.take("webhook").map(webhook).transpose()?;
    let payload = fields.take("payload").map(payload).transpose()?;
    let start_at = nullable_instant(&mut fields, "start_at")?;
    let end_at = nullable_instant(&mut fields, "end_at")?;
    let misfire = fields.optional::<String>("misfire").map_err(field)?.map(misfire).transpose()?;
    let is_enabled: Option<bool> = fields.optional("enabled").map_err(field)?;
    fields.finish().map_err(|unknown| first(unknown, field))?;
    if let Some(webhook) = &webhook {
        check_address(webhook, call).await?;
    }
    Ok(ScheduleChange { name, cron, timezone, webhook, payload, start_at, end_at, misfire, is_enabled })
}

/// The time zone where none is named.
pub(crate) const UTC: &str = "UTC";

/// A pattern, with single blanks.
pub(crate) fn cron(text: &str) -> Result<String, Refusal> {
    Cron::parse(text)?;
    let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    Ok(words.join(" "))
}

/// The name of a time zone.
pub(crate) fn timezone(name: String) -> Result<String, Refusal> {
    let problem = "must be UTC or a name of the IANA database with a slash, such as Europe/Berlin";
    Zone::named(&name).map(|_| name).ok_or_else(|| Refusal::field("timezone", problem))
}

/// What is made of instants that were missed.
pub(crate) fn misfire(name: String) -> Result<Misfire, Refusal> {
    let problem = || Refusal::field("misfire", format!("must be one of {}", MISFIRE_NAMES.join(", ")));
    Misfire::named(&name).ok_or_else(problem)
}
