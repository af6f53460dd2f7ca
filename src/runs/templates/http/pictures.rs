//! Pictures of templates.

use quintet_platform::ids::ulid;
use quintet_platform::service::Route;
use quintet_storage::{Abort, Read};

use super::super::definition::check;
use super::super::model::{NO_TEMPLATE, NO_VERSION};
use super::super::rows::{content, find};
use super::path::{TEMPLATE, template_of};
use super::reading::VERSION;
use crate::dialect::{Answered, Call};
use crate::model::TemplateKey;
use crate::refusal::Refusal;
use crate::workflows::http::pictures::{PICTURE, answer};
use crate::workflows::picture::dot;

pub(super) const GRAPH: Route = Route::get("get_template_graph", "/api/v1/templates/{ref}/graph.svg")
    .permission("svc_run_read")
    .summary("A picture of a template: its nodes as they are written, its edges with their conditions")
    .segments(&[TEMPLATE])
    .parameters(&[VERSION])
    .successes(&[PICTURE])
    .codes(&["busy", "invalid_state"]);

pub(super) async fn graph(mut call: Call) -> Answered {
    let asked = call.integer(&VERSION)?.and_then(|number| u64::try_from(number).ok());
    let (key, _) = template_of(&call, &call.snapshot())?;
    let context = call.context.clone();
    let read = move || of_template(&context.store.read(), key, asked);
    let dot = call.in_turn(&call.context.lookers, read).await?;
    answer(&call, dot).await
}

/// The DOT of a template, in this version or the latest.
fn of_template(read: &impl Read, key: TemplateKey, asked: Option<u64>) -> Result<String, Abort<Refusal>> {
    let template = find(read, key)?.ok_or(NO_TEMPLATE)?;
    let version = asked.unwrap_or(template.latest_version);
    let said = content(read, (key.0, key.1, version))?.ok_or(NO_VERSION)?;
    // How many nodes it may have was asked when it was stored.
    let checked = check(&said.definition, &said.params, u64::MAX).map_err(Abort::Refused)?;
    let name = template.name.as_deref().unwrap_or_default();
    let version = format!("template {}, version {version}", ulid(key.1.0));
    Ok(dot(&[name, &version], &checked.graph, &[]))
}
