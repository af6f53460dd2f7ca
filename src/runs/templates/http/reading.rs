//! Reading templates and their versions.

use quintet_platform::json::to_compact;
use quintet_platform::service::{Answer, CURSOR, Page, Parameter, Route, Shape, json as success, limit};
use quintet_storage::{Abort, Failure};

use super::super::list;
use super::super::model::{NO_TEMPLATE, NO_VERSION};
use super::super::rows::{find, params, version};
use super::path::{TEMPLATE, template_of};
use super::templates::view;
use super::wire::{write_template, write_version};
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::lists::write_page;
use crate::model::{TemplateId, TemplateKey, TenantId};
use crate::refusal::Refusal;

pub(super) const VERSION: Parameter =
    Parameter::new("version", Shape::integer(1, i64::MAX), "This version instead of the latest.");
const LIMIT: Parameter = limit(50, 200);

pub(super) const LIST: Route = Route::get("list_templates", "/api/v1/templates")
    .permission("svc_run_read")
    .summary("List templates, newest first, without their definitions")
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "TemplatePage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_template", "/api/v1/templates/{ref}")
    .permission("svc_run_read")
    .summary("One template by its id or name, in its latest version or another")
    .segments(&[TEMPLATE])
    .parameters(&[VERSION])
    .successes(&[success(200, "Template")])
    .codes(&["busy"]);
pub(super) const VERSIONS: Route = Route::get("list_template_versions", "/api/v1/templates/{ref}/versions")
    .permission("svc_run_read")
    .summary("The versions of a template, newest first")
    .segments(&[TEMPLATE])
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "TemplateVersions")])
    .codes(&["busy"]);

pub(super) async fn list(mut call: Call) -> Answered {
    let kind = "templates".to_owned();
    let page = call.page(&kind, &LIMIT)?;
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let read = move || Ok(list_page(&context, tenant_id, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(context: &Context, tenant_id: TenantId, asked: &Page<TemplateId>, kind: &str) -> Result<String, Failure> {
    let read = context.store.read();
    let page = list::list(&read, tenant_id, asked.after, asked.limit)?;
    write_page(kind, page.items, page.next, |id, template| {
        let params = params(&read, (tenant_id, id, template.latest_version))?;
        Ok(write_template(id, &template, template.latest_version, &params, None))
    })
}

pub(super) async fn get(mut call: Call) -> Answered {
    let asked = call.integer(&VERSION)?.and_then(|number| u64::try_from(number).ok());
    let (key, _) = template_of(&call, &call.snapshot())?;
    let context = call.context.clone();
    let read = move || {
        let read = context.store.read();
        let template = find(&read, key)?.ok_or(NO_TEMPLATE)?;
        let number = asked.unwrap_or(template.latest_version);
        version(&read, (key.0, key.1, number))?.ok_or(NO_VERSION)?;
        Ok::<_, Abort<Refusal>>(to_compact(&view(&read, key, &template, number)?))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

pub(super) async fn versions(mut call: Call) -> Answered {
    let (key, _) = template_of(&call, &call.snapshot())?;
    let kind = format!("versions of template {}", key.1);
    let page = call.page(&kind, &LIMIT)?;
    let context = call.context.clone();
    let read = move || Ok(versions_page(&context, key, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn versions_page(context: &Context, key: TemplateKey, asked: &Page<u64>, kind: &str) -> Result<String, Failure> {
    let page = list::versions(&context.store.read(), key, asked.after, asked.limit)?;
    write_page(kind, page.items, page.next, |number, row| Ok(write_version(number, &row)))
}
