//! Whether the ledger works.

use quintet_platform::access::CredentialState;
use quintet_platform::service::{Ailment, Answer, Endpoint, Route, Visit, ailment, json as success};
use quintet_storage::{Read as _, Uuid};
use serde_json::json;

use super::dialect::{Answered, Ledger};
use crate::model::{AssetTypeId, TenantId};
use crate::tables::ASSET_TYPES;

pub(super) const HEALTH: Route = Route::get("get_health", "/healthz")
    .summary("Whether the ledger can read and write")
    .any_parameter()
    .successes(&[success(200, "Health"), success(503, "Health").about("Not healthy")]);
pub(super) const ENDPOINTS: &[Endpoint<Ledger>] = &[Endpoint::open(&HEALTH, |visit| Box::pin(get_health(visit)))];

/// Nobody is asked here: the credential's state is what the last request that needed the authorization system has seen.
async fn get_health(visit: Visit<Ledger>) -> Answered {
    let nobody = (TenantId(Uuid::nil()), AssetTypeId(Uuid::nil()));
    let probe = visit.snapshot().contains(&ASSET_TYPES, &nobody);
    let credential = visit.foundation().authority.credential_state();
    // The ledger that only lacks room for more answers what it knows, and POSTING_FROZEN to what would change it.
    let reason = match ailment(visit.foundation(), probe).filter(|ailment| *ailment != Ailment::DiskReserve) {
        Some(ailment) => Some(ailment.as_str()),
        None if credential == CredentialState::Rejected => {
            Some("the authorization system refuses this service's own credential")
        }
        None => None,
    };
    let credential = credential.as_str();
    Ok(match reason {
        None => Answer::value(200, &json!({"status": "ok", "auth_client_credential": credential})),
        Some(reason) => {
            Answer::value(503, &json!({"status": "unhealthy", "reason": reason, "auth_client_credential": credential}))
        }
    })
}
