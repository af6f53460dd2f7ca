//! Whether messaging lives, and whether it can work.

use quintet_platform::service::{Ailment, Answer, Endpoint, Route, Visit, ailment, json as success};
use serde_json::json;

use crate::dialect::{Answered, Messaging};
use crate::identity::workspaces;
use crate::model::WorkspaceNo;

const HEALTH: Route = Route::get("get_health", "/healthz")
    .summary("Whether the process lives")
    .any_parameter()
    .successes(&[success(200, "Health")]);
const READINESS: Route = Route::get("get_readiness", "/readyz")
    .summary("Whether it can work")
    .any_parameter()
    .successes(&[success(200, "Health"), success(503, "Health").about("Not ready")]);

/// What is served of it.
pub(super) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::open(&HEALTH, |_| Box::pin(get_health())),
    Endpoint::open(&READINESS, |visit| Box::pin(get_readiness(visit))),
];

async fn get_health() -> Answered {
    Ok(Answer::value(200, &json!({"status": "ok"})))
}

/// With a disk down to its reserve what is stored can still be read.
async fn get_readiness(visit: Visit<Messaging>) -> Answered {
    let found = ailment(visit.foundation(), workspaces::find(&visit.snapshot(), WorkspaceNo(0)));
    Ok(match found.is_none_or(|found| found == Ailment::DiskReserve) {
        true => Answer::value(200, &json!({"status": "ok"})),
        false => Answer::value(503, &json!({"status": "unavailable"})),
    })
}
