//! Writing templates.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::Uuid;

use super::super::definition::shown;
use super::super::model::Template;
use super::super::params::{Declaration, HIDDEN, Kind};
use super::super::tables::VersionRow;
use super::super::triggers::model::{Held, LastError, Trigger};
use crate::alarms::wire::{millis, millis_or_null};
use crate::model::{TemplateId, TriggerKey};
use crate::schedules::plan::Plan;

/// A template in one of its versions, with its definition where that is asked for.
pub(super) fn write_template(
    id: TemplateId,
    template: &Template,
    version: u64,
    params: &[Declaration],
    definition: Option<&Json>,
) -> Json {
    let mut members = vec![
        ("template_id", Json::from(ulid(id.0))),
        ("name", template.name.as_deref().into()),
        ("version", version.into()),
        ("latest_version", template.latest_version.into()),
        ("params", params.iter().map(write_declaration).collect::<Vec<_>>().into()),
    ];
    members.extend(definition.map(|definition| ("definition", shown(definition))));
    members.push(("created_at", rfc3339(template.created_at).into()));
    members.push(("updated_at", rfc3339(template.updated_at).into()));
    Json::object(members)
}

fn write_declaration(declaration: &Declaration) -> Json {
    let mut members = vec![
        ("name", Json::from(declaration.name.as_str())),
        ("type", declaration.type_name().into()),
        ("required", declaration.is_required.into()),
    ];
    match &declaration.kind {
        Kind::Text { pattern } => members.extend(pattern.as_deref().map(|pattern| ("pattern", Json::from(pattern)))),
        Kind::Choice { values } => {
            let values: Vec<Json> = values.iter().map(|value| value.as_str().into()).collect();
            members.push(("enum", values.into()));
        }
    }
    let default = declaration.default.as_deref().map(|default| if declaration.is_secret { HIDDEN } else { default });
    members.extend(default.map(|default| ("default", Json::from(default))));
    members.push(("secret", declaration.is_secret.into()));
    Json::object(members)
}

/// A version, but for what it says.
pub(super) fn write_version(number: u64, row: &VersionRow) -> Json {
    Json::object([
        ("version", Json::from(number)),
        ("created_at", rfc3339(row.created_at).into()),
        ("node_count", row.node_count.into()),
    ])
}

/// A trigger. Values of secret parameters, and of those that are declared no more, are not told.
pub(super) fn write_trigger(key: TriggerKey, trigger: &Trigger, held: &Held, declared: &[Declaration]) -> Json {
    let timing = &trigger.timing;
    let next_fires = Plan::of(timing).map_or_else(Vec::new, |plan| plan.next_fires(trigger.next_fire_at));
    let is_open = |name: &String| {
        declared.iter().any(|known| known.name == *name && !known.is_secret) && !held.secrets.contains(name)
    };
    let shown = |(name, value): &(String, String)| {
        (name.clone(), Json::from(if is_open(name) { value.as_str() } else { HIDDEN }))
    };
    let webhook = trigger.webhook.as_ref().map_or(Json::Null, |(url, events)| {
        Json::object([("url", Json::from(url.as_str())), ("events", texts(events))])
    });
    let last_error = trigger.last_error.as_ref().map_or(Json::Null, |LastError { code, at }| {
        Json::object([("code", Json::from(code.as_str())), ("at", millis(*at))])
    });
    Json::object([
        ("trigger_id", Json::from(ulid(key.2.0))),
        ("template_id", ulid(key.1.0).into()),
        ("name", trigger.name.as_deref().into()),
        ("cron", timing.cron.as_str().into()),
        ("timezone", timing.timezone.as_str().into()),
        ("params", Json::Object(held.params.iter().map(shown).collect())),
        ("version", trigger.version.map_or(Json::Null, Json::from)),
        ("workflow_name", trigger.workflow_name.as_deref().into()),
        ("tags", texts(&trigger.tags)),
        ("webhook", webhook),
        ("overlap", trigger.overlap.name().into()),
        ("misfire", trigger.misfire.name().into()),
        ("enabled", trigger.is_enabled.into()),
        ("next_fire_at", millis_or_null(trigger.next_fire_at)),
        ("next_fires", next_fires.into_iter().map(millis).collect::<Vec<_>>().into()),
        ("last_fire_at", millis_or_null(trigger.last_fire_at)),
        ("last_workflow_id", trigger.last_workflow_id.map_or(Json::Null, |id| ulid(Uuid::from_bytes(id)).into())),
        ("last_error", last_error),
        ("fire_count", trigger.fire_count.into()),
        ("missed_count", trigger.missed_count.into()),
        ("skipped_count", trigger.skipped_count.into()),
        ("created_at", millis(trigger.created_at)),
        ("updated_at", millis(trigger.updated_at)),
    ])
}

fn texts(texts: &[String]) -> Json {
    texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>().into()
}
