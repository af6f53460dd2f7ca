//! Storing, changing and deleting templates.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, json as success};
use quintet_storage::{Abort, Read, WriteTx};
use serde_json::json;

use super::super::change::{Prepared, Ready, change as changing, prepare, ready};
use super::super::model::{NO_TEMPLATE, Template, TemplateChange};
use super::super::rows::content;
use super::super::{create as making, remove};
use super::form::{in_definition, read_template};
use super::path::{TEMPLATE, template_of};
use super::wire::write_template;
use crate::dialect::{Answered, Call, tenant_of};
use crate::model::TemplateKey;
use crate::refusal::Refusal;
use crate::webhooks::address;

/// What else a template may be refused for.
const CODES: &[&str] = &[
    "busy",
    "invalid_graph",
    "limit_reached",
    "name_taken",
    "too_many_nodes",
    "unknown_webhook_key",
    "url_not_allowed",
];

pub(super) const CREATE: Route = Route::post("create_template", "/api/v1/templates")
    .permission("svc_run_submit")
    .summary("Store a workflow with parameters, to be run by its id or name")
    .body(Content::Json("TemplateCreate"))
    .successes(&[success(201, "Template")])
    .makes("ref", "template_id")
    .key(KeyRule::Optional)
    .codes(CODES);
pub(super) const REPLACE: Route = Route::put("replace_template", "/api/v1/templates/{ref}")
    .permission("svc_run_submit")
    .summary("Replace what a template asks for and is: a new version, unless it is the same")
    .segments(&[TEMPLATE])
    .body(Content::Json("TemplateCreate"))
    .successes(&[success(200, "Template")])
    .codes(CODES);
pub(super) const CHANGE: Route = Route::patch("update_template", "/api/v1/templates/{ref}")
    .permission("svc_run_submit")
    .summary("Change what is given of a template: a new version, if params or definition differ")
    .segments(&[TEMPLATE])
    .body(Content::Json("TemplateChange"))
    .successes(&[success(200, "Template")])
    .codes(CODES);
pub(super) const DELETE: Route = Route::delete("delete_template", "/api/v1/templates/{ref}")
    .permission("svc_run_submit")
    .summary("Delete a template with all its versions and triggers; its workflows go on")
    .segments(&[TEMPLATE])
    .successes(&[success(200, "TemplateDeleted")]);

pub(super) async fn create(call: Call) -> Answered {
    let tenant_id = tenant_of(&call);
    let mut change = call.change().await?;
    change.begin()?;
    let json = change.json()?;
    let context = change.call.context.clone();
    let check = move || {
        let given = read_template(json)?;
        let definition = given.definition()?;
        let ready = ready(&context.store.read(), tenant_id, given.params.unwrap_or_default(), definition)?;
        Ok::<_, Abort<Refusal>>((given.name, ready))
    };
    let (name, ready) = change.call.in_turn(&change.call.context.lookers, check).await?;
    vet(&change.call, Some(&ready)).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let said = ready.content;
        let (id, template) = making::create(tx, now, tenant_id, name, &said)?;
        let record = write_template(id, &template, 1, &said.params, Some(&said.definition));
        Ok(Answer::json(201, to_compact(&record)))
    };
    change.write(verb).await
}

/// Whether the webhook of a definition may be called.
async fn vet(call: &Call, ready: Option<&Ready>) -> Result<(), Refusal> {
    let Some(url) = ready.and_then(|ready| ready.webhook_url.as_deref()) else { return Ok(()) };
    address::check("webhook.url", url, call).await.map_err(in_definition)
}

pub(super) async fn replace(call: Call) -> Answered {
    write(call, |json| {
        let given = read_template(json)?;
        let (definition, params) = (given.definition()?, given.params.unwrap_or_default());
        Ok(TemplateChange { name: given.name, params: Some(params), definition: Some(definition) })
    })
    .await
}

pub(super) async fn change(call: Call) -> Answered {
    write(call, |json| Ok(read_template(json)?.into_change())).await
}

async fn write(call: Call, read_change: fn(Json) -> Result<TemplateChange, Refusal>) -> Answered {
    let mut change = call.change().await?;
    let (key, _) = template_of(&change.call, &change.call.snapshot())?;
    let (json, context) = (change.json()?, change.call.context.clone());
    let check = move || prepare(&context.store.read(), key, read_change(json)?);
    let prepared: Prepared = change.call.in_turn(&change.call.context.lookers, check).await?;
    vet(&change.call, prepared.ready.as_ref()).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let template = changing(tx, now, key, prepared)?;
        let record = view(tx, key, &template, template.latest_version)?;
        Ok(Answer::json(200, to_compact(&record)))
    };
    change.write(verb).await
}

/// A template in one of its versions.
pub(super) fn view(
    read: &impl Read,
    key: TemplateKey,
    template: &Template,
    version: u64,
) -> Result<Json, Abort<Refusal>> {
    let said = content(read, (key.0, key.1, version))?.ok_or(NO_TEMPLATE)?;
    Ok(write_template(key.1, template, version, &said.params, Some(&said.definition)))
}

pub(super) async fn delete(call: Call) -> Answered {
    let change = call.change().await?;
    let (key, _) = template_of(&change.call, &change.call.snapshot())?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        remove::remove(tx, key)?;
        Ok(Answer::value(200, &json!({"template_id": ulid(key.1.0), "deleted": true})))
    };
    change.freeing(true).write(verb).await
}
