//! Whether localization lives, and whether it can work.

use quintet_platform::service::{Ailment, Answer, Endpoint, Route, Visit, ailment, json as success};
use serde_json::json;

use super::dialect::{Answered, Localization};
use crate::audit;
use crate::language::CheckOutcome;

const HEALTH: Route = Route::get("get_health", "/healthz")
    .summary("Whether the process lives")
    .any_parameter()
    .successes(&[success(200, "Alive")]);
const READINESS: Route = Route::get("get_readiness", "/readyz")
    .summary("Whether it can work, and how the core's ten checks went")
    .any_parameter()
    .successes(&[success(200, "Ready"), success(503, "Ready").about("Not ready")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::open(&HEALTH, |_| Box::pin(get_health())),
    Endpoint::open(&READINESS, |visit| Box::pin(get_readiness(visit))),
];

async fn get_health() -> Answered {
    Ok(Answer::value(200, &json!({"status": "ok"})))
}

/// Without the core, or with a disk down to its reserve, it goes on with what needs neither.
async fn get_readiness(visit: Visit<Localization>) -> Answered {
    let found = ailment(visit.foundation(), audit::probe(&visit.snapshot()));
    let is_ready = found.is_none_or(|found| found == Ailment::DiskReserve);
    let check = |one: &CheckOutcome| json!({"name": one.name.name(), "ok": one.ok, "ms": one.milliseconds});
    let checks: Vec<_> = visit.context.core().outcomes().iter().map(check).collect();
    Ok(match is_ready {
        true => Answer::value(200, &json!({"status": "ok", "checks": checks})),
        false => Answer::value(503, &json!({"status": "unavailable", "checks": checks})),
    })
}
