//! Whether runs can be taken in and started.

use quintet_platform::service::{Ailment, Answer, Endpoint, Route, Visit, ailment, json as success};
use quintet_storage::Uuid;
use serde_json::json;

use crate::containers::{find, loads};
use crate::dialect::{Answered, Runs};
use crate::model::{RunId, TenantId};

pub(super) const HEALTH: Route = Route::get("get_health", "/health")
    .summary("How the service is: database, engine, workers")
    .any_parameter()
    .successes(&[success(200, "Health")]);
pub(super) const ENDPOINTS: &[Endpoint<Runs>] = &[Endpoint::open(&HEALTH, |visit| Box::pin(get_health(visit)))];

async fn get_health(visit: Visit<Runs>) -> Answered {
    let (context, read) = (&visit.context, visit.snapshot());
    let nowhere = (TenantId(Uuid::nil()), RunId(Uuid::nil()));
    // What only lacks room for more still answers.
    let ailment = ailment(context, find(&read, nowhere)).filter(|ailment| *ailment != Ailment::DiskReserve);
    let (is_database_up, is_engine_up) = (ailment.is_none(), context.is_engine_up());
    let word = |is_up: bool| if is_up { "up" } else { "down" };
    let status = if is_database_up && is_engine_up { "ok" } else { "degraded" };
    let busy = loads::held(&read, &context.aside).map_or(0, |held| held.all());
    let health = json!({
        "status": status, "database": word(is_database_up), "cache": word(is_database_up),
        "engine": word(is_engine_up), "workers": {"total": context.settings.workers, "busy": busy},
    });
    Ok(Answer::value(200, &health))
}
