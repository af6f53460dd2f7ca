//! Telling the authorization system what it does not know of a grant.

use quintet_storage::Uuid;

use crate::access::{Grant, GrantIntent, IntentState, IntentStep};
use crate::authorization::{AuthorizationSystem, SystemFailure, ToldIntent};
use crate::model::TenantId;

/// What came of telling it.
#[derive(Debug, Default)]
pub struct Told {
    /// What has become possible: steps of intents, by their places.
    pub steps: Vec<(usize, IntentStep)>,
    /// The first failure; what follows was not told.
    pub failure: Option<SystemFailure>,
}

/// Tells the authorization system of the intents of a grant that it is to take or to remove. `is_patient`: waits until it may
/// be asked, where others have asked it much.
pub async fn tell(system: &dyn AuthorizationSystem, tenant_id: TenantId, grant: &Grant, is_patient: bool) -> Told {
    let mut told = Told::default();
    for (place, intent_id, intent) in grant.numbered().filter(|(.., intent)| intent.state.is_open()) {
        if is_patient {
            system.patience().await;
        }
        let outcome = match intent.state {
            IntentState::Granting => {
                let put = of_intent(tenant_id, grant.principal_id, intent_id, intent);
                system.put(&put).await.map(|()| IntentStep::Taken)
            }
            _ => system.delete(grant.principal_id, intent_id).await.map(|()| IntentStep::Removed),
        };
        match outcome {
            Ok(step) => told.steps.push((place, step)),
            Err(failure) => {
                tracing::warn!(grant_id = %grant.grant_id, %failure, "the authorization system was not told of a grant");
                told.failure = Some(failure);
                break;
            }
        }
    }
    told
}

fn of_intent(tenant_id: TenantId, principal_id: Uuid, intent_id: Uuid, intent: &GrantIntent) -> ToldIntent {
    ToldIntent {
        tenant_id: tenant_id.0,
        principal_id,
        intent_id,
        target: intent.intent.target.text(),
        permissions: intent.intent.permissions.clone(),
    }
}
