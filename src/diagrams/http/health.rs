//! Whether pictures can be drawn and stored.

use quintet_platform::service::{Ailment, Answer, Endpoint, Route, ailment, json as success};
use quintet_storage::Read as _;
use serde_json::json;

use super::dialect::{Answered, Diagrams, Visit};
use crate::tables::{THE_TOTALS, TOTALS};

const HEALTH: Route =
    Route::get("get_health", "/health").summary("Whether pictures can be drawn and stored").successes(&[
        success(200, "Health"),
        success(503, "Degraded").about("Drawings have been waiting for 10 s, or storage takes no writes"),
    ]);
pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[Endpoint::open(&HEALTH, |visit| Box::pin(get_health(visit)))];

async fn get_health(visit: Visit) -> Answered {
    let context = &visit.context;
    let ailing = ailment(visit.foundation(), visit.snapshot().get(&TOTALS, &THE_TOTALS)).map(Ailment::as_str);
    let is_saturated = context.pool.saturated_for() >= context.saturated_time;
    let saturated =
        is_saturated.then_some("drawings have been waiting for all of the last seconds; more come in than can be made");
    Ok(match ailing.or(saturated) {
        None => {
            let waiting = context.pool.reading().waiting;
            let version = env!("CARGO_PKG_VERSION");
            Answer::value(200, &json!({ "status": "healthy", "version": version, "waiting": waiting }))
        }
        Some(reason) => Answer::value(503, &json!({ "status": "degraded", "reason": reason })),
    })
}
